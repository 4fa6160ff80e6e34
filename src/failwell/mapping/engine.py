"""From any exception to a `Failure`: the exception itself, what it carries, then what it was raised from.

1. A `ToolFailure`, also as the explicit cause, speaks for itself: its failure, unchanged.
2. Rules of users, then of our tables for third-party classes, the nearest class along the MRO first.
3. For classes of unknown libraries: status, SQLSTATE, code or delay among their attributes.
4. The standard library's rules, and for unknown classes the words of their names: a guess, which a surer verdict of
   the same type from the cause replaces.
5. `__cause__`, else `__context__`, and again from 1.
6. Nothing known: INTERNAL_ERROR, and nobody can say whether another try helps.
"""

import logging
from collections.abc import Iterator
from typing import Any

from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.mapping.general import by_attributes
from failwell.mapping.rules import Rule, Rules, Verdict, peek, plan_of
from failwell.mapping.verdicts import failure_from, unmapped

__all__ = ["Rule", "Rules", "Verdict", "from_exception"]

_MOST_HOPS = 8
_MOST_LEAVES = 50
_log = logging.getLogger("failwell")

# Raised while another exception was handled, these are mistakes in the handler, not another name for what it handled.
_MISTAKES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, IndexError, MemoryError, NameError,
    NotImplementedError, RecursionError, SyntaxError, TypeError,
)  # fmt: skip

# Of several failures at once, the one that stands longest in the way decides.
_STANDING = ("TRANSIENT", "CONFLICT", "NOT_FOUND", "VALIDATION", "PERMISSION", "INTERNAL")
# Guesses that a surer verdict of the same type does not improve: a lost connection says less than a rate limit.
_TELLING_GUESSES = frozenset(
    {"RATE_LIMITED", "OVERLOADED", "SERVER_BUSY", "CIRCUIT_OPEN", "LOCK_TIMEOUT", "QUOTA_EXHAUSTED"}
)
_OUTCOMES = ("not_executed", "rejected", "executed", "unknown")


def from_exception(exc: BaseException) -> Failure:
    """Return what an exception means to the agent. Never raises, and no text of the exception gets into the failure.

    The outcome is that of the operation that failed, not of the whole tool call. `CancelledError`, `KeyboardInterrupt`
    and the like are not failures of a tool: let them through. If one is passed all the same, nothing is read into it
    and the answer is INTERNAL_ERROR.
    """
    try:
        return _walk(exc, 0)
    except Exception:
        _log.exception("failwell could not map an exception")
        return unmapped()


def _walk(exc: BaseException | None, depth: int) -> Failure:
    if (declared := _declared(exc)) is not None:
        return declared
    guess: Failure | None = None
    besides: Failure | None = None
    seen: set[int] = set()
    while exc is not None and len(seen) < _MOST_HOPS and id(exc) not in seen:
        seen.add(id(exc))
        if issubclass(type(exc), BaseExceptionGroup):
            leaves = list(_leaves(exc, 0))
            if len(leaves) > 1:
                return _together(leaves, depth)
            exc = leaves[0] if leaves else None
            continue
        found, is_sure = _judged(exc)
        if isinstance(found, BaseException):
            besides = besides or _besides(exc)
            exc = found
            continue
        if found is not None and is_sure:
            return found if guess is None or _is_surpassed(guess, found) else guess
        guess = guess or found
        exc = _raised_from(exc)
    return guess or besides or unmapped()


def _declared(exc: BaseException | None) -> Failure | None:
    for _ in range(_MOST_HOPS):
        if exc is None:
            return None
        if issubclass(type(exc), ToolFailure):
            failure = peek(exc, "failure")
            return failure if isinstance(failure, Failure) else None
        exc = _exception(peek(exc, "__cause__"))
    return None


