"""How a failure travels: the calls, functions and files of failwell that one failing tool call runs through.

python -m tools.profile_flows            # figures of each flow
python -m tools.profile_flows --picture  # each flow as a tree: who calls into which file, in order
python -m tools.profile_flows --write    # the pictures in CONTRIBUTING.md, between their marks

Only calls of functions of failwell are counted, after a first call that loaded what is loaded late. A switch is a call
into another file than the one before it.
"""

import argparse
import asyncio
import inspect
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import failwell as fw

ROOT = Path(__file__).parents[1]
SOURCE = Path(fw.__file__).parent
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- flows: made by python -m tools.profile_flows --write -->", "<!-- /flows -->"

_DEEPEST = 4
_SHAPES = "_json.py"  # what asks for the shape of a value is left out of pictures
_MOST_FUNCTIONS = 4
_SUSPENDING = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_DOWN = "503 Service Unavailable, retry in 0 seconds"
_MISSING = "Task t-9 not found"


class Call(NamedTuple):
    """One call of a function of failwell: when, in which thread, how deep below other calls, its file and its name."""

    at: float
    thread: int
    depth: int
    file: str
    name: str


class Profiler:
    """Notes the calls of failwell's functions in all threads that start inside the block, and in this one."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._starts: dict[CodeType, int] = {}
        self._files: dict[str, str | None] = {}

    def __enter__(self) -> "Profiler":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or (file := self._file(code.co_filename)) is None or code.co_name.startswith("<"):
            return
        # A coroutine that goes on is told like a call.
        if code.co_flags & _SUSPENDING and frame.f_lasti > self._starts.setdefault(code, frame.f_lasti):
            return
        self.calls.append(Call(time.perf_counter(), threading.get_ident(), self._depth(frame), file, code.co_qualname))

    def _depth(self, frame: FrameType) -> int:
        depth, outer = 0, frame.f_back
        while outer is not None:
            depth += self._file(outer.f_code.co_filename) is not None and not outer.f_code.co_name.startswith("<")
            outer = outer.f_back
        return depth

    def _file(self, name: str) -> str | None:
        if name not in self._files:
            path = Path(name)
            self._files[name] = str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else None
        return self._files[name]


class Figures(NamedTuple):
    """What a flow takes."""

    calls: int
    functions: int
    files: int
    switches: int


def figures(calls: list[Call]) -> Figures:
    """Return what these calls amount to."""
    switches = sum(one.file != other.file for one, other in pairwise(calls))
    return Figures(
        len(calls), len({(call.file, call.name) for call in calls}), len({call.file for call in calls}), switches
    )


async def _protected() -> list[Call]:
    """A protected server answers for a tool that fails."""
    from mcp.client.client import Client
    from mcp.server import MCPServer

    server = MCPServer("tasks")

    @server.tool()
    async def find(task_id: str) -> str:
        raise fw.NotFound(f"There is no task {task_id}.", actions=["list_tasks"])

    fw.protect(server)
    async with Client(server) as client:
        return await _second(lambda: client.call_tool("find", {"task_id": "t-9"}))


async def _wrapped() -> list[Call]:
    """A wrapped session makes a call again that fails once."""
    from mcp.client.client import Client
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations

    server, made = MCPServer("tasks"), 0

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def find(task_id: str) -> str:
        nonlocal made
        made += 1
        if made % 2:
            raise ToolError(_DOWN)
        return task_id

    async with Client(server) as client:
        fw.wrap(client.session, fw.Policy(base=0.0, throttled_base=0.0))
        found = await _second(lambda: client.call_tool("find", {"task_id": "t-9"}))
    assert made == 4
    return found


async def _second(call: Callable[[], Awaitable[Any]]) -> list[Call]:
    """Return the calls of failwell that the second of two calls takes."""
    await call()
    with Profiler() as profiler:
        await call()
    return profiler.calls


def _proxied(*options: str, texts: Iterable[str]) -> list[Call]:
    """Return what the proxy does for the second of two calls that each get these answers, one after another."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "calls.json"
        proxy = [sys.executable, "-m", "tools.profile_flows", "--proxy", str(file), *options, "--"]
        server = [sys.executable, "-m", "tools.profile_flows", "--server", *texts]
        with subprocess.Popen([*proxy, *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            began = 0.0
            for number, method in enumerate(("initialize", "tools/list", "tools/call", "tools/call")):
                began = time.perf_counter()
                params = {"name": "find", "arguments": {"task_id": "t-9"}} if method == "tools/call" else {}
                request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                process.stdout.readline()
            ended = time.perf_counter()
            process.stdin.close()
            process.wait(60)
        calls = [Call(*call) for call in json.loads(file.read_text())]
    return [call for call in calls if began <= call.at <= ended]


def _run_proxy(file: str, argv: list[str]) -> int:
    from failwell.proxy import command

    with Profiler() as profiler:
        code = command.main(argv)
    Path(file).write_text(json.dumps(profiler.calls))
    return code


def _serve(texts: list[str]) -> None:
    """Answer each call with an error of the next text, or with a success if that is empty."""
    made = 0
    for line in sys.stdin:
        request = json.loads(line)
        result: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "tasks"}}
        if request["method"] == "tools/list":
            schema = {"type": "object", "properties": {"task_id": {"type": "string"}}}
            result = {"tools": [{"name": "find", "inputSchema": schema, "annotations": {"readOnlyHint": True}}]}
        elif request["method"] == "tools/call":
            text = texts[made % len(texts)]
            made += 1
            result = {"content": [{"type": "text", "text": text or "fine"}], "isError": bool(text)}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        sys.stdout.flush()


