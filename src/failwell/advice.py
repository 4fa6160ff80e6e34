"""`decide`: what to do about a failure, and why; `Hints`: what is known of the tool; `Policy`: how often to try.

This is the one answer to "may this call be made again, and what should be done?". The retry engine follows it, and
every sentence that we write about a next step is worded from it.
"""

import threading
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from failwell import codes
from failwell.codes import TYPES, Action
from failwell.errors import ToolFailure
from failwell.failure import Failure, FieldProblem, is_certain, names_correction

CONFIDENT = 0.7
"""What was inferred from text with less confidence than this is not stated as a fact."""

_MOST_ATTEMPTS_IF_UNKNOWN = 3
_THROTTLED = frozenset(("RATE_LIMITED", "SERVER_BUSY", "OVERLOADED", "RESOURCE_EXHAUSTED"))
_MAY_PASS_IF_UNKNOWN = ("INTERNAL", "TRANSIENT")
_NO_EFFECT = ("not_executed", "rejected")
_NEEDS_RECOVERABLE = ("fix_input", "wait", "use")

# The sentences for a model, by action, where the code's own sentence words another action. A closed table without
# values: a reader knows them for ours, and words its own verdict instead of repeating them.
_SENTENCES: dict[str, str] = {
    "retry": "Wait, then make the same call again.",
    "retry, no effect": "It had no effect: repeat it after a wait.",
    "retry, inferred": "It likely had no effect: repeat it after a wait.",
    "retry, safe tool": "Safe to repeat after a wait.",
    "fix_input": "Correct the input, then call again.",
    "fix_input, effect possible": "It may have taken effect: if it changes anything, check before you call again.",
    "use": "Use one of the names listed in the error.",
    "use, effect possible": "It may have taken effect: if it changes anything, check before you go on.",
    "wait": "Wait until this has changed, then call again.",
    "wait, delay": "Wait as long as the error says, then make the same call again.",
    "escalate": "Do not repeat this call. Tell the user.",
    "verify": "It may have taken effect: if it changes anything, check before you repeat it.",
    "stop": "Do not repeat this call.",
    "stop, effect possible": "Do not repeat it: it may have taken effect.",
    "stop, executed": "It took effect: do not repeat it.",
}


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


def is_throttled(failure: Failure) -> bool:
    """Return whether the server said that it has too much to do."""
    return failure.code in _THROTTLED