def _judged(exc: BaseException) -> tuple[Failure | BaseException | None, bool]:
    """Return what the exception's own class and attributes say, and whether that is sure."""
    if issubclass(type(exc), ToolFailure):
        return _declared(exc), True
    if not issubclass(type(exc), Exception):
        return None, False
    plan = plan_of(type(exc))
    for rule in plan.users:
        if (found := _by_users_rule(rule, exc)) is not None:
            return found, True
    for rule in plan.libraries:
        if (found := _by_rule(rule, exc)) is not None:
            return found, True
    if plan.is_foreign and (found := _by_rule(by_attributes, exc)) is not None:
        return found, True
    return _by_standard(plan.standard, exc)


def _besides(exc: BaseException) -> Failure | None:
    """Return what a class says where the exception that its rule points to says nothing."""
    plan = plan_of(type(exc))
    rules = (*plan.libraries, *(rule for rule, _ in plan.standard))
    codes: list[str | dict[str, Any] | None] = [peek(rule, "otherwise") if callable(rule) else rule for rule in rules]
    found = next((code for code in codes if code), None)
    return None if found is None else failure_from(found).replace(outcome="unknown")


def _by_standard(
    rules: tuple[tuple[Rule, bool], ...], exc: BaseException
) -> tuple[Failure | BaseException | None, bool]:
    guess: Failure | None = None
    for rule, is_guess in rules:
        if is_guess and guess is not None:
            continue
        found = _by_rule(rule, exc)
        if isinstance(found, Failure) and is_guess:
            guess = found
        elif isinstance(found, Failure) and guess is not None and not _is_surpassed(guess, found):
            return guess, False
        elif found is not None:
            return found, True
    return guess, False


def _is_surpassed(guess: Failure, sure: Failure) -> bool:
    return guess.type == sure.type and guess.code not in _TELLING_GUESSES


def _by_users_rule(rule: Rule, exc: BaseException) -> Failure | BaseException | None:
    try:
        return _settled(rule(exc) if callable(rule) else rule)
    except Exception:
        _log.exception("a rule for %s failed; the built-in rules decide", type(exc).__name__)
        return None


def _by_rule(rule: Rule, exc: BaseException) -> Failure | BaseException | None:
    try:
        return _settled(rule(exc) if callable(rule) else rule)
    except Exception:  # an exception whose attributes are not what its library makes them: another rule may know it
        _log.debug("the rule for %s does not fit it", type(exc).__name__, exc_info=True)
        return None


def _settled(verdict: Verdict) -> Failure | BaseException | None:
    if verdict is None or isinstance(verdict, Failure | BaseException):
        return verdict
    return failure_from(verdict)


def _raised_from(exc: BaseException) -> BaseException | None:
    cause = _exception(peek(exc, "__cause__"))
    if cause is not None:
        return cause
    if peek(exc, "__suppress_context__") or issubclass(type(exc), _MISTAKES):
        return None
    return _exception(peek(exc, "__context__"))


def _leaves(exc: Any, depth: int) -> Iterator[BaseException]:
    """Yield what a group holds, groups in it opened; mere cancellations only if there is nothing else."""
    found = list(_opened(exc, depth))
    ordinary = [leaf for leaf in found if issubclass(type(leaf), Exception)]
    yield from (ordinary or found)[:_MOST_LEAVES]


def _opened(exc: Any, depth: int) -> Iterator[BaseException]:
    inside: tuple[Any, ...] = tuple(peek(exc, "exceptions") or ())
    for inner in inside[:_MOST_LEAVES]:
        if not issubclass(type(inner), BaseExceptionGroup):
            yield inner
        elif depth < _MOST_HOPS:
            yield from _opened(inner, depth + 1)


def _together(leaves: list[BaseException], depth: int) -> Failure:
    if depth >= _MOST_HOPS:
        return unmapped()
    failures = [_walk(leaf, depth + 1) for leaf in leaves]
    worst = max(failures, key=lambda failure: _STANDING.index(failure.type))
    outcome = max((failure.outcome for failure in failures), key=_OUTCOMES.index)
    delays = [failure.retry_after for failure in failures if failure.retry_after is not None]
    return worst.replace(outcome=outcome, retry_after=max(delays, default=None))


def _exception(value: object) -> BaseException | None:
    return value if issubclass(type(value), BaseException) else None  # type: ignore[return-value]  # as checked
