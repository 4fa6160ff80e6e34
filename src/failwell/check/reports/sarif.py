"""SARIF 2.1.0: each grade is a rule, each grade that a call did not reach a result."""

import hashlib
import json
import re
from typing import Any
from urllib.parse import quote

import failwell
from failwell.check.report import GradeResult, ProbeResult, Report
from failwell.check.reports.text import grade_address, in_words, safe_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

# From this weight on, a result is an error, or a warning; below, a note.
_LEVELS = ((10, "error"), (5, "warning"), (0, "note"))
_LONGEST = 1000
_SOURCE = re.compile(r"[\w.-][\w./-]*\.(?:py|js|ts|mjs|cjs|go|rs|rb|java|kt|cs|php)")


def write(report: Report) -> str:
    """Return a report as SARIF."""
    rules = _rules(report)
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    driver = {"name": "failwell", "semanticVersion": failwell.__version__, "rules": rules}
    place = _place(report)
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notes(report)}],
        "results": [
            _result(probe, result, numbers[result.grade], place) for probe in report.probes() for result in probe.failed
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {"score": report.score, "grade": report.grade, "channels": report.channels},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rules(report: Report) -> list[dict[str, Any]]:
    """Return a rule for each grade that was given, in the order of their names."""
    given = {result.grade: result for probe in report.probes() for result in probe.grades}
    held = {result.grade: result.reason for probe in report.probes() for result in probe.grades if result.passed}
    return [
        {
            "id": name,
            "name": "".join(word.capitalize() for word in name.split("_")),
            "shortDescription": {"text": safe_text(held.get(name) or in_words(name))},
            "helpUri": grade_address(name),
            "defaultConfiguration": {"level": _level(result)},
            "properties": {"channel": result.channel, "weight": result.weight, "tags": ["mcp", result.channel]},
        }
        for name, result in sorted(given.items())
    ]


def _result(probe: ProbeResult, result: GradeResult, rule: int, place: str) -> dict[str, Any]:
    said = f" The server said: {safe_text(probe.text, _LONGEST)}" if probe.text else ""
    return {
        "ruleId": result.grade,
        "ruleIndex": rule,
        "level": _level(result),
        "kind": "fail",
        "message": {"text": f"{safe_text(probe.tool)}: {safe_text(probe.violates)}: {safe_text(result.reason)}.{said}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": place}, "region": {"startLine": 1}},
                "logicalLocations": [
                    {"name": safe_text(probe.tool), "fullyQualifiedName": safe_text(probe.id), "kind": "function"}
                ],
            }
        ],
        "partialFingerprints": {"failwell/v1": _fingerprint(probe.id, result.grade)},
        "properties": {
            "probe": safe_text(probe.probe),
            "ending": probe.ending,
            "code": probe.code and safe_text(probe.code),
        },
    }


def _notes(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "level": "note",
            "message": {
                "text": f"Not probed: {safe_text(left.tool)} {safe_text(left.probe or '')}: {safe_text(left.reason)}"
            },
        }
        for left in report.not_probed
    ]


def _level(result: GradeResult) -> str:
    return next(level for least, level in _LEVELS if result.weight >= least)


def _fingerprint(probe: str, grade: str) -> str:
    return hashlib.sha256(f"{probe}\n{grade}".encode("utf-8", "replace")).hexdigest()[:32]


def _place(report: Report) -> str:
    """Return the source file in the server's command, as code scanning shows results beside files; else its name."""
    for word in report.server.target.split():
        if _SOURCE.fullmatch(word) and ".." not in word.split("/"):
            return quote(word.removeprefix("./"))
    return quote(safe_text(report.server.name) or "server", safe="")
