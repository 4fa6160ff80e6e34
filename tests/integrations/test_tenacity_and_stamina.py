"""tenacity and stamina, the real ones, retry what failwell calls worth it and safe, and nothing else."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import stamina
import tenacity

import failwell as fw
from failwell.integrations import stamina as for_stamina
from failwell.integrations import tenacity as for_tenacity
from failwell.testing import instant

SAFE = {"idempotentHint": True}
LIMITED = fw.RateLimited("m", retry_after=7)


class World:
    """A function that fails as it is told, and the delays that were slept."""

    def __init__(self, *answers: Any) -> None:
        self.answers = answers
        self.made = 0
        self.slept: list[float] = []

    def function(self) -> Any:
        answer = self.answers[min(self.made, len(self.answers) - 1)]
        self.made += 1
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def asleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def with_tenacity(world: World, policy: fw.Policy, hints: Any) -> Any:
    settings = for_tenacity.settings(policy, hints=hints)
    return tenacity.Retrying(sleep=world.slept.append, **settings)(world.function)


def with_async_tenacity(world: World, policy: fw.Policy, hints: Any) -> Any:
    async def function() -> Any:
        return world.function()

    settings = for_tenacity.settings(policy, hints=hints)
    return asyncio.run(tenacity.AsyncRetrying(sleep=world.asleep, **settings)(function))


def with_stamina(world: World, policy: fw.Policy, hints: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("tenacity.nap.time.sleep", world.slept.append)
    return stamina.retry(**for_stamina.settings(policy, hints=hints))(world.function)()


@pytest.fixture(params=["tenacity", "async tenacity", "stamina"])
def retried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    def run(world: World, policy: fw.Policy | None = None, hints: Any = None) -> Any:
        match request.param:
            case "tenacity":
                return with_tenacity(world, policy or fw.Policy(), hints)
            case "async tenacity":
                return with_async_tenacity(world, policy or fw.Policy(), hints)
            case _:
                return with_stamina(world, policy or fw.Policy(), hints, monkeypatch)

    return run


def test_a_failure_that_passes_is_waited_out_as_long_as_the_server_asks(retried: Callable[..., Any]) -> None:
    world = World(LIMITED, LIMITED, "ok")

    assert retried(world) == "ok"
    assert (world.made, world.slept) == (3, [7, 7])


@pytest.mark.parametrize(
    ("exc", "hints"),
    [
        (fw.NotFound("m"), SAFE),
        (fw.TimedOut("m"), None),
        (fw.Internal("m"), None),
        (ConnectionResetError(), None),
        (KeyError("x"), None),
        (fw.RateLimited("m", retry_after=3600), SAFE),
        (fw.RateLimited("m", severity="critical"), SAFE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_worth_it_or_not_safe_is_made_once(retried: Callable[..., Any], exc: Exception, hints: Any) -> None:
    world = World(exc, "ok")

    with pytest.raises(type(exc)):
        retried(world, hints=hints)

    assert (world.made, world.slept) == (1, [])


def test_an_ambiguous_timeout_of_a_safe_tool_is_tried_again(retried: Callable[..., Any]) -> None:
    world = World(fw.TimedOut("m"), "ok")

    assert retried(world, hints=SAFE) == "ok"


def test_the_policy_says_how_often_and_the_last_exception_comes_back(retried: Callable[..., Any]) -> None:
    world = World(LIMITED)

    with pytest.raises(fw.RateLimited):
        retried(world, fw.Policy(attempts=4))

    assert (world.made, world.slept) == (4, [7, 7, 7])


def test_a_delay_beyond_the_deadline_is_not_waited(retried: Callable[..., Any]) -> None:
    world = World(LIMITED, "ok")

    with pytest.raises(fw.RateLimited):
        retried(world, fw.Policy(deadline=5))

    assert (world.made, world.slept) == (1, [])


@pytest.mark.parametrize("policy", [fw.Policy(attempts=1), fw.Policy(deadline=0)], ids=["attempts", "deadline"])
def test_a_policy_without_retries_has_none(retried: Callable[..., Any], policy: fw.Policy) -> None:
    world = World(LIMITED, "ok")

    with pytest.raises(fw.RateLimited):
        retried(world, policy)

    assert world.made == 1


def test_what_nobody_knows_anything_about_is_tried_three_times_at_most(retried: Callable[..., Any]) -> None:
    world = World(KeyError("x"))

    with pytest.raises(KeyError):
        retried(world, fw.Policy(attempts=9, base=0), hints=SAFE)

    assert world.made <= 3


@pytest.mark.parametrize("attempts", [2, 5])
def test_a_conflict_with_a_stated_delay_is_waited_out_once_at_most(retried: Callable[..., Any], attempts: int) -> None:
    world = World(fw.Conflict("m", code="LOCKED", retry_after=7))

    with pytest.raises(fw.Conflict):
        retried(world, fw.Policy(attempts=attempts))

    assert world.made <= 2
    assert set(world.slept) <= {7}


def test_what_failwell_retried_is_not_retried_again(retried: Callable[..., Any]) -> None:
    world = World(LIMITED)

    class Nested(World):
        def function(self) -> Any:
            return fw.call(world.function)

    outer = Nested()
    with instant() as clock, pytest.raises(fw.RateLimited):
        retried(outer)

    assert (world.made, clock.slept, outer.slept) == (3, [7, 7], [])


@pytest.mark.parametrize("run", [with_tenacity, with_async_tenacity], ids=["sync", "async"])
def test_tenacity_sees_failures_that_are_returned(run: Callable[..., Any]) -> None:
    world = World(fw.encode(LIMITED), LIMITED.failure, "ok")
    retried_below = World(fw.encode(LIMITED, attempts=3))

    assert run(world, fw.Policy(), None) == "ok"
    assert world.slept == [7, 7]
    assert run(retried_below, fw.Policy(), None) == fw.encode(LIMITED, attempts=3)
    assert retried_below.made == 1


def test_cancellation_passes_through_tenacity() -> None:
    world = World(asyncio.CancelledError(), "ok")

    with pytest.raises(asyncio.CancelledError):
        with_async_tenacity(world, fw.Policy(), SAFE)

    assert world.made == 1


@pytest.mark.parametrize(("chance", "expected"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_chance_picks_the_delay_where_the_server_names_none(chance: float, expected: float) -> None:
    world = World(fw.RateLimited("m"), "ok")
    hook = for_stamina.on(chance=lambda: chance)
    wait = for_tenacity.wait_by_policy(chance=lambda: chance)

    tenacity.Retrying(sleep=world.slept.append, retry=for_tenacity.retry_if_safe(), wait=wait)(world.function)

    assert world.slept == [expected]
    assert hook(fw.RateLimited("m")) == (expected or True)


def test_a_delay_that_only_chance_makes_too_long_is_shortened() -> None:
    world = World(fw.RateLimited("m"), "ok")
    policy = fw.Policy(throttled_base=100, longest=100, deadline=50)
    wait = for_tenacity.wait_by_policy(policy, chance=lambda: 1.0)

    tenacity.Retrying(sleep=world.slept.append, retry=for_tenacity.retry_if_safe(policy), wait=wait)(world.function)

    assert world.slept == [0]


def test_the_stop_holds_with_another_predicate() -> None:
    world = World(fw.NotFound("m"))

    with pytest.raises(tenacity.RetryError):
        tenacity.Retrying(sleep=world.slept.append, stop=for_tenacity.stop_by_policy())(world.function)

    assert world.made == 1
