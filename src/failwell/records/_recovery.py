"""Whether agents recovered: one verdict for each failure in the records of sessions, and sums by tool.

A *call* is what the agent asked for once; retries below it are part of it. It *failed* if the agent got an error, and
*succeeded* if it got a result. An error that the server sent as a success is neither: it is no failed call, and
resolves nothing. Calls are looked at per session and source, in the order in which they ended.

Two calls are *the same* if they have the same tool and the same arguments; where the arguments are unknown, no two
calls are. A success of the tool with other arguments is a *correction* only of a failure that was about the arguments:
of type VALIDATION or NOT_FOUND, or with a code whose advice is to correct the input. After a timeout or a refusal it is
another errand.

A *failure* is one or more failed calls of one tool of one server with one code (its type, where there is no code),
until it is recovered or the session ends: any calls of the tool if it was about the arguments, else the same call.
Every failed call belongs to exactly one failure, and every failure has exactly one verdict, the first that applies:

- `by_retry`: a try failed, a later try of the same call succeeded, and the agent never knew.
- `by_repair`: as before, but with arguments that were corrected without the model.
- `by_fallback`: the agent got a result that something else gave in the tool's place.
- `same_call`: the agent made the same call again, and it succeeded.
- `corrected`: the agent corrected the call, and it succeeded.
- `named_tool`: after the last failed call, a tool succeeded that the failure names.
- `looped`: none of these, and the same call failed three times or more.
- `moved_on`: none of these, but another call of the session succeeded later. Whether the agent reached its goal is
  unknown, so it counts neither for nor against the rate.
- `unresolved`: no call of the session has succeeded since.

Each call resolved in one of the first three ways is a failure of its own: a turn of the model was *saved*. *Wasted* are
failed calls that didn't help: all calls of a failure that was not recovered, and all but the first of one that
was. Seconds *lost* are those of failed calls; of one that succeeded after retries only those before its last try. A
*duplicate avoided* is a failed call that may have taken effect, of a tool that may not run twice, and that nobody made
again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from failwell import codes
from failwell._json import is_array
from failwell.event import BESIDE_CALLS, ENDS
from failwell.records._record import Record, Source

RecoveryVerdict = Literal[
    "by_retry",
    "by_repair",
    "by_fallback",
    "same_call",
    "corrected",
    "named_tool",
    "looped",
    "moved_on",
    "unresolved",
]
VERDICTS: tuple[RecoveryVerdict, ...] = get_args(RecoveryVerdict)
BELOW: frozenset[RecoveryVerdict] = frozenset(("by_retry", "by_repair", "by_fallback"))
"""Verdicts on failures that were resolved below the agent, which lost no turn."""
_BY_AGENT: frozenset[RecoveryVerdict] = frozenset(("same_call", "corrected", "named_tool"))
RECOVERED = BELOW | _BY_AGENT
STUCK: frozenset[RecoveryVerdict] = frozenset(("looped", "unresolved"))
"""Verdicts on failures that nothing helped against. What is neither here nor in `RECOVERED` is not in the rate."""

SAME_CALL_LOOPS_AFTER = 3
_TRIES = ENDS | {"retry"}
_ABOUT_ARGUMENTS = frozenset(("VALIDATION", "NOT_FOUND"))


class RecordedFailure(Struct, frozen=True, kw_only=True):
    """A failure, followed until it is resolved: failed calls of one tool with one code in one session.

    `calls` counts the failed calls, and `retries` the retries within them. `after` is the number of the call of the
    tool that succeeded, counted from the first failed one; `by` is the tool that the failure named and that succeeded.
    `repeats` is the highest number of times that one call failed. `times` are the times at which failed calls ended
    that the agent knows of; `cut_off` of these calls never ended, so the time of their last try counts.
    """

    session: str
    source: Source
    server: str
    tool: str
    code: str
    type: str
    agent: str = ""
    verdict: RecoveryVerdict
    began: float
    ended: float
    calls: int
    retries: int = 0
    after: int | None = None
    by: str | None = None
    repeats: int = 1
    seconds_lost: float = 0.0
    duplicates_avoided: int = 0
    times: tuple[float, ...] = ()
    cut_off: int = 0

    @property
    def has_recovered(self) -> bool:
        """Whether the agent recovered."""
        return self.verdict in RECOVERED

    @property
    def calls_wasted(self) -> int:
        """How many failed calls didn't help: all of them without a recovery, else all but the first."""
        return self.calls - 1 if self.has_recovered else self.calls


