"""The whole story of a failure: its call, what the agent was told, and what it did before and next."""

from typing import Any

import msgspec

from failwell.records._record import ENDS, Record
from failwell.records._recovery import Trouble, Verdict, troubles
from failwell.records._tables import as_record, records

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

VERDICT_WORDS: dict[Verdict, str] = {
    "by_retry": "A retry settled it, and the agent never knew.",
    "by_repair": "A call with corrected arguments settled it, and the agent never knew.",
    "by_fallback": "Something else answered in the tool's place.",
    "at_once": "The agent's next call of the tool succeeded.",
    "later": "The agent tried on, and the tool succeeded in the end.",
    "elsewhere": "The agent got on with another tool.",
    "looped": "The agent repeated the same failing call, and the tool never succeeded.",
    "given_up": "The tool never succeeded, and no other tool helped.",
}


try:
    from sqlalchemy import Connection, and_, or_, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

_BEFORE, _AFTER = 60, 200
_SHOWN_BEFORE, _SHOWN_AFTER = 3, 8
_BESIDE_CALLS = frozenset(("breaker", "died", "restarted", "dropped", "lost"))
_c = records.c
_Numbered = tuple[int, Record]


def story(connection: Connection, number: int) -> dict[str, Any] | None:
    """Return the story of the record with a number, or None if there is none."""
    row = connection.execute(select(records).where(_c.number == number)).mappings().one_or_none()
    if row is None:
        return None
    told = as_record(row)
    if told.kind in _BESIDE_CALLS:
        return {"record": _shown((number, told)), "call": [], "before": [], "next": [], "trouble": None}
    around = _around(connection, number, told)
    call = _call(around, number, told)
    its = {one for one, _ in call}
    at = next(place for place, (one, _) in enumerate(around) if one == number)
    ends = [(place, one) for place, one in enumerate(around) if one[1].kind in ENDS and one[0] not in its]
    return {
        "record": _shown((number, told)),
        "call": [_shown(one) for one in call],
        "before": [_shown(one) for place, one in ends if place < at][-_SHOWN_BEFORE:],
        "next": [_shown(one) for place, one in ends if place > at][:_SHOWN_AFTER],
        "trouble": _trouble([one for _, one in around], told),
    }


def _around(connection: Connection, number: int, told: Record) -> list[_Numbered]:
    """Return the records of the session about the time of one, in their order."""
    same = (_c.session == told.session, _c.source == told.source)
    is_before = or_(_c.time < told.time, and_(_c.time == told.time, _c.number < number))
    is_after = or_(_c.time > told.time, and_(_c.time == told.time, _c.number >= number))
    before = select(records).where(*same, _c.time <= told.time, is_before)
    after = select(records).where(*same, _c.time >= told.time, is_after)
    earlier = connection.execute(before.order_by(_c.time.desc(), _c.number.desc()).limit(_BEFORE)).mappings().all()
    later = connection.execute(after.order_by(_c.time, _c.number).limit(_AFTER)).mappings().all()
    return [(row["number"], as_record(row)) for row in (*reversed(earlier), *later)]


def _call(around: list[_Numbered], number: int, told: Record) -> list[_Numbered]:
    """Return the records of the same call. Its name may come back after its end, as that of another call."""
    at = next(place for place, (one, _) in enumerate(around) if one == number)
    if not told.call:
        return [around[at]]
    first = at
    for place in range(at - 1, -1, -1):
        other = around[place][1]
        if other.call == told.call:
            if other.kind in ENDS and told.kind in ENDS | {"retry"}:
                break
            first = place
    found: list[_Numbered] = []
    for place in range(first, len(around)):
        other = around[place][1]
        if other.call == told.call:
            if other.kind in ENDS | {"retry"} and any(one.kind in ENDS for _, one in found):
                break
            found.append(around[place])
    return found


def _trouble(around: list[Record], told: Record) -> dict[str, Any] | None:
    """Return the trouble that a record is part of, with what became of it."""
    code = told.code or told.type or ""
    for trouble in troubles(around):
        if _is_of(trouble, told) and code in (trouble.code, "") and trouble.began <= told.time <= trouble.ended:
            words = VERDICT_WORDS[trouble.verdict]
            return {
                **msgspec.structs.asdict(trouble),
                "words": words,
                "recovered": trouble.has_recovered,
                "calls_wasted": trouble.calls_wasted,
            }
    return None


def _is_of(trouble: Trouble, told: Record) -> bool:
    return (trouble.server, trouble.tool) == (told.server, told.tool)


def _shown(one: _Numbered) -> dict[str, Any]:
    return {"number": one[0], **msgspec.to_builtins(msgspec.structs.asdict(one[1]))}
