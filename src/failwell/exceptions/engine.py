"""Turn any exception into a `Failure`: look at the exception itself, what it carries, and what it was raised from.

1. A `ToolFailure`, also as the explicit cause, speaks for itself: its failure, unchanged.
2. Rules of users for classes below which we have none, then what a client answered to a request of the tool, then our
   tables for third-party classes, the nearest class along the MRO first.
3. For classes of unknown libraries: status, SQLSTATE, code or delay among their attributes.
4. The standard library's rules, and for unknown classes the words of their names: a guess, which a surer verdict of
   the same type from the cause replaces.
5. `__cause__`, else an exception that it holds, else `__context__`, and again from 1.
6. The words of an unknown library, if they are about its service and not about an input.
7. Nothing known: INTERNAL_ERROR, and nobody can say whether another try helps.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from failwell._log import log
from failwell.errors import ToolFailure, with_marked_outcome
from failwell.exceptions.arguments import (
    Arguments,
    is_about_arguments,
    is_parsed_by_library,
    is_validation_of_arguments,
)
from failwell.exceptions.attributes import by_attributes, by_words, wrapped_in
from failwell.exceptions.clients import by_answer, by_client_request
from failwell.exceptions.rules import Plan, Rule, Scope, Verdict, peek, plan_of
from failwell.failure import Failure
from failwell.phrases.meanings import failure_from, unmapped

_MOST_HOPS = 8
_MOST_LEAVES = 50

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
_PROMISES = (False, None, True)  # what `retryable` promises, the least first
_MOST_SAID = 5


# What a parser or a check inside the tool's body says of its input, whosever that was. A service that refuses an
# argument got it from the tool, and says more.
_BLAMING = frozenset(("PARSE_ERROR", "ENCODING_ERROR", "INVALID_URL"))
_BLAMING_IN_STANDARD = _BLAMING | {"INVALID_ARGUMENT"}


class MappingContext(NamedTuple):
    """What is known beside an exception: what the tool was called with, and the rules of the server."""

    called_with: Any = None
    scope: Scope | None = None

    @property
    def arguments(self) -> Arguments:
        """The arguments, to compare an exception with: few are."""
        return Arguments.of(self.called_with)


def from_exception(exc: BaseException, *, arguments: Any = None) -> Failure:
    """Return what an exception means to the agent. No text of the exception gets into the failure.

    The outcome is that of the operation that failed, not of the whole tool call. `CancelledError`,
    `KeyboardInterrupt` and the like are not failures of a tool: let them through. If you pass one anyway, the
    answer is INTERNAL_ERROR.

    Args:
        exc: the exception.
        arguments: what the tool was called with. If they are given, a parser's exception is about the input only if
            what it could not parse is one of them; else the tool is at fault.

    Raises:
        TypeError: *exc* is not an exception; an exception class is not one either.
    """
    if not issubclass(type(exc), BaseException):
        example = f", such as {exc.__name__}()" if isinstance(exc, type) else ""
        raise TypeError(f"from_exception takes an exception{example}, not {type(exc).__name__}")
    return map_exception(exc, arguments, None)


def map_exception(exc: BaseException, arguments: Any, scope: Scope | None) -> Failure:
    """Return what `from_exception` does, by the rules of a server first."""
    try:
        return with_marked_outcome(_follow(exc, 0, MappingContext(arguments, scope)), exc)
    except Exception:
        log.exception("failwell could not map an exception")
        return unmapped()


def after_several_tries(last: BaseException) -> Failure:
    """Return the failure of the last of several tries; those before it may have failed in another way, and later."""
    return _after_several(from_exception(last))


def _after_several(failure: Failure) -> Failure:
    return failure.replace(outcome="unknown") if failure.outcome in ("not_executed", "rejected") else failure


def is_terminal(what: Failure | BaseException) -> bool:
    """Return whether the same call can never succeed: the server said so, or it follows from what failed."""
    if isinstance(what, BaseException) and not isinstance(what, ToolFailure):
        what = from_exception(what)
    if not isinstance(what, Failure | ToolFailure):
        raise TypeError(f"is_terminal takes a Failure or an exception, not {type(what).__name__}")
    return (what.failure if isinstance(what, ToolFailure) else what).retryable is False


def _follow(exc: BaseException | None, depth: int, context: MappingContext) -> Failure:
    if (declared := _declared(exc)) is not None:
        return declared
    guess: Failure | None = None
    fallback: Failure | None = None
    is_last_try = False
    seen: dict[int, BaseException] = {}
    while exc is not None and len(seen) < _MOST_HOPS and id(exc) not in seen:
        seen[id(exc)] = exc
        if issubclass(type(exc), BaseExceptionGroup):
            leaves = members_of(exc)
            if len(leaves) > 1:
                if depth >= _MOST_HOPS:
                    return unmapped()
                together = combined([_follow(one, depth + 1, context) for one in leaves])
                return _after_several(together) if is_last_try else together
            exc = leaves[0] if leaves else None
            continue
        found, is_sure = _own_verdict(exc, context)
        if isinstance(found, BaseException):
            fallback = fallback or _fallback(exc, context)
            exc = found
            continue
        if found is not None and is_sure:
            decided = found if guess is None or _is_refined(guess, found) else guess
            return _after_several(decided) if is_last_try else decided
        inner = _raised_from(exc)
        if found is not None or inner is not None:
            plan = plan_of(type(exc))
            if plan.is_guessed_by_base:
                fallback = fallback or found
            else:
                guess = guess or found
            is_last_try = is_last_try or plan.is_about_tries
        exc = inner
    return guess or fallback or _unmapped(seen.values())


def _unmapped(chain: Iterable[BaseException]) -> Failure:
    known = list(chain)
    verdicts = [_by_rule(by_answer, exc) for exc in known]
    verdicts += [_by_rule(by_words, exc) for exc in known if plan_of(type(exc)).is_foreign]
    return next((found for found in verdicts if isinstance(found, Failure)), unmapped())


def _declared(exc: BaseException | None) -> Failure | None:
    for _ in range(_MOST_HOPS):
        if exc is None:
            return None
        if issubclass(type(exc), ToolFailure):
            failure = peek(exc, "failure")
            return failure if isinstance(failure, Failure) else None
        cause = _exception(peek(exc, "__cause__"))
        if cause is None or _speaks_for_itself(exc):
            return None
        exc = cause
    return None


def _speaks_for_itself(exc: BaseException) -> bool:
    """Return whether an author raised an SDK's error for tools; its text, which is not read here, is what they said."""
    for rule in plan_of(type(exc)).libraries:
        verdict = _by_rule(rule, exc)
        if isinstance(verdict, Failure) and verdict.code == "TOOL_ERROR":
            return True
    return False


