"""`Breaker`: calls to a tool that keeps failing are not made for a while."""

from threading import Lock

from msgspec import Struct

from failwell.errors import Temporary
from failwell.failure import Failure

Key = tuple[str, str]


class _State(Struct):
    failures: list[float]
    opened: float | None = None
    is_probing: bool = False


class Breaker:
    """Opens for a tool after *most* failures within *window* seconds, for *pause* seconds; then one call probes.

    Only failures that may pass, and those of which nobody knows whether they took effect, count.
    """

    def __init__(self, *, most: int = 5, window: float = 60.0, pause: float = 30.0) -> None:
        if most < 1:
            raise ValueError(f"a breaker opens after at least one failure, not {most!r}")
        self.most = most
        self.window = window
        self.pause = pause
        self._states: dict[Key, _State] = {}
        self._lock = Lock()

    def refusal(self, key: Key, now: float) -> Failure | None:
        """Return the failure to answer with instead of making the call, or None to make it."""
        if key not in self._states:
            return None
        with self._lock:
            state = self._states.get(key)
            if state is None or state.opened is None:
                return None
            left = state.opened + self.pause - now
            if left <= 0 and not state.is_probing:
                state.is_probing = True
                return None
        server, tool = key
        return Temporary(
            f"Calls of {tool} are suspended after {self.most} failures.",
            code="CIRCUIT_OPEN",
            suggestion="Wait, then make the same call again.",
            retry_after=max(left, 0.0) or self.pause,
            outcome="not_executed",
            tool=tool,
            details={"tool": tool, "server": server, "failures": self.most},
        ).failure

    def failed(self, key: Key, failure: Failure, now: float) -> None:
        """Count a failed call."""
        if failure.type != "TRANSIENT" and failure.outcome != "unknown":
            self._answered(key)
            return
        with self._lock:
            state = self._states.setdefault(key, _State([]))
            if state.is_probing:
                state.opened, state.is_probing = now, False
                return
            recent = [at for at in state.failures if at > now - self.window]
            state.failures = [*recent[-self.most :], now]
            if len(state.failures) >= self.most and state.opened is None:
                state.opened = now

    def succeeded(self, key: Key) -> None:
        """Close it: the tool works."""
        self._answered(key)

    def released(self, key: Key) -> None:
        """Let another call probe: the one that did was cancelled."""
        if key in self._states:
            with self._lock:
                if (state := self._states.get(key)) is not None:
                    state.is_probing = False

    def _answered(self, key: Key) -> None:
        if key in self._states:
            with self._lock:
                self._states.pop(key, None)
