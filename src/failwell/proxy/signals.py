"""`pass_on_signals`: signals of the process as calls in a thread of their own.

A handler in Python runs in the main thread, which waits for the server: a signal just before it begins to wait would be
lost until the server ends. So the number goes through a pipe, which the interpreter writes the moment a signal comes.
"""

import os
from _signal import set_wakeup_fd, signal  # type: ignore[import-not-found]  # what `signal` stands on, loaded already
from _thread import start_new_thread

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

# Hang-up, interrupt, quit, terminate. Numbers, since naming them loads `enum`.
_PASSED_ON = (1, 2, 3, 15)


def pass_on_signals(take: "Callable[[int], object]") -> None:
    """Have signals taken by a function from now on."""
    noted, note = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has it from Python 3.12 on
        os.set_blocking(note, False)
    set_wakeup_fd(note, warn_on_full_buffer=False)
    for number in _PASSED_ON:
        try:
            signal(number, _noted)
        except (ValueError, OSError):  # not on this system
            continue
    start_new_thread(_take_all, (noted, take))


def _noted(number: int, frame: object) -> None:
    """Do nothing more: the pipe knows."""


def _take_all(noted: int, take: "Callable[[int], object]") -> None:
    while numbers := os.read(noted, 16):
        for number in numbers:
            take(number)