class Recovery(Struct, frozen=True, kw_only=True):
    """The figures of all sessions."""

    sessions: int
    calls: int
    failed: int
    verdicts: dict[RecoveryVerdict, int]
    calls_wasted: int
    seconds_lost: float
    turns_saved: int
    duplicates_avoided: int

    @property
    def failures(self) -> int:
        """How many failures there were."""
        return sum(self.verdicts.values())

    @property
    def recovered(self) -> int:
        """How many of them agents recovered from."""
        return sum(self.verdicts[verdict] for verdict in RECOVERED)

    @property
    def rate(self) -> float | None:
        """The share of failures that agents recovered from, from 0 to 1, without those they moved on from."""
        return rate_of(self.verdicts)


def rate_of(verdicts: Mapping[RecoveryVerdict, int]) -> float | None:
    """Return the share of failures that agents recovered from; None if there were none."""
    recovered = sum(verdicts.get(verdict, 0) for verdict in RECOVERED)
    judged = recovered + sum(verdicts.get(verdict, 0) for verdict in STUCK)
    return recovered / judged if judged else None


def failures(records: Iterable[Record]) -> list[RecordedFailure]:
    """Return the failures in all sessions, in the order in which they began. Sessions may be mixed in any order."""
    found = [failure for calls in _calls_by_session(records).values() for failure in _session_failures(calls)]
    return sorted(found, key=lambda failure: (failure.began, failure.session, failure.server, failure.tool))


def recovery(records: Iterable[Record]) -> Recovery:
    """Return the figures of all sessions."""
    sessions = _calls_by_session(records)
    found = [failure for calls in sessions.values() for failure in _session_failures(calls)]
    return _figures(len(sessions), [call for calls in sessions.values() for call in calls], found)


def _figures(sessions: int, calls: Sequence["_RecordedCall"], found: Sequence[RecordedFailure]) -> Recovery:
    counts = Counter(failure.verdict for failure in found)
    return Recovery(
        sessions=sessions,
        calls=len(calls),
        failed=sum(call.has_failed for call in calls),
        verdicts={verdict: counts[verdict] for verdict in VERDICTS},
        calls_wasted=sum(failure.calls_wasted for failure in found),
        seconds_lost=sum(failure.seconds_lost for failure in found),
        turns_saved=sum(failure.verdict in BELOW for failure in found),
        duplicates_avoided=sum(failure.duplicates_avoided for failure in found),
    )


