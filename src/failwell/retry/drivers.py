"""`call` and `acall`: make a call, and make it again as the policy says."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast

from failwell.dialects import whole
from failwell.failure import Failure
from failwell.json_types import is_object
from failwell.reader import attempts_below, read, returned_failure
from failwell.retry.policy import Policy
from failwell.retry.run import Hook, Run, Shared
from failwell.tool_failure import ToolFailure

T = TypeVar("T")

_SHARED = Shared.new()
_DEFAULT = Policy()
_is_retrying: ContextVar[bool] = ContextVar("failwell_is_retrying", default=False)


def call(
    function: Callable[[], T],
    *,
    policy: Policy = _DEFAULT,
    server: str = "",
    tool: str = "",
    arguments: Any = None,
    hints: Any = None,
    shared: Shared | None = None,
    hook: Hook | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
    chance: Callable[[], float] = random.random,
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
        hook: told an `Event` after each try.
        clock: tells seconds.
        sleep: waits.
        chance: gives a number from 0 to 1.

    Raises:
        ToolFailure: the breaker of this tool is open, and the call was not made.
        Exception: what the last try raised.
    """
    if _is_retrying.get():
        return function()
    run = Run(
        policy,
        shared or _SHARED,
        server=server,
        tool=tool,
        arguments=arguments,
        hints=hints,
        hook=hook,
        started=clock(),
    )
    token = _is_retrying.set(True)
    try:
        last: _Attempt[T] | None = None
        while not (refusal := run.begin(clock())):
            last = _Attempt[T](run, clock, chance)
            with last:
                last.result = function()
            if last.delay is None:
                break
            sleep(last.delay)
        return _answer(last, refusal)
    finally:
        _is_retrying.reset(token)


async def acall(
    function: Callable[[], Awaitable[T]],
    *,
    policy: Policy = _DEFAULT,
    server: str = "",
    tool: str = "",
    arguments: Any = None,
    hints: Any = None,
    shared: Shared | None = None,
    hook: Hook | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """Do what `call` does for a function that returns an awaitable. Cancellation stops at once and is never retried."""
    if _is_retrying.get():
        return await function()
    run = Run(
        policy,
        shared or _SHARED,
        server=server,
        tool=tool,
        arguments=arguments,
        hints=hints,
        hook=hook,
        started=clock(),
    )
    token = _is_retrying.set(True)
    try:
        last: _Attempt[T] | None = None
        while not (refusal := run.begin(clock())):
            last = _Attempt[T](run, clock, chance)
            with last:
                last.result = await function()
            if last.delay is None:
                break
            await sleep(last.delay)
        return _answer(last, refusal)
    finally:
        _is_retrying.reset(token)


def _answer(last: "_Attempt[T] | None", refusal: Failure | None) -> T:
    if last is None:
        raise ToolFailure(refusal or Failure(message="nothing was tried"))
    return last.answer()


class _Attempt(Generic[T]):
    """One try: swallows an ordinary exception, learns from the run whether to wait, and keeps the answer."""

    __slots__ = ("chance", "clock", "delay", "exception", "result", "run")

    def __init__(self, run: Run, clock: Callable[[], float], chance: Callable[[], float]) -> None:
        self.run = run
        self.clock = clock
        self.chance = chance
        self.delay: float | None = None
        self.exception: Exception | None = None
        self.result = cast(T, None)

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> bool:
        if exc is not None and not isinstance(exc, Exception):
            self.run.cancelled()
            return False
        self.exception = exc
        failure: Failure | None = returned_failure(self.result) if exc is None else read(exc)
        if failure is None:
            self.run.succeeded(self.clock())
        else:
            below = exc is None and attempts_below(self.result) > 1
            self.delay = self.run.failed(failure, self.clock(), jitter=self.chance(), retried_below=below).delay
        return True

    def answer(self) -> T:
        """Return or raise how the last try ended; a wire-shaped failure says how often it was tried."""
        if self.exception is not None:
            raise self.exception
        result: Any = self.result
        if self.run.attempt > 1 and is_object(result) and result.get("isError") is True:
            meta: dict[str, Any] = result.get("_meta") or {}
            told = {**result, "_meta": {**meta, whole.RETRY_KEY: {"attempts": self.run.attempt}}}
            return cast(T, told)
        return self.result
