"""`Errands`: what need not be waited for, done in order by a thread of its own."""

import atexit
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread

from failwell.retry.forks import in_every_fork

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
        self._is_running = self._is_busy = self._is_over = False
        self._begin_anew()
        in_every_fork(self._begin_anew)

    def do(self, errand: Errand) -> None:
        """Have something done."""
        with self._changed:
            self._waiting.append(errand)
            self._begin()
            self._changed.notify_all()

    def wake(self) -> None:
        """Start the thread, if that could not be done before."""
        if not self._is_running:
            with self._changed:
                self._begin()

    def finish(self, patience: float = _AT_THE_END) -> None:
        """Wait until all is done, but not for long."""
        with self._changed:
            self._changed.wait_for(self._has_finished, patience)

    def end(self) -> None:
        """Finish, and do nothing more."""
        atexit.unregister(self.finish)
        self.finish()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _begin(self) -> None:
        """Start the thread, unless it runs."""
        if self._is_running or self._is_over:
            return
        try:
            Thread(target=self._run, name="failwell limits", daemon=True).start()
        except RuntimeError:  # the system gives no more of them; what waits is done once it does
            return
        self._is_running = True
        atexit.register(self.finish)

    def _begin_anew(self) -> None:
        self._waiting: deque[Errand] = deque(maxlen=_MOST)
        self._changed = Condition()
        self._is_running = self._is_busy = False

    def _has_finished(self) -> bool:
        return not self._is_running or not (self._waiting or self._is_busy)

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
