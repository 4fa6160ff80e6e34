"""Whether agents recovered: from the records of sessions to one verdict for each failure, and sums by tool.

A *call* is what the agent asked for once; retries below it are part of it. It *failed* if the agent got an error, and
*succeeded* if it got a result. Calls are looked at per session and source, in the order in which they ended.

A *failure* is one or more failed calls of one tool of one server with one code (its type, where there is no code),
until that tool succeeds or the session ends. Every failed call belongs to exactly one failure, and every failure has
exactly one verdict. The first that applies is it:

- `by_retry`: a try failed, a later try of the same call succeeded, and the agent never knew.
- `by_repair`: as before, but with arguments that were corrected without the model.
- `by_fallback`: something else answered the call in the tool's place.
- `at_once`: the next call of the tool succeeded.
- `later`: the tool succeeded in the end; `after` says in which call of it, counted from the first that failed.
- `looped`: the tool never succeeded, and the same call, with the same arguments, failed three times or more.
- `elsewhere`: the tool never succeeded, but after its last failure another tool did that the failure names as a help,
  or the very next call of the session succeeded, and was one of another tool.
- `given_up`: none of these.

Each call resolved in one of the first three ways is a failure of its own: a turn of the model was *saved*. *Wasted* are
all other calls of a failure, and the seconds of its calls; of one that succeeded after retries only those before its
last try. A *duplicate prevented* is a failed call that may have taken effect and may pass, of a tool that may not run
twice: it was not retried.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from msgspec import Struct, field

from failwell._json import is_array
from failwell.event import ENDS
from failwell.records._record import Record, Source

RecoveryVerdict = Literal["by_retry", "by_repair", "by_fallback", "at_once", "later", "looped", "elsewhere", "given_up"]
VERDICTS: tuple[RecoveryVerdict, ...] = get_args(RecoveryVerdict)
RECOVERED: frozenset[RecoveryVerdict] = frozenset(
    ("by_retry", "by_repair", "by_fallback", "at_once", "later", "elsewhere")
)
BELOW: frozenset[RecoveryVerdict] = frozenset(("by_retry", "by_repair", "by_fallback"))
"""Verdicts on failures that were resolved below the agent, which lost no turn."""

SAME_CALL_LOOPS_AFTER = 3
_TRIES = ENDS | {"retry"}


class RecordedFailure(Struct, frozen=True, kw_only=True):
    """A failure, followed until it is resolved: failed calls of one tool with one code in one session.

    `calls` failed, `retries` were made below them. `after` is the call of the tool that succeeded, counted from the
    first that failed, and `by` the tool that helped instead. `repeats` says how often the same call failed, at most.
    """

    session: str
    source: Source
    server: str
    tool: str
    code: str
    type: str
    verdict: RecoveryVerdict
    began: float
    ended: float
    calls: int
    retries: int = 0
    after: int | None = None
    by: str | None = None
    repeats: int = 1
    seconds_wasted: float = 0.0
    duplicates_prevented: int = 0

    @property
    def has_recovered(self) -> bool:
        """Whether the agent recovered."""
        return self.verdict in RECOVERED

    @property
    def calls_wasted(self) -> int:
        """How many turns of the model went into it."""
        return 0 if self.verdict in BELOW else self.calls


class Recovery(Struct, frozen=True, kw_only=True):
    """The figures of all sessions."""

    sessions: int
    calls: int
    failed: int
    verdicts: dict[RecoveryVerdict, int]
    calls_wasted: int
    seconds_wasted: float
    turns_saved: int
    duplicates_prevented: int

    @property
    def rate(self) -> float | None:
        """The part of all failures that agents recovered from, from 0 to 1; None if there were none."""
        total = sum(self.verdicts.values())
        return sum(self.verdicts[verdict] for verdict in RECOVERED) / total if total else None


def failures(records: Iterable[Record]) -> list[RecordedFailure]:
    """Return the failures in all sessions, in the order in which they began. Sessions may be mixed in any order."""
    found = [failure for calls in _calls_by_session(records).values() for failure in _session_failures(calls)]
    return sorted(found, key=lambda failure: (failure.began, failure.session, failure.server, failure.tool))


def recovery(records: Iterable[Record]) -> Recovery:
    """Return the figures of all sessions."""
    sessions = _calls_by_session(records)
    found = [failure for calls in sessions.values() for failure in _session_failures(calls)]
    counts = Counter(failure.verdict for failure in found)
    calls = [call for made in sessions.values() for call in made]
    return Recovery(
        sessions=len(sessions),
        calls=len(calls),
        failed=sum(call.has_failed for call in calls),
        verdicts={verdict: counts[verdict] for verdict in VERDICTS},
        calls_wasted=sum(failure.calls_wasted for failure in found),
        seconds_wasted=sum(failure.seconds_wasted for failure in found),
        turns_saved=sum(failure.verdict in BELOW for failure in found),
        duplicates_prevented=sum(failure.duplicates_prevented for failure in found),
    )


def total(parts: Iterable[Recovery]) -> Recovery:
    """Return the sum of figures that have no session in common."""
    those = list(parts)
    return Recovery(
        sessions=sum(part.sessions for part in those),
        calls=sum(part.calls for part in those),
        failed=sum(part.failed for part in those),
        verdicts={verdict: sum(part.verdicts[verdict] for part in those) for verdict in VERDICTS},
        calls_wasted=sum(part.calls_wasted for part in those),
        seconds_wasted=sum(part.seconds_wasted for part in those),
        turns_saved=sum(part.turns_saved for part in those),
        duplicates_prevented=sum(part.duplicates_prevented for part in those),
    )


class _RecordedCall:
    """One call of the agent: the records of its tries, and how it ended."""

    def __init__(self, records: list[Record]) -> None:
        self.tries = [record for record in records if record.kind == "retry"]
        ends = [record for record in records if record.kind in ENDS]
        # A call without an end was cut off: the process died while it waited.
        self.end = ends[-1] if ends else records[-1]
        self.first = self.tries[0] if self.tries else self.end
        self.is_fallback = any(record.kind == "fallback" for record in records)
        self.is_repaired = any(record.kind == "repaired" and record.type is None for record in records)
        self.got = self._got(records)
        self.tool = (self.end.server, self.end.tool)
        self.is_known = bool(ends or self.tries)

    def _got(self, records: list[Record]) -> Record:
        """Return the record of what the agent got, if that is an error."""
        corrected = [record for record in records if record.kind == "repaired" and record.type is not None]
        if corrected and not self.end.has_succeeded:
            return corrected[-1]
        return self.tries[-1] if self.tries and self.end.kind == "refused" else self.end

    @property
    def has_failed(self) -> bool:
        return not (self.end.has_succeeded or self.is_repaired or self.is_fallback)

    @property
    def code(self) -> str:
        return self.got.code or self.got.type or ""

    @property
    def same(self) -> tuple[str, str | None]:
        return self.code, self.end.arguments

    @property
    def helps(self) -> frozenset[str]:
        actions = (self.got.failure or {}).get("actions")
        return frozenset(map(str, actions)) if is_array(actions) else frozenset()

    @property
    def seconds(self) -> float:
        return self.end.elapsed or 0.0

    @property
    def seconds_before_last_try(self) -> float:
        last = self.tries[-1]
        return (last.elapsed or 0.0) + (last.delay or 0.0)


def _calls_by_session(records: Iterable[Record]) -> dict[tuple[str, Source], list[_RecordedCall]]:
    sessions: dict[tuple[str, Source], dict[tuple[str, int], list[Record]]] = defaultdict(dict)
    for record in records:  # as they were written: a clock may be set back within a call
        if record.kind in ("breaker", "died", "restarted", "dropped", "lost"):
            continue
        _add_to_call(sessions[record.session, record.source], record)
    return {key: _calls_in_order(calls.values()) for key, calls in sessions.items()}


def _add_to_call(calls: dict[tuple[str, int], list[Record]], record: Record) -> None:
    """Add a record to its call. A name that comes back after its end, or with another tool, is that of another call."""
    known = calls.get((record.call, 0))
    is_over = known is not None and record.kind in _TRIES and any(one.kind in ENDS for one in known)
    is_other = is_over or (known is not None and (known[0].server, known[0].tool) != (record.server, record.tool))
    if known is None or is_other or not record.call:
        if known is not None:
            calls[record.call, len(calls)] = known
        calls[record.call, 0] = known = []
    known.append(record)


def _calls_in_order(calls: Iterable[list[Record]]) -> list[_RecordedCall]:
    found = (_RecordedCall(records) for records in calls)
    return sorted((call for call in found if call.is_known), key=lambda call: call.end.time)


def _session_failures(calls: list[_RecordedCall]) -> Iterable[RecordedFailure]:
    """Yield the failures of one session: those of single calls, and those of several calls."""
    unresolved: dict[tuple[str, str, str], list[int]] = {}
    for at, call in enumerate(calls):
        if call.has_failed:
            unresolved.setdefault((*call.tool, call.code), []).append(at)
            continue
        if (verdict := _verdict_on_call(call)) is not None:
            yield _failure_of_call(call, verdict)
        if call.end.has_succeeded or call.is_repaired:
            for key in [key for key in unresolved if key[:2] == call.tool]:
                yield _resolved_failure(calls, unresolved.pop(key), at)
    for failed in unresolved.values():
        yield _unresolved_failure(calls, failed)


def _verdict_on_call(call: _RecordedCall) -> RecoveryVerdict | None:
    if call.end.has_succeeded:
        return "by_retry" if call.tries else None
    return "by_repair" if call.is_repaired else "by_fallback"


def _failure_of_call(call: _RecordedCall, verdict: RecoveryVerdict) -> RecordedFailure:
    failed = call.tries[-1] if call.end.has_succeeded else call.end
    wasted = call.seconds_before_last_try if verdict == "by_retry" else call.seconds
    return _failure([call], verdict, failed=failed, ended=call.end.time, seconds_wasted=wasted)


def _resolved_failure(calls: list[_RecordedCall], failed: list[int], at: int) -> RecordedFailure:
    tool = calls[at].tool
    after = sum(call.tool == tool for call in calls[failed[0] + 1 : at + 1])
    verdict: RecoveryVerdict = "at_once" if after == 1 else "later"
    return _failure([calls[i] for i in failed], verdict, ended=calls[at].end.time, after=after)


def _unresolved_failure(calls: list[_RecordedCall], failed: list[int]) -> RecordedFailure:
    made = [calls[i] for i in failed]
    if _repeats(made) >= SAME_CALL_LOOPS_AFTER:
        return _failure(made, "looped")
    by = _helper(calls, failed[-1])
    return _failure(made, "given_up" if by is None else "elsewhere", by=by)


def _helper(calls: list[_RecordedCall], last: int) -> str | None:
    failed, rest = calls[last], calls[last + 1 :]
    for position, call in enumerate(rest):
        is_other = call.tool != failed.tool and (call.end.has_succeeded or call.is_repaired)
        if is_other and (position == 0 or call.end.tool in failed.helps):
            return call.end.tool
    return None


def _repeats(calls: list[_RecordedCall]) -> int:
    known = Counter(call.same for call in calls if call.end.arguments is not None)
    return max(known.values(), default=1)


def _failure(
    calls: list[_RecordedCall],
    verdict: RecoveryVerdict,
    *,
    failed: Record | None = None,
    ended: float | None = None,
    after: int | None = None,
    by: str | None = None,
    seconds_wasted: float | None = None,
) -> RecordedFailure:
    end = failed or calls[0].got
    return RecordedFailure(
        session=end.session,
        source=end.source,
        server=end.server,
        tool=end.tool,
        code=end.code or end.type or "",
        type=end.type or "",
        verdict=verdict,
        began=calls[0].first.time,
        ended=calls[-1].end.time if ended is None else ended,
        calls=len(calls),
        retries=sum(len(call.tries) for call in calls),
        after=after,
        by=by,
        repeats=_repeats(calls),
        seconds_wasted=sum(call.seconds for call in calls) if seconds_wasted is None else seconds_wasted,
        duplicates_prevented=sum(call.end.decision == "verify" and call.end.source != "guard" for call in calls),
    )


class SummaryRow(Struct, frozen=True, kw_only=True):
    """What became of the failures of one tool with one code."""

    server: str
    tool: str
    code: str
    failures: int = field(name="troubles")
    recovered: int
    verdicts: dict[RecoveryVerdict, int]
    calls_wasted: int
    seconds_wasted: float
    duplicates_prevented: int


class Summary(Struct, frozen=True, kw_only=True):
    """The figures of all sessions, and one row for each tool and code, those that stay broken first."""

    overall: Recovery
    sums: list[SummaryRow]


def summarize(sessions: Iterable[Iterable[Record]], equal: Mapping[str, str]) -> Summary:
    """Return the summary of sessions, with rows only for the failures whose fields have the given values.

    Args:
        sessions: the records of each session, whole: what other tools did afterwards counts too.
        equal: the values of server, tool, type or code.
    """
    parts: list[Recovery] = []
    found: dict[tuple[str, str, str], list[RecordedFailure]] = {}
    for records in map(list, sessions):
        parts.append(recovery(records))
        for failure in failures(records):
            if all(getattr(failure, name) == value for name, value in equal.items()):
                found.setdefault((failure.server, failure.tool, failure.code), []).append(failure)
    sums = [_summary_row(key, those) for key, those in found.items()]
    return Summary(
        overall=total(parts),
        sums=sorted(sums, key=lambda one: (one.recovered - one.failures, -one.failures, one.server, one.tool)),
    )


def _summary_row(key: tuple[str, str, str], those: list[RecordedFailure]) -> SummaryRow:
    server, tool, code = key
    verdicts: Counter[RecoveryVerdict] = Counter(failure.verdict for failure in those)
    return SummaryRow(
        server=server,
        tool=tool,
        code=code,
        failures=len(those),
        recovered=sum(count for verdict, count in verdicts.items() if verdict in RECOVERED),
        verdicts=dict(verdicts),
        calls_wasted=sum(failure.calls_wasted for failure in those),
        seconds_wasted=sum(failure.seconds_wasted for failure in those),
        duplicates_prevented=sum(failure.duplicates_prevented for failure in those),
    )