def _total(parts: Iterable[Recovery]) -> Recovery:
    """Return the sum of figures that have no session in common."""
    those = list(parts)
    return Recovery(
        sessions=sum(part.sessions for part in those),
        calls=sum(part.calls for part in those),
        failed=sum(part.failed for part in those),
        verdicts={verdict: sum(part.verdicts[verdict] for part in those) for verdict in VERDICTS},
        calls_wasted=sum(part.calls_wasted for part in those),
        seconds_lost=sum(part.seconds_lost for part in those),
        turns_saved=sum(part.turns_saved for part in those),
        duplicates_avoided=sum(part.duplicates_avoided for part in those),
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
        self.is_cut_off = not ends

    def _got(self, records: list[Record]) -> Record:
        """Return the record of what the agent got, if that is an error."""
        corrected = [record for record in records if record.kind == "repaired" and record.type is not None]
        if corrected and not self.end.has_succeeded:
            return corrected[-1]
        return self.tries[-1] if self.tries and self.end.kind == "refused" else self.end

    @property
    def has_failed(self) -> bool:
        return not (self.has_result or self.is_cancelled)

    @property
    def code(self) -> str:
        return self.got.code or self.got.type or ""

    @property
    def has_result(self) -> bool:
        """Whether the agent got a result, from whatever gave it."""
        return self.gave_result or self.is_fallback or self.end.has_succeeded

    @property
    def is_cancelled(self) -> bool:
        """Whether it ended without an answer, as nobody waited for one any more."""
        return self.end.kind == "cancelled" and not self.has_result

    @property
    def gave_result(self) -> bool:
        """Whether the tool itself gave a result; an error that was sent as a success is none."""
        return (self.end.has_succeeded and self.end.kind != "unflagged") or self.is_repaired

    @property
    def same(self) -> tuple[str, str | None]:
        return self.code, self.end.arguments

    @property
    def is_about_arguments(self) -> bool:
        """Whether other arguments could correct what failed."""
        row = codes.get(self.got.code)
        return self.got.type in _ABOUT_ARGUMENTS or (row is not None and row.action == "fix_input")

    @property
    def named_tools(self) -> tuple[str, ...]:
        """The tools that the failure names as a help."""
        actions = (self.got.failure or {}).get("actions")
        return tuple(map(str, actions)) if is_array(actions) else ()

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
        if record.kind in BESIDE_CALLS:
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


def _session_failures(calls: list[_RecordedCall]) -> Iterator[RecordedFailure]:
    """Yield the failures of one session: those of single calls, and those of several calls."""
    session = _Session(calls)
    # By what would resolve them: a result of the tool, or one of the same call.
    by_tool: dict[_Tool, dict[str, list[int]]] = defaultdict(dict)
    by_call: dict[tuple[_Tool, str | None], dict[str, list[int]]] = defaultdict(dict)
    unknown: list[list[int]] = []
    for at, call in enumerate(calls):
        digest = call.end.arguments
        if call.has_failed:
            if call.is_about_arguments:
                by_tool[call.tool].setdefault(call.code, []).append(at)
            elif digest is not None:
                by_call[call.tool, digest].setdefault(call.code, []).append(at)
            else:
                unknown.append([at])
            continue
        if call.has_result and (verdict := _verdict_on_call(call)) is not None:
            yield _failure_of_call(call, verdict)
        if call.gave_result:
            resolved = [*by_tool.pop(call.tool, {}).values(), *by_call.pop((call.tool, digest), {}).values()]
            for failed in resolved:
                yield session.resolved(failed, at)
    for groups in (*by_tool.values(), *by_call.values()):
        for failed in groups.values():
            yield session.unresolved(failed)
    for failed in unknown:
        yield session.unresolved(failed)


_Tool = tuple[str, str]


class _Session:
    """The calls of a session, and when something last happened in it."""

    def __init__(self, calls: list[_RecordedCall]) -> None:
        self._calls = calls
        self._order: list[int] = []
        """Of each call: how many calls of its tool came before it."""
        self._last_made: dict[tuple[_Tool, str | None], int] = {}
        self._last_result: dict[_Tool, int] = {}
        self._last_success = -1
        made: Counter[_Tool] = Counter()
        for at, call in enumerate(calls):
            self._order.append(made[call.tool])
            made[call.tool] += 1
            self._last_made[call.tool, call.end.arguments] = at
            if call.gave_result:
                self._last_result[call.tool] = at
            if call.gave_result or call.is_fallback:
                self._last_success = at

    def resolved(self, failed: list[int], at: int) -> RecordedFailure:
        call, last = self._calls[at], self._calls[failed[-1]]
        is_same = call.end.arguments is not None and call.end.arguments == last.end.arguments
        verdict: RecoveryVerdict = "same_call" if is_same else "corrected"
        after = self._order[at] - self._order[failed[0]]
        again = {self._calls[one].end.arguments: one for one in (*failed, at)}
        return self._failure(failed, verdict, again, ended=call.end.time, after=after)

    def unresolved(self, failed: list[int]) -> RecordedFailure:
        made, last = [self._calls[at] for at in failed], failed[-1]
        tool, server = made[-1].tool, made[-1].end.server
        again = {
            digest: self._last_made.get((tool, digest), -1) for digest in (None, *(one.end.arguments for one in made))
        }
        # A failure that names its own tool asks for another call of it, which only the arguments can tell apart.
        named = [name for call in reversed(made) for name in call.named_tools if name != made[-1].end.tool]
        by = next((name for name in named if self._last_result.get((server, name), -1) > last), None)
        if by is not None:
            return self._failure(failed, "named_tool", again, by=by)
        if _repeats(made) >= SAME_CALL_LOOPS_AFTER:
            return self._failure(failed, "looped", again)
        return self._failure(failed, "moved_on" if self._last_success > last else "unresolved", again)

    def _failure(
        self, failed: list[int], verdict: RecoveryVerdict, again: Mapping[str | None, int], **more: Any
    ) -> RecordedFailure:
        """Return a failure; *again* tells when calls with some arguments were last made until it was resolved."""
        avoided = sum(self._is_avoided_duplicate(at, again) for at in failed)
        return _failure([self._calls[at] for at in failed], verdict, duplicates_avoided=avoided, **more)

    def _is_avoided_duplicate(self, at: int, again: Mapping[str | None, int]) -> bool:
        """Return whether a call may have taken effect and was not made again, as far as the arguments tell."""
        call = self._calls[at]
        may_repeat = call.end.decision != "verify" or call.end.source == "guard"
        return not may_repeat and max(again.get(call.end.arguments, -1), again.get(None, -1)) <= at


def _verdict_on_call(call: _RecordedCall) -> RecoveryVerdict | None:
    if call.end.kind == "unflagged":
        return None
    if call.end.has_succeeded:
        return "by_retry" if call.tries else None
    return "by_repair" if call.is_repaired else "by_fallback"


def _failure_of_call(call: _RecordedCall, verdict: RecoveryVerdict) -> RecordedFailure:
    failed = call.tries[-1] if call.end.has_succeeded else call.end
    lost = call.seconds_before_last_try if verdict == "by_retry" else call.seconds
    return _failure([call], verdict, failed=failed, ended=call.end.time, seconds_lost=lost)


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
    seconds_lost: float | None = None,
    duplicates_avoided: int = 0,
) -> RecordedFailure:
    end = failed or calls[0].got
    return RecordedFailure(
        session=end.session,
        source=end.source,
        server=end.server,
        tool=end.tool,
        code=end.code or end.type or "",
        type=end.type or "",
        agent=end.agent,
        verdict=verdict,
        began=calls[0].first.time,
        ended=calls[-1].end.time if ended is None else ended,
        calls=len(calls),
        retries=sum(len(call.tries) for call in calls),
        after=after,
        by=by,
        repeats=_repeats(calls),
        seconds_lost=sum(call.seconds for call in calls) if seconds_lost is None else seconds_lost,
        duplicates_avoided=duplicates_avoided,
        times=tuple(call.end.time for call in calls if call.has_failed),
        cut_off=sum(call.has_failed and call.is_cut_off for call in calls),
    )


