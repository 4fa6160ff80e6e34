"""SARIF, held against the rules of the standard that code scanning relies on."""

import json
from typing import Any

import jsonschema_rs
import pytest

from failwell.check.report import Report
from failwell.check.reports import sarif
from tests.check.reports import samples

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def exactly(*required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "required": list(required), "properties": properties, "additionalProperties": False
    }  # fmt: skip


# The parts of the standard's schema that a log of ours may use, with the names and limits that it gives them.
SHAPE = exactly(
    "version",
    "runs",
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": exactly(
            "tool",
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            properties={"type": "object"},
            tool=exactly(
                "driver",
                driver=exactly(
                    "name",
                    name={"type": "string"},
                    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": exactly(
                            "id",
                            id={"type": "string"},
                            name={"type": "string"},
                            shortDescription=TEXT,
                            helpUri={"type": "string", "pattern": "^https://.+/reference/grades[.]md#[a-z_]+$"},
                            defaultConfiguration=exactly(level=LEVEL),
                            properties={
                                "type": "object",
                                "properties": {"tags": {"type": "array", "uniqueItems": True}},
                            },
                        ),
                    },
                ),
            ),
            invocations={
                "type": "array",
                "items": exactly(
                    "executionSuccessful",
                    executionSuccessful={"type": "boolean"},
                    toolExecutionNotifications={
                        "type": "array",
                        "items": exactly("message", message=TEXT, level=LEVEL),
                    },
                ),
            },
            results={
                "type": "array",
                "items": exactly(
                    "message",
                    ruleId={"type": "string"},
                    ruleIndex={"type": "integer", "minimum": -1},
                    level=LEVEL,
                    kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
                    message=TEXT,
                    locations={
                        "type": "array",
                        "minItems": 1,
                        "items": exactly(
                            physicalLocation=exactly(
                                artifactLocation=exactly(uri={"type": "string", "format": "uri-reference"}),
                                region=exactly(startLine={"type": "integer", "minimum": 1}),
                            ),
                            logicalLocations={
                                "type": "array",
                                "items": exactly(
                                    name={"type": "string"},
                                    fullyQualifiedName={"type": "string"},
                                    kind={"type": "string"},
                                ),
                            },
                        ),
                    },
                    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
                    properties={"type": "object"},
                ),
            },
        ),
    },
)


def run_of(report: Report) -> dict[str, Any]:
    [run] = json.loads(sarif.write(report))["runs"]
    return run


@pytest.mark.parametrize("report", samples.ALL.values(), ids=samples.ALL)
def test_every_log_has_the_shape_of_the_standard(report: Report) -> None:
    shape = jsonschema_rs.validator_for(SHAPE, validate_formats=True)

    assert [error.message for error in shape.iter_errors(json.loads(sarif.write(report)))] == []


def test_each_grade_that_was_not_reached_is_a_result() -> None:
    results = run_of(samples.MIXED)["results"]

    assert [(one["ruleId"], one["level"], one["properties"]["ending"]) for one in results] == [
        ("names_field", "error", "refused"),
        ("retry_flag", "note", "refused"),
        ("flagged", "error", "unflagged"),
        ("speed", "note", "hung"),
    ]
    assert results[0]["message"]["text"] == (
        "read_task: the required field task_id is left out: the text does not name task_id."
        " The server said: invalid input"
    )
    assert results[3]["message"]["text"].endswith("there was no answer in time.")
    assert run_of(samples.PERFECT)["results"] == []


def test_results_point_to_their_rules() -> None:
    run = run_of(samples.MIXED)
    rules = run["tool"]["driver"]["rules"]

    assert [rules[one["ruleIndex"]]["id"] for one in run["results"]] == [one["ruleId"] for one in run["results"]]
    flagged = next(rule for rule in rules if rule["id"] == "flagged")
    assert flagged["shortDescription"]["text"] == "the failure is flagged as an error"
    assert flagged["properties"] == {"channel": "call", "weight": 15, "tags": ["mcp", "call"]}


def test_the_same_finding_has_the_same_fingerprint_in_every_run_and_no_other_has_it() -> None:
    fingerprints = [one["partialFingerprints"]["failwell/v1"] for one in run_of(samples.MIXED)["results"]]
    other_words = samples.report(
        samples.tool("read_task", samples.probe("missing_field/task_id", samples.NAMELESS, text="other", seconds=9.0))
    )

    [again] = run_of(other_words)["results"]
    assert again["partialFingerprints"]["failwell/v1"] == fingerprints[0]
    assert len(set(fingerprints)) == len(fingerprints)


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("python server/tasks.py --port 1", "server/tasks.py"),
        ("node ./dist/index.js", "dist/index.js"),
        ("python -m tasks", "tasks%20server"),
        ("python /srv/tasks.py", "tasks%20server"),
        ("python ../tasks.py", "tasks%20server"),
        ("https://example.com/mcp", "tasks%20server"),
    ],
)
def test_a_result_stands_beside_the_file_that_was_started(target: str, place: str) -> None:
    server = samples.ServerSummary(name="tasks server", version="", sdk="", target=target)
    report = samples.report(*samples.MIXED.tools, server=server)

    places = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run_of(report)["results"]}
    assert places == {place}


def test_what_was_not_probed_is_a_note() -> None:
    [invocation] = run_of(samples.MIXED)["invocations"]

    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == [
        "Not probed: write_task unknown_field: it would run the tool",
        "Not probed: write_task wrong_format/due: it would run the tool",
    ]


def test_secrets_and_unseen_characters_stay_out() -> None:
    written = sarif.write(samples.HOSTILE_EVERYWHERE)

    assert "hunter2hunter2" not in written
    assert "\u202e" not in json.dumps(json.loads(written), ensure_ascii=False)
    assert "\\\\u202e" in written
