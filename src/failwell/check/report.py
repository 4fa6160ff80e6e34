"""`Report`: what a check found, as one value that every report is written from, with scores from 0 to 100.

`msgspec.to_builtins(report)` is what `failwell check --json` writes.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct

Channel = Literal["call", "text", "machine"]
"""Where a grade looks: at the call itself, at the text a model sees, or at what programs read."""

Ending = Literal["refused", "unflagged", "accepted", "hung", "crashed"]
"""How a provoked call ended.

`refused`: a flagged failure, as it should. `unflagged`: a failure that is sent as a success. `accepted`: a success,
though the arguments are wrong. `hung`: no answer in time. `crashed`: the server ended.
"""

SERVER = "(server)"
"""The name under which calls to tools that do not exist are reported."""


class GradeResult(Struct, frozen=True, kw_only=True):
    """One grade of one answer. `grade` is its name, `reason` says why it passed or failed, in words for people."""

    grade: str
    channel: Channel
    passed: bool
    weight: int
    reason: str


class ProbeResult(Struct, frozen=True, kw_only=True):
    """One call that must fail, and how well it did.

    `id` is the same from run to run. `probe` is the row of the table, such as `wrong_type`; `violates` says in words
    what is wrong with the call; `field` is the path that is wrong, if it is one field. `text` is what a model sees and
    `better` what it should have seen. `failure` is what the whole answer was read as, in the form of our `_meta` key,
    and `code` its code. `repaired` are the arguments that an agent who knows only the error would send next; None if
    the error does not tell. `schema_violation` is true for calls that break the tool's own input schema. `times` says
    how often the call was made: some twice, to see whether the code is stable.
    """

    id: str
    probe: str
    tool: str
    violates: str
    field: str | None
    arguments: dict[str, Any]
    schema_violation: bool
    ending: Ending
    text: str
    better: str
    code: str | None
    failure: dict[str, Any] | None
    repaired: dict[str, Any] | None
    seconds: float
    score: float | None
    grades: tuple[GradeResult, ...]
    times: int = 1

    @property
    def failed(self) -> tuple[GradeResult, ...]:
        """The grades that were not reached."""
        return tuple(result for result in self.grades if not result.passed)


class ToolReport(Struct, frozen=True, kw_only=True):
    """How well one tool fails. Calls to tools that do not exist are under the name `SERVER`.

    `score` is from 0 to 100 and `grade` its letter; both None if nothing of the tool could be graded.
    """

    name: str
    read_only: bool
    score: float | None
    grade: str | None
    probes: tuple[ProbeResult, ...]


class NotProbed(Struct, frozen=True, kw_only=True):
    """A call that was not made, and why. `probe` is None where the whole tool was left alone."""

    tool: str
    probe: str | None
    reason: str


class ProposedChange(Struct, frozen=True, kw_only=True):
    """One change to the server that raises its score: by how much, what it cures, and code for the SDK in use.

    `tools` are the names of the tools that it is for, and `SERVER` if it is for calls to tools that do not exist.
    """

    title: str
    why: str
    gain: float
    cures: tuple[str, ...]
    tools: tuple[str, ...]
    sdk: str
    language: str
    snippet: str

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is for, in words."""
        return tuple("calls to tools that do not exist" if tool == SERVER else tool for tool in self.tools)


class MeasuredProxy(Struct, frozen=True, kw_only=True):
    """The proxy in front of this server, measured on the answers that it gave: the command, and the score with it."""

    command: str
    score: float
    gain: float


class ServerSummary(Struct, frozen=True, kw_only=True):
    """The server that was checked: what it calls itself, and which SDK it seems to be made with."""

    name: str
    version: str
    sdk: str
    target: str


class Totals(Struct, frozen=True, kw_only=True):
    """Counts over all graded calls; `backend_away` counts those not graded because the backend is out of reach."""

    probes: int
    unflagged: int
    accepted: int
    hung: int
    crashed: int
    schema_violations: int
    repairable: int
    backend_away: int = 0

    @property
    def repairable_share(self) -> float | None:
        """The share of schema violations that an agent could mend, from 0 to 1."""
        return self.repairable / self.schema_violations if self.schema_violations else None


class Regression(Struct, frozen=True, kw_only=True):
    """What got worse since the baseline: a grade that passed before, or a code that is another one now."""

    probe: str
    what: str


class Report(Struct, frozen=True, kw_only=True):
    """How well a server fails.

    `score` is from 0 to 100, `grade` its letter from A to F; both are None where `doubt` says that too little could be
    provoked. `channels` has the score of each channel by itself. `worse` and `better` are None unless the run was
    compared with a baseline. `proxied` is what the proxy in front of the server gives, where that is better.
    """

    score: float | None
    grade: str | None
    server: ServerSummary
    channels: dict[str, float]
    totals: Totals
    tools: tuple[ToolReport, ...]
    not_probed: tuple[NotProbed, ...]
    changes: tuple[ProposedChange, ...]
    doubt: str | None = None
    proxied: MeasuredProxy | None = None
    worse: tuple[Regression, ...] | None = None
    better: tuple[Regression, ...] | None = None
    seconds: float = 0.0

    def probes(self) -> Iterator[ProbeResult]:
        """Yield every provoked call, tool by tool."""
        for tool in self.tools:
            yield from tool.probes

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found; with a baseline, whether nothing got worse."""
        if self.worse is not None:
            return not self.worse
        return not any(probe.failed for probe in self.probes())


LEAST_CALLS = 3
"""The number of calls to its tools that a server needs for a grade; a third of the tools must be among them."""


def doubt(tools: Iterable[ToolReport]) -> str | None:
    """Return why there is too little evidence for a grade; None if there is enough. Unknown tools do not count."""
    own = [tool for tool in tools if tool.name != SERVER]
    probed = [tool for tool in own if tool.score is not None]
    calls = sum(bool(probe.grades) for tool in probed for probe in tool.probes)
    if calls >= LEAST_CALLS and 3 * len(probed) >= len(own):
        return None
    graded = f"{calls} graded {'call' if calls == 1 else 'calls'} to {len(probed)} of {len(own)} tools"
    return f"{graded}: not enough for a grade"


_LETTERS = ((90.0, "A"), (75.0, "B"), (60.0, "C"), (40.0, "D"), (0.0, "F"))


def score(grades: Iterable[GradeResult]) -> float | None:
    """Return the share of the weights that was reached; None if there is nothing to weigh."""
    grades = tuple(grades)
    total = sum(result.weight for result in grades)
    return _rounded(100 * sum(result.weight for result in grades if result.passed) / total) if total else None


def tool_score(probes: Iterable[ProbeResult]) -> float | None:
    """Return the score of a tool: of all grades of all its probes together."""
    return score(result for probe in probes for result in probe.grades)


def server_score(tools: Iterable[ToolReport]) -> float:
    """Return the score of a server: the mean of its tools, however often each was provoked."""
    return mean(tool.score for tool in tools)


def mean(scores: Iterable[float | None]) -> float:
    """Return the mean of the scores that there are; 0 if there is none."""
    known = [value for value in scores if value is not None]
    return _rounded(sum(known) / len(known)) if known else 0.0


def letter(value: float) -> str:
    """Return the letter of a score, from A to F."""
    return next(name for least, name in _LETTERS if value >= least)


def _rounded(value: float) -> float:
    """Return a score with one decimal, rounded down: 100 is only what is perfect."""
    return math.floor(round(value * 10, 6)) / 10
