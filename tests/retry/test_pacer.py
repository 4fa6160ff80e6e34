"""Rate limits are not outages: calls take turns, as many as the server takes, and none is given up."""

import pytest
from bench.simulation.limited import CASES, PAGE, LimitedServer, LimitsEachOnce, Tasks, burst, report, saturated
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.retry import Finish, Policy, Run, Shared, Try, Wait

LIMITED = fw.RateLimited("m", retry_after=2).failure


def run_of(shared: Shared, *, tool: str = "t", policy: Policy | None = None, **more: str) -> Run:
    return Run(policy or Policy(), shared, "s", tool, arguments={}, **more)


def limited(shared: Shared, failure: fw.Failure = LIMITED, *, now: float = 0.0, tool: str = "t", **more: str) -> Run:
    """Return the run of a call that just met a rate limit."""
    run = run_of(shared, tool=tool, **more)
    assert run.begin(now) == Try()
    assert isinstance(run.failed(failure, now, jitter=0.0), Wait)
    return run


@pytest.mark.parametrize("name", [name for name in CASES if "states" in name])
def test_a_stated_limit_is_used_to_95_percent_and_nothing_is_refused_after_the_first_window(name: str) -> None:
    found, ideal = saturated(name)

    assert found.share_of(ideal) >= 0.95
    assert (found.refused_later, found.failed) == (0, 0)
    assert found.refused > 0


@pytest.mark.parametrize("name", [name for name in CASES if "states" not in name])
def test_a_limit_that_is_not_stated_is_used_to_85_percent_and_at_most_5_percent_are_refused(name: str) -> None:
    found, ideal = saturated(name)

    assert found.share_of(ideal) >= 0.85
    assert 0 < found.share_refused <= 0.05
    assert found.failed <= 0.005 * found.succeeded


@pytest.mark.parametrize("states_delay", [True, False])
def test_ten_calls_against_five_per_second_all_succeed(states_delay: bool) -> None:
    found = burst(10, LimitedServer(5, 1.0, states_delay=states_delay, states_limit=False))

    assert (found.succeeded, found.failed) == (10, 0)
    assert found.last < 5


def test_a_thousand_tasks_that_are_limited_once_all_succeed() -> None:
    found = burst(1000, LimitsEachOnce(1000))

    assert (found.succeeded, found.failed, found.refused) == (1000, 0, 1000)
    assert found.last < 15


def test_the_figures_on_the_page_are_current() -> None:
    assert report() in PAGE.read_text(encoding="utf-8")


def test_everyone_waits_until_the_server_takes_calls_again_and_then_one_goes_after_another() -> None:
    shared = Shared.new()
    limited(shared)

    effects = [run_of(shared).begin(0.5) for _ in range(3)]

    delays = [effect.delay for effect in effects if isinstance(effect, Wait)]
    assert len(delays) == 3
    assert 1.5 < delays[0] < delays[1] < delays[2]


def test_who_came_first_goes_first_whatever_happens_meanwhile() -> None:
    shared = Shared.new()
    first, later = limited(shared), run_of(shared)
    assert isinstance(later.begin(1.0), Wait)

    limited_again = fw.RateLimited("m", retry_after=5).failure
    assert first.begin(2.0) == Try()
    effect = first.failed(limited_again, 2.1, jitter=0.0)

    behind = later.begin(2.2)
    assert isinstance(effect, Wait)
    assert isinstance(behind, Wait)
    assert effect.delay == 5
    assert 2.1 + effect.delay < 2.2 + behind.delay


@pytest.mark.parametrize(
    ("more", "is_held"),
    [({}, True), ({"tool": "other"}, False), ({"principal": "ada"}, False)],
    ids=["the same", "another tool", "other credentials"],
)
def test_only_calls_that_share_the_limit_wait(more: dict[str, str], is_held: bool) -> None:
    shared = Shared.new()
    limited(shared)

    assert isinstance(run_of(shared, **more).begin(0.1), Wait) is is_held


