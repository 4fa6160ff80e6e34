"""Being told to end: servers that a command has started are ended with it."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def ended_as_by_interrupt() -> Generator[None]:
    """Let signals that end a process do what Ctrl-C does, so that whatever closes servers is run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # One that is ignored, as under nohup, stays so.
    taken = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # An event loop has put its own handler there. Shells make background jobs ignore Ctrl-C, and nothing else.
    on_interrupt = signal.getsignal(signal.SIGINT)
    (on_interrupt if callable(on_interrupt) else signal.default_int_handler)(number, frame)
