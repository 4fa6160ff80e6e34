"""What else can fail besides a tool that raises, each with what a client gets from a bare and a protected server.

As a program it serves, on standard input and output, a tool whose result is no Unicode: `probes.py KIND null|{}`, where
`null` means a bare server.
"""

import asyncio
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import failwell as fw
from tests.matrix import questions, sdks, servers, stdio, tasks

EVERY, HIGH = ("fastmcp", "mcp", "lowlevel"), ("fastmcp", "mcp")
LONGEST = 0.1  # seconds that a server which can be told so waits for a tool that never ends
SILENCE = 1.5  # seconds after which a client gives up
PATIENCE = 30  # seconds, where an answer comes for certain

Answer = dict[str, Any]


class Probe(NamedTuple):
    """What fails, where, and how to find out: a function of the kind, the era, and whether to protect the server."""

    what: str
    kinds: tuple[str, ...]
    ask: Callable[[str, str, bool], Awaitable[Answer]]
    eras: tuple[str, ...] = ("handshake", "modern")


def raised(exc: BaseException) -> Answer:
    """Return an exception of a client as an answer; the error of JSON-RPC in it, if it stands for one."""
    error = getattr(exc, "error", None)
    rpc = {"rpc": error.model_dump(mode="json", exclude_none=True)} if hasattr(error, "model_dump") else {}
    return {"error": f"{type(exc).__name__}: {exc}", **rpc}


def _protect(server: Any, *, is_protected: bool, **settings: Any) -> Any:
    if is_protected:
        fw.protect(server, **settings)
    return server


def _requesting(method: str, subject: str) -> Callable[[str, str, bool], Awaitable[Answer]]:
    async def ask(kind: str, era: str, is_protected: bool) -> Answer:
        async with sdks.session(kind, _protect(servers.bare(kind), is_protected=is_protected), era) as connected:
            try:
                return {"success": str(await sdks.request(connected, method, subject))}
            except Exception as exc:
                return raised(exc)

    return ask


def _questioning(tool: str, answer: str) -> Callable[[str, str, bool], Awaitable[Answer]]:
    async def ask(kind: str, era: str, is_protected: bool) -> Answer:
        server = _protect(questions.server(kind), is_protected=is_protected)
        async with questions.client(kind, server, era, answer) as call:
            try:
                return sdks.plain(await call(tool, {}))
            except Exception as exc:
                return raised(exc)

    return ask


def _tasking(tool: str) -> Callable[[str, str, bool], Awaitable[Answer]]:
    async def ask(kind: str, era: str, is_protected: bool) -> Answer:
        found = await tasks.ended(kind, _protect(tasks.server(kind), is_protected=is_protected), tool)
        result = found.get("result") or found["get"].get("result") or {}
        status = {key: found["get"][key] for key in ("status", "statusMessage", "error") if key in found["get"]}
        return {**result, "task": status} if result else {"task": status}

    return ask


def _with_tool(kind: str, function: Any) -> Any:
    """Return a server with one tool, which has an output schema where the SDK makes them."""
    if kind != "lowlevel":
        server = sdks.new(kind)
        server.tool(name="tool")(function)
        return server
    from mcp import types

    listed = [types.Tool(name="tool", inputSchema={"type": "object"})]

    async def run(*_: Any) -> Any:
        value = function()
        return await value if inspect.isawaitable(value) else value

    async def list_tools(*_: Any) -> Any:
        return listed if sdks.HAS_MCP_1 else types.ListToolsResult(tools=listed)

    if not sdks.HAS_MCP_1:
        return sdks.new("lowlevel", on_call_tool=run, on_list_tools=list_tools)
    server = sdks.new("lowlevel")
    server.call_tool()(run)
    server.list_tools()(list_tools)
    return server


async def _encoding(kind: str, era: str, is_protected: bool) -> Answer:
    """Call a tool whose result is no Unicode, over standard input and output, where results are bytes."""
    command = (sys.executable, "-W", "ignore", __file__, kind, "{}" if is_protected else "null")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=stdio.ROOT
    ) as process:
        wire = stdio.Wire(process, era)
        wire.request("tools/list", {})
        giving_up = threading.Timer(PATIENCE if is_protected else SILENCE, process.kill)
        giving_up.start()
        try:
            response = wire.request("tools/call", {"name": "tool", "arguments": {}})
        except EOFError:
            return {"silence": "no answer until the client gives up"}
        finally:
            giving_up.cancel()
            process.kill()
    if "error" in response:
        return {"error": f"MCPError: {response['error']['message']}", "rpc": response["error"]}
    return sdks.trimmed(response["result"])


