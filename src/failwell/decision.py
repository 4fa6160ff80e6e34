"""`decide`: what an agent should do about a failure, with its reason in words."""

from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from failwell import catalog
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
    row = catalog.get(failure.code)
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


def is_terminal(what: Failure | BaseException) -> bool:
    """Return whether the same call can never succeed: the server said so, or it follows from what failed."""
    if isinstance(what, BaseException) and not isinstance(what, ToolFailure):
        from failwell.mapping import from_exception  # rule tables are loaded when they are needed

        what = from_exception(what)
    if not isinstance(what, Failure | ToolFailure):
        raise TypeError(f"is_terminal takes a Failure or an exception, not {type(what).__name__}")
    return (what.failure if isinstance(what, ToolFailure) else what).retryable is False


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