class Policy(Struct, frozen=True, kw_only=True):
    """How often and how long to try. Immutable: share one between tasks and threads.

    Delays grow from *base* (from *throttled_base* where the server is overloaded) to *longest*, and chance picks one up
    to that. A delay that the server asks for is never shortened: beyond *max_wait*, or past the *deadline* of the whole
    call, there is no further try. With *repeatable* the caller vouches that running a tool twice does no harm. With
    *trust_inferred* an outcome that was only read from a server's words ("connection refused") counts as known.

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
    trust_inferred: bool = False

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
        for name in ("repeatable", "trust_inferred"):
            if type(getattr(self, name)) is not bool:
                raise TypeError(f"{name} must be True or False, not {getattr(self, name)!r}")

    def delay(self, failure: Failure, *, attempt: int = 1, jitter: float = 1.0) -> float:
        """Return the seconds to wait before another try, however long that is."""
        base = self.throttled_base if is_throttled(failure) else self.base
        backoff = jitter * min(base * 2.0 ** min(attempt - 1, 60), self.longest)
        return max(backoff, failure.retry_after or 0.0)


_DEFAULT = Policy()
ADVICE = Policy(trust_inferred=True)
"""The policy that advice to a model is worded by: a person or a model judges before the call is made again."""


class Decision(Struct, frozen=True, kw_only=True):
    """One next step, and why.

    `delay` goes with retry and wait, `fields` with fix_input, `actions` with use and verify. `suggestion` is the next
    step in words: those of the failure's author, else ours.
    """

    action: Action
    reason: str
    delay: float | None = None
    fields: tuple[FieldProblem, ...] = ()
    actions: tuple[str, ...] = ()
    suggestion: str | None = None

    @property
    def retry_delay(self) -> float | None:
        """Seconds to wait before the same call is made again; None if it is not to be."""
        return self.delay if self.action == "retry" else None


def decide(
    failure: Failure | ToolFailure,
    hints: Any = None,
    *,
    attempt: int = 1,
    policy: Policy = _DEFAULT,
    elapsed: float = 0.0,
    jitter: float = 1.0,
) -> Decision:
    """Return what to do after failed *attempt*: retry, fix, use, wait, verify, escalate or stop, and why.

    It needs no clock and no randomness.

    Args:
        failure: what happened.
        hints: what is known of the tool: `Hints`, or the tool's annotations.
        attempt: how often this call has been made, unchanged.
        policy: how often and how long to try.
        elapsed: seconds since the first attempt began.
        jitter: how much of the longest delay to wait, from 0 to 1.
    """
    if isinstance(failure, ToolFailure):
        failure = failure.failure
    if not isinstance(failure, Failure):
        raise TypeError(f"decide takes a Failure or a ToolFailure, not {type(failure).__name__}; read it first")
    is_safe = policy.repeatable or Hints.of(hints).repeatable
    may_have_effect = not is_safe and failure.outcome not in _NO_EFFECT
    decision = (
        _by_severity(failure)
        or _by_retry(failure, attempt, policy, elapsed, jitter, is_safe=is_safe)
        or _by_correction(failure, may_have_effect=may_have_effect)
    )
    own = failure.suggestion
    if own is None or is_our_sentence(own):
        own = _sentence(failure, decision, may_have_effect=may_have_effect)
    return replace(decision, suggestion=own)


def _by_severity(failure: Failure) -> Decision | None:
    if failure.severity == "critical":
        return Decision(action="escalate", reason="The failure is critical: a person must know.")
    if failure.outcome == "executed":
        return Decision(action="stop", reason="The call took effect although it failed: another one repeats it.")
    if failure.severity == "warning":
        if failure.actions:
            return Decision(action="use", reason="It is a warning: switch over when you can.", actions=failure.actions)
        return Decision(action="stop", reason="It is a warning: this call needs nothing else.")
    return None


def _by_retry(
    failure: Failure,
    attempt: int,
    policy: Policy,
    elapsed: float,
    jitter: float,
    *,
    is_safe: bool,
) -> Decision | None:
    if failure.retryable is False or (failure.retryable is None and failure.type not in _MAY_PASS_IF_UNKNOWN):
        return None
    if failure.retryable is None and not is_safe:
        reason = "It is unknown what failed, and the tool may not be safe to run twice."
        return Decision(action="stop", reason=reason)
    most = policy.attempts if failure.retryable else min(policy.attempts, _MOST_ATTEMPTS_IF_UNKNOWN)
    if attempt >= most:
        times = "once" if attempt == 1 else f"{attempt} times"
        return Decision(action="stop", reason=f"It failed {times}: no further try is due.")
    is_known = failure.outcome in _NO_EFFECT and (is_certain(failure) or policy.trust_inferred)
    if not is_safe and not is_known:
        reason = "It is unknown whether the call took effect, and the tool may not be safe to run twice."
        return Decision(action="verify", reason=reason, actions=failure.actions)
    delay = policy.delay(failure, attempt=attempt, jitter=jitter)
    longest = min(policy.max_wait, threading.TIMEOUT_MAX)  # nobody can sleep longer
    if delay > longest:
        reason = f"Waiting {delay:g} s is longer than the {longest:g} s that the policy allows."
        return Decision(action="wait", reason=reason, delay=delay)
    if policy.deadline is not None and elapsed + delay > policy.deadline:
        return Decision(action="wait", reason=f"Waiting {delay:g} s would pass the deadline.", delay=delay)
    if failure.retry_after is not None and delay == failure.retry_after:
        return Decision(action="retry", reason="The server asked to wait this long.", delay=delay)
    why = "the tool is safe to run twice" if is_safe else "the call had no effect"
    return Decision(action="retry", reason=f"It may succeed later, and {why}.", delay=delay)


def _by_correction(failure: Failure, *, may_have_effect: bool) -> Decision:
    """Return what follows from the corrections that a failure names, then from its code, then from its type."""
    if failure.recoverable and any(names_correction(problem) for problem in failure.fields):
        return Decision(
            action="fix_input", reason="The error says which values are valid.", fields=failure.fields,
            actions=failure.actions,
        )  # fmt: skip
    if failure.actions:
        return Decision(action="use", reason="The error names what helps.", actions=failure.actions)
    row = codes.get(failure.code)
    action = row.action if row is not None and row.action is not None else TYPES[failure.type].action
    if action in _NEEDS_RECOVERABLE and not failure.recoverable:
        action = "stop"
    if action in ("wait", "retry", "verify"):
        # Without a possible effect there is nothing to find out, and what is not retryable is not tried again.
        action = "verify" if may_have_effect else "stop" if action != "wait" else action
    delay = failure.retry_after if action == "wait" else None
    fields = failure.fields if action == "fix_input" else ()
    return Decision(action=action, reason=_reason(failure, action), delay=delay, fields=fields)


def _reason(failure: Failure, action: Action) -> str:
    match action:
        case "fix_input":
            return "The input is wrong."
        case "wait" if failure.details.get("conflicts"):
            return "It is held by somebody else: ask the holders named in the details, or wait."
        case "wait":
            return "The current state does not allow it: wait until that changes."
        case "escalate":
            return "Only a person can grant this."
        case "verify":
            return "It is unknown whether the call took effect, and the tool may not be safe to run twice."
        case _:
            return "It does not exist." if failure.type == "NOT_FOUND" else "The same call cannot succeed."


def _sentence(failure: Failure, decision: Decision, *, may_have_effect: bool) -> str:
    """Return our sentence for a decision: the code's own where it words that action, else the action's."""
    action = decision.action
    row = codes.get(failure.code)
    own = row.suggestion if row and row.action == action else None
    if failure.outcome == "executed":
        is_worded = own is not None and row is not None and row.outcome == "executed"
        return own if own and is_worded else _SENTENCES["escalate" if action == "escalate" else "stop, executed"]
    if action == "retry":
        has_no_effect = failure.outcome in _NO_EFFECT
        evidence = "safe tool" if not has_no_effect else "no effect" if is_certain(failure) else "inferred"
        general = _SENTENCES[f"retry, {evidence}"]
        return own if own and own != _SENTENCES["retry"] else general
    if action == "wait" and failure.retryable and decision.delay is not None:
        return _SENTENCES["wait, delay"]
    if may_have_effect and failure.severity != "warning" and f"{action}, effect possible" in _SENTENCES:
        return _SENTENCES[f"{action}, effect possible"]
    return own or _SENTENCES[action]


def is_guess(failure: Failure) -> bool:
    """Return whether a failure was read from text with too little confidence to state anything of it as a fact."""
    return not is_certain(failure) and (failure.confidence or 0.0) < CONFIDENT


def is_our_sentence(text: str) -> bool:
    """Return whether a suggestion is one of ours, which says nothing that the failure does not say itself."""
    return text in _OURS or any(row.suggestion == text for row in codes.rows())


_OURS = frozenset(_SENTENCES.values()) | {row.suggestion for row in codes.rows()}


def stated_by(sentence: str) -> dict[str, Any]:
    """Return the fields of a failure that one of our sentences states, for a reader that has nothing but the text."""
    name = next((name for name, text in _SENTENCES.items() if text == sentence), None)
    name = name or next((row.action for row in codes.rows() if row.suggestion == sentence and row.action), "")
    action, _, why = name.partition(", ")
    stated: dict[str, Any] = {"retryable": False} if action in ("stop", "escalate") else {}
    if why == "executed":
        stated["outcome"] = "executed"
    elif why == "effect possible" or action == "verify":
        stated["outcome"] = "unknown"
    return stated


def advised(failure: Failure, hints: Any = None, *, attempt: int = 1, policy: Policy = ADVICE) -> Failure:
    """Return a failure with its next step in words for a model, unless its author gave one.

    Only what a model cannot see for itself is said: whether the call took effect and whether it may be repeated.
    Nothing is said of what was read from text without confidence.
    """
    if failure.suggestion is not None and not is_our_sentence(failure.suggestion):
        return failure
    decision = decide(failure, hints, attempt=attempt, policy=policy)
    is_safe = policy.repeatable or Hints.of(hints).repeatable
    sentence = decision.suggestion if _earns_its_tokens(failure, decision, is_safe=is_safe) else None
    return failure if sentence == failure.suggestion else replace(failure, suggestion=sentence)


def _earns_its_tokens(failure: Failure, decision: Decision, *, is_safe: bool) -> bool:
    """Return whether a sentence says more than a model reads from the message, the fields and the delay anyway."""
    if is_guess(failure):
        return False
    if failure.severity is not None:
        return failure.severity == "critical"
    if decision.action == "retry":
        return failure.retryable is True and failure.retry_after is None
    return not is_safe and failure.outcome not in _NO_EFFECT and not _is_widened(failure)


def _is_widened(failure: Failure) -> bool:
    """Return whether a guard widened the outcome of an operation that had no effect to that of the whole call.

    What happened before that operation is unknown, which is no reason to suspect anything: a warning after each refused
    connection would only be unlearnt.
    """
    is_widened = failure.origin == "mapped" or not is_certain(failure)
    return is_widened and codes.derive(failure.code, failure.type).outcome in _NO_EFFECT
