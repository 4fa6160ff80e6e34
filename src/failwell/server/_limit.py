"""`Limit`: how many calls may run at once; any further call immediately gets `SERVER_BUSY`."""

from threading import Lock
from types import TracebackType

from failwell._spelling import names_slips
from failwell.errors import Busy


class Limit:
    """A number of places for calls. Entering without a free place raises; leaving frees the place.

    Shared between threads and tasks: give the same limit to every tool that uses the same scarce resource.

    Raises:
        ValueError: there is not at least one place.
        TypeError: it is not a whole number.
    """

    @names_slips
    def __init__(self, most: int, *, retry_after: float = 1.0) -> None:
        if type(most) is not int:
            raise TypeError(f"a limit is a whole number of places, not {most!r}")
        if most < 1:
            raise ValueError(f"a limit needs at least one place, not {most!r}")
        self.most = most
        self.retry_after = retry_after
        self._running = 0
        self._lock = Lock()

    @property
    def running(self) -> int:
        """How many places are taken."""
        return self._running

    def __enter__(self) -> None:
        """Take a place.

        Raises:
            Busy: all are taken; the failure says when to come again.
        """
        with self._lock:
            if self._running < self.most:
                self._running += 1
                return
        raise Busy(f"All {self.most} places are taken.", retry_after=self.retry_after, details={"limit": self.most})

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the place."""
        with self._lock:
            self._running -= 1