FLOWS: dict[str, Callable[[], list[Call]]] = {
    "a protected server, a tool that fails": lambda: asyncio.run(_protected()),
    "a wrapped session, a call that fails once": lambda: asyncio.run(_wrapped()),
    "the proxy, an answer that fails": lambda: _proxied(texts=[_MISSING]),
    "the proxy with --retry, an answer that fails": lambda: _proxied("--retry", texts=[_MISSING]),
    "the proxy with --retry, a call that fails once": lambda: _proxied("--retry", texts=[_DOWN, ""]),
}


class Visit(NamedTuple):
    """The functions of a file that were called one after another from elsewhere, and what they called elsewhere."""

    depth: int
    file: str
    names: tuple[str, ...]


def visits(calls: list[Call]) -> list[Visit]:
    """Return the visits of files in order. Only calls from one file to another are kept; like neighbours are merged."""
    entered: list[Call] = []
    stacks: dict[int, list[tuple[int, str, int]]] = {}  # depth of the call, its file, and the depth of its visit
    for call in calls:
        stack = stacks.setdefault(call.thread, [])
        while stack and stack[-1][0] >= call.depth:
            stack.pop()
        outer = stack[-1] if stack else (-1, "", -1)
        level = outer[2] if outer[1] == call.file else outer[2] + 1
        if outer[1] != call.file:
            entered.append(call._replace(depth=level))
        stack.append((call.depth, call.file, level))
    near = [call for call in entered if call.depth < _DEEPEST and call.file != _SHAPES]
    return [
        Visit(depth, file, tuple(dict.fromkeys(call.name.rpartition(".")[2] for call in group)))
        for (depth, file), group in (
            (key, list(found)) for key, found in groupby(near, lambda one: (one.depth, one.file))
        )
    ]


def picture(calls: list[Call]) -> Iterator[str]:
    """Yield the lines of a tree: each file that is called into, and the functions that are called there."""
    width = max((2 * one.depth + len(one.file) for one in visits(calls)), default=0) + 2
    for depth, file, names in visits(calls):
        more = f", and {len(names) - _MOST_FUNCTIONS} more" if len(names) > _MOST_FUNCTIONS else ""
        yield f"{'  ' * depth + file:{width}}{', '.join(names[:_MOST_FUNCTIONS])}{more}"


def table(found: dict[str, list[Call]]) -> Iterator[str]:
    """Yield the figures of all flows as a table."""
    yield "| flow | calls | functions | files | switches |"
    yield "|---|---|---|---|---|"
    for name, calls in found.items():
        yield f"| {name} | {' | '.join(map(str, figures(calls)))} |"


def section(found: dict[str, list[Call]]) -> str:
    """Return what CONTRIBUTING says of the flows."""
    pictures = (
        f"{name[0].upper()}{name[1:]}:\n\n```text\n" + "\n".join(picture(calls)) + "\n```"
        for name, calls in found.items()
    )
    return "\n\n".join(("\n".join(table(found)), *pictures))


def main(argv: list[str]) -> int:
    """Print the figures or the pictures of all flows, or write them into CONTRIBUTING."""
    if argv[:1] == ["--proxy"]:
        return _run_proxy(argv[1], argv[2:])
    if argv[:1] == ["--server"]:
        _serve(argv[1:])
        return 0
    parser = argparse.ArgumentParser("python -m tools.profile_flows", description=__doc__.partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--picture", action="store_true", help="show each flow as a tree")
    what.add_argument("--write", action="store_true", help="write the pictures into CONTRIBUTING.md")
    options = parser.parse_args(argv)
    found = {name: flow() for name, flow in FLOWS.items()}
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{section(found)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
        return 0
    sys.stdout.write((section(found) if options.picture else "\n".join(table(found))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
