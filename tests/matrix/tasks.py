"""Tools that run as background tasks, where an SDK has them: fastmcp with docket, and low-level servers of mcp 1.

As a program it serves standard input and output: `tasks.py KIND null|{}`, where `null` means a bare server.
"""

import json
import sys
from importlib import util
from pathlib import Path
from typing import Any

import anyio.lowlevel

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import failwell as fw
from tests.matrix import sdks, servers
from tests.matrix.servers import MISSING, SECRET


def _has_tasks(kind: str) -> bool:
    if kind == "fastmcp":
        return util.find_spec("docket") is not None and (sdks.HAS_MCP_1 or util.find_spec("fastmcp_tasks") is not None)
    return kind == "lowlevel" and sdks.HAS_MCP_1 and sdks.version("mcp") >= (1, 23)


KINDS = tuple(kind for kind in sdks.KINDS if _has_tasks(kind))
ERA = "handshake" if sdks.HAS_MCP_1 else "modern"


async def crash() -> str:
    raise KeyError(SECRET)


async def missing() -> str:
    raise MISSING


async def returned() -> Any:
    return MISSING.failure


async def refused() -> str:
    raise ConnectionRefusedError(111, SECRET)


async def rpc() -> str:
    raise sdks.rpc_error(-32050, f"Not on a Sunday, password={SECRET}")


async def unparsed() -> str:
    return str(json.loads("<html>"))


async def done() -> str:
    return "done"


FUNCTIONS = (crash, missing, returned, refused, rpc, unparsed, done)


def server(kind: str) -> Any:
    """Return a server whose tools are tasks, not protected."""
    if kind == "lowlevel":
        return _low_level()
    made = sdks.new(kind)
    if not sdks.HAS_MCP_1:
        from fastmcp_tasks import TasksExtension

        made.add_extension(TasksExtension())
    for function in FUNCTIONS:
        made.tool(task=True)(function)
    return made


def _low_level() -> Any:
    from mcp import types

    made = sdks.new("lowlevel")
    made.experimental.enable_tasks()
    functions = {function.__name__: function for function in FUNCTIONS}

    @made.list_tools()
    async def list_tools() -> Any:
        execution = types.ToolExecution(taskSupport="required")
        return [types.Tool(name=name, inputSchema={"type": "object"}, execution=execution) for name in functions]

    @made.call_tool()
    async def call(name: str, arguments: Any) -> Any:
        async def work(task: Any) -> Any:
            value = await functions[name]()
            if isinstance(value, fw.Failure):
                return value
            return sdks.result({"content": [{"type": "text", "text": value}]})

        return await made.request_context.experimental.run_task(work)

    return made


async def ended(kind: str, target: Any, tool: str, prepare: Any = id) -> dict[str, Any]:
    """Return what a client is told of a task in the end: `get`, and `list` and `result` where there is such a thing.

    *prepare* is done to the client before.
    """
    if not sdks.HAS_MCP_1:
        return await _ended_4(target, tool, prepare)
    from mcp import types

    async with sdks.session(kind, target) as connected:
        prepare(connected)
        if kind == "fastmcp":
            task = await connected.call_tool(tool, {}, task=True)
            status = await terminal(connected.get_task_status, task.task_id)
            return {"get": plain(status), "result": plain(await connected.get_task_result(task.task_id))}
        features = connected.experimental
        task = (await features.call_tool_as_task(tool, {}, ttl=60_000)).task
        status = await terminal(features.get_task, task.taskId)
        found = {"get": plain(status), "list": plain(await features.list_tasks())}
        try:
            return found | {"result": plain(await features.get_task_result(task.taskId, types.CallToolResult))}
        except Exception as exc:  # mcp 1 has no result if the work raised
            return found | {"error": f"{type(exc).__name__}: {exc}"}


def plain(found: Any) -> Any:
    """Return an answer as it is on the wire."""
    return found if isinstance(found, dict) else found.model_dump(mode="json", by_alias=True, exclude_none=True)


async def terminal(get: Any, task_id: str) -> Any:
    """Return the status of a task that has ended."""
    while (status := await get(task_id)).status == "working":
        await anyio.lowlevel.checkpoint()
    return status


async def _ended_4(target: Any, tool: str, prepare: Any) -> dict[str, Any]:
    from fastmcp import Client
    from fastmcp_tasks import call_tool_task

    async with Client(target) as connected:
        prepare(connected)
        task = await call_tool_task(connected, tool, {})
        return {"get": plain(await terminal(lambda _: task.status(), ""))}


if __name__ == "__main__":
    chosen = server(sys.argv[1])
    if sys.argv[2] != "null":
        fw.protect(chosen)
    servers.serve(chosen)