def _own_verdict(exc: BaseException, context: MappingContext) -> tuple[Failure | BaseException | None, bool]:
    """Return what the exception's own class and attributes say, and whether that is sure."""
    if issubclass(type(exc), ToolFailure):
        return _declared(exc), True
    if not issubclass(type(exc), Exception):
        return None, False
    plan = plan_of(type(exc), context.scope)
    for ours_below, theirs in plan.users:
        if any(_by_rule(rule, exc) is not None for rule in ours_below):
            break  # the nearest class decides
        for rule in theirs:
            if (found := _by_users_rule(rule, exc)) is not None:
                return found, True
    for rule in (by_client_request, *plan.libraries):
        if (found := _by_rule(rule, exc)) is not None:
            return _without_blame(found, exc, context, plan), True
    if plan.is_foreign and (found := _by_rule(by_attributes, exc)) is not None:
        return found, True
    found, is_sure = _by_standard(plan.standard, exc)
    return _without_blame(found, exc, context, plan), is_sure


def _without_blame(
    found: Failure | BaseException | None, exc: BaseException, context: MappingContext, plan: Plan
) -> Failure | BaseException | None:
    """Return what a rule found, unless it blames an input that the caller, as far as can be told, did not send."""
    if not isinstance(found, Failure):
        return found
    if context.called_with is None:
        return unmapped() if found.code in _BLAMING and is_parsed_by_library(exc) else found
    if found.code == "BAD_UPSTREAM_RESPONSE" and is_validation_of_arguments(exc, context.arguments):
        return failure_from("VALIDATION_FAILED")
    blaming = _BLAMING if plan.is_foreign else _BLAMING_IN_STANDARD
    if found.code not in blaming or found.http_status is not None:
        return found
    return found if is_about_arguments(exc, context.arguments) else unmapped()


