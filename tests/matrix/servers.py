"""One server with a tool for every way to fail and to succeed, for each kind of SDK.

As a program it serves standard input and output: `servers.py KIND [OPTIONS]`, where the options of `protect` are JSON
and `null` means a bare server.
"""

import json
import logging
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import failwell as fw
from tests.matrix import sdks

SECRET = "hunter" + "2hunter2"
DEPRECATED = fw.tool_error("DEPRECATED", message="Use find instead.", actions=["find"], severity="warning")
MISSING = fw.NotFound("Task 't-9' does not exist.", suggestion="Call list_tasks.", actions=["list_tasks"])

NUMBERS = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
CLAIM = {
    "type": "object",
    "properties": {"task": {"type": "string"}, "hours": {"type": "integer"}, "mode": {"enum": ["fast", "safe"]}},
    "required": ["task", "hours", "mode"],
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
QUESTIONS = () if sdks.HAS_MCP_1 else ("asking",)


def tools(kind: str) -> list[tuple[Any, dict[str, Any]]]:
    """Return the functions of the tools, each with what it is registered with."""

    @fw.raises(fw.NotFound, "DEADLOCK")
    def declared():
        raise MISSING

    async def returned():
        return MISSING.failure

    def returned_err() -> fw.Result[int]:
        return fw.fail(MISSING)

    def crash():
        raise KeyError(SECRET)

    async def refused():
        raise ConnectionRefusedError(111, SECRET)

    def refused_reading():
        raise ConnectionRefusedError(111, SECRET)

    def refused_once():
        raise ConnectionRefusedError(111, SECRET)

    def claim(task: str, hours: int, mode: Literal["fast", "safe"]):
        return "claimed"

    def broken_upstream():
        return TypeAdapter(int).validate_python(SECRET)

    def warned():
        return DEPRECATED

    def warned_schema() -> dict[str, int]:
        return DEPRECATED

    def missing_schema() -> dict[str, int]:
        raise MISSING

    def broken_output() -> dict[str, int]:
        return {"n": SECRET}

    def sdk_error():
        raise sdks.tool_error(kind)("Rate limit exceeded, retry after 30 seconds")

    def sdk_error_from() -> str:
        raise sdks.tool_error(kind)("The task store cannot be reached.") from ConnectionRefusedError(111, SECRET)

    def rpc_error():
        raise sdks.rpc_error(-32602, "hours must be positive")

    def text() -> str:
        return "done"

    async def number() -> int:
        return 5

    def ok() -> fw.Result[int]:
        return fw.succeed(5)

    def data() -> dict[str, int]:
        return {"n": 5}

    def by_hand():
        return sdks.result({"content": [{"type": "text", "text": "made by hand"}], "_meta": {"k": 1}})

    def asking():
        from mcp.types import InputRequiredResult

        return InputRequiredResult.model_validate({"inputRequests": {"roots": {"method": "roots/list"}}})

    read_only = {"annotations": sdks.annotations(readOnlyHint=True)}
    special = {refused_reading: read_only}
    functions = (
        declared, returned, returned_err, crash, refused, refused_reading, refused_once, claim, broken_upstream, warned,
        warned_schema, missing_schema, broken_output, sdk_error, sdk_error_from, rpc_error, text, number, ok, data,
        by_hand, asking,
    )  # fmt: skip
    return [(one, special.get(one, {})) for one in functions if one is not asking or QUESTIONS]


def bare(kind: str, **options: Any) -> Any:
    """Return such a server, not protected."""
    if kind == "lowlevel":
        return with_requests(kind, low_level(tools("lowlevel"), **options))
    server = sdks.new(kind, **options)
    for function, how in tools(kind):
        server.tool(**how)(function)
    return with_requests(kind, server)


def with_requests(kind: str, server: Any) -> Any:
    """Give a server what else can fail: resources, prompts and completion, under names that say how."""

    def crash() -> str:
        raise KeyError(SECRET)

    def refused() -> str:
        raise ConnectionRefusedError(111, SECRET)

    def missing() -> str:
        raise MISSING

    def numbered() -> str:
        raise sdks.rpc_error(-32002, f"It was deleted, password={SECRET}")

    async def complete(ref: Any, argument: Any, context: Any) -> Any:
        failing[argument.name]()

    failing = {function.__name__: function for function in (crash, refused, missing, numbered)}
    if kind != "lowlevel":
        for name, function in failing.items():
            server.resource(f"data://{name}")(function)
            server.prompt(name)(function)
        sdks.complete_with(server, complete)
        return server

    async def read(uri: Any) -> Any:
        return failing[str(uri).removeprefix("data://")]()

    async def get(name: str, arguments: Any) -> Any:
        return failing[name]()

    async def list_none() -> Any:
        raise KeyError(SECRET)

    sdks.register(server, read_resource=read, get_prompt=get, completion=complete, list_resources=list_none)
    return server


def protected(kind: str, settings: dict[str, Any] | None = None, **options: Any) -> Any:
    """Return such a server, protected."""
    server = bare(kind, **options)
    fw.protect(server, **{"client_choice": True, "single_effect": ["refused_once"], **(settings or {})})
    return server


# Of these the low-level server lists an output schema.
_WITH_OUTPUT = ("warned_schema", "missing_schema", "broken_output", "data")


def low_level(with_tools: list[tuple[Any, dict[str, Any]]], **options: Any) -> Any:
    """Return a low-level server of these functions."""
    from mcp.types import ListToolsResult, TextContent, Tool

    functions = {function.__name__: (function, how) for function, how in with_tools}
    listed = [
        Tool(
            name=name,
            inputSchema=CLAIM if name == "claim" else NOTHING,
            outputSchema=NUMBERS if name in _WITH_OUTPUT else None,
            **how,
        )
        for name, (_, how) in functions.items()
    ]

    async def run(name: str, arguments: dict[str, Any]) -> Any:
        if name not in functions:
            raise ValueError(f"unknown tool {name}")
        value = functions[name][0](**arguments)
        value = await value if hasattr(value, "__await__") else value
        if sdks.HAS_MCP_1 and isinstance(value, str | int):
            return [TextContent(type="text", text=str(value))]
        if not sdks.HAS_MCP_1 and isinstance(value, str | int):
            return sdks.result({"content": [{"type": "text", "text": str(value)}]})
        if not sdks.HAS_MCP_1 and isinstance(value, dict):
            text = json.dumps(value, indent=2)
            return sdks.result({"content": [{"type": "text", "text": text}], "structuredContent": value})
        return value

    if sdks.HAS_MCP_1:
        server = sdks.new("lowlevel", **options)
        server.call_tool()(run)

        @server.list_tools()
        async def list_tools() -> list[Tool]:
            return listed

        return server

    async def call(ctx: Any, params: Any) -> Any:
        return await run(params.name, params.arguments or {})

    async def tools_listed(ctx: Any, params: Any) -> Any:
        return ListToolsResult(tools=listed)

    return sdks.new("lowlevel", on_call_tool=call, on_list_tools=tools_listed, **options)


def serve(server: Any) -> None:
    """Serve standard input and output."""
    if hasattr(server, "run_stdio_async"):
        server.run(**({"show_banner": False} if type(server).__module__.startswith("fastmcp.") else {}))
        return
    import anyio
    from mcp.server.stdio import stdio_server

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


if __name__ == "__main__":
    logging.disable()  # nobody reads it, and drawing tracebacks takes a quarter of a second each
    chosen = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    serve(bare(sys.argv[1]) if chosen is None else protected(sys.argv[1], chosen))
