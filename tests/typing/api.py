"""The API as users write it. Type-checked, never run."""

from typing import Any, assert_type

from mcp import ClientSession

import failwell as fw
from failwell.integrations import stamina as for_stamina
from failwell.integrations import tenacity as for_tenacity
from failwell.records import RecordedFailure, RecordStore, failures
from failwell.retry import Breaker, Budget, Event, FleetLimits, Repeats, Shared
from failwell.testing import EventLog, FakeClock, instant


def server_side() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="Slow down.", retry_after=30)
    assert_type(failure.retryable, bool | None)
    assert_type(failure.recoverable, bool)
    assert_type(failure.fields, tuple[fw.FieldProblem, ...])
    assert_type(fw.error("m"), fw.Failure)
    assert_type(fw.required("task_id"), fw.Failure)
    assert_type(fw.tool_error("X", message="m", actions=["list"], severity="warning"), fw.Failure)
    assert_type(fw.NotFound.of("task", 7), fw.NotFound)
    assert_type(fw.encode(failure, dialect="xml"), dict[str, Any])
    assert_type(fw.success({"a": 1}), dict[str, Any])
    assert_type(fw.success({"a": 1}, warning="Use b."), dict[str, Any])
    assert_type(fw.from_exception(ValueError(), arguments={"a": 1}), fw.Failure)
    assert_type(fw.failure_of(object()), fw.Failure | None)
    fw.Validation("t", message="m")
    assert_type(fw.Validation(tool="t").add("a", None, "m", required=True), fw.Validation)
    raise fw.NotFound("m", suggestion="s", actions=["list"], details={"id": 7})


class AuthenticationError(fw.ToolFailure):
    """A type of one's own."""

    type = "PERMISSION"
    retryable = False


def steps(found: fw.Result[int]) -> str:
    if not found.ok:
        return found.failure.message
    assert_type(found.value, int)
    assert_type(fw.succeed(5), fw.Ok[int])
    assert_type(fw.fail(fw.NotFound("m")), fw.Err)
    return str(found.unwrap() + 1)


@fw.guard
def plain(name: str) -> str:
    return name


@fw.guard(dialect="xml", hints={"readOnlyHint": True})
async def slow(name: str) -> str:
    return name


@fw.raises(fw.NotFound, "DEADLOCK")
def declared(name: str) -> str:
    return name


async def guarded() -> None:
    assert_type(plain("a"), dict[str, Any])
    assert_type(await slow("a"), dict[str, Any])
    assert_type(declared("a"), str)


def client_side(result: object, exc: Exception) -> None:
    assert_type(fw.read(result, tool="t", dialect="flat"), fw.Failure | None)
    assert_type(fw.read(exc), fw.Failure)
    assert_type(fw.convert(result, to="xml"), dict[str, Any])
    failure = fw.read(result)
    if failure is not None:
        decision = fw.decide(failure, hints={"readOnlyHint": True})
        assert_type(decision.delay, float | None)
        assert_type(fw.is_terminal(failure), bool)
    assert_type(fw.from_exception(exc), fw.Failure)
    assert_type(fw.from_http(503, headers={"Retry-After": "7"}), fw.Failure)
    assert_type(fw.check_arguments({}, {"type": "object"}), fw.Failure | None)


async def hooked(session: ClientSession) -> None:
    assert_type(fw.wrap(session, fw.Policy(attempts=2), server="mail", trust={"mail"}), ClientSession)
    assert_type(fw.install(repair=True, fallbacks={"t": lambda failure, arguments: failure.message}).says, str)
    assert_type(fw.uninstall(), str)

    async def send(arguments: dict[str, Any]) -> str:
        return str(arguments)

    answer = await fw.client.Caller(hook=print).run(send, server="mail", tool="send", arguments={"to": "ann"})
    assert_type(answer, fw.client.CallResult)
    assert_type(answer.failure, fw.Failure | None)
    assert_type(answer.model_text, str)


def recorded() -> None:
    with fw.records.Recorder("sqlite:///calls.db", server="tasks") as recorder, recorder.session("conversation 7"):
        fw.install(hook=recorder)
        fw.guard(observers=[recorder])(lambda: "fine")
        recorder(fw.records.Event(source="client", kind="success"))
    assert_type(recorder.lost, int)
    with RecordStore("sqlite:///calls.db") as store:
        assert_type(failures(store.records(tool="claim", since=1.0)), list[RecordedFailure])
        assert_type(store.page(after=5), list[tuple[int, fw.records.Record]])


def hook(event: fw.Failure | Event) -> None: ...


async def retrying() -> None:
    async def later() -> int:
        return 1

    policy = fw.Policy(attempts=5, deadline=60, repeatable=True)
    shared = Shared(Budget(capacity=100), Breaker(most=3), Repeats())
    assert_type(fw.call(lambda: 1, policy=policy, hints={"readOnlyHint": True}, shared=shared, hook=hook), int)
    limits = FleetLimits.at("redis://localhost:6379/0", shared, freshness=1.0)
    assert_type(await fw.acall(later, server="s", tool="t", arguments={"a": 1}, shared=limits), int)
    assert_type(fw.client.Caller(policy, shared=shared, limits="redis://localhost"), fw.client.Caller)
    assert_type(fw.install(limits=limits).says, str)
    failure = fw.Failure(code="RATE_LIMITED", message="m")
    assert_type(policy.delay(failure, attempt=1, jitter=0.5), float)
    with instant(attempts=1) as clock:
        assert_type(clock, FakeClock)
    recorder = EventLog()
    fw.call(lambda: 1, hook=recorder, clock=clock, sleep=clock.sleep, chance=clock.chance)
    await fw.acall(later, clock=clock, sleep=clock.asleep)
    assert_type(recorder.delays, list[float])
    assert_type(for_tenacity.settings(policy, hints=fw.Hints(idempotent=True)), for_tenacity.TenacitySettings)
    assert_type(for_stamina.settings(policy), for_stamina.StaminaSettings)
