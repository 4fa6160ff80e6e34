"""Records as far as it takes to judge them: the columns to ask for, and what is made of a row of them."""

from typing import Any

import msgspec

from failwell.telemetry.record import FAILED, Record
from failwell.telemetry.sinks.tables import records

_c = records.c
NEEDED = (
    *(_c.number, _c.time, _c.source, _c.kind, _c.session, _c.server, _c.tool, _c.call, _c.elapsed, _c.delay),
    *(_c.type, _c.code, _c.decision, _c.arguments, _c.failure),
)


class _Helps(msgspec.Struct):
    actions: list[str] = []


_helps = msgspec.json.Decoder(_Helps)


def slim(row: Any) -> Record:
    """Return the record in a row of these columns, with the actions of its failure and nothing else of it."""
    return Record(
        time=row.time,
        source=row.source,
        kind=row.kind,
        session=row.session,
        server=row.server,
        tool=row.tool,
        call=row.call,
        elapsed=row.elapsed,
        delay=row.delay,
        type=row.type,
        code=row.code,
        decision=row.decision,
        arguments=row.arguments,
        failure=_actions(row.failure) if row.kind in FAILED else None,
    )


def _actions(failure: str | None) -> dict[str, Any] | None:
    if failure is None or '"actions"' not in failure:
        return None
    try:
        return {"actions": _helps.decode(failure).actions}
    except msgspec.MsgspecError:
        return None
