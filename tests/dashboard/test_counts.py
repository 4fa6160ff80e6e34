"""Counts follow the definition of recovery, however the records came in; on a real SQLite and a real PostgreSQL."""

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text, update

from failwell.dashboard import counts
from failwell.dashboard.counts import count_calls, count_failures, empty_sums, session_failures
from failwell.dashboard.views import View
from failwell.records import Record, failures, recovery
from tests.dashboard.places import address, postgres
from tests.dashboard.stores import counted, figures_of, some_sessions, source_of, write
from tests.records.samples import DOWN, MISSING, drop_tables, engine_of, record, session

__all__ = ["address", "postgres"]
ALL = View(range="all")


def totals(source: Any) -> dict[str, Any]:
    found = counted(source).overview(ALL)["totals"]
    return {name: found[name] for name in figures_of([])}


def test_counts_are_those_of_the_definition_however_many_are_counted_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "BATCH", 37)
    records = some_sessions()
    source = source_of(address)

    for start in range(0, len(records), 250):  # sessions go on after they were judged
        write(address, records[start : start + 250])
        counted(source)
    found = totals(source)
    source.close()

    assert found == figures_of(records)
    assert found["failed"] > 20
    assert sum(found[verdict] > 0 for verdict in recovery([]).verdicts) >= 5


def test_a_failure_that_looks_unresolved_is_recovered_once_the_tool_succeeds(address: str) -> None:
    first, second, third = session(("find", MISSING), ("pay", None), ("find", None))
    source = source_of(address)

    write(address, [first])
    looks = totals(source)
    write(address, [second])
    looks_now = totals(source)
    write(address, [third])
    is_so = totals(source)
    source.close()

    assert (looks["unresolved"], looks["moved_on"], looks["corrected"]) == (1, 0, 0)
    assert (looks_now["unresolved"], looks_now["moved_on"], looks_now["corrected"]) == (0, 1, 0)
    assert (is_so["unresolved"], is_so["moved_on"], is_so["corrected"]) == (0, 0, 1)


def test_a_dashboard_that_is_started_again_goes_on_where_it_was(address: str) -> None:
    records = some_sessions(40)
    for start in range(0, len(records), 90):
        write(address, records[start : start + 90])
        again = source_of(address)
        counted(again)
        again.close()

    source = source_of(address)
    assert totals(source) == figures_of(records)
    source.close()


