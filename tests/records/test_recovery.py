"""Whether agents recovered: each verdict on a session made for it, and what holds for any records."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import failwell as fw
from failwell.records import Record, failure_fields, failures, recovery
from tests.records.samples import DOWN, MISSING, record, session

WRONG = fw.Failure(code="VALIDATION_FAILED", message="id is required.")


def verdicts(records: list[Record]) -> list[tuple[Any, ...]]:
    return [(failure.tool, failure.code, failure.verdict, failure.after, failure.by) for failure in failures(records)]


DENIED = fw.Failure(code="FORBIDDEN", message="You may not.")
SLOW = fw.Failure(code="TIMEOUT", message="It took too long.")

SESSIONS = {
    "nothing failed": (session(("find", None), ("list", None)), []),
    "a corrected call of the tool succeeds": (
        session(("find", WRONG, "a"), ("find", None, "b")),
        [("find", "VALIDATION_FAILED", "corrected", 1, None)],
    ),
    "so does it with other tools between": (
        session(("find", MISSING, "a"), ("list_tasks", None), ("find", None, "b")),
        [("find", "NOT_FOUND", "corrected", 1, None)],
    ),
    "it takes three calls": (
        session(("find", MISSING, "a"), ("find", MISSING, "b"), ("find", MISSING, "c"), ("find", None, "d")),
        [("find", "NOT_FOUND", "corrected", 3, None)],
    ),
    "the same call succeeds later": (
        session(("find", DOWN, "a"), ("find", DOWN, "a"), ("find", None, "a")),
        [("find", "SERVICE_UNAVAILABLE", "same_call", 2, None)],
    ),
    "another call of the tool is no correction of an outage": (
        session(("find", DOWN, "a"), ("find", None, "b")),
        [("find", "SERVICE_UNAVAILABLE", "moved_on", None, None)],
    ),
    "nor of a refusal": (
        session(("find", DENIED, "a"), ("find", None, "b"), ("send", None, "c")),
        [("find", "FORBIDDEN", "moved_on", None, None)],
    ),
    "two calls that time out are two failures": (
        session(("find", SLOW, "a"), ("find", SLOW, "b"), ("find", None, "a")),
        [("find", "TIMEOUT", "same_call", 2, None), ("find", "TIMEOUT", "moved_on", None, None)],
    ),
    "an error that is called a success resolves nothing": (
        [*session(("find", SLOW, "a")), record(9.0, "unflagged", SLOW, tool="find", arguments="a", call="9")],
        [("find", "TIMEOUT", "unresolved", None, None)],
    ),
    "nor does a retry that ends with one": (
        [record(1.0, "retry", SLOW, tool="find", call="1"), record(2.0, "unflagged", SLOW, tool="find", call="1")],
        [],
    ),
    "a failure that names its own tool is not resolved by another errand": (
        session(("find", DENIED.replace(actions=("find",)), "a"), ("find", None, "b")),
        [("find", "FORBIDDEN", "moved_on", None, None)],
    ),
    "each code is a failure": (
        session(("find", WRONG, "a"), ("find", MISSING, "b"), ("find", None, "c")),
        [("find", "VALIDATION_FAILED", "corrected", 2, None), ("find", "NOT_FOUND", "corrected", 1, None)],
    ),
    "a success of some other tool is no recovery": (
        session(("search", DOWN, "a"), ("send_mail", None, "b")),
        [("search", "SERVICE_UNAVAILABLE", "moved_on", None, None)],
    ),
    "the tool that the failure names succeeds": (
        session(("find", MISSING, "a"), ("other", DOWN, "b"), ("list_tasks", None)),
        [
            ("find", "NOT_FOUND", "named_tool", None, "list_tasks"),
            ("other", "SERVICE_UNAVAILABLE", "moved_on", None, None),
        ],
    ),
    "the tool that the failure names helped, and it failed again": (
        session(("find", MISSING, "a"), ("list_tasks", None), ("find", MISSING, "b")),
        [("find", "NOT_FOUND", "unresolved", None, None)],
    ),
    "nothing follows": (session(("find", MISSING)), [("find", "NOT_FOUND", "unresolved", None, None)]),
    "only failures follow": (
        session(("find", DOWN, "a"), ("search", DOWN, "a")),
        [
            ("find", "SERVICE_UNAVAILABLE", "unresolved", None, None),
            ("search", "SERVICE_UNAVAILABLE", "unresolved", None, None),
        ],
    ),
    "the same call fails three times": (
        session(("find", MISSING, "a"), ("find", MISSING, "a"), ("find", MISSING, "a"), ("search", None)),
        [("find", "NOT_FOUND", "looped", None, None)],
    ),
    "a loop that the named tool ends": (
        session(("find", MISSING, "a"), ("find", MISSING, "a"), ("find", MISSING, "a"), ("list_tasks", None)),
        [("find", "NOT_FOUND", "named_tool", None, "list_tasks")],
    ),
    "three other calls fail": (
        session(("find", MISSING, "a"), ("find", MISSING, "b"), ("find", MISSING, "c")),
        [("find", "NOT_FOUND", "unresolved", None, None)],
    ),
    "a loop that ended well is none": (
        session(("find", MISSING, "a"), ("find", MISSING, "a"), ("find", MISSING, "a"), ("find", None, "b")),
        [("find", "NOT_FOUND", "corrected", 3, None)],
    ),
    "no two calls with unknown arguments are the same": (
        session(("find", DOWN), ("find", DOWN), ("find", DOWN), ("find", None)),
        [("find", "SERVICE_UNAVAILABLE", "moved_on", None, None)] * 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
def test_each_session_gets_its_verdicts(name: str) -> None:
    records, expected = SESSIONS[name]

    assert verdicts(records) == expected


def test_a_call_that_succeeded_after_retries_saved_a_turn() -> None:
    found = failures(
        [
            record(1, "retry", DOWN, call="1", elapsed=0.1, delay=2.0),
            record(3.2, "retry", DOWN, call="1", attempt=2, elapsed=2.2, delay=1.0),
            record(4.4, "recovered", call="1", attempt=3, elapsed=3.4),
        ]
    )

    assert [(one.verdict, one.code, one.retries, one.calls_wasted, one.seconds_lost) for one in found] == [
        ("by_retry", "SERVICE_UNAVAILABLE", 2, 0, pytest.approx(3.2))
    ]


def test_retries_in_vain_belong_to_the_failed_call() -> None:
    records = [
        record(1, "retry", DOWN, call="1", elapsed=0.1, delay=2.0, arguments="a"),
        record(3.2, "failure", DOWN, call="1", attempt=2, elapsed=2.2, arguments="a"),
        record(4, "success", call="2", elapsed=0.1, arguments="a"),
    ]

    found = failures(records)

    assert [(one.verdict, one.retries, one.calls_wasted, one.seconds_lost, one.began) for one in found] == [
        ("same_call", 1, 0, 2.2, 1)
    ]


def test_a_call_that_was_cut_off_has_failed() -> None:
    assert verdicts([record(1, "retry", DOWN, call="1", delay=2.0)]) == [
        ("find", "SERVICE_UNAVAILABLE", "unresolved", None, None)
    ]


def test_a_corrected_call_saved_a_turn_and_one_corrected_in_vain_did_not() -> None:
    helped = [record(1, "failure", WRONG, call="1"), record(2, "repaired", call="1")]
    in_vain = [record(3, "failure", WRONG, call="2"), record(4, "repaired", WRONG, call="2")]

    assert [one.verdict for one in failures([*helped, *in_vain])] == ["by_repair", "unresolved"]
    assert recovery([*helped, *in_vain]).turns_saved == 1


def test_a_fallback_answers_for_one_call_but_the_tool_has_not_recovered() -> None:
    records = [
        record(1, "failure", DOWN, call="1"),
        record(2, "failure", DOWN, call="2"),
        record(3, "fallback", DOWN, call="2"),
    ]

    assert [one.verdict for one in failures(records)] == ["moved_on", "by_fallback"]


def test_a_call_that_may_have_taken_effect_and_is_not_made_again_is_a_duplicate_avoided() -> None:
    lost = fw.Failure(code="CONNECTION_LOST", message="Gone.", outcome="unknown")
    sent = record(1, "failure", lost, call="1", decision="verify", arguments="a")
    seen_by_server = record(1, "failure", lost, call="1", decision="verify", source="guard", arguments="a")
    another, again, unknown = (record(2, call="2", arguments=digest) for digest in ("b", "a", None))

    assert recovery([sent]).duplicates_avoided == 1
    assert recovery([sent, another]).duplicates_avoided == 1
    assert recovery([seen_by_server]).duplicates_avoided == 0
    assert recovery([sent, again]).duplicates_avoided == 0
    assert recovery([sent, unknown]).duplicates_avoided == 0


def test_wasted_are_the_calls_that_brought_nothing() -> None:
    recovered = session(("find", WRONG, "a"), ("find", WRONG, "b"), ("find", None, "c"))
    left = session(("find", WRONG, "a"), ("find", WRONG, "b"), ("other", None))

    assert (recovery(recovered).failed, recovery(recovered).calls_wasted) == (2, 1)
    assert (recovery(left).failed, recovery(left).calls_wasted) == (2, 2)


def test_what_is_no_call_is_not_counted() -> None:
    records = [record(1, "lost", source="recorder"), record(2, "breaker"), record(3, "died"), record(4, "success")]

    assert (recovery(records).calls, recovery(records).failed) == (1, 0)


def test_a_name_that_comes_back_after_the_end_of_its_call_is_that_of_another() -> None:
    records = [
        record(1, "failure", MISSING, call="1"),
        record(2, "failure", MISSING, call="1"),
        record(3, "retry", DOWN, call="1", delay=1.0),
        record(4, "recovered", call="1"),
    ]

    assert recovery(records).calls == 3
    assert [(one.code, one.verdict, one.after) for one in failures(records)] == [
        ("NOT_FOUND", "corrected", 2),
        ("SERVICE_UNAVAILABLE", "by_retry", None),
    ]


def test_calls_that_nobody_named_are_calls_of_their_own() -> None:
    records = [record(1, "failure", MISSING), record(2, "failure", MISSING), record(3, "success")]

    assert [(one.verdict, one.calls) for one in failures(records)] == [("corrected", 2)]


def test_tools_of_two_servers_are_two_tools() -> None:
    records = [
        record(1, "failure", MISSING, server="one", call="1"),
        record(2, "success", server="two", call="2"),
    ]

    assert [(one.server, one.verdict) for one in failures(records)] == [("one", "moved_on")]


def test_the_summary_adds_up() -> None:
    one = session(("find", MISSING), ("find", None), ("search", DOWN))
    two = [record(1, "retry", DOWN, call="1", delay=1.0, session="t"), record(3, "recovered", call="1", session="t")]

    found = recovery([*one, *two])

    assert (found.sessions, found.calls, found.failed) == (2, 4, 2)
    assert {name: count for name, count in found.verdicts.items() if count} == {
        "by_retry": 1,
        "corrected": 1,
        "unresolved": 1,
    }
    assert (found.calls_wasted, found.seconds_lost, found.turns_saved) == (1, 2.0, 1)
    assert found.rate == pytest.approx(2 / 3)


def test_without_failures_there_is_no_rate() -> None:
    assert recovery([]).rate is None


def test_failures_that_agents_moved_on_from_are_not_in_the_rate() -> None:
    moved_on = session(("find", DOWN, "a"), ("pay", None, "b"))
    corrected = session(("find", WRONG, "a"), ("find", None, "b"))
    both = [*moved_on, *(structs.replace(one, session="t") for one in corrected)]

    assert recovery(moved_on).rate is None
    assert (recovery(both).failures, recovery(both).rate) == (2, 1.0)


CHOICES: dict[str, list[Any]] = {
    "time": [float(at) for at in range(21)],
    "what": [failure_fields(failure) for failure in (MISSING, DOWN, WRONG)],
    "kind": ["success", "recovered", "failure", "refused", "retry", "repaired", "fallback", "unflagged", "flipped"],
    "session": ["a", "b"],
    "source": ["client", "proxy"],
    "tool": ["find", "search"],
    "call": ["", "1", "2", "3", "4"],
    "elapsed": [None, 0.0, 1.5],
    "arguments": [None, "x", "y"],
}


def chosen(number: int) -> Record:
    """Return the record of a number: drawing one number is many times quicker than drawing every field."""
    values: dict[str, Any] = {}
    for name, choices in CHOICES.items():
        number, at = divmod(number, len(choices))
        values[name] = choices[at]
    return Record(**values.pop("what"), **values)


drawn = st.integers(0, math.prod(map(len, CHOICES.values())) - 1).map(chosen)
sessions = st.lists(drawn, max_size=12)


@given(sessions)
def test_every_failed_call_belongs_to_exactly_one_failure(records: list[Record]) -> None:
    found = recovery(records)
    seen = [failure for failure in failures(records) if failure.verdict not in ("by_retry", "by_repair", "by_fallback")]

    assert sum(failure.calls for failure in seen) == sum(len(failure.times) for failure in seen) == found.failed
    assert sum(found.verdicts.values()) == len(failures(records))
    assert set(found.verdicts) == set(recovery([]).verdicts)


@given(sessions, st.randoms())
def test_it_does_not_matter_how_sessions_are_mixed(records: list[Record], random: Any) -> None:
    apart = {
        key: [one for one in records if (one.session, one.source) == key]
        for key in dict.fromkeys((one.session, one.source) for one in records)
    }
    keys = list(apart)
    random.shuffle(keys)
    mixed = [one for key in keys for one in apart[key]]

    assert Counter(failures(mixed)) == Counter(failures(records))
    assert recovery(mixed).verdicts == recovery(records).verdicts


@given(sessions)
def test_a_success_of_every_call_at_the_end_leaves_nothing_unresolved(records: list[Record]) -> None:
    ends = [
        record(99.0, "success", call=f"end {tool} {digest}", session=name, source=source, tool=tool, arguments=digest)
        for name in "ab"
        for source in ("client", "proxy")
        for tool in ("find", "search")
        for digest in "xy"
    ]
    known = [one if one.arguments else structs.replace(one, arguments="x") for one in records]

    found = recovery([*known, *ends])

    assert {name for name, count in found.verdicts.items() if count} <= RECOVERED


RECOVERED = {"by_retry", "by_repair", "by_fallback", "same_call", "corrected", "named_tool"}
SUSPENDED = fw.Failure(code="CIRCUIT_OPEN", message="Calls are suspended.")


def test_a_clock_that_is_set_back_within_a_call_changes_no_verdict() -> None:
    rows = [record(10.0, "retry", DOWN, call="1", attempt=1), record(9.8, "recovered", call="1", attempt=2)]

    assert [(one.verdict, one.calls) for one in failures(rows)] == [("by_retry", 1)]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (
            [
                record(1, "failure", MISSING, tool="a", call="1"),
                record(2, "failure", DOWN, tool="b", call="2"),
                record(3, "fallback", DOWN, tool="b", call="2"),
            ],
            [("a", "NOT_FOUND", "moved_on"), ("b", "SERVICE_UNAVAILABLE", "by_fallback")],
        ),
        (
            [record(1, "failure", DOWN, call="1"), record(2, "repaired", MISSING, call="1"), record(3, call="2")],
            [("find", "NOT_FOUND", "corrected")],
        ),
        (
            [record(1, "retry", DOWN, call="1"), record(2, "refused", SUSPENDED, call="1")],
            [("find", "SERVICE_UNAVAILABLE", "unresolved")],
        ),
        (
            [record(1, "retry", DOWN, tool="a", call="1"), record(2, tool="b", call="1")],
            [("a", "SERVICE_UNAVAILABLE", "moved_on")],
        ),
    ],
    ids=["a fallback is no help", "a correction that failed", "a suspended retry", "a name used again"],
)
def test_a_verdict_is_on_what_the_agent_got(rows: list[Record], found: list[tuple[str, str, str]]) -> None:
    assert [(one.tool, one.code, one.verdict) for one in failures(rows)] == found
