"""`Repeats`: the same call failing the same way again and again is not worth another try."""

from collections import OrderedDict
from threading import Lock
from typing import Any

from failwell.failure import Failure

_MOST_CALLS = 1000


class Repeats:
    """Counts how often the same tool, arguments and code failed in a row, across calls."""

    def __init__(self, *, most: int = 5) -> None:
        if most < 1:
            raise ValueError(f"a call may fail at least once, not {most!r}")
        self.most = most
        self._seen: OrderedDict[tuple[str, str, str], tuple[str, int]] = OrderedDict()
        self._lock = Lock()

    def failed(self, server: str, tool: str, arguments: Any, failure: Failure) -> bool:
        """Count a failed call and return whether it has failed like this too often."""
        key = (server, tool, _told(arguments))
        reason = failure.code or failure.type
        with self._lock:
            before, count = self._seen.get(key, (reason, 0))
            count = count + 1 if before == reason else 1
            self._seen[key] = (reason, count)
            self._seen.move_to_end(key)
            if len(self._seen) > _MOST_CALLS:
                self._seen.popitem(last=False)
        return count >= self.most

    def succeeded(self, server: str, tool: str, arguments: Any) -> None:
        """Forget the failures of a call that succeeded."""
        if self._seen:
            with self._lock:
                self._seen.pop((server, tool, _told(arguments)), None)


def _told(arguments: Any) -> str:
    try:
        return repr(arguments)
    except Exception:
        return f"<{id(arguments)}>"
