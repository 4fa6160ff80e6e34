"""The figures of a view: totals, verdicts on failures, figures over time, and groups, worst first."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from failwell.dashboard.counts import (
    HOUR,
    KEY,
    LATENCIES,
    OF_CALLS,
    OF_FAILURES,
    SUMS,
    TOOK,
    bucket_of,
    count_messages,
    count_tables,
    message_table,
    session_rows,
)
from failwell.dashboard.views import RANGES, View
from failwell.event import FAILED
from failwell.records._recovery import BELOW, RECOVERED, STUCK, VERDICTS
from failwell.records._tables import records

try:
    from sqlalchemy import ColumnElement, Connection, case, func, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

MOST_GROUPS = 100
_MOST_BARS = 60
_MOST_ROWS = 50_000
_MOST_MESSAGES = 15
_MOST_READ = 5_000
_CALL_FILTERS = ("server", "tool", "source", "agent")
_FAILURE_FILTERS = ("type", "code")

FigureValues = dict[str, float | None]
_Order = Callable[[dict[str, Any]], Any]


def since_bucket(view: View, now: float) -> int:
    """Return the first bucket that a view shows."""
    back = RANGES[view.range]
    return 0 if back.buckets is None else bucket_of(now, back.unit) - back.buckets + 1


def since_time(view: View, now: float) -> float:
    """Return the time from which on a view shows records."""
    return since_bucket(view, now) * RANGES[view.range].unit


def overview(connection: Connection, view: View, now: float) -> dict[str, Any]:
    """Return all figures of a view, as the page and the exports show them."""
    back, since = RANGES[view.range], since_bucket(view, now)
    found = _sums(connection, view, since)
    chosen = [row for row in found if _matches(row, view, _CALL_FILTERS)]
    total = _total(chosen, view)
    before: FigureValues | None = None
    if back.buckets is not None:
        earlier = _sums(connection, view, since - back.buckets, until=since)
        before = _total([row for row in earlier if _matches(row, view, _CALL_FILTERS)], view)
    return {
        "totals": total,
        "before": before,
        "verdicts": {verdict: total[verdict] for verdict in VERDICTS},
        "groups": _sorted(_groups(chosen, view, total), view.sort)[:MOST_GROUPS],
        "messages": messages(connection, view, now),
        "choices": _choices(found),
        "series": series(connection, view, now),
    }


def groups(connection: Connection, view: View, now: float) -> list[FigureValues]:
    """Return the groups of a view alone, all of them, for an export."""
    chosen = [row for row in _sums(connection, view, since_bucket(view, now)) if _matches(row, view, _CALL_FILTERS)]
    return _sorted(_groups(chosen, view, _total(chosen, view)), view.sort)


def recorded(connection: Connection) -> list[Mapping[str, Any]]:
    """Return the sums of all that was counted, by source, server, tool, type and code."""
    c = count_tables[HOUR].c
    names = (c.source, c.server, c.tool, c.type, c.code)
    query = select(*names, *_summed(HOUR)).group_by(*names).order_by(*names)
    return [dict(row) for row in connection.execute(query).mappings()]


def series(connection: Connection, view: View, now: float) -> dict[str, Any]:
    """Return figures over time; a bar without calls is among them."""
    back = RANGES[view.range]
    first, last, step = since_bucket(view, now), bucket_of(now, back.unit), back.step
    if back.buckets is None:
        earliest: int | None = connection.execute(select(func.min(count_tables[HOUR].c.bucket))).scalar()
        first = last if earliest is None else min(max(earliest, 0), last)
        step = _step(last - first + 1)
    by_bar: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _sums_of_bars(connection, view, first, step):
        by_bar[min(row["bar"], last // step)].append(row)  # a clock that is ahead: the last bar has it too
    first, last = first - first % step, last - last % step
    bars = [
        {"time": bucket * back.unit, **_total(by_bar.get(bucket // step, ()), view)}
        for bucket in range(first, last + 1, step)
    ]
    return {"seconds": step * back.unit, "bars": bars}


def _step(hours: int) -> int:
    least = math.ceil(hours / _MOST_BARS)
    return next((step for step in (1, 2, 3, 6, 12) if step >= least), math.ceil(least / 24) * 24)


def _sums(connection: Connection, view: View, since: int, *, until: int | None = None) -> list[Mapping[str, Any]]:
    unit = RANGES[view.range].unit
    if view.session:
        rows = session_rows(connection, view.session, unit=unit)
        return [row for row in rows if row["bucket"] >= since and (until is None or row["bucket"] < until)]
    c = count_tables[unit].c
    names = (c.source, c.server, c.tool, c.agent, c.type, c.code)
    where = [c.bucket >= since, *([] if until is None else [c.bucket < until])]
    query = select(*names, *_summed(unit)).where(*where).group_by(*names)
    query = query.order_by(func.sum(c.failed).desc(), *names).limit(_MOST_ROWS)
    return [dict(row) for row in connection.execute(query).mappings()]


def _sums_of_bars(connection: Connection, view: View, since: int, step: int) -> list[Mapping[str, Any]]:
    unit = RANGES[view.range].unit
    if view.session:
        rows = _sums(connection, view, since)
        return [{**row, "bar": row["bucket"] // step} for row in rows if _matches(row, view, _CALL_FILTERS)]
    c = count_tables[unit].c
    bar = (c.bucket // step).label("bar")
    where = [c.bucket >= since, *(c[name] == value for name in _CALL_FILTERS if (value := getattr(view, name)))]
    query = select(bar, c.type, c.code, *_summed(unit)).where(*where).group_by(bar, c.type, c.code)
    return [dict(row) for row in connection.execute(query).mappings()]


def messages(connection: Connection, view: View, now: float) -> list[dict[str, Any]]:
    """Return failed calls that say the same, the most frequent first: how many, how many before, and the last one."""
    back, since = RANGES[view.range], since_time(view, now)
    earlier = since - (back.buckets or 0) * back.unit
    is_counted = back.unit == HOUR and not view.session
    found = (_counted_messages if is_counted else _read_messages)(connection, view, since, earlier)
    chosen = [one for one in found if one["count"]]
    return sorted(chosen, key=lambda one: (-one["count"], -one["time"]))[:_MOST_MESSAGES]


_OF_MESSAGES = ("server", "tool", "code", "message")


def _counted_messages(connection: Connection, view: View, since: float, earlier: float) -> list[dict[str, Any]]:
    c = message_table.c
    filters = (*_CALL_FILTERS, *_FAILURE_FILTERS)
    where = [c.bucket >= bucket_of(earlier), *(c[name] == value for name in filters if (value := getattr(view, name)))]
    is_now = c.bucket >= bucket_of(since)
    counts = (
        func.sum(case((is_now, c["count"]), else_=0)).label("count"),
        func.sum(case((is_now, 0), else_=c["count"])).label("before"),
    )
    names = [c[name] for name in _OF_MESSAGES]
    query = select(*names, *counts, func.max(c.number).label("number"), func.max(c.time).label("time")).where(*where)
    rows = connection.execute(query.group_by(*names).order_by(counts[0].desc(), *names).limit(_MOST_MESSAGES))
    return [{**row, "count": int(row["count"]), "before": int(row["before"])} for row in rows.mappings()]


def _read_messages(connection: Connection, view: View, since: float, earlier: float) -> list[dict[str, Any]]:
    """Return the same from the records themselves, where they are few or of one session."""
    c = records.c
    columns = (c.number, c.time, c.kind, c.source, c.server, c.tool, c.agent, c.type, c.code, c.message)
    where = [c.kind.in_(sorted(FAILED)), c.time >= earlier, *([c.session == view.session] if view.session else [])]
    query = select(*columns).where(*where).order_by(c.time.desc(), c.number.desc()).limit(_MOST_READ)
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in connection.execute(query):
        for key, one in count_messages([row]).items():
            names: dict[str, Any] = dict(zip((*KEY, "message"), key, strict=True))
            if _matches(names, view, (*_CALL_FILTERS, *_FAILURE_FILTERS)):
                about = {name: names[name] for name in _OF_MESSAGES}
                known = found.setdefault(tuple(about.values()), {**about, **one, "count": 0, "before": 0})
                known["count" if row.time >= since else "before"] += 1
    return list(found.values())


def _summed(unit: int) -> list[ColumnElement[Any]]:
    return [func.sum(count_tables[unit].c[name]).label(name) for name in SUMS]


def _matches(row: Mapping[str, Any], view: View, names: Iterable[str]) -> bool:
    return all(row[name] == wanted for name in names if (wanted := getattr(view, name)))


def _total(rows: Iterable[Mapping[str, Any]], view: View) -> FigureValues:
    """Return the sums of rows. All calls count, but only the failures that are looked for."""
    sums: dict[str, float] = dict.fromkeys(SUMS, 0)
    for row in rows:
        for name in OF_CALLS:
            sums[name] += int(row[name])
        if _matches(row, view, _FAILURE_FILTERS):
            for name in OF_FAILURES:
                sums[name] += float(row[name]) if name == "seconds_lost" else int(row[name])
    return _with_rates(sums)


def _with_rates(sums: dict[str, float]) -> FigureValues:
    failures = sum(sums[verdict] for verdict in VERDICTS)
    recovered = sum(sums[verdict] for verdict in RECOVERED)
    stuck = sum(sums[verdict] for verdict in STUCK)
    took = [int(sums.pop(name)) for name in TOOK]
    return {
        **sums,
        "p50": _percentile(took, 0.5),
        "p95": _percentile(took, 0.95),
        "seconds_lost": round(max(sums["seconds_lost"], 0.0), 3),
        "failures": failures,
        "recovered": recovered,
        "stuck": stuck,
        "turns_saved": sum(sums[verdict] for verdict in BELOW),
        "failure_rate": _ratio(sums["failed"], sums["calls"]),
        "recovery_rate": _ratio(recovered, recovered + stuck),
    }


def _percentile(counts: list[int], part: float) -> float | None:
    """Return how long that part of all calls took at most, interpolated between the bounds they are counted by."""
    wanted = part * sum(counts)
    if not wanted:
        return None
    below, seen = 0.0, 0
    for count, bound in zip(counts, (*LATENCIES, LATENCIES[-1]), strict=True):
        if count and seen + count >= wanted:
            return round(below + (bound - below) * (wanted - seen) / count, 4)
        below, seen = bound, seen + count
    return LATENCIES[-1]


def _ratio(some: float, of: float) -> float | None:
    return round(some / of, 6) if of else None


def _groups(rows: list[Mapping[str, Any]], view: View, total: FigureValues) -> list[Any]:
    by_name: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_name[row[view.by]].append(row)
    found: list[Any] = []
    for name, some in by_name.items():
        figures = _total(some, view)
        if view.by in _FAILURE_FILTERS:  # successes have neither, so that failures are measured against all calls
            figures |= {"calls": total["calls"], "failure_rate": _ratio(figures["failed"] or 0, total["calls"] or 0)}
        if figures["failed"] or figures["failures"] or (view.by in _CALL_FILTERS and figures["calls"]):
            found.append({"name": name, **figures})
    return found


def _sorted(found: list[Any], sort: str) -> list[Any]:
    key = _ORDERS[sort]
    return sorted(found, key=lambda one: (key(one), -one["stuck"], -one["failed"], one["name"]))


def _descending(name: str) -> _Order:
    def order(one: dict[str, Any]) -> Any:
        return -(one[name] or 0)

    return order


def _by_recovery(one: dict[str, Any]) -> Any:
    return 2.0 if one["recovery_rate"] is None else one["recovery_rate"]


def _by_name(one: dict[str, Any]) -> Any:
    return one["name"].lower()


_ORDERS: dict[str, _Order] = {
    "stuck": _descending("stuck"),
    "failed": _descending("failed"),
    "rate": _descending("failure_rate"),
    "failures": _descending("failures"),
    "recovery": _by_recovery,
    "wasted": _descending("calls_wasted"),
    "time": _descending("seconds_lost"),
    "p95": _descending("p95"),
    "calls": _descending("calls"),
    "name": _by_name,
}


def _choices(rows: list[Mapping[str, Any]]) -> dict[str, list[str]]:
    return {
        name: sorted({row[name] for row in rows if row[name]})[:500] for name in (*_CALL_FILTERS, *_FAILURE_FILTERS)
    }
