"""The sums of one session, counted from its records when somebody looks at it."""

from typing import Any

from failwell.dashboard.judging import count_calls, count_troubles, no_sums
from failwell.dashboard.rollups import as_rows
from failwell.dashboard.slim import NEEDED, slim
from failwell.telemetry.recovery import troubles
from failwell.telemetry.sinks.tables import records

try:
    from sqlalchemy import Connection, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

_MOST = 5_000
"""How many records of a session are looked at, its last ones."""


def sums_of_session(connection: Connection, session: str) -> list[dict[str, Any]]:
    """Return rows as the table of counts has them, of one session alone."""
    c = records.c
    query = select(*NEEDED).where(c.session == session).order_by(c.time.desc(), c.number.desc()).limit(_MOST)
    found = [slim(row) for row in connection.execute(query)]
    sums = no_sums()
    count_calls(sums, found)
    count_troubles(sums, troubles(found))
    return as_rows(sums)
