"""The rules of retrying, as properties of a decision by a policy; it knows no clock and no chance."""

import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import failwell as fw
from failwell.retry import Policy
from tests.strategies import failures

jitters = st.floats(0, 1)
attempts = st.integers(1, 10)
SAFE = fw.Hints(idempotent=True)
hints = st.sampled_from([fw.Hints(), SAFE, fw.Hints(read_only=True)])
policies = st.builds(
    Policy,
    attempts=st.integers(1, 6),
    max_wait=st.floats(0, 500),
    deadline=st.none() | st.floats(0, 500),
    repeatable=st.booleans(),
    trust_inferred=st.booleans(),
)


def is_worth_it(failure: fw.Failure) -> bool:
    may_pass = failure.retryable or (failure.retryable is None and failure.type in ("INTERNAL", "TRANSIENT"))
    return bool(may_pass) and failure.severity in (None, "error")


def is_safe(failure: fw.Failure, hints: fw.Hints, policy: Policy) -> bool:
    is_trusted = failure.origin != "inferred" or policy.trust_inferred
    has_no_effect = failure.outcome in ("not_executed", "rejected") and is_trusted
    is_known = has_no_effect and failure.retryable is True
    return failure.outcome != "executed" and (policy.repeatable or hints.repeatable or is_known)


@given(policy=policies, failure=failures, attempt=attempts, jitter=jitters, hints=hints, elapsed=st.floats(0, 500))
@example(Policy(), fw.Failure(code="RATE_LIMITED", message="m", retry_after=7), 1, 0.5, fw.Hints(), 0.0)
@example(Policy(), fw.Failure(code="INTERNAL_ERROR", message="m", retryable=None), 2, 0.5, SAFE, 0.0)
@example(Policy(), fw.Failure(code="TIMEOUT", message="m"), 2, 1.0, fw.Hints(read_only=True), 0.0)
def test_a_call_is_retried_exactly_if_that_is_worth_it_safe_and_in_time(
    policy: Policy, failure: fw.Failure, attempt: int, jitter: float, hints: fw.Hints, elapsed: float
) -> None:
    decision = fw.decide(failure, hints, attempt=attempt, policy=policy, elapsed=elapsed, jitter=jitter)

    wait = policy.delay(failure, attempt=attempt, jitter=jitter)
    most = policy.attempts if failure.retryable else min(policy.attempts, 3)
    is_in_time = wait <= policy.max_wait and (policy.deadline is None or elapsed + wait <= policy.deadline)
    is_allowed = is_worth_it(failure) and is_safe(failure, hints, policy) and attempt < most
    assert (decision.action == "retry") is (is_allowed and is_in_time), decision
    assert decision.retry_delay == (wait if is_allowed and is_in_time else None)
    assert wait >= (failure.retry_after or 0)
    if is_allowed and not is_in_time:
        assert (decision.action, decision.delay) == ("wait", wait)


@given(retry_after=st.floats(0, 100), attempt=st.integers(1, 5), jitter=jitters)
def test_waits_at_least_as_long_as_the_server_asked(retry_after: float, attempt: int, jitter: float) -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="m", retry_after=retry_after)

    delay = fw.decide(failure, policy=Policy(attempts=9), attempt=attempt, jitter=jitter).retry_delay

    assert delay is not None
    assert delay >= (failure.retry_after or 0)


@pytest.mark.parametrize(("policy", "elapsed"), [(Policy(max_wait=60), 0), (Policy(deadline=100), 50)])
def test_a_delay_that_is_too_long_is_reported_whole_and_not_waited(policy: Policy, elapsed: float) -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="m", retry_after=90)

    decision = fw.decide(failure, policy=policy, elapsed=elapsed)

    assert (decision.action, decision.retry_delay, decision.delay) == ("wait", None, 90)


@given(jitter=jitters, attempt=st.integers(1, 40))
def test_chance_spreads_delays_between_nothing_and_the_growing_bound(jitter: float, attempt: int) -> None:
    policy = Policy(attempts=99, base=1, longest=20)
    failure = fw.Failure(code="TIMEOUT", message="m")

    delay = fw.decide(failure, SAFE, policy=policy, attempt=attempt, jitter=jitter).retry_delay

    assert delay == jitter * min(2.0 ** (attempt - 1), 20)


def test_an_overloaded_server_gets_longer_pauses() -> None:
    policy = Policy(base=0.05, throttled_base=1)
    delays = [
        fw.decide(fw.Failure(code=code, message="m", outcome="not_executed"), policy=policy).retry_delay
        for code in ("RATE_LIMITED", "CONNECTION_REFUSED")
    ]

    assert delays == [1, 0.05]


def test_the_caller_may_vouch_for_a_tool() -> None:
    failure = fw.Failure(code="TIMEOUT", message="m")

    assert fw.decide(failure, policy=Policy()).action == "verify"
    assert fw.decide(failure, policy=Policy(repeatable=True)).action == "retry"


def test_an_outcome_that_was_only_read_from_words_is_known_to_those_who_trust_it() -> None:
    failure = fw.read({"content": [{"type": "text", "text": "connection refused"}], "isError": True})

    assert failure is not None
    assert (failure.outcome, failure.origin) == ("not_executed", "inferred")
    assert fw.decide(failure, policy=Policy()).action == "verify"
    assert fw.decide(failure, policy=Policy(trust_inferred=True)).action == "retry"


