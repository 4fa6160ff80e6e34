"""Arguments and results are checked against published schemas, and only what JSON Schema refuses is refused."""

import subprocess
import sys
from typing import Any

import pytest

import failwell as fw
from failwell.server._schemas import SchemaChecks

OPEN = {"type": "object", "properties": {"n": {"type": "integer"}, "day": {"type": "string", "format": "date"}}}


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"n": 5}, None),
        ({"n": 5, "extra": 1}, None),
        ({"day": "tomorrow"}, None),
        ({"n": "x"}, ["n"]),
        ({"n": "x", "extra": 1, "day": "tomorrow"}, ["n", "extra", "day"]),
    ],
    ids=str,
)
def test_only_what_json_schema_refuses_is_refused_and_then_all_is_told(arguments: Any, paths: list[str] | None) -> None:
    failure = SchemaChecks().refused(arguments, OPEN, tool="tool")

    assert (failure and sorted(problem.path for problem in failure.fields)) == (paths and sorted(paths))


@pytest.mark.parametrize("arguments", [{"n": 5}, {"n": "x"}, {"n": {1, 2}}, {1: 2}, {"extra": 1}], ids=str)
def test_what_is_accepted_is_not_refused(arguments: Any) -> None:
    checks = SchemaChecks()

    assert checks.accept(arguments, OPEN, tool="tool") is (checks.refused(arguments, OPEN, tool="tool") is None)


def test_what_another_validator_found_is_explained_by_the_schema() -> None:
    schema = {"type": "object", "properties": {"mode": {"enum": ["a", "b"]}}, "required": ["mode"]}
    found = (fw.FieldProblem(path="mode", kind="missing"), fw.FieldProblem(path="deep", kind="other", message="Odd"))

    explained = SchemaChecks().explained(found, {"mod": "a"}, schema, tool="tool")

    assert [(problem.path, problem.options) for problem in explained] == [
        ("mode", ("a", "b")),
        ("deep", ()),
        ("mod", ("mode",)),
    ]


def test_a_schema_that_was_changed_in_place_is_another_one() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"mode": {"enum": ["a"]}}}
    checks = SchemaChecks()
    before = checks.refused({"mode": "b"}, schema, tool="tool")

    schema["properties"]["mode"]["enum"].append("b")
    after = checks.refused({"mode": "c"}, schema, tool="tool")

    assert before is not None
    assert checks.refused({"mode": "b"}, schema, tool="tool") is None
    assert after is not None
    assert after.fields[0].options == ("a", "b")


def test_a_schema_that_is_never_changed_is_not_looked_through_for_each_check(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr("failwell.server._schemas._content", written.append)
    checks = SchemaChecks(are_fixed=True)

    assert [checks.is_broken({"n": n}, OPEN, tool="tool") for n in (1, "x", 2)] == [False, True, False]
    assert written == []


@pytest.mark.parametrize("are_fixed", [True, False])
def test_no_more_schemas_are_remembered_than_fit(are_fixed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.server._schemas._MOST_SCHEMAS", 3)
    checks = SchemaChecks(are_fixed=are_fixed)

    for n in range(10):
        schema = {"type": "object", "properties": {"n": {"maximum": n}}}
        assert checks.is_broken({"n": n + 1}, schema, tool="tool")
        assert not checks.is_broken({"n": n}, schema, tool="tool")

    assert len(checks._checkers) == 3


def test_without_jsonschema_rs_the_log_names_the_extra_once() -> None:
    program = """
import logging, sys
sys.modules["jsonschema_rs"] = None
logging.basicConfig(format="%(message)s", level=logging.WARNING)
import failwell as fw
from mcp.server import MCPServer
for name in ("one", "two"):
    fw.protect(MCPServer(name))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr.count("pip install 'failwell[validation]'") == 1
