"""`call` and `acall`: make a call, and make it again as the policy says."""

import dataclasses
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any, TypeVar, cast

from failwell._json import is_object
from failwell.advice import Hints, Policy
from failwell.codes import Outcome
from failwell.dialects._placement import RETRY_KEY
from failwell.errors import ToolFailure, mark_outcome
from failwell.event import Observer
from failwell.failure import Failure, with_graver_outcome
from failwell.reading.raw_result import meta_name
from failwell.reading.reader import attempts_below, read, returned_failure
from failwell.result import Err
from failwell.retry import _environment, _layers
from failwell.retry._engine import Run
from failwell.retry._layers import is_retrying
from failwell.retry._limits import Limits

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
    """Call a function until it succeeds or another try is not worth it or not safe; return or raise its last answer.

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
    """
    if is_retrying.get():
        return function()
    if hints is not None:
        hints = Hints.of(hints)
    # Only a deadline and a hook need the start of a call, and reading the clock takes a tenth of its time.
    started = 0.0 if hook is None and policy.deadline is None else clock()
    shared = shared or _environment.current.shared
    settings = (policy, shared, server, tool, arguments, hints, hook, started, clock, chance, _layers.latest)
    run = None  # until something fails, or failed lately, or there is a hook
    breakers, budgets, repeats = shared.failure_state
    if hook is not None or breakers or budgets or repeats:
        run = _DrivenRun(*settings)
        run.begin_next()
    layer: list[str | Failure] = ["under way"]
    is_retrying.set(layer)
    try:
        while run is None or run.refusal is None:
            try:
                result = function()
                if run is None and type(result) in _NEVER_A_FAILURE:
                    return result
            except Exception as exc:
                run = run or _DrivenRun(*settings, attempt=1)
                delay = run.raised(exc)
                if delay is None:
                    raise
            except BaseException:
                if run is not None:
                    run.cancelled()
                raise
            else:
                run = run or _DrivenRun(*settings, attempt=1)
                delay = run.returned(result)
                if delay is None:
                    return cast(T, run.answer(result))
            sleep(delay)
            run.begin_next()
        return cast(T, run.refused())
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
    """Do what `call` does for a function that returns an awaitable. Cancellation stops at once and is never retried."""
    if is_retrying.get():
        return await function()
    if hints is not None:
        hints = Hints.of(hints)
    # Only a deadline and a hook need the start of a call, and reading the clock takes a tenth of its time.
    started = 0.0 if hook is None and policy.deadline is None else clock()
    shared = shared or _environment.current.shared
    settings = (policy, shared, server, tool, arguments, hints, hook, started, clock, chance, _layers.latest)
    run = None  # until something fails, or failed lately, or there is a hook
    breakers, budgets, repeats = shared.failure_state
    if hook is not None or breakers or budgets or repeats:
        run = _DrivenRun(*settings)
        await run.abegin_next()
    layer: list[str | Failure] = ["under way"]
    is_retrying.set(layer)
    try:
        while run is None or run.refusal is None:
            try:
                result = await function()
                if run is None and type(result) in _NEVER_A_FAILURE:
                    return result
            except Exception as exc:
                run = run or _DrivenRun(*settings, attempt=1)
                delay = await run.araised(exc)
                if delay is None:
                    raise
            except BaseException:
                if run is not None:
                    run.cancelled()
                raise
            else:
                run = run or _DrivenRun(*settings, attempt=1)
                delay = await run.areturned(result)
                if delay is None:
                    return cast(T, run.answer(result))
            await sleep(delay)
            await run.abegin_next()
        return cast(T, run.refused())
    finally:
        layer.clear()


class _DrivenRun(Run, eq=False):
    """A run that takes the time itself, reads how its attempts end, and keeps that for when no other can be made."""

    clock: Callable[[], float] = _environment.clock
    chance: Callable[[], float] = _environment.chance
    marks_before: int = 0
    is_failed: bool = False
    refusal: Failure | None = None
    last_result: Any = None
    last_exception: Exception | None = None

    def begin_next(self) -> None:
        """Begin the next attempt, unless a breaker is open."""
        self.refusal = self.begin(self.clock())

    async def abegin_next(self) -> None:
        """Do what `begin_next` does."""
        self.refusal = await self.abegin(self.clock())

    def raised(self, exc: Exception) -> float | None:
        """Return the seconds to wait after an attempt raised, or None to let it pass."""
        below = _layers.is_marked(exc, since=self.marks_before)
        decision = self.failed(read(exc), self.clock(), jitter=self.chance(), retried_below=below)
        return self._keep_exception(exc, decision.retry_delay)

    async def araised(self, exc: Exception) -> float | None:
        """Do what `raised` does."""
        below = _layers.is_marked(exc, since=self.marks_before)
        decision = await self.afailed(read(exc), self.clock(), jitter=self.chance(), retried_below=below)
        return self._keep_exception(exc, decision.retry_delay)

    def returned(self, result: Any) -> float | None:
        """Return the seconds to wait after an attempt returned, or None if that is the answer."""
        failure = self._failure_in(result)
        if failure is None:
            return None
        below = attempts_below(result) > 1
        return self.failed(failure, self.clock(), jitter=self.chance(), retried_below=below).retry_delay

    async def areturned(self, result: Any) -> float | None:
        """Do what `returned` does."""
        failure = self._failure_in(result)
        if failure is None:
            return None
        below = attempts_below(result) > 1
        return (await self.afailed(failure, self.clock(), jitter=self.chance(), retried_below=below)).retry_delay

    def answer(self, result: Any) -> Any:
        """Return the last result; a failure says how often it was tried."""
        return with_attempts(result, self.attempt, self.gravest) if self.is_failed and self.attempt > 1 else result

    def refused(self) -> Any:
        """Return or raise how the last attempt ended, or raise the refusal of the breaker if there was none."""
        exc, self.last_exception = self.last_exception, None
        if exc is None and self.is_failed:
            return self.answer(self.last_result)
        if exc is not None and self.attempt > 1:
            self._mark(exc)
        try:
            raise ToolFailure(cast(Failure, self.refusal)) if exc is None else exc
        finally:
            del exc  # which holds this frame

    def _keep_exception(self, exc: Exception, delay: float | None) -> float | None:
        if delay is not None:
            self.last_exception, self.is_failed = exc, True
        elif self.attempt > 1:
            self._mark(exc)
        return delay

    def _mark(self, exc: Exception) -> None:
        """Note on the exception of the last try that others came before it, and what came of all of them."""
        _layers.mark(exc)
        mark_outcome(exc, self.gravest)
        if isinstance(exc, ToolFailure):
            exc.failure = with_graver_outcome(exc.failure, self.gravest)

    def _failure_in(self, result: Any) -> Failure | None:
        """Return the failure that a result is, or note a success."""
        if type(result) not in _NEVER_A_FAILURE:
            if failure := returned_failure(result):
                self.last_result, self.last_exception, self.is_failed = result, None, True
                return failure
            self._reject_coroutine(result)
        self.succeeded(self.clock())
        if self.is_failed:
            self.last_exception, self.is_failed = None, False
        return None

    def _reject_coroutine(self, result: object) -> None:
        if isinstance(result, CoroutineType):
            self.cancelled()
            result.close()
            raise TypeError("call got a coroutine: make calls of an async function with acall")
