"""`Moment`: something that happens once, and can be waited for. `threading.Event` takes longer to load than to wait."""

from _thread import allocate_lock

_FOR_EVER = -1


class Moment:
    """Has come or not; threads wait for it."""

    def __init__(self) -> None:
        self.has_come = False
        self._gate = allocate_lock()
        self._gate.acquire()
        self._changing = allocate_lock()

    def come(self) -> None:
        """Let everybody go who waits for it."""
        with self._changing:
            if not self.has_come:
                self.has_come = True
                self._gate.release()

    def wait(self, seconds: float = _FOR_EVER) -> bool:
        """Wait until it comes, at most so long, and return whether it has."""
        if not self.has_come and self._gate.acquire(timeout=seconds):
            self._gate.release()
        return self.has_come
