"""The figures of a view: totals, verdicts on failures, figures over time, and groups, the worst first."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from failwell.dashboard.counts import SECONDS_OF_AN_HOUR, SUMS, count_table, hour_of, session_rows
from failwell.dashboard.views import RANGES, View
from failwell.records._recovery import BELOW, RECOVERED, VERDICTS

try:
    from sqlalchemy import ColumnElement, Connection, func, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

MOST_GROUPS = 100
_MOST_BARS = 60
_MOST_ROWS = 50_000
_STEPS = {24: 1, 7 * 24: 6, 30 * 24: 24, 90 * 24: 72}
"""How many hours a bar stands for, by how many hours are shown."""
_CALL_FILTERS = ("server", "tool", "source")
_FAILURE_FILTERS = ("type", "code")
_c = count_table.c

FigureValues = dict[str, float | None]
_Order = Callable[[dict[str, Any]], Any]


def since_hour(view: View, now: float) -> int:
    """Return the first hour that a view shows."""
    back = RANGES[view.range]
    return 0 if back is None else hour_of(now) - back + 1


def overview(connection: Connection, view: View, now: float) -> dict[str, Any]:
    """Return all figures of a view, as the page and the exports show them."""
    since = since_hour(view, now)
    found = _sums(connection, view, since)
    chosen = [row for row in found if _matches(row, view, _CALL_FILTERS)]
    total = _total(chosen, view)
    return {
        "totals": total,
        "verdicts": {verdict: total[verdict] for verdict in VERDICTS},
        "groups": _sorted(_groups(chosen, view, total), view.sort)[:MOST_GROUPS],
        "choices": _choices(found),
        "series": series(connection, view, now),
    }


def groups(connection: Connection, view: View, now: float) -> list[FigureValues]:
    """Return the groups of a view alone, all of them, for an export."""
    chosen = [row for row in _sums(connection, view, since_hour(view, now)) if _matches(row, view, _CALL_FILTERS)]
    return _sorted(_groups(chosen, view, _total(chosen, view)), view.sort)


def series(connection: Connection, view: View, now: float) -> dict[str, Any]:
    """Return figures over time; a bar without calls is among them."""
    first, last = since_hour(view, now), hour_of(now)
    if view.range == "all":
        earliest: int | None = connection.execute(select(func.min(_c.hour))).scalar()
        first = last if earliest is None else min(earliest, last)
    step = _step(last - first + 1)
    by_bar: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _sums_of_bars(connection, view, first, step):
        by_bar[row["bar"]].append(row)
    first, last = first - first % step, last - last % step
    bars = [
        {"time": hour * SECONDS_OF_AN_HOUR, **_total(by_bar.get(hour // step, ()), view)}
        for hour in range(first, last + 1, step)
    ]
    return {"hours": step, "bars": bars}


def _step(hours: int) -> int:
    if hours in _STEPS:
        return _STEPS[hours]
    least = math.ceil(hours / _MOST_BARS)
    return next((step for step in (1, 2, 3, 6, 12) if step >= least), math.ceil(least / 24) * 24)


def _sums(connection: Connection, view: View, since: int) -> list[Mapping[str, Any]]:
    if view.session:
        return [row for row in session_rows(connection, view.session) if row["hour"] >= since]
    names = (_c.source, _c.server, _c.tool, _c.type, _c.code)
    query = select(*names, *_summed()).where(_c.hour >= since).group_by(*names)
    query = query.order_by(func.sum(_c.failed).desc(), *names).limit(_MOST_ROWS)
    return [dict(row) for row in connection.execute(query).mappings()]


def _sums_of_bars(connection: Connection, view: View, since: int, step: int) -> list[Mapping[str, Any]]:
    if view.session:
        rows = _sums(connection, view, since)
        return [{**row, "bar": row["hour"] // step} for row in rows if _matches(row, view, _CALL_FILTERS)]
    bar = (_c.hour // step).label("bar")
    where = [_c.hour >= since, *(_c[name] == value for name in _CALL_FILTERS if (value := getattr(view, name)))]
    query = select(bar, _c.type, _c.code, *_summed()).where(*where).group_by(bar, _c.type, _c.code)
    return [dict(row) for row in connection.execute(query).mappings()]


def _summed() -> list[ColumnElement[Any]]:
    return [func.sum(_c[name]).label(name) for name in SUMS]


def _matches(row: Mapping[str, Any], view: View, names: Iterable[str]) -> bool:
    return all(row[name] == wanted for name in names if (wanted := getattr(view, name)))


def _total(rows: Iterable[Mapping[str, Any]], view: View) -> FigureValues:
    """Return the sums of rows. All calls count, but only the failures that are looked for."""
    sums: dict[str, float] = dict.fromkeys(SUMS, 0)
    for row in rows:
        sums["calls"] += int(row["calls"])
        if _matches(row, view, _FAILURE_FILTERS):
            for name in SUMS[1:]:
                sums[name] += float(row[name]) if name == "seconds_wasted" else int(row[name])
    return _with_rates(sums)


def _with_rates(sums: dict[str, float]) -> FigureValues:
    failures = sum(sums[verdict] for verdict in VERDICTS)
    recovered = sum(sums[verdict] for verdict in RECOVERED)
    return {
        **sums,
        "seconds_wasted": round(max(sums["seconds_wasted"], 0.0), 3),
        "troubles": failures,
        "recovered": recovered,
        "stuck": failures - recovered,
        "turns_saved": sum(sums[verdict] for verdict in BELOW),
        "failure_rate": _ratio(sums["failed"], sums["calls"]),
        "recovery_rate": _ratio(recovered, failures),
    }


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
        if figures["failed"] or figures["troubles"] or (view.by in _CALL_FILTERS and figures["calls"]):
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
    "troubles": _descending("troubles"),
    "recovery": _by_recovery,
    "wasted": _descending("calls_wasted"),
    "calls": _descending("calls"),
    "name": _by_name,
}


def _choices(rows: list[Mapping[str, Any]]) -> dict[str, list[str]]:
    return {
        name: sorted({row[name] for row in rows if row[name]})[:500] for name in (*_CALL_FILTERS, *_FAILURE_FILTERS)
    }
