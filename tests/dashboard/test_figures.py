"""What a view shows: figures, the worst first, over time, the feed, and the story of a failure."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from failwell.dashboard.figures import since_hour
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


@pytest.mark.parametrize(("range_", "bars", "hours"), [("24h", 24, 1), ("7d", 28, 6), ("30d", 31, 24), ("90d", 31, 72)])
def test_figures_over_time_have_a_bar_for_every_stretch_of_time(
    tmp_path: Path, range_: str, bars: int, hours: int
) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    sample(address)

    series = overview(address, View(range=range_))["series"]

    assert (series["hours"], len(series["bars"])) in ((hours, bars), (hours, bars + 1), (hours, bars - 1))
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


def test_a_story_tells_the_call_its_tries_and_what_the_agent_did(address: str) -> None:
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

    story = source.failure_details(View(failure=3))
    source.close()

    assert story is not None
    assert (story["record"]["text"], story["record"]["decision"]) == ("Come back.", "retry")
    assert [(one["kind"], one["number"]) for one in story["call"]] == [("retry", 2), ("failure", 3)]
    assert [one["number"] for one in story["before"]] == [1]
    assert [one["number"] for one in story["next"]] == [5, 6]
    assert (story["trouble"]["verdict"], story["trouble"]["recovered"]) == ("later", True)
    assert story["trouble"]["words"] == "The agent tried on, and the tool succeeded in the end."


def test_every_failure_has_a_story_with_its_verdict(address: str) -> None:
    made = some_sessions(40)
    write(address, made)
    source = source_of(address)

    told = [source.failure_details(View(failure=at)) for at, one in enumerate(made, 1) if one.has_failed]
    source.close()

    verdicts = {story["trouble"]["verdict"] for story in told if story}
    assert None not in told
    assert verdicts == {one.verdict for one in failures(made) if one.verdict != "by_retry"}


def test_what_befell_a_server_has_a_story_without_a_call(address: str) -> None:
    write(address, [record(NOW, "died", tool="", server="tasks", details={"exit_code": 137})])
    source = source_of(address)

    story, none = source.failure_details(View(failure=1)), source.failure_details(View(failure=9))
    source.close()

    assert story is not None
    assert (story["record"]["details"], story["call"], story["trouble"]) == ({"exit_code": 137}, [], None)
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
        ([("rnage", "7d")], "there is nothing called 'rnage' to choose by; did you mean 'range'?"),
        ([("range", "2y")], "range must be one of 24h, 7d, 30d, 90d, all, not '2y'"),
        ([("by", "password")], "by must be one of tool, server, type, code, not 'password'"),
        ([("type", "'; DROP TABLE failwell_records; --")], "type must be one of"),
        ([("tool", "a"), ("tool", "b")], "tool stands in the address twice"),
        ([("tool", "a\x00b")], "tool must be a name of at most 200 characters"),
        ([("tool", "x" * 201)], "tool must be a name of at most 200 characters"),
        ([("before", "9" * 30)], "before must be the number of a record"),
        ([("before", str(2**63))], "before must be the number of a record"),
        ([("failure", "-1")], "failure must be the number of a record"),
        ([("after", "١٢")], "after must be the number of a record"),
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
    assert since_hour(View(range="all"), NOW) == 0


def test_one_session_is_counted_by_itself(address: str) -> None:
    made = some_sessions(30)
    write(address, made)
    name = next(one.session for one in made if one.has_failed)
    its = [one for one in made if one.session == name]

    found = overview(address, View(range="all", session=name))

    assert {key: found["totals"][key] for key in figures_of(its)} == figures_of(its)
    assert sum(bar["calls"] for bar in found["series"]["bars"]) == found["totals"]["calls"]
    assert {row["session"] for row in found["feed"]["rows"]} == {name}


def test_what_charts_show_adds_up_to_the_totals(address: str) -> None:
    write(address, some_sessions(150, days=12))

    found = overview(address, View(range="7d"))

    for name in ("calls", "failed", "troubles", "recovered"):
        assert sum(bar[name] for bar in found["series"]["bars"]) == found["totals"][name] > 0
