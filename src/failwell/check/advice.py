"""The changes that would raise a score most, each with code for the SDK in use."""

from collections.abc import Iterable

from msgspec.structs import replace

from failwell.check import scoring
from failwell.check.remedies import REMEDIES, Remedy
from failwell.check.report import Change, ToolReport

MOST_CHANGES = 3


def best_changes(tools: Iterable[ToolReport], sdk: str) -> tuple[Change, ...]:
    """Return the changes that raise the score most, the best first."""
    tools = tuple(tools)
    now = scoring.server_score(tools)
    found: list[Change] = []
    for remedy in REMEDIES:
        ailing = tuple(tool.name for tool in tools if _failed(tool) & set(remedy.cures))
        gain = round(scoring.server_score(_cured(tool, remedy) for tool in tools) - now, 1)
        if ailing and gain > 0:
            snippet = remedy.snippet(sdk)
            found.append(
                Change(
                    title=remedy.title,
                    why=remedy.why,
                    gain=gain,
                    cures=remedy.cures,
                    tools=ailing,
                    sdk=sdk,
                    language=snippet.language,
                    snippet=snippet.code,
                )
            )
    return tuple(sorted(found, key=lambda change: -change.gain)[:MOST_CHANGES])


def _failed(tool: ToolReport) -> set[str]:
    return {graded.grade for probe in tool.probes for graded in probe.failed}


def _cured(tool: ToolReport, remedy: Remedy) -> ToolReport:
    grades = (graded for probe in tool.probes for graded in probe.grades)
    mended = (replace(graded, passed=True) if graded.grade in remedy.cures else graded for graded in grades)
    return replace(tool, score=scoring.score(mended))
