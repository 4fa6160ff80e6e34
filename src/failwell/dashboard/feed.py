"""The records of a view, the newest first, and those that came since."""

from typing import Any

from failwell.dashboard.counts import SECONDS_OF_AN_HOUR, count_table, progress_table
from failwell.dashboard.figures import since_hour
from failwell.dashboard.views import SHOWN, BadView, View
from failwell.records._tables import records

try:
    from sqlalchemy import ColumnElement, Connection, and_, func, or_, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

PAGE = 25
MOST_EXPORTED = 10_000
_TOO_FAR_BEHIND = 5_000
_EQUAL = ("server", "tool", "type", "source", "session")
_COUNTED_BY = ("server", "tool", "type", "code", "source")
_c = records.c
_COLUMNS = (
    *(_c.number, _c.time, _c.kind, _c.source, _c.session, _c.server, _c.tool, _c.call, _c.attempt, _c.elapsed),
    *(_c.delay, _c.type, _c.code, _c.outcome, _c.message, _c.decision, _c.reason),
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
    where = [*_conditions(view), _c.time >= since_hour(view, now) * SECONDS_OF_AN_HOUR]
    if view.before:
        time = connection.execute(select(_c.time).where(_c.number == view.before)).scalar()
        if time is None:
            raise BadView("the record to go on from is gone; begin with the newest ones")
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


def _conditions(view: View) -> list[ColumnElement[bool]]:
    where = [_c[name] == value for name in _EQUAL if (value := getattr(view, name))]
    if view.code:
        where.append(or_(_c.code == view.code, and_(_c.code.is_(None), _c.type == view.code)))
    if kinds := SHOWN[view.show]:
        where.append(_c.kind.in_(sorted(kinds)))
    return where


def _hours_of_failures(connection: Connection, view: View, now: float, most: int) -> list[ColumnElement[bool]]:
    """Return between which hours so many failures are, by the counts: a rare one is found without a long search."""
    if view.session:
        return []
    c = count_table.c
    where = [c[name] == value for name in _COUNTED_BY if (value := getattr(view, name))]
    query = select(c.hour, func.sum(c.failed)).where(*where, c.failed > 0, c.hour >= since_hour(view, now))
    hours, found = list[int](), 0
    for hour, failed in connection.execute(query.group_by(c.hour).order_by(c.hour.desc())):
        hours.append(hour)
        found += int(failed)
        if found > most:
            break
    upto: int = connection.execute(select(progress_table.c.upto)).scalar_one()
    if not hours:
        return [_c.number > upto]
    bounds = [_c.time >= hours[-1] * SECONDS_OF_AN_HOUR]
    if newest(connection) <= upto:
        bounds.append(_c.time < (hours[0] + 1) * SECONDS_OF_AN_HOUR)
    return bounds