def test_two_dashboards_count_each_record_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "BATCH", 20)
    records = some_sessions(60)
    write(address, records)
    both = [source_of(address), source_of(address)]
    both[0].count()

    threads = [threading.Thread(target=counted, args=(source,)) for source in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = [totals(source) for source in both]
    for source in both:
        source.close()

    assert found == [figures_of(records)] * 2


def test_a_record_that_appears_after_one_with_a_higher_number_is_not_missed(postgres: Any) -> None:
    place = f"postgresql://{postgres.url}"
    write(place, session(("find", None)))
    source = source_of(place)
    counted(source)
    engine = engine_of(place)
    slow = engine.connect()
    began = slow.begin()
    slow.execute(
        text(
            "INSERT INTO failwell_records (time, v, source, kind, session, server, tool, call, attempt, type, code)"
            " VALUES (2.0, 1, 'client', 'failure', 's', '', 'find', '2', 1, 'NOT_FOUND', 'NOT_FOUND')"
        )
    )
    write(place, [record(3.0, "success", call="3")])

    waits = source.count()  # somebody is still writing: it is not counted past them
    before = source.overview(ALL)["totals"]["calls"]
    began.commit()
    slow.close()
    after = counted(source).overview(ALL)["totals"]
    engine.dispose()
    drop_tables(place)
    source.close()

    assert (waits, before) == (0, 1)
    assert (after["calls"], after["failed"]) == (3, 1)


def test_tables_of_another_version_are_filled_anew(address: str) -> None:
    records = some_sessions(10)
    write(address, records)
    first = source_of(address)
    counted(first)
    first.close()
    engine = engine_of(address)
    with engine.begin() as connection:
        connection.execute(update(counts.progress_table).values(version=counts.VERSION + 1))
    engine.dispose()

    source = source_of(address)
    assert totals(source) == figures_of(records)
    source.close()


def test_a_session_without_an_end_is_judged_after_a_while(address: str) -> None:
    lasting = [record(1.0, "failure", MISSING, call="0", arguments="a")]
    lasting += [record(2.0 + at, "success", call=str(at + 1), tool="pay") for at in range(counts.MOST_PENDING + 5)]
    source = source_of(address)
    write(address, lasting)
    counted(source)
    engine = engine_of(address)
    with engine.connect() as connection:
        left = connection.execute(select(counts.pending_table)).all()
    engine.dispose()
    write(address, [record(500.0, "success", call="end")])
    found = totals(source)
    source.close()

    assert left == []
    assert found["moved_on"] == 1
    assert found["corrected"] == 0


def test_who_was_not_heard_of_for_a_day_is_not_waited_for(address: str) -> None:
    source = source_of(address)
    write(address, [record(1.0, "failure", MISSING, call="1"), record(90_000.0, "success", session="other")])
    counted(source)
    engine = engine_of(address)
    with engine.connect() as connection:
        left = connection.execute(select(counts.pending_table)).all()
    engine.dispose()
    source.close()

    assert left == []


steps = st.lists(
    st.tuples(
        st.sampled_from(["find", "pay", "list_tasks"]),
        st.sampled_from([None, MISSING, DOWN]),
        st.sampled_from(["a", "b"]),
    ),
    max_size=12,
)


@given(steps, st.integers(1, 6))
def test_judging_bit_by_bit_comes_to_the_same_as_all_at_once(taken: list[Any], size: int) -> None:
    records = session(*taken)
    sums, kept, counted_so_far = empty_sums(), list[Record](), list[Any]()
    for start in range(0, len(records), size):
        count_failures(sums, counted_so_far, times=-1)
        found = session_failures([*kept, *records[start : start + size]])
        count_failures(sums, [*found.final, *found.pending])
        seen = [*kept, *records[start : start + size]]
        since = found.since
        kept = [] if since is None else [one for one in seen if one.time >= since]
        counted_so_far = found.pending
    whole = empty_sums()
    count_failures(whole, failures(records))

    assert _compact(sums) == _compact(whole)


def _compact(sums: Any) -> dict[Any, Any]:
    rows = {key: {name: round(value, 6) for name, value in row.items() if round(value, 6)} for key, row in sums.items()}
    return {key: row for key, row in rows.items() if row}


def test_a_failure_without_a_code_counts_under_its_type() -> None:
    sums = empty_sums()
    one = Record(time=1.0, source="client", kind="failure", tool="find", type="INTERNAL")
    count_calls(sums, [one])
    count_failures(sums, failures([one]))

    assert _compact(sums) == {
        (0, "client", "", "find", "", "", ""): {"calls": 1},
        (0, "client", "", "find", "", "INTERNAL", "INTERNAL"): {"failed": 1, "unresolved": 1, "calls_wasted": 1},
    }


def test_counting_goes_on_while_a_vacuum_holds_the_table(postgres: Any) -> None:
    place = f"postgresql://{postgres.url}"
    write(place, session(("find", None), ("find", MISSING)))
    engine, now = engine_of(place), [0.0]
    counter = counts.RecordCounter(engine, clock=lambda: now[0])
    vacuum = engine.connect()
    vacuum.execute(text("LOCK TABLE failwell_records IN SHARE UPDATE EXCLUSIVE MODE"))

    counter.count_next()
    before = _upto(engine)
    now[0] = 20.0
    counter.count_next()
    after = _upto(engine)
    vacuum.rollback()
    vacuum.close()
    engine.dispose()
    drop_tables(place)

    assert (before, after) == (0, 2)


def _upto(engine: Any) -> int:
    with engine.connect() as connection:
        found: int = connection.execute(select(counts.progress_table.c.upto)).scalar_one()
    return found


def test_times_outside_the_calendar_keep_no_others_from_being_counted(address: str) -> None:
    source = source_of(address)
    write(address, [record(at, "failure", MISSING, call=str(at)) for at in (1e300, -1e300, 1e20, 1e3)])

    found = totals(source)
    source.close()

    assert found["failed"] == 3  # no range begins before 1970
