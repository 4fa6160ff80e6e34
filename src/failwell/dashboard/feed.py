"""The records of a view, newest first, and those added since."""

from typing import Any

from failwell.dashboard.counts import HOUR, UNKNOWN_TOOLS, count_tables, failure_table, progress_table
from failwell.dashboard.figures import since_time
from failwell.dashboard.views import VERDICT_GROUPS, BadView, View
from failwell.event import ENDS, FAILED
from failwell.records._reader import SHOWN
from failwell.records._tables import records

try:
    from sqlalchemy import ColumnElement, Connection, and_, func, or_, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

PAGE = 25
MOST_EXPORTED = 10_000
_LOOKED_AT = 10
_TOO_FAR_BEHIND = 5_000
_EQUAL = ("server", "type", "source", "agent", "session")
_COUNTED_BY = ("server", "tool", "type", "code", "source", "agent")
_c = records.c
_COLUMNS = (
    *(_c.number, _c.time, _c.kind, _c.source, _c.session, _c.server, _c.tool, _c.call, _c.attempt, _c.elapsed),
    *(_c.delay, _c.type, _c.code, _c.outcome, _c.message, _c.decision, _c.reason, _c.agent),
)
NAMES = tuple(column.name for column in _COLUMNS)


def newest(connection: Connection) -> int:
    """Return the number of the last record, 0 without any."""
    return connection.execute(select(func.max(_c.number))).scalar() or 0


def page(connection: Connection, view: View, now: float, *, most: int = PAGE) -> dict[str, Any]:
    """Return the newest records of a view, or those before one of them; `older` is true if there are more.

    Raises:
        BadView: there is no record with the number that they should be before.
    """
    if view.verdict:
        return _failures(connection, view, now, most)
    where = [*_conditions(view), _c.time >= since_time(view, now)]
    if view.before:
        time = connection.execute(select(_c.time).where(_c.number == view.before)).scalar()
        if time is None:
            raise BadView("the event to continue from is gone; start with the newest ones")
        where += [_c.time <= time, or_(_c.time < time, and_(_c.time == time, _c.number < view.before))]
    elif view.show == "failures":
        where += _hours_of_failures(connection, view, now, most)
    query = select(*_COLUMNS).where(*where).order_by(_c.time.desc(), _c.number.desc()).limit(most + 1)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    return {"rows": rows[:most], "older": len(rows) > most}


def since(connection: Connection, view: View) -> dict[str, Any]:
    """Return the records of a view after one, the newest first; `reload` is true if they are too many to add."""
    last = newest(connection)
    if last - view.after > _TOO_FAR_BEHIND:
        return {"rows": [], "newest": last, "reload": True}
    where = [_c.number > view.after, _c.number <= last, *_conditions(view)]
    query = select(*_COLUMNS).where(*where).order_by(_c.number.desc()).limit(PAGE)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    return {"rows": rows, "newest": last, "reload": False}


def _failures(connection: Connection, view: View, now: float, most: int) -> dict[str, Any]:
    """Return the failures with a verdict, the newest first, each as the record that began it; `before` counts on."""
    c = failure_table.c
    names = (*_COUNTED_BY, "session")
    where = [c.verdict.in_(sorted(VERDICT_GROUPS[view.verdict])), c.began >= since_time(view, now)]
    where += [c[name] == value for name in names if (value := getattr(view, name))]
    if view.verdict == "duplicates_avoided":
        where.append(c.duplicates_avoided > 0)
    query = select(c.session, c.source, c.server, c.tool, c.code, c.began, c.verdict).where(*where)
    found = connection.execute(query.order_by(c.began.desc(), c.session).offset(view.before).limit(most + 1)).all()
    rows: list[dict[str, Any]] = []
    for failure in found[:most]:
        of_call = [_c.session == failure.session, _c.source == failure.source, _c.time >= failure.began]
        if failure.tool != UNKNOWN_TOOLS:
            of_call += [_c.tool == failure.tool, _c.server == failure.server]
        is_its = or_(_c.code == failure.code, and_(_c.code.is_(None), _c.type == failure.code))
        one = (
            select(*_COLUMNS)
            .where(*of_call, is_its, _c.kind.in_(sorted({*ENDS, "retry"})))
            .order_by(_c.time, _c.number)
        )
        rows_of_it = connection.execute(one.limit(_LOOKED_AT)).mappings().all()
        row = next((each for each in rows_of_it if each["kind"] in FAILED), next(iter(rows_of_it), None))
        if row is not None:  # otherwise it was pruned
            rows.append({**row, "verdict": failure.verdict})
    return {"rows": rows, "older": len(found) > most, "next": view.before + most}


def _conditions(view: View) -> list[ColumnElement[bool]]:
    where = [_c[name] == value for name in _EQUAL if (value := getattr(view, name))]
    if view.tool:
        where.append(_c.code == "UNKNOWN_TOOL" if view.tool == UNKNOWN_TOOLS else _c.tool == view.tool)
    if view.code:
        where.append(or_(_c.code == view.code, and_(_c.code.is_(None), _c.type == view.code)))
    if kinds := SHOWN[view.show]:
        where.append(_c.kind.in_(sorted(kinds)))
    return where


def _hours_of_failures(connection: Connection, view: View, now: float, most: int) -> list[ColumnElement[bool]]:
    """Return between which hours so many failures are, by the counts: a rare one is found without a long search."""
    if view.session:
        return []
    c = count_tables[HOUR].c
    where = [c[name] == value for name in _COUNTED_BY if (value := getattr(view, name))]
    first = since_time(view, now) // HOUR
    query = select(c.bucket, func.sum(c.failed)).where(*where, c.failed > 0, c.bucket >= first)
    hours, found = list[int](), 0
    for hour, failed in connection.execute(query.group_by(c.bucket).order_by(c.bucket.desc())):
        hours.append(hour)
        found += int(failed)
        if found > most:
            break
    upto: int = connection.execute(select(progress_table.c.upto)).scalar_one()
    if not hours:
        return [_c.number > upto]
    bounds = [_c.time >= hours[-1] * HOUR]
    if newest(connection) <= upto:
        bounds.append(_c.time < (hours[0] + 1) * HOUR)
    return bounds