async def _timeout(kind: str, era: str, is_protected: bool) -> Answer:
    async def tool() -> str:
        await anyio.sleep_forever()
        return "never"

    server = _protect(_with_tool(kind, tool), is_protected=is_protected, timeout=LONGEST)
    async with sdks.client(kind, server, era) as call:
        with anyio.move_on_after(PATIENCE if is_protected else SILENCE):
            try:
                return await call("tool")
            except Exception as exc:
                return raised(exc)
    return {"silence": "no answer until the client gives up"}


async def _cancel(kind: str, era: str, is_protected: bool) -> Answer:
    """Cancel a call, and make another one to see that the server is still there."""
    started, calls = asyncio.Event(), 0

    async def tool() -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            started.set()
            await anyio.sleep_forever()
        return "done"

    server = _protect(_with_tool(kind, _low(kind, tool)), is_protected=is_protected)
    async with sdks.client(kind, server, era) as call:
        async with anyio.create_task_group() as group:
            group.start_soon(call, "tool")
            await started.wait()
            group.cancel_scope.cancel()
        after = await call("tool")
    return {"silence": f"cancelled, and the next call says {after['content'][0]['text']}"}


def _low(kind: str, tool: Any) -> Any:
    """Return a tool as a low-level server wants it: with a result."""
    if kind != "lowlevel":
        return tool

    async def run() -> Any:
        return sdks.result({"content": [{"type": "text", "text": await tool()}]})

    return run


_ASKED = ("handshake",)  # later versions of the protocol have no such requests
PROBES = {
    **{
        f"{what} {how}": Probe(what, EVERY, _requesting(method, subject))
        for what, method in (("resource", "resources/read"), ("prompt", "prompts/get"),
                             ("completion", "completion/complete"))
        for how, subject in (("that crashes", "crash"), ("that raises on purpose", "missing"))
    },
    "resource that does not exist": Probe("resource", HIGH, _requesting("resources/read", "nowhere")),
    "prompt that does not exist": Probe("prompt", HIGH, _requesting("prompts/get", "nothing")),
    "elicitation that the client does not support": Probe("elicitation", EVERY, _questioning("ask", "nothing")),
    "elicitation that the user declines": Probe("elicitation", EVERY, _questioning("ask", "decline"), _ASKED),
    "elicitation that the user cancels": Probe("elicitation", EVERY, _questioning("ask", "cancel"), _ASKED),
    "elicitation that crashes the client": Probe("elicitation", EVERY, _questioning("ask", "crash"), _ASKED),
    "sampling that the client does not support": Probe("sampling", EVERY, _questioning("sample", "nothing")),
    "sampling that the user rejects": Probe("sampling", EVERY, _questioning("sample", "reject"), _ASKED),
    "sampling that crashes the client": Probe("sampling", EVERY, _questioning("sample", "crash"), _ASKED),
    "task that crashes": Probe("task", tasks.KINDS, _tasking("crash"), (tasks.ERA,)),
    "task that raises on purpose": Probe("task", tasks.KINDS, _tasking("missing"), (tasks.ERA,)),
    "task that raises an error of the protocol": Probe("task", tasks.KINDS, _tasking("rpc"), (tasks.ERA,)),
    "result that cannot be encoded": Probe("encoding", EVERY, _encoding),
    "tool that takes too long": Probe("timeout", EVERY, _timeout),
    "call that is cancelled": Probe("cancel", EVERY, _cancel),
}  # fmt: skip


def verdict(answer: Answer) -> str:
    """Return in a word what a client learns: `leaks`, `structured`, `text`, `no answer`, or `success`."""
    text = json.dumps(answer)
    if servers.SECRET in text:
        return "leaks"
    if "dev.failwell/failure" in text:
        return "structured"
    if "silence" in answer:
        return "cancelled" if "cancelled" in answer["silence"] else "no answer"
    is_failed = "error" in answer or answer.get("isError") or answer.get("task", {}).get("status") == "failed"
    return "text" if is_failed else "success"


async def surrogate() -> str:
    return "half of a character: \ud800"


if __name__ == "__main__":
    chosen = sys.argv[1]
    servers.serve(_protect(_with_tool(chosen, _low(chosen, surrogate)), is_protected=sys.argv[2] != "null"))
