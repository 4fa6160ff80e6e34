"""Calls through retry engines beside each other: what a success costs, and one retry, sync and async; nobody sleeps."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any
from unittest import mock

import redress
import stamina
import tenacity
from google.api_core.retry import AsyncRetry, Retry, if_exception_type
from redress.strategies import decorrelated_jitter

import failwell as fw
from bench.measure import Figure, compare, compare_async
from failwell.retry import Shared

OTHERS = ("tenacity", "stamina", "redress", "google-api-core")
TRANSIENT = if_exception_type(ConnectionError)
OURS: dict[str, Any] = {"server": "s", "tool": "t", "arguments": {"a": 1}}


class Flaky:
    """Fails every second time, in a way that every engine takes for worth another try."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        if self.made % 2:
            raise ConnectionRefusedError
        return "ok"


class FlakyLater(Flaky):
    """The same for those who wait for it."""

    async def __call__(self) -> str:  # type: ignore[override]  # the same, awaited
        return Flaky.__call__(self)


def ok() -> str:
    return "ok"


async def ok_later() -> str:
    return "ok"


_under_way: ContextVar[bool] = ContextVar("_under_way", default=False)


async def by_hand(function: Callable[[], Awaitable[str]]) -> str:
    """Make a call as the least of all engines would that knows whether another one is under way."""
    if _under_way.get():
        return await function()
    token = _under_way.set(True)
    try:
        return await function()
    finally:
        _under_way.reset(token)


def no_sleep(_seconds: float) -> None: ...


async def no_sleep_later(_seconds: float) -> None: ...


def sync_calls(function: Callable[[], str]) -> dict[str, Callable[[], Any]]:
    """Return the call through each engine."""
    policy = redress.RetryPolicy(classifier=redress.default_classifier, strategy=decorrelated_jitter(max_s=1.0))
    return {
        "failwell": functools.partial(fw.call, function, **OURS, shared=Shared.new(), sleep=no_sleep),
        "google-api-core": Retry(predicate=TRANSIENT)(function),
        "redress": functools.partial(policy.call, function),
        "tenacity": tenacity.retry(stop=tenacity.stop_after_attempt(3))(function),
        "stamina": stamina.retry(on=ConnectionError, attempts=3)(function),
    }


def async_calls(function: Callable[[], Awaitable[str]]) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return the awaited call through each engine."""
    policy = redress.AsyncRetryPolicy(classifier=redress.default_classifier, strategy=decorrelated_jitter(max_s=1.0))

    async def function_itself() -> str:  # these two ask whether they get an async function
        return await function()

    return {
        "failwell": functools.partial(fw.acall, function, **OURS, shared=Shared.new(), sleep=no_sleep_later),
        "google-api-core": AsyncRetry(predicate=TRANSIENT)(function),
        "redress": functools.partial(policy.call, function),
        "tenacity": tenacity.retry(stop=tenacity.stop_after_attempt(3))(function_itself),
        "stamina": stamina.retry(on=ConnectionError, attempts=3)(function_itself),
    }


def run() -> Iterator[Figure]:
    """Measure successes, then calls that fail once; nobody sleeps meanwhile."""
    stamina.instrumentation.set_on_retry_hooks([])
    with mock.patch("time.sleep", no_sleep), mock.patch("asyncio.sleep", no_sleep_later):
        yield from _sync()
        yield from asyncio.run(_async())
    stamina.instrumentation.set_on_retry_hooks(None)


def _sync() -> Iterator[Figure]:
    yield compare("retries", "call, success", sync_calls(ok)["failwell"], "bare call", ok)
    for name in OTHERS:
        calls = sync_calls(ok)
        yield compare("retries", "call, success", calls["failwell"], name, calls[name])
    for name in OTHERS:
        flaky = Flaky()
        calls = sync_calls(flaky)
        yield compare("retries", "call, one retry", calls["failwell"], name, calls[name], number=500)
        _check(flaky)


async def _async() -> list[Figure]:
    ours = async_calls(ok_later)["failwell"]
    found = [await compare_async("retries", "acall, success", ours, "bare call", ok_later, number=1000, rounds=15)]
    for name in OTHERS:
        calls = async_calls(ok_later)
        mine, theirs = calls["failwell"], calls[name]
        floor = functools.partial(by_hand, ok_later)
        found.append(
            await compare_async("retries", "acall, success", mine, name, theirs, floor=floor, number=1000, rounds=15)
        )
    for name in OTHERS:
        flaky = FlakyLater()
        calls = async_calls(flaky)
        mine, theirs = calls["failwell"], calls[name]
        found.append(await compare_async("retries", "acall, one retry", mine, name, theirs, number=500, rounds=15))
        _check(flaky)
    return found


def _check(flaky: Flaky) -> None:
    """Make sure that each call was made twice: nobody gave up, nobody tried more."""
    if flaky.made % 2:
        raise RuntimeError("an engine made a call more or less often than twice")
