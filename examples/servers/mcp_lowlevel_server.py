"""A low-level server of the mcp SDK: failwell checks the arguments, catches what is raised, and names unknown tools."""

from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

import failwell as fw

TASKS = {"t-1": "write the report", "t-2": "water the plants"}
TASK = {"task": {"type": "string", "description": "its id"}}
TOOLS = [
    Tool(name="read_task", input_schema={"type": "object", "properties": TASK, "required": ["task"]}),
    Tool(name="list_tasks", input_schema={"type": "object", "properties": {}}),
    Tool(
        name="claim_task",
        input_schema={
            "type": "object",
            "properties": {**TASK, "hours": {"type": "integer"}},
            "required": ["task", "hours"],
        },
    ),
]


def run(name: str, arguments: dict[str, Any]) -> str:
    match name:
        case "read_task" if arguments["task"] not in TASKS:
            raise fw.NotFound.of(
                "task", arguments["task"], suggestion="Call list_tasks to see what exists.", actions=["list_tasks"]
            )
        case "read_task":
            return TASKS[arguments["task"]]
        case "list_tasks":
            return ", ".join(TASKS)
        case "claim_task" if arguments["hours"] > 8:
            raise fw.Conflict("Nobody works more than 8 hours a day.", details={"most": 8})
        case "claim_task":
            return f"{TASKS[arguments['task']]}: yours for {arguments['hours']} h"
        case _:
            raise ValueError(name)


async def call_tool(_ctx: Any, params: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=run(params.name, params.arguments or {}))])


async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


server = Server("tasks", on_call_tool=call_tool, on_list_tools=list_tools)
fw.protect(server, raises={"read_task": [fw.NotFound]})


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
