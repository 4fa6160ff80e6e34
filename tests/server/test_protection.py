"""What `protect` says of things that are no servers, and the parts of it that need no SDK."""

import subprocess
import sys
from typing import Any

import pytest

import failwell as fw
from failwell.schema.problems import unknown_tool
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import Responder, original_exception, value_or_failure
from failwell.server._schemas import SchemaChecks


class FastMCP:
    """A class that only bears the name of a server's."""


@pytest.mark.parametrize(
    "thing", [None, "server", object(), FastMCP(), FastMCP], ids=lambda thing: type(thing).__name__
)
def test_what_is_no_server_is_refused_in_one_sentence(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"^protect takes a server of fastmcp or the mcp SDK, not \w+$"):
        fw.protect(thing)


def test_no_sdk_is_imported_to_find_out_what_it_was_given() -> None:
    program = """
import sys
import failwell as fw
try:
    fw.protect(object())
except TypeError:
    print(sorted({"mcp", "fastmcp", "pydantic", "jsonschema_rs"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("value", [5, None, "text", {"content": []}, [fw.NotFound("x").failure]], ids=str)
def test_a_value_stays_what_it_is(value: Any) -> None:
    assert value_or_failure(value) == (value, None)
    assert value_or_failure(fw.succeed(value)) == (value, None)


def test_a_failure_is_found_in_whatever_it_was_returned_as() -> None:
    exc = fw.NotFound("Task 7 does not exist.")

    assert [value_or_failure(value) for value in (exc, exc.failure, fw.fail(exc), fw.succeed(exc.failure))] == [
        (None, exc.failure)
    ] * 4


ANSWERS = Responder("tool", "compact", {}, False)


@pytest.mark.parametrize(
    ("ran", "operation_is_call", "outcome"),
    [(True, False, "unknown"), (True, True, "not_executed"), (False, False, "not_executed")],
)
def test_the_outcome_is_that_of_the_whole_call(ran: bool, operation_is_call: bool, outcome: str) -> None:
    responder = Responder("tool", "compact", {}, operation_is_call)

    assert responder.failure_of(ConnectionRefusedError(), ran=ran).outcome == outcome


def test_a_body_that_was_never_entered_had_no_effect() -> None:
    assert ANSWERS.failure_of(KeyError("x")).outcome == "unknown"
    assert ANSWERS.failure_of(KeyError("x"), ran=False).outcome == "not_executed"


def test_ids_do_not_read_like_numbers() -> None:
    ids = {ANSWERS.failure_of(KeyError("x")).id or "" for _ in range(200)}

    assert len(ids) == 200
    assert all(len(id) == 12 and id[0].isalpha() for id in ids)


def test_an_unknown_tool_is_told_what_exists() -> None:
    few = unknown_tool("zzz", ["search", "read"])
    many = unknown_tool("zzz", [f"tool_{n}" for n in range(50)])

    assert (few.message, few.actions) == ("There is no tool 'zzz'.", ("search", "read"))
    assert (many.actions, many.suggestion) == ((), "List the tools and call one that exists.")


def test_what_an_sdk_wrapped_is_found_and_what_an_author_wrapped_is_kept() -> None:
    namespace: dict[str, Any] = {"__name__": "somesdk.server"}
    exec("def wrap(exc):\n    raise RuntimeError('SDK') from exc", namespace)
    author = ValueError("author")
    author.__cause__ = KeyError("inner")

    with pytest.raises(RuntimeError) as raised:
        namespace["wrap"](author)

    assert original_exception(raised.value, {"somesdk"}) is author
    assert original_exception(raised.value, {"other"}) is raised.value


def test_annotations_that_cannot_be_read_make_no_tool_safe(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def model_dump(self, **how: Any) -> Any:
            raise RuntimeError("broken")

    assert Protection().responder(CallInfo("tool", Broken())).operation_is_call is False
    assert "the annotations of tool tool could not be read" in caplog.text


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


def test_what_another_validator_found_is_explained_by_the_schema() -> None:
    schema = {"type": "object", "properties": {"mode": {"enum": ["a", "b"]}}, "required": ["mode"]}
    found = (fw.FieldProblem(path="mode", kind="missing"), fw.FieldProblem(path="deep", kind="other", message="Odd"))

    explained = SchemaChecks().explained(found, {"mod": "a"}, schema, tool="tool")

    assert [(problem.path, problem.options) for problem in explained] == [
        ("mode", ("a", "b")),
        ("deep", ()),
        ("mod", ("mode",)),
    ]


def test_no_more_schemas_are_remembered_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.server._schemas._MOST_SCHEMAS", 3)
    checks = SchemaChecks()

    for n in range(10):
        schema = {"type": "object", "properties": {"n": {"maximum": n}}}
        assert checks.is_broken({"n": n + 1}, schema, tool="tool")
        assert not checks.is_broken({"n": n}, schema, tool="tool")

    assert len(checks._checkers) == 3
