"""Both eras of the protocol: what asks for input and what runs later passes servers, agents and the proxy alike."""

import asyncio
import functools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from tests.matrix import probes, sdks, servers, stdio, tables, tasks

pytestmark = pytest.mark.filterwarnings("ignore:The experimental tasks API is deprecated")
SIDES = ("server", "agent", "proxy")
# Each is three processes: of all SDKs together a quick run has one, a matrix of each alone has all.
PLACES = [
    (kind, era) for kind in sdks.KINDS for era in sdks.ERAS if len(sdks.KINDS) < 3 or (kind, era) == ("mcp", "modern")
]


@functools.cache
def asked(kind: str, era: str, side: str | None) -> Any:
    """Return what a client gets from a tool that asks for input: from a bare server, or through one of the sides."""
    if side == "agent":
        return asyncio.run(_asked_by_agent(kind, era))
    with _connected(servers.__file__, kind, era, side) as wire:
        wire.request("tools/list", {})
        return wire.request("tools/call", {"name": "asking", "arguments": {}})


async def _asked_by_agent(kind: str, era: str) -> Any:
    async with sdks.session(kind, servers.bare(kind), era) as connected:
        session = getattr(connected, "session", connected)
        fw.wrap(session)
        try:
            found = await session.call_tool("asking", {}, allow_input_required=True)
        except Exception as exc:
            return probes.raised(exc)
        return {"result": found.model_dump(mode="json", by_alias=True, exclude_none=True)}


def _connected(program: str, kind: str, era: str, side: str | None) -> Any:
    command: tuple[str, ...] = (program, kind, "{}" if side == "server" else "null")
    if side == "proxy":
        command = ("-m", "failwell", "proxy", "--", sys.executable, "-W", "ignore", *command)
    return stdio.started(*command, era=era, is_told_to_end=True)  # the workers of fastmcp 2 outlive their input


@functools.cache
def run_later(kind: str, era: str, side: str | None) -> dict[str, Any]:
    """Return what a client gets of a task that fails: the handle, and what is said in the end."""
    if side == "agent":
        server = tasks.server(kind)
        fw.protect(server)
        return asyncio.run(tasks.ended(kind, server, "missing", fw.wrap))
    later = {"task": {"ttl": 60_000}} if era == "handshake" else {}
    with _connected(tasks.__file__, kind, era, side) as wire:
        handle = wire.request("tools/call", {"name": "missing", "arguments": {}, **later})["result"]
        found = {"taskId": _task_of(handle)["taskId"]}
        while (status := wire.request("tasks/get", found)["result"])["status"] == "working":
            pass
        ended = wire.request("tasks/result", found)["result"] if later else status["result"]
    return {"handle": handle, "get": status, "result": ended}


def _task_of(handle: dict[str, Any]) -> dict[str, Any]:
    return handle.get("task") or handle.get("_meta", {}).get("modelcontextprotocol.io/task") or handle


def verdict_on_question(kind: str, era: str, side: str) -> str:
    found, bare = asked(kind, era, side), asked(kind, era, None)
    if side == "agent":
        is_same = found.get("result", {}).get("resultType") == bare.get("result", {}).get("resultType")
        return "untouched" if is_same and "result" in found else "structured" if _is_structured(found) else "text"
    return "untouched" if found == bare else "structured" if _is_structured(found) else "changed"


def verdict_on_handle(kind: str, era: str, side: str) -> str:
    if side == "agent":
        return "untouched" if run_later(kind, era, side)["get"] else "changed"
    shapes = [_shape(run_later(kind, era, where)["handle"]) for where in (side, None)]
    return "untouched" if shapes[0] == shapes[1] else "changed"


def verdict_on_failed_task(kind: str, era: str, side: str) -> str:
    found = run_later(kind, era, side)
    failure = fw.read(found.get("result") or found["get"])
    if failure is not None and failure.actions == ("list_tasks",):
        return "structured"
    bare = run_later(kind, era, None)
    return "untouched" if _shape(found["result"]) == _shape(bare["result"]) else "changed"


def _is_structured(found: dict[str, Any]) -> bool:
    return "dev.failwell/failure" in json.dumps(found)


def _shape(value: Any) -> Any:
    return {key: _shape(one) for key, one in value.items()} if isinstance(value, dict) else type(value).__name__


VERDICTS = {
    "a tool that asks for input": verdict_on_question,
    "the handle of a task": verdict_on_handle,
    "a task that failed": verdict_on_failed_task,
}


def _exists(kind: str, era: str, what: str) -> bool:
    return bool(servers.QUESTIONS) if "input" in what else kind in tasks.KINDS and era == tasks.ERA


CELLS = [
    (kind, era, side, what) for kind, era in PLACES for side in SIDES for what in VERDICTS if _exists(kind, era, what)
]


@pytest.mark.parametrize(("kind", "era", "side", "what"), CELLS)
def test_what_is_no_failure_passes_and_what_is_one_is_structured(kind: str, era: str, side: str, what: str) -> None:
    found = VERDICTS[what](kind, era, side)

    # Before 2026-07-28 a server cannot ask so: its SDK answers with an error, which is left to the client as it is.
    is_error = what == "a tool that asks for input" and era == "handshake"
    # A proxy knows calls; of a task it passes on what the server says.
    is_structured = (what == "a task that failed" and side != "proxy") or (is_error and side != "server")
    assert found == ("structured" if is_structured else "untouched")


@pytest.mark.parametrize(("kind", "era"), [place for place in PLACES if any(cell[:2] == place for cell in CELLS)])
def test_the_table_of_eras_in_the_docs_is_current(kind: str, era: str, tmp_path: Path) -> None:
    package = sdks.package_of(kind)
    place = {"sdk": package, "version": ".".join(map(str, sdks.version(package))), "server": kind, "era": era}
    rows = [
        {**place, "failure": f"{what}, {side}", "what": what, "side": side, "verdict": VERDICTS[what](kind, era, side)}
        for *cell, side, what in sorted(CELLS, key=lambda cell: (cell[3], cell[2]))
        if tuple(cell) == (kind, era)
    ]

    assert tables.recorded("eras.json", rows, tmp_path) == rows, tables.ADVICE
