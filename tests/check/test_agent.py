"""The mechanical agent changes only what the error names."""

from typing import Any

import pytest

import failwell as fw
from failwell.check.agent import choose_tool, correct_arguments
from failwell.check.probes.probe import CheckedTool

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "mode": {"enum": ["read", "write"]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
    "required": ["path"],
    "additionalProperties": False,
}
TOOL = CheckedTool({"name": "open", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}})


def failure(*problems: fw.FieldProblem) -> fw.Failure:
    return fw.Failure(code="VALIDATION_FAILED", message="wrong", fields=problems)


@pytest.mark.parametrize(
    ("arguments", "problem", "mended"),
    [
        ({}, fw.FieldProblem(path="path", kind="missing"), {"path": "failwell-probe"}),
        ({"path": 5}, fw.FieldProblem(path="path", kind="type"), {"path": "5"}),
        ({"path": ["a", "b"]}, fw.FieldProblem(path="path", kind="type"), {"path": "failwell-probe"}),
        ({"path": "a", "mode": "x"}, fw.FieldProblem(path="mode", options=("write",)), {"path": "a", "mode": "write"}),
        ({"path": "a", "odd": 1}, fw.FieldProblem(path="odd", kind="unknown"), {"path": "a"}),
        ({"paht": "a"}, fw.FieldProblem(path="paht", kind="unknown", did_you_mean="path"), {"path": "a"}),
        (
            {"path": "a", "lines": [{"n": {}}]},
            fw.FieldProblem(path="lines[0].n", kind="type"),
            {"path": "a", "lines": [{"n": 1}]},
        ),
    ],
    ids=["missing", "coerced", "replaced", "option", "dropped", "renamed", "nested"],
)
def test_it_mends_what_the_error_names(arguments: dict[str, Any], problem: fw.FieldProblem, mended: object) -> None:
    assert correct_arguments(failure(problem), arguments, TOOL) == mended


@pytest.mark.parametrize(
    "found",
    [
        None,
        fw.Failure(code="VALIDATION_FAILED", message="The arguments are wrong."),
        failure(fw.FieldProblem(path="mode", kind="enum")),
        failure(fw.FieldProblem(path="elsewhere.path", kind="missing")),
    ],
    ids=["no failure", "no field", "another field", "nowhere"],
)
def test_it_is_at_a_loss_if_the_error_does_not_name_the_field(found: fw.Failure | None) -> None:
    assert correct_arguments(found, {"path": {}, "mode": "read"}, TOOL) is None


def test_it_takes_the_tool_that_the_error_points_to() -> None:
    tools = ("read_file", "write_file")

    assert (
        choose_tool(fw.Failure(code="UNKNOWN_TOOL", message="no", actions=tools), "wriet_file", tools) == "write_file"
    )
    assert choose_tool(fw.Failure(code="UNKNOWN_TOOL", message="no", actions=("other",)), "wriet_file", tools) is None
    assert choose_tool(None, "wriet_file", tools) is None
