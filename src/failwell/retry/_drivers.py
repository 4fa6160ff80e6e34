"""`call` and `acall`: make a call, and make it again as the policy says."""

import dataclasses
from collections.abc import Awaitable, Callable
from functools import partial
from types import CoroutineType, SimpleNamespace
from typing import Any, TypeVar, cast

from failwell._json import is_object
from failwell.advice import Policy, check_policy
from failwell.codes import Outcome
from failwell.dialects._placement import RETRY_KEY
from failwell.errors import ToolFailure, mark_outcome
from failwell.event import Observer
from failwell.failure import Failure, with_graver_outcome
from failwell.reading.raw_result import meta_name
from failwell.reading.reader import attempts_below, read, returned_failure
from failwell.result import Err
from failwell.retry import _environment, _layers
from failwell.retry._engine import Effect, Finish, Run, Try, Wait, asettle, settle
from failwell.retry._layers import Layer, is_retrying, sent_key
from failwell.retry._limits import Limits
from failwell.retry._time_limit import TimeLimit

T = TypeVar("T")


def with_attempts(result: T, attempts: int, outcome: Outcome) -> T:
    """Return a copy of a failed result that says how often it was tried and what came of all tries; others unchanged.

    The result is wire-shaped, an SDK's, a `Failure` or an `Err`.
    """
    try:
        if isinstance(result, Failure):
            return cast(T, with_graver_outcome(result, outcome))
        if isinstance(result, Err):
            return cast(T, Err(with_graver_outcome(result.failure, outcome)))
        return cast(T, _annotated(result, {"attempts": attempts, "outcome": outcome}))
    except Exception:  # an object that can't be copied
        return result


def _annotated(result: Any, retry: dict[str, Any]) -> Any:
    if is_object(result):
        if is_object(inner := result.get("result")) and "content" not in result:
            return {**result, "result": _annotated(inner, retry)}
        name = meta_name(result) or "_meta"
        return {**result, name: _with(result.get(name), retry)}
    return _annotated_object(result, retry)


def _annotated_object(given: object, retry: dict[str, Any]) -> Any:
    cls, result = type(given), cast(Any, given)
    if "meta" in getattr(cls, "model_fields", ()):
        return result.model_copy(update={"meta": _with(result.meta, retry)})
    if "meta" in getattr(cls, "__dataclass_fields__", ()):
        return dataclasses.replace(result, meta=_with(result.meta, retry))
    return result


def _with(meta: Any, retry: dict[str, Any]) -> dict[str, Any]:
    return {**(meta if is_object(meta) else {}), RETRY_KEY: retry}


_DEFAULT = Policy()
_TRY = Try()
_NEVER_A_FAILURE = frozenset((str, int, float, bool, bytes, list, tuple, type(None)))


