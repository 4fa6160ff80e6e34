"""The details of a failure: the events of its call, what the agent did before and next, and what became of it."""

from typing import Any

import msgspec

from failwell.event import ENDS
from failwell.records._record import Record
from failwell.records._recovery import RecordedFailure, RecoveryVerdict, failures
from failwell.records._tables import as_record, records

try:
    from sqlalchemy import Connection, and_, or_, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

MEANINGS = {
    "calls": "What agents asked of tools. Retries below a call are part of it.",
    "failed": "Calls that gave the agent an error in place of a result.",
    "trouble": "One or more failed calls of one tool with one code, until that tool succeeds or the session ends.",
    "recovered": "Troubles that the agent got over: a retry, a fallback, the tool itself or another one helped.",
    "stuck": "Troubles that nothing helped against: the agent gave up, or repeated the same failing call.",
    "turns_saved": "Troubles that a retry, a repair or a fallback settled before the model saw them.",
    "calls_wasted": "Failed calls that the model saw. Each took it a turn.",
    "time_wasted": "Time spent in failed calls and in waiting for the next try.",
    "duplicates_prevented": "Calls that may have taken effect and were not made again, as the tool may not run twice.",
    "lost": "Records that found no room in the buffer of a recorder, so that they are missing here.",
}

VERDICT_WORDS: dict[RecoveryVerdict, str] = {
    "by_retry": "A retry settled it, and the agent never knew.",
    "by_repair": "A call with corrected arguments settled it, and the agent never knew.",
    "by_fallback": "Something else answered in the tool's place.",
    "at_once": "The agent's next call of the tool succeeded.",
    "later": "The agent tried on, and the tool succeeded in the end.",
    "elsewhere": "The agent got on with another tool.",
    "looped": "The agent repeated the same failing call, and the tool never succeeded.",
    "given_up": "The tool never succeeded, and no other tool helped.",
}

_READ_BEFORE, _READ_AFTER = 60, 200
_MOST_BEFORE, _MOST_NEXT = 3, 8
_BESIDE_CALLS = frozenset(("breaker", "died", "restarted", "dropped", "lost"))
_c = records.c
_Numbered = tuple[int, Record]


def failure_details(connection: Connection, number: int) -> dict[str, Any] | None:
    """Return the details of the record with a number, or None if there is none."""
    row = connection.execute(select(records).where(_c.number == number)).mappings().one_or_none()
    if row is None:
        return None
    record = as_record(row)
    if record.kind in _BESIDE_CALLS:
        return {"record": _as_json((number, record)), "call": [], "before": [], "next": [], "trouble": None}
    around = _around(connection, number, record)
    call = _call(around, number, record)
    its = {one for one, _ in call}
    at = next(place for place, (one, _) in enumerate(around) if one == number)
    ends = [(place, one) for place, one in enumerate(around) if one[1].kind in ENDS and one[0] not in its]
    return {
        "record": _as_json((number, record)),
        "call": [_as_json(one) for one in call],
        "before": [_as_json(one) for place, one in ends if place < at][-_MOST_BEFORE:],
        "next": [_as_json(one) for place, one in ends if place > at][:_MOST_NEXT],
        "trouble": _failure_of([one for _, one in around], record),
    }


def _around(connection: Connection, number: int, record: Record) -> list[_Numbered]:
    """Return the records of the session about the time of one, in their order."""
    same = (_c.session == record.session, _c.source == record.source)
    is_before = or_(_c.time < record.time, and_(_c.time == record.time, _c.number < number))
    is_after = or_(_c.time > record.time, and_(_c.time == record.time, _c.number >= number))
    before = select(records).where(*same, _c.time <= record.time, is_before)
    after = select(records).where(*same, _c.time >= record.time, is_after)
    earlier = connection.execute(before.order_by(_c.time.desc(), _c.number.desc()).limit(_READ_BEFORE)).mappings().all()
    later = connection.execute(after.order_by(_c.time, _c.number).limit(_READ_AFTER)).mappings().all()
    return [(row["number"], as_record(row)) for row in (*reversed(earlier), *later)]


def _call(around: list[_Numbered], number: int, record: Record) -> list[_Numbered]:
    """Return the records of the same call. Its name may come back after its end, as that of another call."""
    at = next(place for place, (one, _) in enumerate(around) if one == number)
    if not record.call:
        return [around[at]]
    first = at
    for place in range(at - 1, -1, -1):
        other = around[place][1]
        if other.call == record.call:
            if other.kind in ENDS and record.kind in ENDS | {"retry"}:
                break
            first = place
    found: list[_Numbered] = []
    for place in range(first, len(around)):
        other = around[place][1]
        if other.call == record.call:
            if other.kind in ENDS | {"retry"} and any(one.kind in ENDS for _, one in found):
                break
            found.append(around[place])
    return found


def _failure_of(around: list[Record], record: Record) -> dict[str, Any] | None:
    """Return the failure that a record is part of, with what became of it."""
    code = record.code or record.type or ""
    for failure in failures(around):
        if _is_of(failure, record) and code in (failure.code, "") and failure.began <= record.time <= failure.ended:
            words = VERDICT_WORDS[failure.verdict]
            return {
                **msgspec.structs.asdict(failure),
                "words": words,
                "recovered": failure.has_recovered,
                "calls_wasted": failure.calls_wasted,
            }
    return None


def _is_of(failure: RecordedFailure, record: Record) -> bool:
    return (failure.server, failure.tool) == (record.server, record.tool)


def _as_json(one: _Numbered) -> dict[str, Any]:
    return {"number": one[0], **msgspec.to_builtins(msgspec.structs.asdict(one[1]))}
