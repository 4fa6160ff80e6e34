"""`decide`: what to do about a failure, and why; `Hints`: what is known about a tool; `Policy`, `Tool`: how to call it.

This is the one answer to "may this call be made again, and what should be done?". The retry engine follows it, and
every sentence that we write about a next step is worded from it.
"""

import threading
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from failwell import codes
from failwell._lazy import lazy_pattern
from failwell.codes import TYPES, Action
from failwell.errors import ToolFailure
from failwell.failure import Failure, FieldProblem, KeywordStruct, amended, in_seconds, is_certain, names_correction

CONFIDENT = 0.7
"""What was inferred from text with less confidence than this is not stated as a fact."""

_MOST_ATTEMPTS_IF_UNKNOWN = 3
_THROTTLED = frozenset(("RATE_LIMITED", "SERVER_BUSY", "OVERLOADED", "RESOURCE_EXHAUSTED"))
_MAY_PASS_IF_UNKNOWN = ("INTERNAL", "TRANSIENT")
_NO_EFFECT = ("not_executed", "rejected")
_NEEDS_RECOVERABLE = ("fix_input", "wait", "use")
_TRIES_OF_TIMED_CONFLICT = 2
_NEEDS_MORE_THAN_TIME = frozenset(("PRECONDITION_FAILED", "CONCURRENT_MODIFICATION", "NOT_EMPTY", "USER_CANCELLED"))

# The sentences for a model, by action, where the code's own sentence words another action. A closed table without
# values: a reader knows them for ours, and words its own verdict instead of repeating them.
_SENTENCES: dict[str, str] = {
    "retry": "Wait, then make the same call again.",
    "retry, no effect": "The call had no effect. Wait, then call again.",
    "retry, inferred": "The call probably had no effect. Wait, then call again.",
    "retry, safe tool": "This call is safe to repeat. Wait, then call again.",
    "fix_input": "Correct the input, then call again.",
    "fix_input, effect possible": (
        "The call may have taken effect. If this tool changes anything, check before calling it with corrected input."
    ),
    "use": "Use one of the names listed in the error.",
    "use, effect possible": "The call may have taken effect. If this tool changes anything, check before going on.",
    "wait": "Wait until this has changed, then call again.",
    "wait, delay": "Wait as long as the error says, then make the same call again.",
    "escalate": "Do not repeat this call. Tell the user.",
    "verify": "The call may have taken effect. If this tool changes anything, check before calling it again.",
    "stop": "Do not repeat this call.",
    "stop, later": "Do not repeat this call now. It may succeed later.",
    "stop, effect possible": "Do not repeat this call. It may have taken effect.",
    "stop, executed": "The call took effect. Do not repeat it.",
}


class Hints(Struct, frozen=True, kw_only=True, metaclass=KeywordStruct):
    """What is known about a tool, above all whether it is safe to run twice.

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
        if hints is None:
            return NO_HINTS
        stated = _annotations(hints)
        read_only = stated.get("readOnlyHint") is True or stated.get("read_only") is True
        return _HINTS[read_only, stated.get("idempotentHint") is True or stated.get("idempotent") is True]


_HINTS = {(one, other): Hints(read_only=one, idempotent=other) for one in (False, True) for other in (False, True)}
NO_HINTS = _HINTS[False, False]


def _annotations(hints: Any) -> dict[str, Any]:
    annotations: dict[str, Any] = hints or {}
    if not isinstance(annotations, dict):
        if isinstance(hints, str | int | float):
            raise TypeError(f"hints are a tool's annotations, not {hints!r}")
        annotations = hints.model_dump(by_alias=True) if hasattr(hints, "model_dump") else vars(hints)
    return annotations


_PROMISES = ("readOnlyHint", "destructiveHint", "idempotentHint", "read_only", "idempotent")


def has_promises(hints: Any) -> bool:
    """Return whether the annotations state anything about a tool's effects; `Hints` always do."""
    if isinstance(hints, Hints):
        return True
    stated = _annotations(hints)
    return any(stated.get(name) is not None for name in _PROMISES)


