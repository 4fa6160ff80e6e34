"""`Errands`: what need not be waited for, done in order by a thread of its own."""

import atexit
import os
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread

_MOST = 1000
_AT_THE_END = 0.5

Errand = Callable[[], object]


class Errands:
    """Does what it is given, one after another, and something again and again for as long as that asks for it.

    What is too much is dropped, the oldest first. What is left when the process ends is done within half a second.

    Args:
        repeated: done after so many seconds without an errand, as it said itself the last time; None: only when woken.
    """

    def __init__(self, repeated: Callable[[], float | None] = lambda: None) -> None:
        self._repeated = repeated
        self._waiting: deque[Errand] = deque(maxlen=_MOST)
        self._changed = Condition()
        self._process = 0
        self._is_busy = False
        self._is_over = False

    def do(self, errand: Errand) -> None:
        """Have something done."""
        with self._changed:
            self._waiting.append(errand)
            self._begin()
            self._changed.notify_all()

    def finish(self, patience: float = _AT_THE_END) -> None:
        """Wait until all is done, but not for long."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._is_busy, patience)

    def end(self) -> None:
        """Finish, and do nothing more."""
        atexit.unregister(self.finish)
        if self._process == os.getpid():
            self.finish()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _begin(self) -> None:
        """Start the thread, unless it runs: in a process that was forked it does not."""
        if self._process == os.getpid() or self._is_over:
            return
        self._process = os.getpid()
        Thread(target=self._run, name="failwell limits", daemon=True).start()
        atexit.register(self.finish)

    def _run(self) -> None:
        pause: float | None = None
        while True:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or self._is_over, pause)
                if self._is_over:
                    return
                errand = self._waiting.popleft() if self._waiting else None
                self._is_busy = errand is not None
            if errand is not None:
                errand()
            pause = self._repeated()
