"""`call` and `acall` make a call as often, and wait as long, as `decide` says; what came of all tries is kept."""

import asyncio
import itertools
import json
import pickle
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import failwell as fw
from tests.agreement.cases import HINTS, OUTCOMES, POLICIES, Disagreements, failures, gravest
from tests.matrix import sdks

JITTER = 0.5
MOST_TRIES = 10  # more than any policy allows: an engine without an end is red too
Seen = Sequence[tuple[int, str, float | None, str | None, str]]
Deliver = Callable[[fw.Failure], Any]


class Run(NamedTuple):
    """How a call went: tries made, delays slept, how the hook saw each try, and how it ended."""

    made: int
    slept: list[float]
    events: Seen
    ended: Any


class Expected(NamedTuple):
    """How a call should go by what `decide` says attempt by attempt."""

    made: int
    slept: list[float]
    events: Seen
    outcome: str


def expected(tries: Sequence[fw.Failure], hints: fw.Hints, policy: fw.Policy) -> Expected:
    slept: list[float] = []
    events: list[tuple[int, str, float | None, str | None, str]] = []
    for attempt in itertools.count(1):
        failure = tries[min(attempt, len(tries)) - 1]
        outcome = gravest(one.outcome for one in (*tries[:attempt], failure))
        failure = failure.replace(outcome=outcome)
        decision = fw.decide(failure, hints, attempt=attempt, policy=policy, elapsed=sum(slept), jitter=JITTER)
        step = "retry" if decision.action == "retry" else "failure"
        events.append((attempt, step, decision.delay if step == "retry" else None, decision.reason, outcome))
        if decision.action != "retry":
            return Expected(attempt, slept, events, outcome)
        assert decision.delay is not None
        slept.append(decision.delay)
    raise AssertionError


class Driver:
    """Makes a call that fails in these ways, one after another, the last of them again and again."""

    def __init__(self, tries: Sequence[fw.Failure], deliver: Deliver) -> None:
        self.tries, self.deliver = tries, deliver
        self.made = 0
        self.slept: list[float] = []
        self.events: list[fw.retry.Event] = []

    def fail(self) -> Any:
        self.made += 1
        assert self.made <= MOST_TRIES
        return self.deliver(self.tries[min(self.made, len(self.tries)) - 1])

    async def afail(self) -> Any:
        return self.fail()

    async def asleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def settings(self, hints: Any, policy: fw.Policy) -> dict[str, Any]:
        return {
            "policy": policy,
            "hints": hints,
            "shared": fw.retry.Shared.new(),
            "hook": self.events.append,
            "clock": lambda: sum(self.slept),
            "chance": lambda: JITTER,
        }

    def run(self, ended: Any) -> Run:
        seen = [(e.attempt, e.kind, e.delay, e.reason, e.failure.outcome if e.failure else "") for e in self.events]
        return Run(self.made, self.slept, seen, ended)


def call(tries: Sequence[fw.Failure], deliver: Deliver, hints: Any, policy: fw.Policy) -> Run:
    driver = Driver(tries, deliver)
    try:
        ended = fw.call(driver.fail, sleep=driver.slept.append, **driver.settings(hints, policy))
    except Exception as exc:
        ended = exc
    return driver.run(ended)


async def acall(tries: Sequence[fw.Failure], deliver: Deliver, hints: Any, policy: fw.Policy) -> Run:
    driver = Driver(tries, deliver)
    try:
        ended = await fw.acall(driver.afail, sleep=driver.asleep, **driver.settings(hints, policy))
    except Exception as exc:
        ended = exc
    return driver.run(ended)


def raised(failure: fw.Failure) -> Any:
    raise fw.ToolFailure(failure)


def raised_from(failure: fw.Failure) -> Any:
    raise RuntimeError("it failed") from fw.ToolFailure(failure)


def raised_in_group(failure: fw.Failure) -> Any:
    raise ExceptionGroup("tasks", [fw.ToolFailure(failure)])


def whole_result(failure: fw.Failure) -> Any:
    return fw.encode(failure)


def plain_result(failure: fw.Failure) -> Any:
    """Return the result of a server that does not use failwell."""
    result = fw.encode(failure)
    del result["_meta"]
    return result


def pythonic_result(failure: fw.Failure) -> Any:
    """Return a result as frameworks dump an SDK's object."""
    result = fw.encode(failure)
    return {"content": result["content"], "is_error": True, "meta": result["_meta"]}


def structured_result(failure: fw.Failure) -> Any:
    return {"isError": True, "structuredContent": payload(failure)}


def payload(failure: fw.Failure) -> Any:
    return json.loads(fw.encode(failure)["content"][0]["text"])


def message(failure: fw.Failure) -> Any:
    return {"jsonrpc": "2.0", "id": 1, "result": plain_result(failure)}


def rpc_error(failure: fw.Failure) -> Any:
    return {"code": -32000, "message": failure.message, "data": payload(failure)}


def rpc_exception(failure: fw.Failure) -> Any:
    raise ForeignError(rpc_error(failure))


