"""What is advised, and for which SDK."""

import json

import pytest

from failwell.check.advice import REMEDIES, best_changes, detect_sdk, remedies_of
from failwell.check.grades import GRADES
from failwell.check.report import SERVER, GradeResult, ProbeResult, ToolReport

TOOL = {"name": "t", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("hello", "tool", "text", "command", "sdk"),
    [
        ({}, {**TOOL, "_meta": {"fastmcp": {"tags": []}}}, "", "", "fastmcp"),
        ({}, TOOL, "1 validation error for call[search]", "", "fastmcp"),
        ({}, TOOL, "Error executing tool search", "", "mcp"),
        ({"capabilities": {"experimental": {}}}, TOOL, "", "", "mcp"),
        ({}, TOOL, "", "uvx some-server", "mcp"),
        ({}, TOOL, "MCP error -32602: no", "", "typescript"),
        (
            {},
            {"name": "t", "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#"}},
            "",
            "",
            "typescript",
        ),
        ({}, TOOL, "", "npx -y some-server", "typescript"),
        ({}, TOOL, "no", "some-server", "unknown"),
    ],
    ids=["fastmcp mark", "fastmcp text", "mcp text", "mcp hello", "uvx", "ts text", "zod", "npx", "unknown"],
)
def test_signs_tell_the_sdk(
    hello: dict[str, object], tool: dict[str, object], text: str, command: str, sdk: str
) -> None:
    assert detect_sdk(hello, [tool], [text], command) == sdk


@pytest.mark.parametrize("name", ["search", SERVER])
def test_every_grade_is_cured_by_one_remedy(name: str) -> None:
    row = ToolReport(name=name, read_only=False, score=None, grade=None, probes=())

    cured = [grade for remedy in REMEDIES if remedy.is_for(row) and not remedy.reason for grade in remedy.cures]

    assert sorted(cured) == sorted(grade.name for grade in GRADES)


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        ("the text contains the address of a library's manual", "Keep addresses of libraries out of the text"),
        ("the text contains a traceback", "Keep tracebacks, paths and secrets out of the text"),
    ],
)
def test_addresses_that_a_library_adds_have_advice_of_their_own(reason: str, title: str) -> None:
    failed = GradeResult(grade="safe", channel="text", passed=False, weight=1, reason=reason)

    assert [remedy.title for remedy in remedies_of(failed)] == [title]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("search", "Name the wrong field, and say what it should be"),
        (SERVER, "List the available tools when a caller asks for one that does not exist"),
    ],
)
def test_calls_of_tools_that_do_not_exist_have_advice_of_their_own(name: str, title: str) -> None:
    passed = GradeResult(grade="flagged", channel="call", passed=True, weight=1, reason="")
    failed = GradeResult(grade="lists_options", channel="text", passed=False, weight=1, reason="")
    probe = ProbeResult(
        id="p",
        probe="p",
        tool="x",
        violates="",
        field=None,
        arguments={},
        schema_violation=False,
        ending="refused",
        text="",
        better="",
        code=None,
        failure=None,
        repaired=None,
        seconds=0.0,
        score=50.0,
        grades=(passed, failed),
    )
    row = ToolReport(name=name, read_only=False, score=50.0, grade="D", probes=(probe,))

    [change] = best_changes([row], "mcp")

    assert (change.title, change.tools) == (title, (name,))


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: f"{remedy.cures[0]}, {remedy.rows}, {remedy.reason}")
@pytest.mark.parametrize("sdk", ["fastmcp", "mcp", "typescript", "unknown"])
def test_every_remedy_has_code_for_every_sdk(remedy: object, sdk: str) -> None:
    snippet = remedy.snippet(sdk)  # type: ignore[attr-defined]

    assert snippet.language == {"fastmcp": "python", "mcp": "python", "typescript": "typescript"}.get(
        sdk,
        "text" if "alive" in remedy.cures else "json",  # type: ignore[attr-defined]
    )
    assert "failwell" not in snippet.code
    if snippet.language == "json":
        json.loads(snippet.code)
    if snippet.language == "python":
        compile(f"async def body():\n{indented(snippet.code)}", "snippet", "exec")


def indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())
