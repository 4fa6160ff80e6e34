"""`Report`: what a check found, as one value that every report is written from.

`msgspec.to_builtins(report)` is what `failwell check --json` writes.
"""

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

Channel = Literal["call", "text", "machine"]
"""Where a grade looks: at the call itself, at the text a model sees, or at what programs read."""

Ending = Literal["refused", "unflagged", "accepted", "hung", "crashed"]
"""How a provoked call ended.

`refused`: a flagged failure, as it should. `unflagged`: a failure that is sent as a success. `accepted`: a success,
though the arguments are wrong. `hung`: no answer in time. `crashed`: the server ended.
"""


class Graded(Struct, frozen=True, kw_only=True):
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
    the error does not tell. `schema_violation` is true for calls that break the tool's own input schema.
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
    grades: tuple[Graded, ...]

    @property
    def failed(self) -> tuple[Graded, ...]:
        """The grades that were not reached."""
        return tuple(graded for graded in self.grades if not graded.passed)


class ToolReport(Struct, frozen=True, kw_only=True):
    """How well one tool fails. Calls to tools that do not exist are under the name `(server)`.

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


class Change(Struct, frozen=True, kw_only=True):
    """One change to the server that raises its score: by how much, what it cures, and code for the SDK in use."""

    title: str
    why: str
    gain: float
    cures: tuple[str, ...]
    tools: tuple[str, ...]
    sdk: str
    language: str
    snippet: str


class Server(Struct, frozen=True, kw_only=True):
    """The server that was checked: what it calls itself, and which SDK it seems to be made with."""

    name: str
    version: str
    sdk: str
    target: str


class Totals(Struct, frozen=True, kw_only=True):
    """Counts over all graded calls."""

    probes: int
    unflagged: int
    accepted: int
    hung: int
    crashed: int
    schema_violations: int
    repairable: int

    @property
    def repairable_share(self) -> float | None:
        """The share of schema violations that an agent could mend, from 0 to 1."""
        return self.repairable / self.schema_violations if self.schema_violations else None


class Worse(Struct, frozen=True, kw_only=True):
    """What got worse since the baseline: a grade that passed before, or a code that is another one now."""

    probe: str
    what: str


class Report(Struct, frozen=True, kw_only=True):
    """How well a server fails.

    `score` is from 0 to 100, `grade` its letter from A to F. `channels` has the score of each channel by itself.
    `worse` is None unless the run was compared with a baseline.
    """

    score: float
    grade: str
    server: Server
    channels: dict[str, float]
    totals: Totals
    tools: tuple[ToolReport, ...]
    not_probed: tuple[NotProbed, ...]
    changes: tuple[Change, ...]
    worse: tuple[Worse, ...] | None = None
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