def call(
    function: Callable[[], T],
    *,
    policy: Policy = _DEFAULT,
    server: str = "",
    tool: str = "",
    arguments: Any = None,
    hints: Any = None,
    shared: Limits | None = None,
    hook: Observer | None = None,
    clock: Callable[[], float] = _environment.clock,
    sleep: Callable[[float], object] = _environment.sleep,
    chance: Callable[[], float] = _environment.chance,
) -> T:
    """Call a function, retry it while that is worthwhile and safe, and return or raise the last result.

    A failure is an exception, or a result that says it is one. Inside another retried call nothing is retried.

    Args:
        function: makes the call, with its arguments bound.
        policy: how often and how long.
        server: whose budget a retry is paid from.
        tool: which tool it is.
        arguments: what it is called with, to notice the same call failing again and again.
        hints: the tool's annotations: whether it is read-only or idempotent.
        shared: budget, breaker and repeats, if not those of the process.
        hook: called with an `Event` after each try.
        clock: returns the time in seconds.
        sleep: waits.
        chance: returns a random number from 0 to 1.

    Raises:
        ToolFailure: the breaker of this tool is open, and the call was not made.
        Exception: what the last try raised.
        TypeError: the function is async.
        ValueError: the policy has a timeout, but nothing can stop a function that runs.
    """
    if is_retrying.get():
        return function()
    started = 0.0  # only a deadline and a hook need it, and reading the clock takes a tenth of a call's time
    if policy is not _DEFAULT or hints is not None:
        check_policy(policy)
        if hints is not None or policy.tools or policy.trust_read_verbs:
            policy, hints = policy.for_tool(tool), policy.hints(tool, hints)
        if policy.timeout is not None:
            raise ValueError(
                "call can't stop a function that runs: use acall, or give the function a timeout of its own"
            )
        started = 0.0 if policy.deadline is None else clock()
    shared = shared or _environment.current.shared
    marks = _layers.latest
    run = None  # until something fails, or failed lately, or there is a hook
    effect: Try | Wait | Finish = _TRY
    breakers, budgets, repeats, paces = shared.failure_state
    if hook is not None or breakers or budgets or repeats or paces:
        started = started or clock()
        run = _DrivenRun(policy, shared, server, tool, arguments, hints, hook, started, clock, chance, marks)
        effect = settle(run, run.begin(clock(), jitter=chance()))
    layer: Layer = ["under way"]
    is_retrying.set(layer)
    try:
        while True:
            if run is not None:
                while isinstance(effect, Wait):
                    sleep(effect.delay)
                    effect = settle(run, run.begin(clock(), jitter=chance()))
                if isinstance(effect, Finish):
                    return cast(T, run.end(effect))
            try:
                result = function()
                if run is None and type(result) in _NEVER_A_FAILURE:
                    if breakers or budgets or repeats or paces:  # something failed meanwhile, so that this counts
                        shared.succeeded((server, tool), arguments, clock(), paid=0.0)
                    return result
            except Exception as exc:
                if type(exc) is TypeError:
                    _check_function("call", function)
                run = run or _DrivenRun(
                    policy, shared, server, tool, arguments, hints, hook, started, clock, chance, marks, attempt=1
                )
                effect = settle(run, run.raised(exc))
                if isinstance(effect, Finish):
                    run.mark(exc)
                    raise
            except BaseException:
                if run is not None:
                    run.cancelled()
                raise
            else:
                run = run or _DrivenRun(
                    policy, shared, server, tool, arguments, hints, hook, started, clock, chance, marks, attempt=1
                )
                effect = settle(run, run.returned(result))
    finally:
        layer.clear()


async def acall(
    function: Callable[[], Awaitable[T]],
    *,
    policy: Policy = _DEFAULT,
    server: str = "",
    tool: str = "",
    arguments: Any = None,
    hints: Any = None,
    shared: Limits | None = None,
    hook: Observer | None = None,
    clock: Callable[[], float] = _environment.clock,
    sleep: Callable[[float], Awaitable[object]] = _environment.asleep,
    chance: Callable[[], float] = _environment.chance,
) -> T:
    """Do what `call` does for a function that returns an awaitable. Cancellation stops at once and is never retried.

    A try that takes longer than the policy's timeout, or goes past its deadline, is cancelled and raises `TimedOut`.
    """
    if is_retrying.get():
        return cast(T, await _made(function))
    limit = None
    started = 0.0  # only a deadline and a hook need it, and reading the clock takes a tenth of a call's time
    if policy is not _DEFAULT or hints is not None:
        check_policy(policy)
        if hints is not None or policy.tools or policy.trust_read_verbs:
            policy, hints = policy.for_tool(tool), policy.hints(tool, hints)
        if policy.timeout is not None or policy.deadline is not None:
            started = clock()
            limit = TimeLimit.of(policy, started=started, clock=clock)
    shared = shared or _environment.current.shared
    marks = _layers.latest
    run = None  # until something fails, or failed lately, or there is a hook
    effect: Try | Wait | Finish = _TRY
    breakers, budgets, repeats, paces = shared.failure_state
    if hook is not None or breakers or budgets or repeats or paces:
        started = started or clock()
        run = _DrivenRun(policy, shared, server, tool, arguments, hints, hook, started, clock, chance, marks)
        effect = await asettle(run, run.begin(clock(), jitter=chance()))
    layer: Layer = ["under way"]
    is_retrying.set(layer)
    try:
        while True:
            if run is not None:
                while isinstance(effect, Wait):
                    await sleep(effect.delay)
                    is_late = limit is not None and limit.left() <= 0
                    begun = run.expired(clock()) if is_late else run.begin(clock(), jitter=chance())
                    effect = await asettle(run, begun)
                if isinstance(effect, Finish):
                    return cast(T, run.end(effect))
            made = _NOT_MADE
            try:
                made = function() if limit is None else limit.run(partial(_made, function))
                result = await made
                if run is None and type(result) in _NEVER_A_FAILURE:
                    if breakers or budgets or repeats or paces:  # something failed meanwhile, so that this counts
                        shared.succeeded((server, tool), arguments, clock(), paid=0.0)
                    return result
            except Exception as exc:
                if type(exc) is TypeError:
                    _check_function("acall", function)
                    _awaitable(made, function)
                run = run or _DrivenRun(
                    policy, shared, server, tool, arguments, hints, hook, started, clock, chance, marks, attempt=1
                )
                effect = await asettle(run, run.raised(exc))
                if isinstance(effect, Finish):
                    run.mark(exc)
                    raise
            except BaseException:
                if run is not None:
                    run.cancelled()
                raise
            else:
                run = run or _DrivenRun(
                    policy, shared, server, tool, arguments, hints, hook, started, clock, chance, marks, attempt=1
                )
                effect = await asettle(run, run.returned(result))
    finally:
        layer.clear()


