"""From the records of one session to what is counted of it, now and for good. Pure."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from failwell.telemetry.record import ENDS, Record
from failwell.telemetry.recovery import Trouble, troubles

SECONDS_OF_AN_HOUR = 3600
MOST_PENDING = 200
"""After so many records of a session a trouble is judged for good, so that sessions without an end cost no more."""

_MAY_CHANGE = frozenset(("looped", "elsewhere", "given_up"))

Key = tuple[int, str, str, str, str, str]
"""Hour, source, server, tool, type and code; the type stands for a code that there is none of."""
Sums = dict[Key, dict[str, float]]


class Judged(Struct, frozen=True):
    """What a session comes to: troubles that are over, those that may end otherwise, and since when to look again."""

    over: list[Trouble]
    open: list[Trouble]
    since: float | None


def judge(records: list[Record]) -> Judged:
    """Judge the records of one session and source."""
    found = troubles(records)
    since = _open_since(found)
    if since is None or len(records) > MOST_PENDING:
        return Judged(found, [], None)
    return Judged([one for one in found if one.began < since], [one for one in found if one.began >= since], since)


def _open_since(found: list[Trouble]) -> float | None:
    """Return when the first trouble began that may end otherwise, or an earlier one that reaches into its time."""
    since = min((one.began for one in found if one.verdict in _MAY_CHANGE), default=None)
    while since is not None:
        earlier = min((one.began for one in found if one.ended >= since), default=since)
        if earlier >= since:
            break
        since = earlier
    return since


def count_calls(sums: Sums, records: Iterable[Record]) -> None:
    """Add the calls that ended to the sums of their hours."""
    for record in records:
        if record.kind in ENDS:
            failed = record.has_failed
            names = (record.type or "", record.code or record.type or "") if failed else ("", "")
            row = sums[hour_of(record.time), record.source, record.server, record.tool, *names]
            row["calls"] += 1
            row["failed"] += failed


def count_troubles(sums: Sums, found: Iterable[Trouble], *, times: int = 1) -> None:
    """Add troubles to the sums of the hours in which they began; minus one *times* takes them out again."""
    for trouble in found:
        row = sums[hour_of(trouble.began), trouble.source, trouble.server, trouble.tool, trouble.type, trouble.code]
        row[trouble.verdict] += times
        row["calls_wasted"] += times * trouble.calls_wasted
        row["seconds_wasted"] += times * trouble.seconds_wasted
        row["duplicates_prevented"] += times * trouble.duplicates_prevented


def no_sums() -> Sums:
    """Return sums that are nothing yet."""
    return defaultdict(lambda: defaultdict(float))


def hour_of(time: float) -> int:
    """Return how many whole hours after 1970 a time is."""
    return int(time // SECONDS_OF_AN_HOUR)
