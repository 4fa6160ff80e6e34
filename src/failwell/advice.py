"""`decide`: what to do about a failure, and why; `Hints`: what is known of the tool; `Policy`: how often to try."""

import threading
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from failwell import codes
from failwell.errors import ToolFailure
from failwell.failure import Failure, FieldProblem

Action = Literal["retry", "fix_input", "use", "wait", "escalate", "verify", "stop"]

_MOST_ATTEMPTS = 3
_FIRST_DELAY = 1.0
_LONGEST_DELAY = 20.0
_KNOWN_NO_EFFECT = ("not_executed", "rejected")


class Hints(Struct, frozen=True, kw_only=True):
    """What is known of the tool: may it run twice without harm?

    The defaults are those of the MCP specification, which promise nothing.
    """

    read_only: bool = False
    idempotent: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether running the tool again cannot do harm."""
        return self.read_only or self.idempotent

    @classmethod
    def of(cls, hints: Any) -> "Hints":
        """Return hints from themselves, from a tool's annotations (object or dict), or from nothing."""
        if isinstance(hints, Hints):
            return hints
        said: dict[str, Any] = hints or {}
        if not isinstance(said, dict):
            if isinstance(hints, str | int | float):
                raise TypeError(f"hints are a tool's annotations, not {hints!r}")
            said = hints.model_dump(by_alias=True) if hasattr(hints, "model_dump") else vars(hints)
        return cls(
            read_only=said.get("readOnlyHint") is True or said.get("read_only") is True,
            idempotent=said.get("idempotentHint") is True or said.get("idempotent") is True,
        )


class Decision(Struct, frozen=True, kw_only=True):
    """One next step, and why.

    `delay` goes with retry and wait, `fields` with fix_input, `actions` with use. `suggestion` is the server's word,
    or else the catalog's if it says the same as `action`.
    """

    action: Action
    reason: str
    delay: float | None = None
    fields: tuple[FieldProblem, ...] = ()
    actions: tuple[str, ...] = ()
    suggestion: str | None = None


def decide(failure: Failure | ToolFailure, hints: Any = None, *, attempt: int = 1) -> Decision:
    """Return the next step after failed *attempt* of a tool with these hints. Pure: no clock, no chance."""
    if isinstance(failure, ToolFailure):
        failure = failure.failure
    if not isinstance(failure, Failure):
        raise TypeError(f"decide takes a Failure or a ToolFailure, not {type(failure).__name__}; read it first")
    decision = _decide(failure, Hints.of(hints), attempt)
    row = codes.get(failure.code)
    advice = row.suggestion if row else None
    suggestion = failure.suggestion or advice
    if row and suggestion == advice and not _agrees(decision.action, _usual_action(row.code)):
        return decision
    return replace(decision, suggestion=suggestion)


@lru_cache(maxsize=512)
def _usual_action(code: str) -> Action:
    """Return the step after a first failure of which only the code is known: the one that the catalog advises."""
    return _decide(Failure(code=code, message=code), Hints(), 1).action


def _agrees(action: Action, usual: Action) -> bool:
    # What names another tool contradicts no advice; what is to be looked at first is not to be done again at once.
    return action == "use" or (action != "verify" and (action == usual or (action, usual) == ("retry", "verify")))


def _decide(failure: Failure, hints: Hints, attempt: int) -> Decision:
    if failure.severity == "critical":
        return Decision(action="escalate", reason="The failure is critical: a person must know.")
    if failure.severity == "warning":
        if failure.actions:
            return Decision(action="use", reason="A warning: switch over when you can.", actions=failure.actions)
        return Decision(action="stop", reason="A warning: nothing has to be done about this call.")
    if failure.outcome == "executed":
        return Decision(action="stop", reason="The call took effect although it failed: running it again repeats it.")
    if failure.retryable:
        return _retry(failure, hints, attempt)
    if failure.retryable is None and failure.type in ("INTERNAL", "TRANSIENT"):
        if hints.repeatable:
            return _retry(failure, hints, attempt)
        return Decision(action="stop", reason="Nobody knows what failed, and the tool may not be safe to run twice.")
    return _by_type(failure, attempt)


def _retry(failure: Failure, hints: Hints, attempt: int) -> Decision:
    if attempt >= _MOST_ATTEMPTS:
        return Decision(action="stop", reason=f"It failed {attempt} times: another try is unlikely to help.")
    no_effect = failure.outcome in _KNOWN_NO_EFFECT and failure.origin != "inferred"
    if not (no_effect or hints.repeatable):
        reason = "Nobody knows whether it took effect, and the tool may not be safe to run twice: look first."
        return Decision(action="verify", reason=reason, actions=failure.actions)
    if failure.retry_after is not None:
        return Decision(action="retry", reason="The server asked to wait this long.", delay=failure.retry_after)
    delay = min(_FIRST_DELAY * 2.0 ** (attempt - 1), _LONGEST_DELAY)
    why = "it had no effect" if no_effect else "the tool is safe to run twice"
    return Decision(action="retry", reason=f"It may pass, and {why}.", delay=delay)


