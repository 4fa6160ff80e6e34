"""The bare wire of a process: failures exactly as they are encoded, everything else byte for byte as it was."""

import asyncio
import functools
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

import failwell as fw
from tests.matrix import sdks, servers, stdio
from tests.matrix.cases import CASES, expected, settled

PROGRAM = Path(servers.__file__)
SIDES = [(kind, era) for kind in sdks.KINDS for era in sdks.ERAS]
# Each side is two processes: of the newer era a quick run of all SDKs together has one, a matrix of each alone has all.
SLOW = [side for side in SIDES if side[1] == "modern" and side[0] != "mcp" and len(sdks.KINDS) > 1]
BARE, PROTECTED = "null", "{}"
CHOICE = "dev.failwell/dialect"
SUCCESSES = ("text", "number", "data", "by_hand", *servers.QUESTIONS)


@functools.cache
def wire(kind: str, era: str, settings: str) -> dict[Any, Any]:
    """Return the responses of one process: successes, the list of tools, each failure in each dialect."""
    with stdio.started(PROGRAM, kind, settings, era=era) as client:
        found: dict[Any, Any] = {
            name: client.request("tools/call", {"name": name, "arguments": {}}) for name in SUCCESSES
        }
        found["tools/list"] = client.request("tools/list", {})
        for name, case in CASES.items() if settings == PROTECTED else ():
            if kind in case.kinds:
                for dialect in fw.dialects.DIALECTS:
                    found[name, dialect] = client.call(case.tool, case.arguments, **{CHOICE: dialect})
        return found


@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
@pytest.mark.parametrize(
    ("kind", "era", "name"),
    [
        pytest.param(*side, name, marks=[pytest.mark.slow] if side in SLOW else [])
        for side in SIDES
        for name, case in CASES.items()
        if side[0] in case.kinds
    ],
)
def test_the_wire_holds_exactly_what_encode_makes(kind: str, era: str, name: str, dialect: str) -> None:
    found = wire(kind, era, PROTECTED)[name, dialect]

    assert settled(sdks.trimmed(found)) == expected(CASES[name], dialect)
    assert (found.get("resultType") == "complete") is (era == "modern")


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="new in mcp 2")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if (kind, "modern") in SLOW else []) for kind in sdks.KINDS]
)
def test_a_question_to_the_client_stands_on_the_wire(kind: str) -> None:
    assert wire(kind, "modern", PROTECTED)["asking"]["result"]["resultType"] == "input_required"


each_side = pytest.mark.parametrize(
    ("kind", "era"), [pytest.param(*side, marks=[pytest.mark.slow] if side in SLOW else []) for side in SIDES]
)


@pytest.mark.parametrize("name", SUCCESSES)
@each_side
def test_successes_stay_as_they_were(kind: str, era: str, name: str) -> None:
    assert wire(kind, era, PROTECTED)[name] == wire(kind, era, BARE)[name]


@each_side
def test_the_list_of_tools_gains_what_is_declared_and_nothing_else(kind: str, era: str) -> None:
    bare, protected = (wire(kind, era, settings)["tools/list"]["result"]["tools"] for settings in (BARE, PROTECTED))

    changed = [(tool, other) for tool, other in zip(bare, protected, strict=True) if tool != other]
    if kind == "lowlevel":
        assert changed == []
    else:
        [(before, after)] = changed
        assert after["name"] == "declared"
        assert after["_meta"].pop("dev.failwell/raises") == [
            {"code": "NOT_FOUND", "type": "NOT_FOUND", "retryable": False},
            {"code": "DEADLOCK", "type": "CONFLICT", "retryable": True},
        ]
        assert {**after, "_meta": after["_meta"]} == {**before, "_meta": before.get("_meta", {})}


class Total(BaseModel):
    total: int


ERROR = {"content": [{"type": "text", "text": "out of paper"}], "structuredContent": {"tray": 2}, "isError": True}


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_an_error_written_by_hand_stays_even_if_the_output_schema_does_not_know_it(kind: str) -> None:
    if kind == "fastmcp" and sdks.version("fastmcp") < (3, 4):
        pytest.skip("fastmcp has such results from 3.4 on")
    from mcp.types import CallToolResult

    def printed() -> Annotated[CallToolResult, Total]:
        return sdks.result(ERROR)

    def printed_by_fastmcp() -> dict[str, str]:
        from fastmcp.tools import ToolResult

        return ToolResult(content="out of paper", structured_content={"tray": 2}, is_error=True)

    server = low_level({"printed": printed}) if kind == "lowlevel" else sdks.new(kind)
    if kind != "lowlevel":
        server.tool(name="printed")(printed_by_fastmcp if kind == "fastmcp" else printed)
    fw.protect(server)

    async def ask() -> dict[str, Any]:
        async with sdks.client(kind, server) as call:
            return await call("printed")

    assert asyncio.run(ask()) == ERROR


def low_level(functions: dict[str, Any]) -> Any:
    from mcp.types import ListToolsResult, Tool

    tools = [Tool(name=name, inputSchema={"type": "object"}, outputSchema=servers.NUMBERS) for name in functions]
    if sdks.HAS_MCP_1:
        server = sdks.new("lowlevel")

        @server.call_tool()
        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return functions[name]()

        @server.list_tools()
        async def list_tools() -> Any:
            return tools

        return server

    async def on_call_tool(ctx: Any, params: Any) -> Any:
        return functions[params.name]()

    async def on_list_tools(ctx: Any, params: Any) -> Any:
        return ListToolsResult(tools=tools)

    return sdks.new("lowlevel", on_call_tool=on_call_tool, on_list_tools=on_list_tools)


@pytest.mark.skipif(not sdks.HAS_MCP_1 or sdks.version("mcp") < (1, 23), reason="only mcp 1 has such tasks")
@pytest.mark.skipif("lowlevel" not in sdks.KINDS, reason="another SDK is tested")
def test_a_task_is_not_a_failure() -> None:
    from mcp import types

    now = "2026-01-01T00:00:00Z"
    task = {"taskId": "t1", "status": "working", "createdAt": now, "lastUpdatedAt": now, "ttl": 5}
    made = types.CreateTaskResult.model_validate({"task": task})
    server = low_level({"later": lambda: made})
    fw.protect(server)
    request = types.CallToolRequest(method="tools/call", params=types.CallToolRequestParams(name="later"))

    result = asyncio.run(server.request_handlers[types.CallToolRequest](request))

    assert result.root is made