def is_rate_limit(failure: Failure) -> bool:
    """Return whether the server said that it gets too many calls: it works, and takes more of them later."""
    return failure.code in ("RATE_LIMITED", "SERVER_BUSY")


def is_throttled(failure: Failure) -> bool:
    """Return whether the server said that it has too much to do."""
    return failure.code in _THROTTLED


def is_timed_conflict(failure: Failure) -> bool:
    """Return whether something stands against a call only for the time that the server states.

    If the error names who holds it or what helps, there is something better to do than to wait.
    """
    if failure.type != "CONFLICT" or failure.retry_after is None or not failure.recoverable:
        return False
    row = codes.get(failure.code)
    is_waited_for = row is None or row.action in (None, "wait")
    has_remedy = failure.actions or failure.details.get("conflicts") or any(map(names_correction, failure.fields))
    return is_waited_for and not has_remedy and failure.code not in _NEEDS_MORE_THAN_TIME


class Tool(Struct, frozen=True, kw_only=True, metaclass=KeywordStruct):
    """What the caller knows about a tool, and how to call it. None leaves it to the policy, or to the server.

    *read_only* and *idempotent* override the server: True vouches that running the tool twice does no harm, False
    revokes what the server promises. The rest is as in `Policy`.

    Raises:
        ValueError: a number is out of range.
        TypeError: it is not a number.
    """

    read_only: bool | None = None
    idempotent: bool | None = None
    attempts: int | None = None
    timeout: float | None = None
    deadline: float | None = None
    max_wait: float | None = None
    trust_inferred: bool | None = None

    def __post_init__(self) -> None:
        given = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        _check_figures(given)


_SECONDS = ("base", "throttled_base", "longest", "max_wait", "deadline", "timeout")
_SWITCHES = ("repeatable", "trust_inferred", "trust_read_verbs", "verify", "read_only", "idempotent")