def _by_type(failure: Failure, attempt: int) -> Decision:
    match failure.type:
        case "VALIDATION" if failure.recoverable and attempt == 1:
            return Decision(
                action="fix_input",
                reason="The input is wrong: correct it and call once more.",
                fields=failure.fields,
                actions=failure.actions,
            )
        case "VALIDATION" if failure.recoverable:
            return Decision(action="stop", reason="The input is wrong although it was corrected once.")
        case "PERMISSION":
            return Decision(action="escalate", reason="Only a person can grant this.")
        case "NOT_FOUND" | "CONFLICT" if failure.actions:
            return Decision(action="use", reason="The server names what helps.", actions=failure.actions)
        case "NOT_FOUND":
            return Decision(action="stop", reason="It does not exist: leave it out or look for another.")
        case "CONFLICT" if failure.recoverable:
            return Decision(action="wait", reason=_conflict_reason(failure), delay=failure.retry_after)
        case _:
            return Decision(action="stop", reason="The same call cannot succeed.")


def _conflict_reason(failure: Failure) -> str:
    if failure.details.get("conflicts"):
        return "Somebody holds it: ask the holders named in the details, or wait."
    return "The present state stands against it: wait until it changes."


_THROTTLED = frozenset(("RATE_LIMITED", "SERVER_BUSY", "OVERLOADED", "RESOURCE_EXHAUSTED"))
_MOST_ATTEMPTS_IF_UNKNOWN = 3
_MAY_PASS_IF_UNKNOWN = ("INTERNAL", "TRANSIENT")
_NO_HINTS = Hints()


def is_throttled(failure: Failure) -> bool:
    """Return whether the server said that it has too much to do."""
    return failure.code in _THROTTLED


class Verdict(Struct, frozen=True):
    """Wait so many seconds and try again, or stop; and why.

    A verdict to stop because the wait is too long keeps the whole of it in `asked`.
    """

    delay: float | None
    reason: str
    asked: float | None = None


class Policy(Struct, frozen=True, kw_only=True):
    """How often and how long to try. Immutable: share one between tasks and threads.

    Delays grow from *base* (from *throttled_base* where the server is overloaded) to *longest*, and chance picks one up
    to that. A delay that the server asks for is never shortened: beyond *max_wait*, or past the *deadline* of the whole
    call, there is no further try. With *repeatable* the caller vouches that running a tool twice does no harm.

    Raises:
        ValueError: a number makes no sense.
        TypeError: it is not a number.
    """

    attempts: int = 3
    base: float = 0.05
    throttled_base: float = 1.0
    longest: float = 20.0
    max_wait: float = 120.0
    deadline: float | None = None
    repeatable: bool = False

    def __post_init__(self) -> None:
        if type(self.attempts) is not int:
            raise TypeError(f"attempts must be a whole number, not {self.attempts!r}")
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {self.attempts!r}")
        for name in ("base", "throttled_base", "longest", "max_wait", "deadline"):
            value = getattr(self, name)
            if value is None and name == "deadline":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number of seconds, not {value!r}")
            if not value >= 0:
                raise ValueError(f"{name} must be a number of seconds, not {value!r}")
        if type(self.repeatable) is not bool:
            raise TypeError(f"repeatable must be True or False, not {self.repeatable!r}")

    def verdict(
        self, failure: Failure, *, attempt: int, jitter: float, hints: Hints | None = None, elapsed: float = 0.0
    ) -> Verdict:
        """Return what to do after failed *attempt*, *elapsed* seconds into the call; *jitter* is from 0 to 1."""
        if reason := self._reason_to_stop(failure, attempt, hints or _NO_HINTS):
            return Verdict(None, reason, failure.retry_after)
        delay = self._delay(failure, attempt, jitter)
        longest = min(self.max_wait, threading.TIMEOUT_MAX)  # more cannot be slept
        if delay > longest:
            return Verdict(None, f"waiting {delay:g} s is more than the {longest:g} s that are waited", delay)
        if self.deadline is not None and elapsed + delay > self.deadline:
            return Verdict(None, f"waiting {delay:g} s would pass the deadline", delay)
        return Verdict(delay, "it may pass, and trying again is safe")

    def next_delay(
        self, failure: Failure, *, attempt: int, jitter: float, hints: Hints | None = None, elapsed: float = 0.0
    ) -> float | None:
        """Return seconds to wait after failed *attempt*, or None to stop."""
        return self.verdict(failure, attempt=attempt, jitter=jitter, hints=hints, elapsed=elapsed).delay

    def _reason_to_stop(self, failure: Failure, attempt: int, hints: Hints) -> str | None:
        is_repeatable = self.repeatable or hints.repeatable
        if failure.retryable is False:
            return "the same call cannot succeed"
        if failure.severity == "critical":
            return "the failure is critical: a person must know"
        if failure.severity == "warning" or failure.outcome == "executed":
            return "the call took effect"
        if (failure.outcome == "unknown" or failure.origin == "inferred") and not is_repeatable:
            return "nobody knows whether it took effect, and the tool may not be safe to run twice"
        if failure.retryable is None:
            if not is_repeatable:
                return "nobody knows whether it may pass, and the tool may not be safe to run twice"
            if failure.type not in _MAY_PASS_IF_UNKNOWN:
                return "nobody says that the same call may succeed later"
        most = self.attempts if failure.retryable else min(self.attempts, _MOST_ATTEMPTS_IF_UNKNOWN)
        return f"it failed {attempt} times" if attempt >= most else None

    def _delay(self, failure: Failure, attempt: int, jitter: float) -> float:
        base = self.throttled_base if is_throttled(failure) else self.base
        backoff = jitter * min(base * 2.0 ** min(attempt - 1, 60), self.longest)
        return max(backoff, failure.retry_after or 0.0)