def test_all_tools_wait_if_the_server_says_that_its_limit_is_for_all() -> None:
    shared = Shared.new()
    limited(shared, fw.RateLimited("m", retry_after=2, details={"scope": "global"}).failure)

    assert isinstance(run_of(shared, tool="other").begin(0.1), Wait)
    assert run_of(shared, tool="other", principal="ada").begin(0.1) == Try()


def test_nothing_waits_before_the_first_rate_limit_and_after_a_quiet_minute() -> None:
    shared = Shared.new()
    assert [run_of(shared).begin(0.0) for _ in range(100)] == [Try()] * 100

    limited(shared)
    assert isinstance(run_of(shared).begin(0.1), Wait)
    assert [run_of(shared).begin(100.0) for _ in range(100)] == [Try()] * 100
    assert not any(shared.failure_state)


def test_a_call_that_would_wait_beyond_its_deadline_is_not_sent_and_says_so() -> None:
    shared = Shared.new()
    limited(shared, fw.RateLimited("m", retry_after=60).failure)

    effect = run_of(shared, policy=Policy(deadline=10)).begin(0.0)

    assert isinstance(effect, Finish)
    assert effect.refusal is not None
    assert (effect.refusal.code, effect.refusal.outcome) == ("RATE_LIMITED", "not_executed")
    assert effect.refusal.retry_after == pytest.approx(60, abs=2)
    assert "this call was not sent" in effect.refusal.message


@pytest.mark.parametrize("retry_after", [121.0, 3600.0 * 24 * 365])
def test_a_server_that_asks_for_too_long_a_wait_stops_only_the_call_that_it_asked(retry_after: float) -> None:
    shared = Shared.new()
    run = run_of(shared)
    assert run.begin(0.0) == Try()

    ended = run.failed(fw.RateLimited("m", retry_after=retry_after).failure, 0.0, jitter=0.0)

    assert isinstance(ended, Finish)
    assert ended.decision is not None
    assert (ended.decision.action, ended.decision.delay) == ("wait", retry_after)
    assert run_of(shared).begin(0.1) == Try()


def test_what_was_only_guessed_from_a_text_makes_nobody_wait() -> None:
    shared = Shared.new()
    guess = fw.Failure(code="RATE_LIMITED", message="m", origin="inferred", confidence=0.4)
    run = run_of(shared)
    assert run.begin(0.0) == Try()
    run.failed(guess, 0.0, jitter=0.0)

    assert run_of(shared).begin(0.1) == Try()


def test_calls_without_a_name_share_nothing() -> None:
    shared = Shared.new()
    run = Run(Policy(), shared)
    assert run.begin(0.0) == Try()
    run.failed(LIMITED, 0.0, jitter=0.0)

    assert Run(Policy(), shared).begin(0.1) == Try()


def test_switching_automatic_actions_off_lets_everything_through(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Shared.new()
    limited(shared)
    monkeypatch.setenv("FAILWELL_AUTOMATIC", "off")

    assert run_of(shared).begin(0.1) == Try()


@given(
    limit=st.integers(1, 40),
    window=st.sampled_from([0.5, 1.0, 7.0, 30.0]),
    tasks=st.integers(1, 60),
    states_delay=st.booleans(),
    states_limit=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_every_call_ends_and_no_more_are_made_than_its_attempts(
    limit: int, window: float, tasks: int, states_delay: bool, states_limit: bool, seed: int
) -> None:
    server = LimitedServer(limit, window, states_delay=states_delay, states_limit=states_limit)

    found = Tasks(server, tasks, calls=2, seed=seed).run()

    assert found.succeeded + found.failed == 2 * tasks
    assert sum(server.taken.values()) + found.refused <= 3 * 2 * tasks


def test_a_silent_limit_is_found_again_after_it_was_raised() -> None:
    server = LimitedServer(5, 1.0, states_delay=False, states_limit=False)
    tasks = Tasks(server, 50, calls=None, until=60)
    tasks.run()
    server.limit, tasks.until = 20, 240
    before = len(tasks.succeeded)

    tasks.run()

    assert (len(tasks.succeeded) - before) / 180 >= 0.7 * 20
