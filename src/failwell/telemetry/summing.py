"""What became of failures, tool by tool, from any number of sessions that need not fit into memory at once."""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from failwell.telemetry.record import Record
from failwell.telemetry.recovery import RECOVERED, Recovery, Trouble, Verdict, recovery, total, troubles


class Sum(Struct, frozen=True, kw_only=True):
    """What became of the failures of one tool with one code."""

    server: str
    tool: str
    code: str
    troubles: int
    recovered: int
    verdicts: dict[Verdict, int]
    calls_wasted: int
    seconds_wasted: float
    duplicates_prevented: int


class Summary(Struct, frozen=True, kw_only=True):
    """All that was recorded: what the sessions come to, and each tool and code, those that stay broken first."""

    overall: Recovery
    sums: list[Sum]


def summed(sessions: Iterable[Iterable[Record]], equal: Mapping[str, str]) -> Summary:
    """Return what sessions come to; of `sums` only those whose troubles are equal to what is given.

    Args:
        sessions: the records of each session, whole: what other tools did afterwards counts too.
        equal: what server, tool, type or code must be.
    """
    parts: list[Recovery] = []
    found: dict[tuple[str, str, str], list[Trouble]] = {}
    for records in map(list, sessions):
        parts.append(recovery(records))
        for trouble in troubles(records):
            if all(getattr(trouble, name) == value for name, value in equal.items()):
                found.setdefault((trouble.server, trouble.tool, trouble.code), []).append(trouble)
    sums = [_sum(key, those) for key, those in found.items()]
    return Summary(
        overall=total(parts),
        sums=sorted(sums, key=lambda one: (one.recovered - one.troubles, -one.troubles, one.server, one.tool)),
    )


def _sum(key: tuple[str, str, str], those: list[Trouble]) -> Sum:
    server, tool, code = key
    verdicts: Counter[Verdict] = Counter(trouble.verdict for trouble in those)
    return Sum(
        server=server,
        tool=tool,
        code=code,
        troubles=len(those),
        recovered=sum(count for verdict, count in verdicts.items() if verdict in RECOVERED),
        verdicts=dict(verdicts),
        calls_wasted=sum(trouble.calls_wasted for trouble in those),
        seconds_wasted=sum(trouble.seconds_wasted for trouble in those),
        duplicates_prevented=sum(trouble.duplicates_prevented for trouble in those),
    )
