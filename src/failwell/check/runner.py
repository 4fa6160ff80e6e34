"""Run a check, and report what it found: tools that only read are called all at once, the others with care."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import failwell as fw
from failwell._json import is_object
from failwell._spelling import closest
from failwell.check import agent, report
from failwell.check.advice import best_changes, detect_sdk
from failwell.check.evidence import Evidence, ProbeAnswer, read_evidence
from failwell.check.grades import SLOWEST, grade_call
from failwell.check.peers import BadServer, Connect
from failwell.check.probes.names import tool_name_probes
from failwell.check.probes.probe import CheckedTool, Probe
from failwell.check.probes.table import make_probes
from failwell.check.probes.user_probes import UserProbe, make_user_probes
from failwell.check.report import (
    SERVER,
    Channel,
    GradeResult,
    NotProbed,
    ProbeResult,
    Report,
    ServerSummary,
    ToolReport,
    Totals,
)
from failwell.check.session import CallLimits, CheckSession
from failwell.dialects._placement import write_whole
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.channels import is_failing
from failwell.proxy.rewriter import Rewriter
from failwell.redact.canonical import json_safe
from failwell.redact.scrubber import clean

_MOST_LOST = 5
_LONGEST_REASON = 300
_LONGEST_TEXT = 4000
_LONGEST_NAME = 80
_MOST_NAMES = 20
_CHANNELS: tuple[Channel, ...] = ("call", "text", "machine")
_PROXY, _VALIDATING_PROXY = "failwell proxy", "failwell proxy --validate"
_AS_TASK = "runs only as a task, not as a call"
_PASSED_ON = (
    "the tool may change something, and passes calls on to an HTTP API that may carry out what the schema forbids"
)
_NOT_REFUSED = (
    "the tool may change something, and did not refuse an earlier call as wrong input, so nothing more was sent"
)


class CheckPlan(Struct, frozen=True, kw_only=True):
    """What the user asks for: tools that may write, values for fields, probes of their own, limits.

    `values` has an object of fields for each tool; under `*` are fields of any tool. `read_only` is what the user knows
    of a tool: whether it changes anything; None: as its annotations say.
    """

    allow_writes: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[str, Any]] = {}
    probes: tuple[UserProbe, ...] = ()
    limits: CallLimits = CallLimits()
    read_only: Callable[[str], bool | None] = lambda _: None


Progress = Callable[[int, int], None]
"""Called with the number of calls that are done, and of all."""


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
        await run.probe_all()
    finally:
        await session.close()
    return _make_report(run, session, target, seconds=round(clock() - begun, 3))


def checked_tools(tools: Sequence[dict[str, Any]], plan: CheckPlan) -> dict[str, CheckedTool]:
    """Return the tools of `tools/list` by name, ready to be provoked.

    Raises:
        BadServer: a tool's schema is invalid, or the user named a tool that is not there.
    """
    found: dict[str, CheckedTool] = {}
    for tool in tools:
        given = {**plan.values.get("*", {}), **plan.values.get(tool["name"], {})}
        try:
            found[tool["name"]] = CheckedTool(
                tool,
                given=given,
                allow_writes=tool["name"] in plan.allow_writes,
                read_only=plan.read_only(tool["name"]),
            )
        except (ValueError, RecursionError) as invalid:
            reason = clean(" ".join(str(getattr(invalid, "message", invalid)).split()), _LONGEST_REASON)
            raise BadServer(f"the input schema of {tool['name']} is invalid: {reason}") from None
    named = {*plan.allow_writes, *(probe.tool for probe in plan.probes), *(plan.values.keys() - {"*"})}
    if absent := sorted(named - found.keys()):
        raise BadServer(f"the server has no tool {', '.join(absent)}: it has {', '.join(found)}")
    return found


class _CheckRun:
    """The probes of one check, and the evidence that they gave so far."""

    def __init__(self, session: CheckSession, plan: CheckPlan, progress: Progress | None) -> None:
        self._session = session
        self._progress = progress
        self.tools = checked_tools(session.tools, plan)
        self.not_probed: list[NotProbed] = []
        self._by_tool: dict[str, list[Probe]] = {}
        for name, tool in self.tools.items():
            reason = _AS_TASK if tool.is_task else _PASSED_ON if tool.careful and tool.is_passed_on else None
            self._by_tool[name], left_out = (
                make_probes(tool) if reason is None else ([], [NotProbed(tool=name, probe=None, reason=reason)])
            )
            self.not_probed += left_out
        allowed, refused = make_user_probes(plan.probes, self.tools)
        self.not_probed += refused
        for probe in allowed:
            self._by_tool[probe.tool].append(probe)
        self._of_server = list(tool_name_probes(list(self.tools.values())))
        self._probes = [*(probe for probes in self._by_tool.values() for probe in probes), *self._of_server]
        self._evidence: dict[str, Evidence] = {}
        self._answers: dict[str, ProbeAnswer] = {}
        self._repeated: set[tuple[str, str]] = set()
        self._done = 0
        self._slots = asyncio.Semaphore(plan.limits.overlapping)

    @property
    def evidence(self) -> list[Evidence]:
        """What was found, in the order of the probes."""
        return [self._evidence[probe.id] for probe in self._probes if probe.id in self._evidence]

    async def probe_all(self) -> None:
        """Send everything that may be sent."""
        careful = [name for name, tool in self.tools.items() if tool.careful]
        read_only = [probe for name, probes in self._by_tool.items() if name not in careful for probe in probes]
        free = [*read_only, *self._of_server]
        await asyncio.gather(*map(self._send, free))
        doubtful = [probe for probe in free if _is_doubtful(self._evidence[probe.id])]
        await self._send_alone(doubtful)
        if not doubtful:
            await asyncio.gather(*map(self._probe_with_care, careful))
        else:
            for name in careful:
                await self._probe_with_care(name)

    async def _probe_with_care(self, tool: str) -> None:
        """Probe a tool that may change something: one call after another, and none after one that was not refused."""
        queue = list(self._by_tool[tool])
        while queue:
            probe = queue.pop(0)
            await self._send(probe)
            if queue and not self._evidence[probe.id].is_refused_as_wrong:
                self.not_probed += [
                    NotProbed(tool=tool, probe=left.id.partition("/")[2], reason=_NOT_REFUSED) for left in queue
                ]
                self._report_progress(len(queue))
                return

    async def _send_alone(self, probes: list[Probe]) -> None:
        """Send again, one at a time, what was slow or had no answer: another call may be to blame."""
        lost = 0
        for probe in probes:
            if lost == _MOST_LOST:
                return  # so many have no answer by themselves: the rest is taken as it was found
            if self._evidence[probe.id].ending in ("hung", "crashed"):
                await self._session.restart()
            answer = await self._session.call(probe.tool, probe.arguments)
            self._keep(replace(self._read(probe, answer), again=self._evidence[probe.id].again), answer)
            lost += answer.response is None or not answer.alive

    async def _send(self, probe: Probe) -> None:
        async with self._slots:
            answer = await self._session.call(probe.tool, probe.arguments)
            evidence = self._read(probe, answer)
            again = await self._repeat(evidence)
        self._keep(replace(evidence, again=again), answer)
        self._report_progress(1)

    async def _repeat(self, first: Evidence) -> fw.Failure | None:
        """Make the first call of each row again, to see whether its code is stable."""
        probe = first.probe
        row = (probe.tool, probe.row)
        is_careful = probe.tool in self.tools and self.tools[probe.tool].careful
        if row in self._repeated or first.ending != "refused" or not first.is_structured or not first.alive:
            return None
        if is_careful and not first.is_refused_as_wrong:
            return None
        self._repeated.add(row)
        return self._read(probe, await self._session.call(probe.tool, probe.arguments)).failure

    def measure_proxy(self, score: float, listed: list[dict[str, Any]]) -> report.MeasuredProxy | None:
        """Return what the proxy makes of the answers that were given; None if it raises the score by nothing."""
        found = [self._with_proxy(score, listed, command) for command in (_PROXY, _VALIDATING_PROXY)]
        plain, validating = found
        best = validating if validating.gain > plain.gain else plain
        return best if best.gain > 0 else None

    def _with_proxy(self, score: float, listed: list[dict[str, Any]], command: str) -> report.MeasuredProxy:
        rewriter = Rewriter(dialect="meta")
        rewriter.tools.learn({"tools": listed}, is_whole=True)
        results: dict[str, list[GradeResult]] = {}
        for evidence in self.evidence:
            probe, answer = evidence.probe, self._answers[evidence.probe.id]
            call = ProxiedCall(id=0, tool=probe.tool, arguments=probe.arguments)
            refused = rewriter.check(call) if command == _VALIDATING_PROXY else None
            if refused is not None:
                answer = ProbeAnswer(response=rewriter.failed(call, refused), seconds=0.0)
            elif answer.response is not None:
                reading = rewriter.read_answer(call, answer.response, is_failed=is_failing(answer.response))
                answer = replace(answer, response=rewriter.write_answer(call, reading)[0] or answer.response)
            now = self._read(probe, answer)
            now = replace(now, repaired=self._repair(now), again=now.failure if evidence.again else None)
            results.setdefault(probe.tool if probe.tool in self.tools else SERVER, []).extend(grade_call(now))
        with_proxy = report.mean(report.score(grades) for grades in results.values())
        return report.MeasuredProxy(command=command, score=with_proxy, gain=round(with_proxy - score, 1))

    def _read(self, probe: Probe, answer: ProbeAnswer) -> Evidence:
        tool = self.tools.get(probe.tool)
        names = tuple(self.tools) if probe in self._of_server else ()
        return read_evidence(probe, answer, fields=tool.field_names if tool else (), tools=names)

    def _keep(self, evidence: Evidence, answer: ProbeAnswer) -> None:
        self._answers[evidence.probe.id] = answer
        self._evidence[evidence.probe.id] = replace(evidence, repaired=self._repair(evidence))

    def _repair(self, evidence: Evidence) -> dict[str, Any] | None:
        """Return what an agent that knows only the error would send next."""
        if evidence.tools:
            chosen = agent.choose_tool(evidence.failure, evidence.probe.tool, evidence.tools)
            named = (name for name in evidence.tools if evidence.failure and evidence.says(name))
            tool = chosen or next(named, None)
            return {"tool": tool} if tool else None
        return agent.repair_call(evidence, self.tools[evidence.probe.tool]) if evidence.probe.breaks_schema else None

    def _report_progress(self, more: int) -> None:
        self._done += more
        if self._progress is not None:
            self._progress(self._done, len(self._probes))


def _is_doubtful(evidence: Evidence) -> bool:
    return not evidence.alive or evidence.ending in ("hung", "crashed") or evidence.seconds > SLOWEST


def _make_report(run: _CheckRun, session: CheckSession, target: str, *, seconds: float) -> Report:
    evidence = run.evidence
    results: dict[str, list[ProbeResult]] = {name: [] for name in (*run.tools, SERVER)}
    for one in evidence:
        name = one.probe.tool if one.probe.tool in run.tools else SERVER
        results[name].append(_probe_result(one, name, run.tools))
    tools = tuple(_tool_report(name, run.tools.get(name), probes) for name, probes in results.items())
    doubt = report.doubt(tools)
    score = report.server_score(tools) if doubt is None else None
    server = _server_summary(session, [one.text for one in evidence], target)
    return Report(
        score=score,
        grade=None if score is None else report.letter(score),
        doubt=doubt,
        proxied=None if score is None else run.measure_proxy(score, session.tools),
        server=server,
        channels={name: _channel_score(name, tools) for name in _CHANNELS},
        totals=_totals(evidence),
        tools=tools,
        not_probed=tuple(run.not_probed),
        changes=best_changes(tools, server.sdk),
        seconds=seconds,
    )


def _server_summary(session: CheckSession, texts: list[str], target: str) -> ServerSummary:
    about = session.server.get("serverInfo")
    info: dict[str, Any] = about if is_object(about) else {}
    return ServerSummary(
        name=_name_text(info.get("name")),
        version=_name_text(info.get("version")),
        sdk=detect_sdk(session.server, session.tools, texts, target),
        target=clean(target, _LONGEST_TEXT),
    )


def _name_text(value: Any) -> str:
    return clean(" ".join(value.split()), _LONGEST_NAME) if isinstance(value, str) else ""


def _probe_result(evidence: Evidence, name: str, tools: dict[str, CheckedTool]) -> ProbeResult:
    probe, grades = evidence.probe, grade_call(evidence)
    failure = fw.dialects.canonical(evidence.failure) if evidence.failure else None
    return ProbeResult(
        id=probe.id,
        probe=probe.row,
        tool=name,
        violates=probe.violates,
        field=probe.field,
        arguments=json_safe(probe.arguments),
        schema_violation=probe.breaks_schema,
        ending=evidence.ending,
        text=clean(evidence.text, _LONGEST_TEXT),
        better=_better_text(evidence, tools),
        code=failure.code if failure and evidence.is_structured else None,
        failure=write_whole(failure) if failure else None,
        repaired=None if evidence.repaired is None else json_safe(evidence.repaired),
        seconds=round(evidence.seconds, 4),
        score=report.score(grades),
        grades=grades,
        times=1 if evidence.again is None else 2,
    )


def _better_text(evidence: Evidence, tools: dict[str, CheckedTool]) -> str:
    """Return the text that the answer should have had."""
    probe = evidence.probe
    if evidence.tools:
        near = closest(probe.tool, evidence.tools, most=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        names = tuple(near) or evidence.tools[:_MOST_NAMES]
        failure: fw.Failure | None = fw.Failure(
            code="UNKNOWN_TOOL", message=f"There is no tool {probe.tool!r}.{meant}", actions=names
        )
    elif probe.breaks_schema:
        failure = fw.check_arguments(probe.arguments, tools[probe.tool].schema, tool=probe.tool)
    else:
        failure = evidence.failure
    return str(fw.encode(failure)["content"][0]["text"]) if failure else ""


def _tool_report(name: str, tool: CheckedTool | None, probes: list[ProbeResult]) -> ToolReport:
    score = report.tool_score(probes)
    return ToolReport(
        name=name,
        read_only=tool is not None and tool.read_only,
        score=score,
        grade=report.letter(score) if score is not None else None,
        probes=tuple(probes),
    )


def _channel_score(channel: Channel, tools: tuple[ToolReport, ...]) -> float:
    return report.mean(
        report.score(result for probe in tool.probes for result in probe.grades if result.channel == channel)
        for tool in tools
    )


def _totals(evidence: list[Evidence]) -> Totals:
    counted = [one for one in evidence if not one.is_tolerated and not one.is_backend_away]
    endings = [one.ending for one in counted]
    violations = [one for one in counted if one.probe.breaks_schema]
    return Totals(
        probes=len(counted),
        unflagged=endings.count("unflagged"),
        accepted=endings.count("accepted"),
        hung=endings.count("hung"),
        crashed=endings.count("crashed"),
        schema_violations=len(violations),
        repairable=sum(one.repaired is not None for one in violations),
        backend_away=sum(one.is_backend_away for one in evidence),
    )