def _fallback(exc: BaseException, context: MappingContext) -> Failure | None:
    """Return what a class says where the exception that its rule points to says nothing."""
    plan = plan_of(type(exc), context.scope)
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
        elif isinstance(found, Failure) and guess is not None and not _is_refined(guess, found):
            return guess, False
        elif found is not None:
            return found, True
    return guess, False


def _is_refined(guess: Failure, sure: Failure) -> bool:
    return guess.type == sure.type and guess.code not in _TELLING_GUESSES


def _by_users_rule(rule: Rule, exc: BaseException) -> Failure | BaseException | None:
    try:
        return _as_failure(rule(exc) if callable(rule) else rule)
    except Exception:
        log.exception("a rule for %s failed; the built-in rules decide", type(exc).__name__)
        return None


def _by_rule(rule: Rule, exc: BaseException) -> Failure | BaseException | None:
    try:
        return _as_failure(rule(exc) if callable(rule) else rule)
    except Exception:  # an exception whose attributes are not what its library makes them: another rule may know it
        log.debug("the rule for %s does not fit it", type(exc).__name__, exc_info=True)
        return None


def _as_failure(verdict: Verdict) -> Failure | BaseException | None:
    if verdict is None or isinstance(verdict, Failure | BaseException):
        return verdict
    return failure_from(verdict)


def _raised_from(exc: BaseException) -> BaseException | None:
    cause = _exception(peek(exc, "__cause__"))
    if cause is not None:
        return cause
    if issubclass(type(exc), _MISTAKES):
        return None
    held = wrapped_in(exc)
    if held is not None or peek(exc, "__suppress_context__"):
        return held
    return _exception(peek(exc, "__context__"))


def members_of(exc: BaseException) -> list[BaseException]:
    """Return what a group holds, groups in it opened, and any other exception alone.

    Mere cancellations are left out, unless there is nothing else.
    """
    if not issubclass(type(exc), BaseExceptionGroup):
        return [exc]
    found = list(_flattened(exc, 0))
    ordinary = [leaf for leaf in found if issubclass(type(leaf), Exception)]
    return (ordinary or found)[:_MOST_LEAVES]


def _flattened(exc: Any, depth: int) -> Iterator[BaseException]:
    inside: tuple[Any, ...] = tuple(peek(exc, "exceptions") or ())
    for inner in inside[:_MOST_LEAVES]:
        if not issubclass(type(inner), BaseExceptionGroup):
            yield inner
        elif depth < _MOST_HOPS:
            yield from _flattened(inner, depth + 1)


def combined(failures: Sequence[Failure]) -> Failure:
    """Return several failures of one call as one: what an author said goes first, and the least promise holds."""
    said = [failure for failure in failures if failure.origin != "mapped"]
    worst = max(said or failures, key=lambda failure: _STANDING.index(failure.type))
    outcome = max((failure.outcome for failure in failures), key=_OUTCOMES.index)
    delays = [failure.retry_after for failure in failures if failure.retry_after is not None]
    least = min((failure.retryable for failure in failures), key=_PROMISES.index)
    messages = dict.fromkeys([worst.message, *(failure.message for failure in said)])
    return worst.replace(
        message=" ".join(list(messages)[:_MOST_SAID]),
        outcome=outcome,
        retry_after=max(delays, default=None),
        retryable=least if worst.retryable else worst.retryable,
    )


def _exception(value: object) -> BaseException | None:
    return value if issubclass(type(value), BaseException) else None  # type: ignore[return-value]  # as checked
