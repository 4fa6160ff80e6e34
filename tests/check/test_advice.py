"""What is advised, and for which SDK."""

import json

import pytest

from failwell.check.advice import REMEDIES, detect_sdk
from failwell.check.grades import GRADES

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


def test_every_grade_is_cured_by_one_remedy() -> None:
    cured = [grade for remedy in REMEDIES for grade in remedy.cures]

    assert sorted(cured) == sorted(grade.name for grade in GRADES)


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.cures[0])
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