class ForeignError(Exception):
    """An error of a client's library that carries what the server answered, as those of the SDKs do."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = SimpleNamespace(**error)


DELIVERIES: dict[str, Deliver] = {
    "Failure": lambda failure: failure,
    "Err": fw.Err,
    "raised": raised,
    "raised from": raised_from,
    "raised in a group": raised_in_group,
    "result": whole_result,
    "result of a stranger": plain_result,
    "result in Python's spelling": pythonic_result,
    "structured result": structured_result,
    "result of an SDK": lambda failure: sdks.result(whole_result(failure)),
    "stranger's result of an SDK": lambda failure: sdks.result(plain_result(failure)),
    "JSON-RPC result": message,
    "JSON-RPC response without a version": lambda failure: {"id": 1, "result": plain_result(failure)},
    "JSON-RPC error": lambda failure: {"jsonrpc": "2.0", "id": 1, "error": rpc_error(failure)},
    "JSON-RPC error without a version": lambda failure: {"id": 1, "error": rpc_error(failure)},
    "bare JSON-RPC error": rpc_error,
    "JSON-RPC error as exception": rpc_exception,
}


def compare(found: Disagreements, run: Run, due: Expected, *where: Any) -> None:
    found.check(run.made == due.made, "calls made", *where, run.made, due.made)
    found.check(run.slept == due.slept, "delays slept", *where, run.slept, due.slept)
    found.check(run.events == due.events, "events", *where, run.events, due.events)
    ended = fw.read(run.ended)
    outcome = ended and ended.outcome
    found.check(outcome == due.outcome, "outcome of all tries", *where, outcome, due.outcome)


def test_call_makes_the_tries_that_decide_allows() -> None:
    found = Disagreements()
    for failure, (tool, hints), (name, policy) in itertools.product(failures(), HINTS.items(), POLICIES.items()):
        due = expected([failure], hints, policy)
        compare(found, call([failure], lambda failure: failure, hints, policy), due, tool, name, failure)

    found.assert_none()


@pytest.mark.slow
def test_acall_makes_the_tries_that_decide_allows() -> None:
    async def run() -> Disagreements:
        found = Disagreements()
        for failure, (tool, hints), (name, policy) in itertools.product(failures(), HINTS.items(), POLICIES.items()):
            due = expected([failure], hints, policy)
            compare(found, await acall([failure], fw.Err, hints, policy), due, tool, name, failure)
        return found

    asyncio.run(run()).assert_none()


SEQUENCES = [
    [fw.Failure(code=code, message="m", outcome=outcome) for code, outcome in zip(codes, outcomes, strict=True)]
    for codes in (["RATE_LIMITED"] * 3, ["DEADLOCK"] * 3, ["TOOL_ERROR"] * 3, ["TIMEOUT", "SERVER_BUSY", "FORBIDDEN"])
    for outcomes in itertools.product(OUTCOMES, repeat=3)
]


@pytest.mark.parametrize("way", DELIVERIES)
def test_the_outcome_of_all_tries_is_kept_however_they_fail(way: str) -> None:
    async def run() -> Disagreements:
        found, deliver = Disagreements(), DELIVERIES[way]
        for tries, (tool, hints) in itertools.product(SEQUENCES, HINTS.items()):
            due = expected(tries, hints, POLICIES["default"])
            told = [(one.code, one.outcome) for one in tries]
            compare(found, call(tries, deliver, hints, POLICIES["default"]), due, tool, told)
            arun = await acall(tries, deliver, hints, POLICIES["default"])
            compare(found, arun, due, "async", tool, told)
        return found

    asyncio.run(run()).assert_none()


def lost_then_refused(wrap: Callable[[Exception], Exception]) -> Exception:
    """Return the exception of a read that lost its connection, and could not connect again."""
    waiting: list[Exception] = [ConnectionRefusedError(111, "x"), ConnectionResetError(104, "x")]

    def fail() -> Any:
        raise wrap(waiting.pop() if len(waiting) > 1 else waiting[0])

    with pytest.raises(Exception) as info:  # noqa: PT011 - what it is, is what the tests are about
        fw.call(fail, hints=HINTS["look"], shared=fw.retry.Shared.new(), sleep=lambda _: None)
    assert isinstance(info.value, Exception)
    return info.value


def with_cause(exc: Exception) -> Exception:
    outer = RuntimeError("it failed")
    outer.__cause__ = exc
    return outer


def in_group(exc: Exception) -> Exception:
    return ExceptionGroup("tasks", [exc])


def as_it_is(exc: Exception) -> Exception:
    return exc


@pytest.mark.parametrize("inside", [as_it_is, with_cause, in_group])
@pytest.mark.parametrize("outside", [as_it_is, with_cause, in_group])
@pytest.mark.parametrize("reader", [fw.read, fw.from_exception])
def test_an_exception_of_the_last_try_tells_what_may_have_come_of_the_first(
    inside: Callable[[Exception], Exception],
    outside: Callable[[Exception], Exception],
    reader: Callable[[Exception], fw.Failure],
) -> None:
    exc = outside(lost_then_refused(inside))

    assert reader(ConnectionRefusedError(111, "x")).outcome == "not_executed"
    assert (reader(exc).code, reader(exc).outcome) == ("CONNECTION_REFUSED", "unknown")
    assert fw.decide(reader(exc)).action == "verify"


def test_a_copy_of_the_exception_tells_it_too() -> None:
    exc = pickle.loads(pickle.dumps(lost_then_refused(as_it_is)))

    assert (fw.read(exc).code, fw.read(exc).outcome) == ("CONNECTION_REFUSED", "unknown")


def test_what_an_author_raises_after_the_tries_stands() -> None:
    exc = fw.ToolFailure("It is closed.", code="NOT_FOUND")
    exc.__cause__ = lost_then_refused(as_it_is)

    assert [fw.read(one).outcome for one in (exc, with_cause(exc), in_group(exc))] == ["rejected"] * 3


@pytest.mark.parametrize("inside", [as_it_is, with_cause, in_group])
def test_a_guard_around_retries_tells_what_may_have_come_of_the_first(
    inside: Callable[[Exception], Exception],
) -> None:
    @fw.guard(hints=HINTS["look"], dialect="meta")
    def look() -> None:
        raise lost_then_refused(inside)

    failure = fw.read(look())

    assert failure is not None
    assert (failure.code, failure.outcome) == ("CONNECTION_REFUSED", "unknown")
