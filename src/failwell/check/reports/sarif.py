"""SARIF 2.1.0: each grade is a rule, each grade that a call did not reach a result."""

import hashlib
import json
import re
from typing import Any
from urllib.parse import quote

import failwell
from failwell.check.report import Graded, ProbeResult, Report
from failwell.check.reports.text import in_words, shown

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
            _result(probe, graded, numbers[graded.grade], place) for probe in report.probes() for graded in probe.failed
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {"score": report.score, "grade": report.grade, "channels": report.channels},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rules(report: Report) -> list[dict[str, Any]]:
    """Return a rule for each grade that was given, in the order of their names."""
    given = {graded.grade: graded for probe in report.probes() for graded in probe.grades}
    held = {graded.grade: graded.reason for probe in report.probes() for graded in probe.grades if graded.passed}
    return [
        {
            "id": name,
            "name": "".join(word.capitalize() for word in name.split("_")),
            "shortDescription": {"text": shown(held.get(name) or in_words(name))},
            "defaultConfiguration": {"level": _level(graded)},
            "properties": {"channel": graded.channel, "weight": graded.weight, "tags": ["mcp", graded.channel]},
        }
        for name, graded in sorted(given.items())
    ]


def _result(probe: ProbeResult, graded: Graded, rule: int, place: str) -> dict[str, Any]:
    said = f" The server said: {shown(probe.text, _LONGEST)}" if probe.text else ""
    return {
        "ruleId": graded.grade,
        "ruleIndex": rule,
        "level": _level(graded),
        "kind": "fail",
        "message": {"text": f"{shown(probe.tool)}: {shown(probe.violates)}: {shown(graded.reason)}.{said}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": place}, "region": {"startLine": 1}},
                "logicalLocations": [
                    {"name": shown(probe.tool), "fullyQualifiedName": shown(probe.id), "kind": "function"}
                ],
            }
        ],
        "partialFingerprints": {"failwell/v1": _fingerprint(probe.id, graded.grade)},
        "properties": {"probe": shown(probe.probe), "ending": probe.ending, "code": probe.code and shown(probe.code)},
    }


def _notes(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "level": "note",
            "message": {"text": f"Not probed: {shown(left.tool)} {shown(left.probe or '')}: {shown(left.reason)}"},
        }
        for left in report.not_probed
    ]


def _level(graded: Graded) -> str:
    return next(level for least, level in _LEVELS if graded.weight >= least)


def _fingerprint(probe: str, grade: str) -> str:
    return hashlib.sha256(f"{probe}\n{grade}".encode("utf-8", "replace")).hexdigest()[:32]


def _place(report: Report) -> str:
    """Return the source file in the server's command, as code scanning shows results beside files; else its name."""
    for word in report.server.target.split():
        if _SOURCE.fullmatch(word) and ".." not in word.split("/"):
            return quote(word.removeprefix("./"))
    return quote(shown(report.server.name) or "server", safe="")
