"""Running a check: tools that only read are provoked all at once, the others with care, the doubtful ones alone."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from failwell.check import agent
from failwell.check.evidence import Evidence, ProbeAnswer, weighed
from failwell.check.findings import Findings, report_of
from failwell.check.grades.calls import SLOWEST
from failwell.check.peers import BadServer
from failwell.check.probes import Probe, Subject, probes_of
from failwell.check.probes.own import OwnProbe, own_probes
from failwell.check.probes.tool_names import tool_name_probes
from failwell.check.report import NotProbed, Report
from failwell.check.session import CallLimits, CheckSession, Connect
from failwell.failure import Failure
from failwell.redact.scrubber import clean

_MOST_BLAMED = 5
_MOST_REASON = 300
_AS_TASK = "runs only as a task, not as a call"
_GUARDED = "may change something, and what it was sent so far was not refused as wrong input: nothing more was sent"


class CheckPlan(Struct, frozen=True, kw_only=True):
    """What the user asks for: tools that may write, values for fields, probes of their own, limits.

    `values` has an object of fields for each tool; under `*` are fields of any tool.
    """

    allow_writes: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[str, Any]] = {}
    own: tuple[OwnProbe, ...] = ()
    limits: CallLimits = CallLimits()


Progress = Callable[[int, int], None]
"""Is told how many calls are done, of how many."""


async def check(
    connect: Connect,
    plan: CheckPlan | None = None,
    *,
    target: str = "",
    progress: Progress | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Report:
    """Start a server, provoke its tools and return how well they fail.

    Raises:
        BadServer: it does not start, speaks no MCP, has no tools or an invalid schema.
    """
    plan = plan or CheckPlan()
    begun = clock()
    session = CheckSession(connect, plan.limits, clock=clock)
    try:
        await session.open()
        run = _CheckRun(session, plan, progress)
        await run.go()
    finally:
        await session.close()
    findings = Findings(
        hello=session.hello,
        tools=session.tools,
        target=target,
        subjects=run.subjects,
        evidence=[run.seen[probe.id] for probe in run.probes if probe.id in run.seen],
        not_probed=run.not_probed,
        seconds=round(clock() - begun, 3),
    )
    return report_of(findings)


def checked(
    connect: Connect, plan: CheckPlan | None = None, *, target: str = "", progress: Progress | None = None
) -> Report:
    """Do what `check` does, from code that is not async."""
    return asyncio.run(check(connect, plan, target=target, progress=progress))


def subjects_of(tools: Sequence[dict[str, Any]], plan: CheckPlan) -> dict[str, Subject]:
    """Return the tools by name, ready to be provoked.

    Raises:
        BadServer: a tool's schema is invalid, or the user named a tool that is not there.
    """
    found: dict[str, Subject] = {}
    for tool in tools:
        given = {**plan.values.get("*", {}), **plan.values.get(tool["name"], {})}
        try:
            found[tool["name"]] = Subject(tool, given=given, allow_writes=tool["name"] in plan.allow_writes)
        except (ValueError, RecursionError) as invalid:
            said = clean(" ".join(str(getattr(invalid, "message", invalid)).split()), _MOST_REASON)
            raise BadServer(f"the input schema of {tool['name']} is invalid: {said}") from None
    named = {*plan.allow_writes, *(probe.tool for probe in plan.own), *(plan.values.keys() - {"*"})}
    if lost := sorted(named - found.keys()):
        raise BadServer(f"the server has no tool {', '.join(lost)}: it has {', '.join(found)}")
    return found


class _CheckRun:
    """One check in the course of being made."""

    def __init__(self, session: CheckSession, plan: CheckPlan, progress: Progress | None) -> None:
        self._session = session
        self._progress = progress
        self.subjects = subjects_of(session.tools, plan)
        self.not_probed: list[NotProbed] = []
        self._of_tool: dict[str, list[Probe]] = {}
        for name, subject in self.subjects.items():
            self._of_tool[name], left_out = (
                ([], [NotProbed(tool=name, probe=None, reason=_AS_TASK)]) if subject.is_task else probes_of(subject)
            )
            self.not_probed += left_out
        allowed, refused = own_probes(plan.own, self.subjects)
        self.not_probed += refused
        for probe in allowed:
            self._of_tool[probe.tool].append(probe)
        self._named = list(tool_name_probes(list(self.subjects.values())))
        self.probes = [*(probe for probes in self._of_tool.values() for probe in probes), *self._named]
        self.seen: dict[str, Evidence] = {}
        self._repeated: set[tuple[str, str]] = set()
        self._done = 0
        self._gate = asyncio.Semaphore(plan.limits.overlapping)

    async def go(self) -> None:
        """Provoke everything."""
        careful = [name for name, subject in self.subjects.items() if subject.careful]
        read = [probe for name, probes in self._of_tool.items() if name not in careful for probe in probes]
        free = [*read, *self._named]
        await asyncio.gather(*map(self._provoke, free))
        doubtful = [probe for probe in free if _is_doubtful(self.seen[probe.id])]
        await self._again_alone(doubtful)
        if not doubtful:
            await asyncio.gather(*map(self._with_care, careful))
        else:
            for name in careful:
                await self._with_care(name)

    async def _with_care(self, tool: str) -> None:
        """Provoke a tool that may change something: one call after another, and none after one that was not refused."""
        waiting = list(self._of_tool[tool])
        while waiting:
            probe = waiting.pop(0)
            await self._provoke(probe)
            seen = self.seen[probe.id]
            if waiting and not _is_refused_as_wrong(seen):
                self.not_probed += [
                    NotProbed(tool=tool, probe=left.id.partition("/")[2], reason=_GUARDED) for left in waiting
                ]
                self._tell(len(waiting))
                return

    async def _again_alone(self, probes: list[Probe]) -> None:
        """Provoke again, one at a time, what was slow or had no answer: another call may be to blame."""
        blamed = 0
        for probe in probes:
            if blamed == _MOST_BLAMED:
                return  # so many have no answer by themselves: the rest is taken as it was seen
            if self.seen[probe.id].ending in ("hung", "crashed"):
                await self._session.restart()
            answer = await self._session.call(probe.tool, probe.arguments)
            self._keep(replace(self._seen(probe, answer), again=self.seen[probe.id].again))
            blamed += answer.response is None or not answer.alive

    async def _provoke(self, probe: Probe) -> None:
        async with self._gate:
            seen = self._seen(probe, await self._session.call(probe.tool, probe.arguments))
            again = await self._once_more(seen)
        self._keep(replace(seen, again=again))
        self._tell(1)

    async def _once_more(self, first: Evidence) -> Failure | None:
        """Make the first call of each kind again, to see whether its code is stable."""
        probe = first.probe
        kind = (probe.tool, probe.row)
        is_careful = probe.tool in self.subjects and self.subjects[probe.tool].careful
        if kind in self._repeated or first.ending != "refused" or not first.is_structured or not first.alive:
            return None
        if is_careful and not _is_refused_as_wrong(first):
            return None
        self._repeated.add(kind)
        return self._seen(probe, await self._session.call(probe.tool, probe.arguments)).failure

    def _seen(self, probe: Probe, answer: ProbeAnswer) -> Evidence:
        subject = self.subjects.get(probe.tool)
        names = tuple(self.subjects) if probe in self._named else ()
        return weighed(probe, answer, fields=subject.field_names if subject else (), tools=names)

    def _keep(self, seen: Evidence) -> None:
        self.seen[seen.probe.id] = replace(seen, repaired=self._repaired(seen))

    def _repaired(self, seen: Evidence) -> dict[str, Any] | None:
        if seen.tools:
            chosen = agent.chosen_tool(seen.failure, seen.probe.tool, seen.tools)
            said = chosen or next((name for name in seen.tools if seen.failure and seen.says(name)), None)
            return {"tool": said} if said else None
        if not seen.probe.breaks_schema:
            return None
        subject = self.subjects[seen.probe.tool]
        readings = (seen.failure, seen.from_text)
        made = (agent.corrected(failure, seen.probe.arguments, subject) for failure in readings)
        return next((arguments for arguments in made if arguments is not None), None)

    def _tell(self, more: int) -> None:
        self._done += more
        if self._progress is not None:
            self._progress(self._done, len(self.probes))


def _is_doubtful(seen: Evidence) -> bool:
    return not seen.alive or seen.ending in ("hung", "crashed") or seen.seconds > SLOWEST


def _is_refused_as_wrong(seen: Evidence) -> bool:
    """Tell whether a call was surely refused because its input is wrong, before the tool did anything."""
    return seen.ending == "refused" and seen.alive and seen.failure is not None and seen.failure.type == "VALIDATION"
