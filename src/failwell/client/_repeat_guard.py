"""`RepeatGuard`: which calls a model makes again and again although they failed."""

from collections import OrderedDict

from failwell.failure import Failure
from failwell.retry._limits import digest_of

_WINDOW = 60.0
_MOST_CALLS = 1000
_COUNTED = ("VALIDATION", "NOT_FOUND")


class RepeatGuard:
    """Counts calls that failed alike, by server, tool and arguments, within the last minute.

    It is false while there are none. Of arguments, which may be long or secret, it keeps a digest only.
    """

    def __init__(self) -> None:
        self._failed: OrderedDict[tuple[str, str, bytes, str], list[float]] = OrderedDict()

    def __bool__(self) -> bool:
        """Return whether any call failed lately."""
        return bool(self._failed)

    def failed(self, server: str, tool: str, *, arguments: object, failure: Failure, now: float) -> int:
        """Count a failure, and return how often the call failed like this within the last minute."""
        if failure.type not in _COUNTED:
            return 0
        key = (server, tool, digest_of(arguments), failure.type)
        times = [*self._recent(key, now), now]
        self._failed[key] = times[-_MOST_CALLS:]
        self._failed.move_to_end(key)
        if len(self._failed) > _MOST_CALLS:
            self._failed.popitem(last=False)
        return len(times)

    def rejections(self, server: str, tool: str, *, arguments: object, now: float) -> int:
        """Return how often a call was refused because of its arguments within the last minute."""
        key = (server, tool, digest_of(arguments), "VALIDATION")
        recent = self._recent(key, now)
        if not recent:
            self._failed.pop(key, None)
        return len(recent)

    def forget(self, server: str) -> None:
        """Forget the calls of a server: something changed there, and they may succeed now."""
        for key in [key for key in self._failed if key[0] == server]:
            del self._failed[key]

    def _recent(self, key: tuple[str, str, bytes, str], now: float) -> list[float]:
        return [time for time in self._failed.get(key, ()) if now - time < _WINDOW]
