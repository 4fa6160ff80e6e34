"""From what was seen to the report, the server's SDK included as far as what it sends tells."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

import failwell as fw
from failwell._json import is_object
from failwell._spelling import closest
from failwell.check import report
from failwell.check.advice import best_changes
from failwell.check.evidence import Evidence
from failwell.check.grades.table import graded
from failwell.check.probes import Subject
from failwell.check.probes.tool_names import SERVER
from failwell.check.report import Channel, NotProbed, ProbeResult, Report, ServerSummary, ToolReport, Totals
from failwell.dialects._placement import write_whole
from failwell.redact.canonical import json_safe
from failwell.redact.scrubber import clean

UNKNOWN = "unknown"


class _Sign(NamedTuple):
    sdk: str
    shows: Callable[["_Sent"], bool]


class _Sent(NamedTuple):
    """What a server has sent: its hello, its tools, the texts of its failures, and the command that starts it."""

    hello: dict[str, Any]
    tools: list[dict[str, Any]]
    texts: str
    command: str


def sdk_of(hello: dict[str, Any], tools: list[dict[str, Any]], texts: list[str], command: str) -> str:
    """Return `fastmcp`, `mcp` (the Python SDK), `typescript` or `unknown`."""
    sent = _Sent(hello, tools, "\n".join(texts), command)
    return next((sign.sdk for sign in _SIGNS if sign.shows(sent)), UNKNOWN)


def _has_fastmcp_mark(sent: _Sent) -> bool:
    marks = (tool.get("_meta") for tool in sent.tools)
    return any(is_object(mark) and ("fastmcp" in mark or "_fastmcp" in mark) for mark in marks)


def _has_zod_schemas(sent: _Sent) -> bool:
    schemas = (tool.get("inputSchema") for tool in sent.tools)
    return any(is_object(schema) and "$schema" in schema for schema in schemas)


def _is_of_python_sdk(sent: _Sent) -> bool:
    # The Python SDK announces `experimental`, empty or not; no other one does.
    capabilities = sent.hello.get("capabilities")
    titles = (tool.get("inputSchema", {}).get("title", "") for tool in sent.tools)
    return (is_object(capabilities) and "experimental" in capabilities) or any(
        isinstance(title, str) and title.endswith("Arguments") for title in titles
    )


def _texts_hold(*words: str) -> Callable[[_Sent], bool]:
    def shows(sent: _Sent) -> bool:
        return any(word in sent.texts for word in words)

    return shows


def _command_matches(pattern: str) -> Callable[[_Sent], bool]:
    def shows(sent: _Sent) -> bool:
        return re.search(pattern, sent.command) is not None

    return shows


_SIGNS = (
    _Sign("fastmcp", _has_fastmcp_mark),
    _Sign("fastmcp", _texts_hold("for call[")),
    _Sign("mcp", _texts_hold("Error executing tool", "errors.pydantic.dev")),
    _Sign("typescript", _texts_hold("MCP error -32", "invalid_type")),
    _Sign("typescript", _has_zod_schemas),
    _Sign("mcp", _is_of_python_sdk),
    _Sign("typescript", _command_matches(r"(?:^|[/\s])(?:node|npx|bun|deno|tsx)\b|\.[cm]?[jt]s\b")),
    _Sign("mcp", _command_matches(r"(?:^|[/\s])(?:python[\d.]*|uvx?|pipx)\b|\.py\b")),
)
"""Signs from the surest to the least sure."""


_MOST_TEXT = 4000
_CHANNELS: tuple[Channel, ...] = ("call", "text", "machine")


class Findings(Struct, frozen=True, kw_only=True):
    """All that a run has seen."""

    hello: dict[str, Any]
    tools: list[dict[str, Any]]
    target: str
    subjects: dict[str, Subject]
    evidence: list[Evidence]
    not_probed: list[NotProbed]
    seconds: float


def report_of(found: Findings) -> Report:
    """Return the report of a run."""
    results: dict[str, list[ProbeResult]] = {name: [] for name in (*found.subjects, SERVER)}
    for seen in found.evidence:
        where = seen.probe.tool if seen.probe.tool in found.subjects else SERVER
        results[where].append(_result(seen, where, found.subjects))
    tools = tuple(_tool(name, found.subjects.get(name), probes) for name, probes in results.items())
    value = report.server_score(tools)
    about = found.hello.get("serverInfo")
    info: dict[str, Any] = about if is_object(about) else {}
    texts = [seen.text for seen in found.evidence]
    server = ServerSummary(
        name=_word(info.get("name")),
        version=_word(info.get("version")),
        sdk=sdk_of(found.hello, found.tools, texts, found.target),
        target=clean(found.target, _MOST_TEXT),
    )
    return Report(
        score=value,
        grade=report.letter(value),
        server=server,
        channels={name: _channel_score(name, tools) for name in _CHANNELS},
        totals=_totals(found.evidence),
        tools=tools,
        not_probed=tuple(found.not_probed),
        changes=best_changes(tools, server.sdk),
        seconds=found.seconds,
    )


def _result(seen: Evidence, where: str, subjects: dict[str, Subject]) -> ProbeResult:
    probe, grades = seen.probe, graded(seen)
    failure = fw.dialects.canonical(seen.failure) if seen.failure else None
    return ProbeResult(
        id=probe.id,
        probe=probe.row,
        tool=where,
        violates=probe.violates,
        field=probe.field,
        arguments=json_safe(probe.arguments),
        schema_violation=probe.breaks_schema,
        ending=seen.ending,
        text=clean(seen.text, _MOST_TEXT),
        better=_better(seen, subjects),
        code=failure.code if failure and seen.is_structured else None,
        failure=write_whole(failure) if failure else None,
        repaired=None if seen.repaired is None else json_safe(seen.repaired),
        seconds=round(seen.seconds, 4),
        score=report.score(grades),
        grades=grades,
    )


def _better(seen: Evidence, subjects: dict[str, Subject]) -> str:
    """Return the text that the answer should have had."""
    probe = seen.probe
    if seen.tools:
        near = closest(probe.tool, seen.tools, most=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        names = tuple(near) or seen.tools[:20]
        failure: fw.Failure | None = fw.Failure(
            code="UNKNOWN_TOOL", message=f"There is no tool {probe.tool!r}.{meant}", actions=names
        )
    elif probe.breaks_schema:
        failure = fw.check_arguments(probe.arguments, subjects[probe.tool].schema, tool=probe.tool)
    else:
        failure = seen.failure
    return str(fw.encode(failure)["content"][0]["text"]) if failure else ""


def _tool(name: str, subject: Subject | None, probes: list[ProbeResult]) -> ToolReport:
    value = report.tool_score(probes)
    return ToolReport(
        name=name,
        read_only=subject is not None and subject.read_only,
        score=value,
        grade=report.letter(value) if value is not None else None,
        probes=tuple(probes),
    )


def _channel_score(channel: Channel, tools: tuple[ToolReport, ...]) -> float:
    return report.mean(
        report.score(graded for probe in tool.probes for graded in probe.grades if graded.channel == channel)
        for tool in tools
    )


def _totals(evidence: list[Evidence]) -> Totals:
    counted = [seen for seen in evidence if not seen.is_tolerated]
    endings = [seen.ending for seen in counted]
    broken = [seen for seen in counted if seen.probe.breaks_schema]
    return Totals(
        probes=len(counted),
        unflagged=endings.count("unflagged"),
        accepted=endings.count("accepted"),
        hung=endings.count("hung"),
        crashed=endings.count("crashed"),
        schema_violations=len(broken),
        repairable=sum(seen.repaired is not None for seen in broken),
    )


def _word(value: Any) -> str:
    return clean(" ".join(value.split()), 80) if isinstance(value, str) else ""