def _check_figures(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if name == "attempts":
            if type(value) is not int:
                raise TypeError(f"attempts must be a whole number, not {value!r}")
            if value < 1:
                raise ValueError(f"attempts must be at least 1, not {value!r}")
        elif name in _SECONDS:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number of seconds, not {value!r}")
            if not value >= 0 or (name == "timeout" and not value):
                raise ValueError(f"{name} must be a number of seconds, not {value!r}")
        elif name in _SWITCHES and type(value) is not bool:
            raise TypeError(f"{name} must be True or False, not {value!r}")


class Policy(Struct, frozen=True, kw_only=True, metaclass=KeywordStruct):
    """How often and how long to try. Immutable: share one between tasks and threads.

    A try that takes longer than *timeout* seconds is cancelled, and its outcome is unknown; progress restarts that
    time. All tries and waits together end by the *deadline*. Time spent waiting for the user doesn't count. Delays
    grow from *base* (from *throttled_base* where the server is overloaded) to *longest*, and each is a random part
    of that. A delay that the server asks for is never shortened: beyond *max_wait*, or past the *deadline* of the
    whole call, there is no further try. With *repeatable* the caller vouches that running a tool twice does no
    harm. With *trust_inferred* an outcome that was only read from a server's words ("connection refused") counts as
    known. With *trust_read_verbs* a tool without annotations whose name begins with get, list, search, read or
    describe, counts as read-only. With *verify* the read-only tool that a server names for it is asked whether a
    call took effect, if that is unknown.

    *tools* has what differs for some tools: a `Tool` by name or by pattern (`"pay_*"`). Where several fit, each field
    comes from the most specific one that gives it: a name before a pattern, then the pattern with more letters.

    Raises:
        ValueError: a number is out of range.
        TypeError: it is not a number.
    """

    attempts: int = 3
    base: float = 0.05
    throttled_base: float = 1.0
    longest: float = 20.0
    max_wait: float = 120.0
    timeout: float | None = None
    deadline: float | None = None
    repeatable: bool = False
    trust_inferred: bool = False
    trust_read_verbs: bool = False
    verify: bool = False
    tools: Mapping[str, Tool] = {}

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        _check_figures({name: value for name, value in given.items() if value is not None or name not in _OPTIONAL})
        if not isinstance(self.tools, Mapping):
            raise TypeError(f"tools must be a dict of Tool by name, not {self.tools!r}")
        for name, tool in self.tools.items():
            if not isinstance(name, str) or not isinstance(tool, Tool):
                raise TypeError(f"tools must be a dict of Tool by name, not one with {name!r}: {tool!r}")
        force_setattr(self, "tools", dict(self.tools))  # another dict than the caller's, which may change

    def tool(self, name: str) -> Tool:
        """Return what the policy says about a tool; of several matching entries, the most specific one counts."""
        stated: dict[str, Any] = {}
        for tool in matching(self.tools, name):
            stated |= {field: value for field, value in _fields(tool).items() if value is not None}
        return Tool(**stated)

    def for_tool(self, name: str) -> "Policy":
        """Return the policy for the calls of one tool."""
        if not self.tools:
            return self
        own = self.tool(name)
        stated = {field: value for field, value in _fields(own).items() if value is not None}
        if own.read_only is False and not own.idempotent:
            stated["repeatable"] = False
        return replace(self, **{field: value for field, value in stated.items() if field in self.__struct_fields__})

    def hints(self, tool: str, annotations: Any = None) -> Hints:
        """Return what is known about a tool: from the policy, else from its annotations.

        A tool without annotations counts as read-only if its name says so and names are trusted. Give `Hints` where it
        is not known whether there are annotations.
        """
        hints = Hints.of(annotations)
        if self.trust_read_verbs and is_read_verb(tool) and not has_promises(annotations):
            hints = Hints(read_only=True, idempotent=hints.idempotent)
        if not self.tools:
            return hints
        own = self.tool(tool)
        return Hints(
            read_only=hints.read_only if own.read_only is None else own.read_only,
            idempotent=hints.idempotent if own.idempotent is None else own.idempotent,
        )

    def delay(self, failure: Failure, *, attempt: int = 1, jitter: float = 1.0) -> float:
        """Return the seconds to wait before another try, however long that is."""
        base = self.throttled_base if is_throttled(failure) else self.base
        backoff = jitter * min(base * 2.0 ** min(attempt - 1, 60), self.longest)
        return max(backoff, failure.retry_after or 0.0)


_OPTIONAL = ("deadline", "timeout")
_WILD = lazy_pattern(r"\[[^]]*\]|[*?]")
T = TypeVar("T")


def matching(entries: Mapping[str, T], name: str) -> list[T]:
    """Return the entries whose name or pattern fits, the most specific one last: a name, then more letters."""
    fitting = [pattern for pattern in entries if pattern == name or fnmatchcase(name, pattern)]
    fitting.sort(key=lambda pattern: (pattern == name, len(_WILD.sub("", pattern))))
    return [entries[pattern] for pattern in fitting]


def _fields(tool: Tool) -> dict[str, Any]:
    return {name: getattr(tool, name) for name in tool.__struct_fields__}


# A name is looked at word by word, after the namespace that a host puts in front of it.
_NAMESPACE = lazy_pattern(r"^.*(?:[./:]|__)(?=\w)")
_WORDS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_READ_VERBS = frozenset(("get", "list", "search", "read", "describe"))
# What else a name may say: get_or_create, search_and_replace, get_new_address.
_NOT_ONLY_READ = frozenset(
    (
        "ack", "acknowledge", "add", "and", "apply", "buy", "cancel", "claim", "clear", "commit", "consume",
        "create", "delete", "dequeue", "drop", "execute", "generate", "insert", "lock", "mark", "new", "next", "or",
        "patch", "pay", "pop", "publish", "purge", "put", "remove", "replace", "reserve", "reset", "rotate", "run",
        "save", "send", "set", "start", "stop", "store", "submit", "take", "then", "trigger", "unlock", "update",
        "upsert", "write",
    )
)  # fmt: skip


def is_read_verb(tool: str) -> bool:
    """Return whether the name of a tool begins with a verb that only reads, and has no word that says more."""
    words = [word.lower() for word in _WORDS.findall(_NAMESPACE.sub("", tool[:200]))]
    return bool(words) and words[0] in _READ_VERBS and _NOT_ONLY_READ.isdisjoint(words)


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


def check_policy(policy: object) -> None:
    """Raise a `TypeError` for what was passed in place of a policy."""
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a Policy, not {type(policy).__name__}")


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
    decision = _decide(failure, attempt, policy, elapsed, jitter, is_safe=is_safe)
    own = failure.suggestion
    if own is None or is_our_sentence(own):
        own = _sentence(failure, decision, is_safe=is_safe)
    return replace(decision, suggestion=own)


def _decide(
    failure: Failure, attempt: int, policy: Policy, elapsed: float = 0.0, jitter: float = 1.0, *, is_safe: bool
) -> Decision:
    """Return the next step and why, not yet in words."""
    return (
        _by_severity(failure)
        or _by_retry(failure, attempt, policy, elapsed, jitter, is_safe=is_safe)
        or _by_stated_delay(failure, attempt, policy, elapsed, jitter, is_safe=is_safe)
        or _by_correction(failure, may_have_effect=not is_safe and failure.outcome not in _NO_EFFECT)
    )


def durable_delay(failure: Failure, decision: Decision) -> float | None:
    """Return the seconds before another try for an engine that survives a crash; None if there is none.

    It may wait for as long as the server asks, also where that is too long for a process.
    """
    is_postponed = decision.action == "wait" and failure.retryable is True
    return decision.delay if decision.action == "retry" or is_postponed else None


def _by_severity(failure: Failure) -> Decision | None:
    if failure.severity == "critical":
        return Decision(action="escalate", reason="The failure is critical. A person must be told.")
    if failure.outcome == "executed" and failure.severity != "warning":
        return Decision(action="stop", reason="The call failed but took effect. Another call would repeat the effect.")
    if failure.severity == "warning":
        if failure.actions and failure.outcome != "executed":
            return Decision(action="use", reason="It is a warning. Switch over when you can.", actions=failure.actions)
        return Decision(action="stop", reason="It is a warning. Nothing else is needed for this call.")
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
        reason = "It is unknown whether another try helps, and the tool may not be safe to run twice."
        return Decision(action="stop", reason=reason)
    most = policy.attempts if failure.retryable else min(policy.attempts, _MOST_ATTEMPTS_IF_UNKNOWN)
    if attempt >= most:
        times = "once" if attempt == 1 else f"{attempt} times"
        return Decision(action="stop", reason=f"It failed {times}. There are no tries left.")
    if not _may_repeat(failure, policy, is_safe=is_safe):
        reason = "It is unknown whether the call took effect, and the tool may not be safe to run twice."
        return Decision(action="verify", reason=reason, actions=failure.actions)
    delay = policy.delay(failure, attempt=attempt, jitter=jitter)
    longest = _longest_wait(policy)
    if delay > longest:
        reason = f"Waiting {in_seconds(delay)} is longer than the {in_seconds(longest)} that the policy allows."
        return Decision(action="wait", reason=reason, delay=delay)
    if policy.deadline is not None and elapsed + delay > policy.deadline:
        return Decision(action="wait", reason=f"Waiting {in_seconds(delay)} would pass the deadline.", delay=delay)
    if failure.code == "CIRCUIT_OPEN":  # the delay is ours: no server asked for it
        reason = "Calls to this tool are suspended for this long after repeated failures. This one was not sent."
        return Decision(action="retry", reason=reason, delay=delay)
    if failure.retry_after is not None and delay == failure.retry_after:
        return Decision(action="retry", reason="The server asked to wait this long.", delay=delay)
    why = "the tool is safe to run twice" if is_safe else "the call had no effect"
    return Decision(action="retry", reason=f"It may succeed later, and {why}.", delay=delay)


def _may_repeat(failure: Failure, policy: Policy, *, is_safe: bool) -> bool:
    """Return whether the call may be made again without doing anything twice."""
    return is_safe or (failure.outcome in _NO_EFFECT and (is_certain(failure) or policy.trust_inferred))


def _by_stated_delay(
    failure: Failure, attempt: int, policy: Policy, elapsed: float, jitter: float, *, is_safe: bool
) -> Decision | None:
    """Return that a conflict is waited out, once, if the server states how long it lasts and a repeat is safe."""
    if attempt >= min(policy.attempts, _TRIES_OF_TIMED_CONFLICT) or not is_timed_conflict(failure):
        return None
    delay = policy.delay(failure, attempt=attempt, jitter=jitter)
    is_too_long = delay > _longest_wait(policy) or (policy.deadline is not None and elapsed + delay > policy.deadline)
    if is_too_long or not _may_repeat(failure, policy, is_safe=is_safe):
        return None
    return Decision(action="retry", reason="The server states how long the conflict lasts.", delay=delay)


def _longest_wait(policy: Policy) -> float:
    return min(policy.max_wait, threading.TIMEOUT_MAX)  # nobody can sleep longer


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
    action = (row.action if row is not None else None) or TYPES[failure.type].action
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
            return "Someone else holds it. Ask the holders named in the details, or wait."
        case "wait":
            return "The current state does not allow it. Wait until that changes."
        case "escalate":
            return "Only a person can grant this."
        case "verify":
            return "It is unknown whether the call took effect, and the tool may not be safe to run twice."
        case _:
            return "It does not exist." if failure.type == "NOT_FOUND" else "The same call cannot succeed."


def _sentence(failure: Failure, decision: Decision, *, is_safe: bool) -> str:
    """Return our sentence for a decision: the code's own where it words that action, else the action's."""
    action = decision.action
    may_have_effect = not is_safe and failure.outcome not in _NO_EFFECT
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
    may_pass = failure.retryable or (failure.retryable is None and own is None)
    if action == "stop" and may_pass and failure.severity is None:
        return _SENTENCES["stop, later"]  # the tries are used up, and nothing says that it fails for ever
    return own or _SENTENCES[action]


def is_guess(failure: Failure) -> bool:
    """Return whether a failure was read from text with too little confidence to state anything of it as a fact."""
    return (failure.confidence or 0.0) < CONFIDENT and not is_certain(failure)


def is_our_sentence(text: str) -> bool:
    """Return whether a suggestion is one of ours, which says nothing that the failure does not say itself."""
    return text in _OURS or any(row.suggestion == text for row in codes.rows())


_OURS = frozenset(_SENTENCES.values()) | {row.suggestion for row in codes.rows()}


def stated_by(sentence: str) -> dict[str, Any]:
    """Return the fields of a failure that one of our sentences states, for a reader that has nothing but the text."""
    name = next((name for name, text in _SENTENCES.items() if text == sentence), None)
    name = name or next((row.action for row in codes.rows() if row.suggestion == sentence and row.action), "")
    action, _, why = name.partition(", ")
    is_final = action in ("stop", "escalate") and why != "later"
    stated: dict[str, Any] = {"retryable": False} if is_final else {}
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
    sentence = None
    if not is_guess(failure):
        is_safe = policy.repeatable or Hints.of(hints).repeatable
        decision = _decide(failure, attempt, policy, is_safe=is_safe)
        if _earns_its_tokens(failure, decision, is_safe=is_safe):
            sentence = _sentence(failure, decision, is_safe=is_safe)
    return failure if sentence == failure.suggestion else amended(failure, suggestion=sentence)


def _earns_its_tokens(failure: Failure, decision: Decision, *, is_safe: bool) -> bool:
    """Return whether a sentence says more than a model reads from the message, the fields and the delay anyway."""
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