class SummaryRow(Struct, frozen=True, kw_only=True):
    """What became of the failures of one tool with one code."""

    server: str
    tool: str
    code: str
    failures: int
    recovered: int
    moved_on: int
    rate: float | None
    verdicts: dict[RecoveryVerdict, int]
    calls_wasted: int
    seconds_lost: float
    duplicates_avoided: int


class Summary(Struct, frozen=True, kw_only=True):
    """The figures of all sessions, and one row for each tool and code, those that stay broken first."""

    overall: Recovery
    rows: list[SummaryRow]


_OF_CALLS = ("server", "tool", "source")
_OF_FAILURES = (*_OF_CALLS, "type", "code")


def summarize(sessions: Iterable[Iterable[Record]], equal: Mapping[str, str]) -> Summary:
    """Return the summary of sessions: the calls and the failures whose fields have the given values.

    Args:
        sessions: the records of each session, whole: what other tools did afterwards counts too.
        equal: the values of server, tool, source, type or code; a call has the first three only.
    """
    parts: list[Recovery] = []
    found: dict[tuple[str, str, str], list[RecordedFailure]] = {}
    for records in sessions:
        for calls in _calls_by_session(records).values():
            chosen = [call for call in calls if _matches(call.end, equal, _OF_CALLS)]
            failed = [one for one in _session_failures(calls) if _matches(one, equal, _OF_FAILURES)]
            if chosen:
                parts.append(_filtered(_figures(1, chosen, failed), chosen, equal))
            for one in failed:
                found.setdefault((one.server, one.tool, one.code), []).append(one)
    rows = [_summary_row(key, those) for key, those in found.items()]
    return Summary(
        overall=_total(parts),
        rows=sorted(rows, key=lambda one: (-_stuck(one), -one.failures, one.server, one.tool, one.code)),
    )


def _filtered(figures: Recovery, calls: Sequence[_RecordedCall], equal: Mapping[str, str]) -> Recovery:
    """Return figures whose failed calls are those of the given type and code, measured against all calls."""
    failed = [call for call in calls if call.has_failed]
    wanted = [call for call in failed if equal.get("type", call.got.type) == call.got.type]
    return replace(figures, failed=sum(equal.get("code", call.code) == call.code for call in wanted))


def _matches(one: Record | RecordedFailure, equal: Mapping[str, str], names: Iterable[str]) -> bool:
    return all(getattr(one, name) == equal[name] for name in names if name in equal)


def _stuck(row: SummaryRow) -> int:
    return row.failures - row.recovered - row.moved_on


def _summary_row(key: tuple[str, str, str], those: list[RecordedFailure]) -> SummaryRow:
    server, tool, code = key
    verdicts: Counter[RecoveryVerdict] = Counter(failure.verdict for failure in those)
    return SummaryRow(
        server=server,
        tool=tool,
        code=code,
        failures=len(those),
        recovered=sum(failure.has_recovered for failure in those),
        moved_on=verdicts["moved_on"],
        rate=rate_of(verdicts),
        verdicts={verdict: verdicts[verdict] for verdict in VERDICTS if verdicts[verdict]},
        calls_wasted=sum(failure.calls_wasted for failure in those),
        seconds_lost=sum(failure.seconds_lost for failure in those),
        duplicates_avoided=sum(failure.duplicates_avoided for failure in those),
    )