def _check_function(caller: str, function: object) -> None:
    """Raise what says best why a function could not be called, if it is none."""
    if callable(function):
        return
    if isinstance(function, CoroutineType):
        function.close()
        raise TypeError(
            f"{caller} takes a function, not a coroutine: pass {function.__name__}, not {function.__name__}()"
        )
    raise TypeError(f"{caller} takes a function, not {type(function).__name__}")


_NOT_MADE: Any = SimpleNamespace(__await__=None)


def _made(function: Callable[[], Any]) -> Any:
    return _awaitable(function(), function)


def _awaitable(made: Any, function: Callable[[], Any]) -> Any:
    """Return what a function gave to `acall`, if it can be awaited.

    Raises:
        TypeError: it cannot. It is raised as it is: the function has run.
    """
    if hasattr(made, "__await__"):
        return made
    name = getattr(function, "__qualname__", type(function).__name__)
    raise TypeError(
        f"acall takes an async function, and {name} returned {type(made).__name__}: use fw.call for a synchronous one"
    )


class _DrivenRun(Run, eq=False):
    """A run that takes the time itself, reads how its tries end, and keeps that for when no other can be made."""

    clock: Callable[[], float] = _environment.clock
    chance: Callable[[], float] = _environment.chance
    marks_before: int = 0
    is_failed: bool = False
    last_result: Any = None
    last_exception: Exception | None = None

    def raised(self, exc: Exception) -> Effect:
        """Return what to do after a try raised."""
        below = _layers.is_marked(exc, since=self.marks_before)
        self.last_exception, self.is_failed = exc, True
        return self._try_failed(read(exc), is_retried_below=below)

    def returned(self, result: Any) -> Effect:
        """Return what to do after a try returned."""
        self.last_result, self.last_exception = result, None
        failure = returned_failure(result) if type(result) not in _NEVER_A_FAILURE else None
        self.is_failed = failure is not None
        if failure is None:
            self._reject_coroutine(result)
            return self.succeeded(self.clock())
        return self._try_failed(failure, is_retried_below=attempts_below(result) > 1)

    def _try_failed(self, failure: Failure, *, is_retried_below: bool) -> Effect:
        now, jitter = self.clock(), self.chance()
        return self.failed(failure, now, jitter=jitter, retried_below=is_retried_below, key=sent_key())

    def end(self, finish: Finish) -> Any:
        """Return or raise how the last try ended, or raise the refusal of the breaker if there was none."""
        exc, self.last_exception = self.last_exception, None
        if self.attempt > 0 and exc is None:
            tried_again = self.is_failed and self.attempt > 1
            return with_attempts(self.last_result, self.attempt, self.gravest) if tried_again else self.last_result
        if exc is not None:
            self.mark(exc)
        try:
            raise ToolFailure(cast(Failure, finish.refusal)) if exc is None else exc
        finally:
            del exc  # which holds this frame

    def mark(self, exc: Exception) -> None:
        """Note on the exception of the last try that others came before it, if so, and what came of all of them."""
        self.last_exception = None
        if self.attempt == 1:
            return
        _layers.mark(exc)
        mark_outcome(exc, self.gravest)
        if isinstance(exc, ToolFailure):
            exc.failure = with_graver_outcome(exc.failure, self.gravest)

    def _reject_coroutine(self, result: object) -> None:
        if isinstance(result, CoroutineType):
            self.cancelled()
            result.close()
            raise TypeError("call got a coroutine: make calls of an async function with acall")
