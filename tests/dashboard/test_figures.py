"""What a view shows: figures, the worst first, over time, the feed, and the details of a failure."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import failwell as fw
from failwell.dashboard.figures import since_bucket
from failwell.dashboard.views import BadView, View, parse_view
from failwell.records import failures
from tests.dashboard.places import address, postgres
from tests.dashboard.stores import NOW, counted, figures_of, some_sessions, source_of, write
from tests.records.samples import DOWN, MISSING, engine_of, record, session

__all__ = ["address", "postgres"]

HOUR = 3600.0


def overview(address: str, view: View, *, now: float = NOW) -> dict[str, Any]:
    source = counted(source_of(address, now=now))
    try:
        return source.overview(view)
    finally:
        source.close()


def sample(address: str) -> None:
    """Three servers: `tasks` is left for good twice, `mail` once out of four, `time` never fails."""
    rows = [
        record(NOW - 50, "failure", MISSING, server="tasks", call="1", session="a", arguments="x"),
        record(NOW - 49, "failure", DOWN, server="tasks", tool="pay", call="2", session="b"),
        record(NOW - 48, "failure", DOWN, server="mail", tool="send", call="3", session="c", elapsed=2.0),
        *(record(NOW - 40 + at, server="mail", tool="send", call=f"m{at}", session="d") for at in range(3)),
        record(NOW - 30, server="time", tool="now", call="4", session="e", source="guard"),
    ]
    write(address, rows)


def test_the_worst_come_first_and_any_figure_may_decide_it(address: str) -> None:
    sample(address)

    by_server = [row["name"] for row in overview(address, View(by="server"))["groups"]]
    by_calls = [row["name"] for row in overview(address, View(by="server", sort="calls"))["groups"]]
    by_name = [row["name"] for row in overview(address, View(by="server", sort="name"))["groups"]]

    assert by_server == ["tasks", "mail", "time"]
    assert by_calls == ["mail", "tasks", "time"]
    assert by_name == ["mail", "tasks", "time"]


def test_codes_are_measured_against_all_calls(address: str) -> None:
    sample(address)

    groups = overview(address, View(by="code"))["groups"]

    assert [(row["name"], row["failed"], row["calls"]) for row in groups] == [
        ("SERVICE_UNAVAILABLE", 2, 7),
        ("NOT_FOUND", 1, 7),
    ]
    assert groups[0]["failure_rate"] == round(2 / 7, 6)


def test_a_filter_by_code_keeps_the_calls_of_the_tool(address: str) -> None:
    sample(address)

    found = overview(address, View(server="mail", code="SERVICE_UNAVAILABLE"))

    assert (found["totals"]["calls"], found["totals"]["failed"]) == (4, 1)
    assert found["totals"]["failure_rate"] == 0.25
    assert [row["tool"] for row in found["feed"]["rows"]] == ["send"]


@pytest.mark.parametrize(
    ("name", "value", "calls"),
    [("server", "tasks", 2), ("tool", "send", 4), ("source", "guard", 1), ("tool", "no such", 0)],
)
def test_a_filter_leaves_the_rest_out_and_all_choices_stay(address: str, name: str, value: str, calls: int) -> None:
    sample(address)

    found = overview(address, View(**{name: value}))  # type: ignore[arg-type]  # a name that there is

    assert found["totals"]["calls"] == calls
    assert found["choices"]["server"] == ["mail", "tasks", "time"]


@pytest.mark.parametrize(
    ("range_", "bars", "hours"),
    [
        ("15m", 15, 1 / 60),
        ("1h", 30, 2 / 60),
        ("6h", 36, 10 / 60),
        ("24h", 24, 1),
        ("7d", 28, 6),
        ("30d", 31, 24),
        ("90d", 31, 72),
    ],
)
def test_figures_over_time_have_a_bar_for_every_stretch_of_time(
    tmp_path: Path, range_: str, bars: int, hours: float
) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    sample(address)

    series = overview(address, View(range=range_))["series"]

    assert series["seconds"] == pytest.approx(hours * HOUR)
    assert len(series["bars"]) in (bars - 1, bars, bars + 1)
    assert sum(bar["calls"] for bar in series["bars"]) == 7
    assert series["bars"][-1]["time"] <= NOW < series["bars"][-1]["time"] + hours * HOUR


@pytest.mark.parametrize("days", [1, 20, 400])
def test_all_time_is_told_in_a_number_of_bars_that_can_be_seen(tmp_path: Path, days: int) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    write(address, [record(NOW - days * 24 * HOUR, call="1"), record(NOW, call="2")])

    series = overview(address, View(range="all"))["series"]

    assert len(series["bars"]) <= 61
    assert (series["bars"][0]["calls"], series["bars"][-1]["calls"]) == (1, 1)


def test_what_is_older_than_the_range_is_not_shown(address: str) -> None:
    write(address, [record(NOW - 8 * 24 * HOUR, "failure", MISSING, call="1"), record(NOW, call="2")])

    week, always = overview(address, View()), overview(address, View(range="all"))

    assert (week["totals"]["calls"], always["totals"]["calls"]) == (1, 2)
    assert (len(week["feed"]["rows"]), len(always["feed"]["rows"])) == (0, 1)


def test_records_that_were_lost_are_told(address: str) -> None:
    lost = record(NOW - 5, "lost", source="recorder", session="", tool="", details={"count": 7})
    write(address, [record(NOW - 9, call="1"), lost, record(NOW - 4, "lost", details={"count": "?"})])

    assert overview(address, View())["lost"] == 7


def test_the_feed_goes_back_page_by_page_without_a_gap(address: str) -> None:
    made = some_sessions(200)
    write(address, made)
    source = counted(source_of(address))

    view, seen = View(range="all"), list[dict[str, Any]]()
    while True:
        page = source.feed(view)
        seen += page["rows"]
        if not page["older"]:
            break
        view = View(range="all", before=page["rows"][-1]["number"])
    source.close()

    failed = sorted((one for one in made if one.has_failed), key=lambda one: one.time)
    assert [row["time"] for row in reversed(seen)] == [one.time for one in failed]
    assert len({row["number"] for row in seen}) == len(seen) > 60


@pytest.mark.parametrize(
    ("show", "kinds"),
    [("retries", {"retry", "recovered"}), ("servers", {"breaker", "died"}), ("all", {"retry", "success"})],
)
def test_the_feed_can_show_other_kinds(address: str, show: str, kinds: set[str]) -> None:
    write(
        address,
        [
            *some_sessions(30),
            record(NOW - 2, "breaker", reason="opened"),
            record(NOW - 1, "died", tool="", details={"exit_code": 1}),
        ],
    )

    found = overview(address, View(range="all", show=show))["feed"]["rows"]

    assert kinds <= {row["kind"] for row in found} | ({"retry", "success"} if show == "all" else set())
    assert found[0]["time"] == max(row["time"] for row in found)


def test_what_came_since_is_told_and_too_much_is_not(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(address, session(("find", MISSING), ("find", None)))
    source = counted(source_of(address))
    write(address, [record(NOW, "failure", DOWN, tool="pay", call="9"), record(NOW, call="10")])

    news = source.feed(View(after=2))
    filtered = source.feed(View(after=2, tool="find"))
    monkeypatch.setattr("failwell.dashboard.feed._TOO_FAR_BEHIND", 1)
    too_many = source.feed(View(after=1))
    source.close()

    assert [row["tool"] for row in news["rows"]] == ["pay"]
    assert (news["newest"], news["reload"]) == (4, False)
    assert filtered["rows"] == []
    assert (too_many["rows"], too_many["reload"]) == ([], True)


def test_a_rare_failure_is_found_though_it_was_not_counted_yet(address: str) -> None:
    write(address, session(("find", None)))
    source = counted(source_of(address))
    write(address, [record(NOW, "failure", DOWN, tool="pay", call="9")])

    found = source.feed(View(tool="pay"))["rows"]
    source.close()

    assert [row["tool"] for row in found] == ["pay"]


def test_a_failure_that_has_no_code_is_found_by_its_type(address: str) -> None:
    write(address, [record(NOW, "failure", type="INTERNAL", call="9")])

    found = overview(address, View(code="INTERNAL"))

    assert found["totals"]["failed"] == 1
    assert [row["type"] for row in found["feed"]["rows"]] == ["INTERNAL"]


def test_details_show_the_call_its_tries_and_what_the_agent_did(address: str) -> None:
    write(
        address,
        [
            record(NOW + 0, tool="list_tasks", call="1"),
            record(NOW + 1, "retry", DOWN, call="2", delay=2.0, elapsed=0.1),
            record(NOW + 4, "failure", DOWN, call="2", attempt=2, text="Come back.", decision="retry", names=("id",)),
            record(NOW + 5, tool="find", call="other", session="another"),
            record(NOW + 6, "failure", MISSING, call="3"),
            record(NOW + 7, call="2"),
        ],
    )
    source = source_of(address)

    details = source.failure_details(View(failure=3))
    source.close()

    assert details is not None
    assert (details["record"]["text"], details["record"]["decision"]) == ("Come back.", "retry")
    assert [(one["kind"], one["number"]) for one in details["call"]] == [("retry", 2), ("failure", 3)]
    assert [one["number"] for one in details["before"]] == [1]
    assert [one["number"] for one in details["next"]] == [5, 6]
    assert (details["resolution"]["verdict"], details["resolution"]["recovered"]) == ("moved_on", False)
    assert (
        details["resolution"]["words"]
        == "Only other calls succeeded later. Whether the agent reached its goal is unknown."
    )


def test_every_failure_has_details_with_its_verdict(address: str) -> None:
    made = some_sessions(40)
    write(address, made)
    source = source_of(address)

    told = [source.failure_details(View(failure=at)) for at, one in enumerate(made, 1) if one.has_failed]
    source.close()

    verdicts = {details["resolution"]["verdict"] for details in told if details}
    assert None not in told
    assert verdicts == {one.verdict for one in failures(made) if one.verdict != "by_retry"}


def test_an_event_of_a_server_has_details_without_a_call(address: str) -> None:
    write(address, [record(NOW, "died", tool="", server="tasks", details={"exit_code": 137})])
    source = source_of(address)

    details, none = source.failure_details(View(failure=1)), source.failure_details(View(failure=9))
    source.close()

    assert details is not None
    assert (details["record"]["details"], details["call"], details["resolution"]) == ({"exit_code": 137}, [], None)
    assert none is None


def test_without_a_store_the_page_is_told_where_to_record(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    source = source_of(f"sqlite:///{path}")

    found = source.overview(View())
    rest = (source.feed(View()), source.failure_details(View(failure=1)), source.count())

    assert (found["state"], found["address"], found["store"]) == ("nothing", f"sqlite:///{path}", "calls.db")
    assert rest == ({"rows": [], "newest": 0, "older": False, "reload": False}, None, 0)
    with pytest.raises(BadView, match="nothing to export yet"):
        source.export("groups", "csv", View())
    assert not path.exists()


def test_an_empty_store_is_as_good_as_none_and_shows_what_comes(address: str) -> None:
    write(address, session(("find", None)))
    engine = engine_of(address)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM failwell_records"))
    engine.dispose()
    source = source_of(address)
    before = source.overview(View())["state"]
    write(address, session(("find", None)))

    after = source.overview(View(range="all"))
    source.close()

    assert (before, after["state"], after["totals"]["calls"]) == ("nothing", "ready", 1)


def test_a_password_is_shown_nowhere() -> None:
    source = source_of("postgresql://user:planted@127.0.0.1:1/calls")

    assert source.name == "127.0.0.1/calls"
    assert "planted" not in str(source._empty(NOW))


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([("rnage", "7d")], "unknown parameter 'rnage'; did you mean 'range'?"),
        ([("range", "2y")], "range must be one of 15m, 1h, 6h, 24h, 7d, 30d, 90d, all, not '2y'"),
        ([("by", "password")], "by must be one of tool, server, type, code, agent, not 'password'"),
        ([("type", "'; DROP TABLE failwell_records; --")], "type must be one of"),
        ([("tool", "a"), ("tool", "b")], "tool appears twice in the address"),
        ([("tool", "a\x00b")], "tool must be at most 200 printable characters"),
        ([("tool", "x" * 201)], "tool must be at most 200 printable characters"),
        ([("before", "9" * 30)], "before must be the number of an event"),
        ([("before", str(2**63))], "before must be the number of an event"),
        ([("failure", "-1")], "failure must be the number of an event"),
        ([("after", "١٢")], "after must be the number of an event"),
    ],
)
def test_a_view_that_makes_no_sense_is_refused_in_one_line(pairs: list[tuple[str, str]], sentence: str) -> None:
    with pytest.raises(BadView) as caught:
        parse_view(pairs)

    assert str(caught.value).startswith(sentence)
    assert str(caught.value).isascii()
    assert "\n" not in str(caught.value)


def test_an_empty_value_is_as_good_as_none() -> None:
    assert parse_view([("tool", ""), ("range", ""), ("before", "")]) == View()
    assert since_bucket(View(range="all"), NOW) == 0


def test_one_session_is_counted_by_itself(address: str) -> None:
    made = some_sessions(30)
    write(address, made)
    names = [next(one.session for one in made if one.kind == kind) for kind in ("failure", "retry", "recovered")]

    for name in names:
        its = [one for one in made if one.session == name]
        found = overview(address, View(range="all", session=name, show="all"))

        assert {key: found["totals"][key] for key in figures_of(its)} == figures_of(its)
        assert sum(bar["calls"] for bar in found["series"]["bars"]) == found["totals"]["calls"]
        assert {row["session"] for row in found["feed"]["rows"]} == {name}


@pytest.mark.parametrize("back", ["15m", "24h", "7d", "all"])
def test_charts_add_up_although_clocks_are_ahead_or_jump_back(address: str, back: str) -> None:
    ahead = [record(NOW + 60.0 * at, "failure", DOWN, call=f"a{at}", session="a") for at in (1, 90, 5_000)]
    jumped = [record(NOW - at, "failure" if at else "success", DOWN if at else None, call=f"b{at}", session="b",
                   arguments="x") for at in (0, 300, 200)]  # fmt: skip
    write(address, [*ahead, *jumped])

    found = overview(address, View(range=back))

    assert (found["totals"]["calls"], found["totals"]["failed"]) == (6, 5)
    for name in ("calls", "failed", "failures"):
        assert sum(bar[name] for bar in found["series"]["bars"]) == found["totals"][name]


def test_what_charts_show_adds_up_to_the_totals(address: str) -> None:
    write(address, some_sessions(150, days=12))

    found = overview(address, View(range="7d"))

    for name in ("calls", "failed", "failures", "recovered"):
        assert sum(bar[name] for bar in found["series"]["bars"]) == found["totals"][name] > 0


def test_figures_are_compared_with_the_period_before(address: str) -> None:
    day = 24 * HOUR
    earlier = [record(NOW - day - 60 * at, "failure", DOWN, call=f"e{at}", session=f"e{at}") for at in range(1, 3)]
    now = [record(NOW - 60 * at, "failure", DOWN, call=f"n{at}", session=f"n{at}") for at in range(1, 5)]
    write(address, [*earlier, *now, record(NOW - 5 * day, "failure", DOWN, call="old", session="old")])

    found, always = overview(address, View(range="24h")), overview(address, View(range="all"))

    assert (found["totals"]["failed"], found["before"]["failed"]) == (4, 2)
    assert always["before"] is None


def test_minutes_and_hours_tell_the_same(address: str) -> None:
    made = [record(NOW - 40 * at, "failure" if at % 3 else "success", DOWN if at % 3 else None, call=str(at),
                   session=str(at), elapsed=0.2) for at in range(1, 60)]  # fmt: skip
    write(address, made)

    by_minute, by_hour = overview(address, View(range="1h")), overview(address, View(range="24h"))

    assert by_minute["totals"]["calls"] == by_hour["totals"]["calls"] == 59
    assert {name: by_minute["totals"][name] for name in figures_of([])} == figures_of(made)


def test_failed_calls_that_say_the_same_are_one_row(address: str) -> None:
    def missing(number: int, at: float) -> Any:
        failure = fw.Failure(code="NOT_FOUND", message=f"There is no task 't-{number}' in list {number}.")
        return record(at, "failure", failure, call=str(number), session=str(number))

    day = 24 * HOUR
    write(address, [missing(at, NOW - 60 * at) for at in range(1, 6)])
    write(address, [missing(90, NOW - day - 60), record(NOW - 9, "failure", DOWN, tool="pay", call="p")])

    found = overview(address, View(range="24h"))["messages"]
    of_one_tool = overview(address, View(range="15m", tool="find"))["messages"]

    assert [(row["message"], row["count"], row["before"]) for row in found] == [
        ("There is no task … in list ….", 5, 1),
        ("Come back later.", 1, 0),
    ]
    assert [(row["count"], row["number"]) for row in of_one_tool] == [(5, 1)]


def test_latency_is_told_to_about_the_bounds_it_is_counted_by(address: str) -> None:
    write(address, [record(NOW - at, call=str(at), elapsed=0.2 if at <= 90 else 20.0) for at in range(1, 101)])

    totals = overview(address, View(range="15m"))["totals"]

    assert 0.1 < totals["p50"] <= 0.25
    assert 10.0 < totals["p95"] <= 30.0
    assert overview(address, View(range="15m", tool="none"))["totals"]["p50"] is None


def test_tools_that_do_not_exist_have_one_row(address: str) -> None:
    unknown = fw.Failure(code="UNKNOWN_TOOL", message="There is no such tool.")
    invented = [
        record(NOW - at, "failure", unknown, tool=f"tool {at}", call=str(at), session="u") for at in range(1, 9)
    ]
    write(address, [*invented, record(NOW, tool="find", call="f", session="u")])

    groups = overview(address, View())["groups"]
    feed = overview(address, View(tool="(unknown tools)"))["feed"]["rows"]

    assert [(row["name"], row["calls"], row["failed"]) for row in groups] == [("(unknown tools)", 8, 8), ("find", 1, 0)]
    assert {row["tool"] for row in feed} == {f"tool {at}" for at in range(1, 9)}


@pytest.mark.parametrize(
    "verdict", ["recovered", "stuck", "moved_on", "saved", "corrected", "by_retry", "duplicates_avoided"]
)
def test_every_figure_leads_to_the_failures_it_counts(address: str, verdict: str) -> None:
    made = some_sessions(80)
    write(address, made)
    source = counted(source_of(address))
    totals = source.overview(View(range="all"))["totals"]
    figure = totals["turns_saved" if verdict == "saved" else verdict]

    rows, view = list[dict[str, Any]](), View(range="all", verdict=verdict)
    while True:
        page = source.feed(view)
        rows += page["rows"]
        if not page["older"]:
            break
        view = View(range="all", verdict=verdict, before=page["next"])
    source.close()

    assert len(rows) == figure > 0
    if verdict == "stuck":
        assert {row["verdict"] for row in rows} <= {"looped", "unresolved"}
        assert all(row["kind"] == "failure" for row in rows)


def test_an_agent_is_a_choice_and_a_group(address: str) -> None:
    one = [record(NOW - at, call=str(at), session="a", agent="cli 1") for at in range(1, 4)]
    write(address, [*one, record(NOW, "failure", DOWN, call="9", session="b", agent="ide 2")])

    found = overview(address, View(by="agent"))
    chosen = overview(address, View(agent="ide 2"))

    assert [(row["name"], row["calls"], row["failed"]) for row in found["groups"]] == [("ide 2", 1, 1), ("cli 1", 3, 0)]
    assert found["choices"]["agent"] == ["cli 1", "ide 2"]
    assert (chosen["totals"]["calls"], len(chosen["feed"]["rows"])) == (1, 1)


def test_a_mark_is_shown_and_counted_nowhere(address: str) -> None:
    write(address, session(("find", None)))
    source = source_of(address)
    source.mark("billing 2.3 deployed")

    found = counted(source).overview(View())
    source.close()

    assert [mark["text"] for mark in found["marks"]] == ["billing 2.3 deployed"]
    assert found["totals"]["calls"] == 0
