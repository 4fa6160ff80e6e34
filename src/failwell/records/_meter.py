"""`Meter`: how often each tool was called, how often it failed, and how long it took."""

from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from failwell.codes import Type
from failwell.event import Event


class Usage(Struct, frozen=True):
    """What a meter counted for one tool."""

    calls: int = 0
    failures: dict[Type, int] = {}
    seconds: float = 0.0
    slowest: float = 0.0

    @property
    def failed(self) -> int:
        """How many calls failed, whatever the type."""
        return sum(self.failures.values())


class Meter:
    """Counts calls, failures by type and duration per tool, from any number of threads.

    It is an observer for servers, and a hook for agents: `guard(observers=[meter])`, `install(hook=meter)`.
    """

    def __init__(self) -> None:
        self._usages: dict[str, Usage] = {}
        self._lock = Lock()

    def __call__(self, event: Event) -> None:
        """Count a call, if the event ends one."""
        if not event.ends_call:
            return
        seconds = event.elapsed or 0.0
        with self._lock:
            before = self._usages.get(event.tool, Usage())
            failures: dict[Type, int] = before.failures
            if event.has_failed and event.failure is not None:
                type: Type = event.failure.type
                failures = {**failures, type: failures.get(type, 0) + 1}
            self._usages[event.tool] = Usage(
                before.calls + 1, failures, before.seconds + seconds, max(before.slowest, seconds)
            )

    def snapshot(self) -> dict[str, Usage]:
        """Return the counts so far, by tool."""
        with self._lock:
            return {tool: replace(usage) for tool, usage in self._usages.items()}

    def reset(self) -> dict[str, Usage]:
        """Return the counts so far, and reset them."""
        with self._lock:
            usages, self._usages = self._usages, {}
        return usages