@pytest.mark.parametrize(
    "wrong", [{"attempts": 0}, {"base": -1}, {"longest": float("nan")}, {"max_wait": -1}, {"deadline": -1}], ids=str
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Policy(**wrong)  # type: ignore[arg-type]  # one of each


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": "3"},
        {"attempts": True},
        {"base": "1"},
        {"deadline": True},
        {"max_wait": None},
        {"repeatable": 1},
        {"trust_inferred": 1},
    ],
    ids=str,
)
def test_a_policy_of_the_wrong_type_is_refused_in_one_sentence(wrong: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(wrong))} must be"):
        Policy(**wrong)  # type: ignore[arg-type]  # one of each


def test_a_delay_that_no_machine_can_sleep_is_not_waited() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="m", retry_after=2**50)

    decision = fw.decide(failure, policy=Policy(max_wait=float("inf")))

    assert (decision.action, decision.retry_delay, decision.delay) == ("wait", None, 2**50)


TIMEOUT = fw.Failure(code="TIMEOUT", message="m")


def test_what_the_policy_says_of_a_tool_stands_whatever_the_server_says() -> None:
    policy = Policy(tools={"search": fw.Tool(read_only=True), "pay": fw.Tool(read_only=False, idempotent=False)})

    assert policy.hints("search", None) == fw.Hints(read_only=True)
    assert policy.hints("search", {"readOnlyHint": False}) == fw.Hints(read_only=True)
    assert policy.hints("pay", {"readOnlyHint": True, "idempotentHint": True}) == fw.Hints()
    assert policy.hints("other", {"idempotentHint": True}) == fw.Hints(idempotent=True)


def test_a_more_specific_pattern_counts_wherever_it_stands() -> None:
    patterns = {
        "pay_status": fw.Tool(read_only=True),
        "pay_*": fw.Tool(read_only=False, attempts=1),
        "*": fw.Tool(read_only=True, timeout=9, attempts=4),
    }
    for order in (patterns, dict(reversed(patterns.items()))):
        policy = Policy(tools=order)

        assert policy.tool("pay_card") == fw.Tool(read_only=False, attempts=1, timeout=9)
        assert policy.tool("pay_status") == fw.Tool(read_only=True, attempts=1, timeout=9)
        assert policy.tool("search") == fw.Tool(read_only=True, attempts=4, timeout=9)


def test_a_pattern_does_not_fit_another_case() -> None:
    assert Policy(tools={"get_*": fw.Tool(read_only=True)}).tool("GET_all") == fw.Tool()


def test_the_policy_of_a_tool_has_its_figures_and_else_those_of_all() -> None:
    policy = Policy(
        attempts=5, deadline=60, trust_inferred=True, tools={"slow_*": fw.Tool(attempts=2, timeout=30, max_wait=0)}
    )

    mine, other = policy.for_tool("slow_report"), policy.for_tool("search")

    assert (mine.attempts, mine.timeout, mine.max_wait, mine.deadline, mine.trust_inferred) == (2, 30, 0, 60, True)
    assert (other.attempts, other.timeout, other.max_wait, other.deadline) == (5, None, 120, 60)


def test_a_tool_that_may_not_run_twice_is_no_longer_vouched_for() -> None:
    policy = Policy(repeatable=True, tools={"pay_*": fw.Tool(read_only=False)})

    assert fw.decide(TIMEOUT, policy=policy.for_tool("search")).action == "retry"
    assert fw.decide(TIMEOUT, policy=policy.for_tool("pay_card")).action == "verify"


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("get_issue", True),
        ("listFiles", True),
        ("search", True),
        ("github.describe_table", True),
        ("github__read-file", True),
        ("get_or_create_user", False),
        ("search_and_replace", False),
        ("get_new_address", False),
        ("getAndDelete", False),
        ("pop_item", False),
        ("listing", False),
        ("budget_get", False),
        ("", False),
    ],
)
def test_a_tool_without_annotations_is_read_only_by_its_name_only_where_names_are_trusted(
    name: str, is_read: bool
) -> None:
    trusting = Policy(trust_read_verbs=True)

    assert trusting.hints(name, None).read_only is is_read
    assert trusting.hints(name, {"title": "Look"}).read_only is is_read
    assert not Policy().hints(name, None).repeatable
    assert not trusting.hints(name, {"readOnlyHint": False}).repeatable
    assert not trusting.hints(name, {"destructiveHint": True}).repeatable
    assert not trusting.hints(name, fw.Hints()).repeatable


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"attempts": 0}, ValueError),
        ({"attempts": 1.5}, TypeError),
        ({"timeout": 0}, ValueError),
        ({"timeout": "5"}, TypeError),
        ({"deadline": -1}, ValueError),
        ({"read_only": "yes"}, TypeError),
    ],
    ids=str,
)
def test_a_tool_that_makes_no_sense_is_refused(wrong: dict[str, object], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=next(iter(wrong))):
        fw.Tool(**wrong)  # type: ignore[arg-type]  # one of each


@pytest.mark.parametrize("wrong", [["search"], {"search": {"read_only": True}}, {1: fw.Tool()}], ids=str)
def test_tools_are_a_dict_of_tools(wrong: object) -> None:
    with pytest.raises(TypeError, match="tools must be a dict of Tool by name"):
        Policy(tools=wrong)  # type: ignore[arg-type]  # it says so


def test_a_policy_keeps_its_tools_when_the_dict_it_got_changes_and_pickles_with_them() -> None:
    tools = {"pay": fw.Tool(read_only=False)}
    policy = Policy(tools=tools)
    tools["pay"] = fw.Tool(read_only=True)

    assert policy.tool("pay").read_only is False
    assert pickle.loads(pickle.dumps(policy)) == policy
