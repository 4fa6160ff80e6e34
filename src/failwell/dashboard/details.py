"""The details of a failure: the events of its call, what the agent did before and after, and how it ended."""

from typing import Any

import msgspec

from failwell import codes
from failwell._docs import docs_address
from failwell.event import BESIDE_CALLS, ENDS
from failwell.records._record import Record
from failwell.records._recovery import STUCK, RecordedFailure, RecoveryVerdict, failures
from failwell.records._tables import as_record, records

try:
    from sqlalchemy import Connection, and_, or_, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

MEANINGS = {
    "calls": "Tool calls that agents made. Automatic retries are part of the call.",
    "failed": "Calls that returned an error to the agent.",
    "failure": (
        "One or more failed calls of a tool with the same code: repeats of the same call or, if the arguments were "
        "wrong, attempts to correct them. It ends with a recovery or with the session."
    ),
    "recovered": (
        "Failures after which the same call succeeded, a corrected call of the same tool succeeded, or the tool that "
        "the failure named succeeded. The rate leaves out failures that agents moved on from."
    ),
    "moved_on": (
        "Failures after which only other calls succeeded. Whether the agent reached its goal is unknown, so they count "
        "neither for nor against the recovery rate."
    ),
    "not_recovered": (
        "Failures after which no call of the session has succeeded, or whose call failed three times or more with "
        "the same arguments and never succeeded."
    ),
    "turns_saved": "Failures that a retry, a repair or a fallback resolved before the model saw them.",
    "calls_wasted": (
        "Failed calls that didn't help: all calls of a failure that was not recovered, and all but the first of one "
        "that was."
    ),
    "time_lost": "Time that agents spent in failed calls and waiting for retries.",
    "latency": "How long calls took, including their retries. Percentiles are estimated from a histogram.",
    "duplicates_avoided": (
        "Failed calls that may have taken effect and were not repeated, of tools that may not be safe to run twice."
    ),
    "lost": "Events that didn't fit into a recorder's buffer. They are missing from all figures.",
}

VERDICT_WORDS: dict[RecoveryVerdict, str] = {
    "by_retry": "A retry resolved it, and the agent never saw it.",
    "by_repair": "Its arguments were corrected automatically, and the agent never saw it.",
    "by_fallback": "The agent got the result of a fallback instead.",
    "same_call": "The agent made the same call again, and it succeeded.",
    "corrected": "The agent corrected the call, and it succeeded.",
    "named_tool": "The agent used the tool that the failure named, and it succeeded.",
    "looped": "The agent repeated the same failing call, and it never succeeded.",
    "moved_on": "Only other calls succeeded later. Whether the agent reached its goal is unknown.",
    "unresolved": "No call of the session has succeeded since.",
}

_READ_BEFORE, _READ_AFTER = 60, 200
_MOST_BEFORE, _MOST_NEXT = 3, 8
_c = records.c
_Numbered = tuple[int, Record]


_OURS = frozenset(row.code for row in codes.ROWS)


def code_docs(code: str | None) -> str | None:
    """Return the address of the docs of a code; None for one that is not ours."""
    address = docs_address()
    return f"{address}/reference/codes.md#{code.lower()}" if code in _OURS and code is not None and address else None


def failure_details(connection: Connection, number: int) -> dict[str, Any] | None:
    """Return the details of the record with a number, or None if there is none."""
    row = connection.execute(select(records).where(_c.number == number)).mappings().one_or_none()
    if row is None:
        return None
    record = as_record(row)
    if record.kind in BESIDE_CALLS:
        return {"record": _as_json((number, record)), "call": [], "before": [], "next": [], "resolution": None}
    around = _around(connection, number, record)
    explained = codes.get(record.code)
    call = _call(around, number, record)
    its = {one for one, _ in call}
    at = next(place for place, (one, _) in enumerate(around) if one == number)
    ends = [(place, one) for place, one in enumerate(around) if one[1].kind in ENDS and one[0] not in its]
    return {
        "record": _as_json((number, record)),
        "call": [_as_json(one) for one in call],
        "before": [_as_json(one) for place, one in ends if place < at][-_MOST_BEFORE:],
        "next": [_as_json(one) for place, one in ends if place > at][:_MOST_NEXT],
        "resolution": _failure_of([one for _, one in around], record),
        "explained": None
        if explained is None
        else {
            "title": explained.title,
            "step": explained.suggestion,
            "docs": code_docs(explained.code),
        },
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
    of_tool = [one for one in failures(around) if (one.server, one.tool) == (record.server, record.tool)]
    exact = [one for one in of_tool if record.time in one.times]
    found = next(iter(exact), None) or next((one for one in of_tool if _spans(one, record)), None)
    if found is None:
        return None
    return {
        **msgspec.structs.asdict(found),
        "words": VERDICT_WORDS[found.verdict],
        "recovered": found.has_recovered,
        "stuck": found.verdict in STUCK,
        "calls_wasted": found.calls_wasted,
    }


def _spans(failure: RecordedFailure, record: Record) -> bool:
    code = record.code or record.type or ""
    return code in (failure.code, "") and failure.began <= record.time <= failure.ended


def _as_json(one: _Numbered) -> dict[str, Any]:
    return {"number": one[0], **msgspec.to_builtins(msgspec.structs.asdict(one[1]))}
