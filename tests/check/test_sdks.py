"""Which SDK a server is made with."""

import pytest

from failwell.check.findings import sdk_of

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
    assert sdk_of(hello, [tool], [text], command) == sdk
