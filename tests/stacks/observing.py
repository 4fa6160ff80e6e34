"""Let a stack make every call of the cases in one process, and print what was seen.

`python -m tests.stacks.observing STACK MODE`, in the root of the project, with the stack's environment on the path.
"""

import asyncio
import importlib
import inspect
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import failwell as fw
from tests.http_faults import FaultServer
from tests.stacks.cases import CASES
from tests.stacks.faults import FAULTS, STDIO, Fault
from tests.stacks.setting import ADAPTERS, KEEPERS, Call, Seen

BARE, INSTALLED, ADAPTED, BOTH = "bare", "installed", "adapted", "both"
_LONGEST_RUN = 30
_LONGEST_FAULT = 15
_LONGEST_TEXT = 2000
_FRAMES = re.compile(r"(Traceback \(most recent call last\):\n)(?:  .*\n)+")


def observe(stack: str, mode: str) -> Iterator[dict[str, Any]]:
    """Yield for each case: how often the server was called, what the model saw, what the application got."""
    runner = importlib.import_module(f"tests.stacks.runners.{stack}")
    given_up: list[fw.Failure] = []

    def hook(event: Any) -> None:
        if event.kind == "failure":
            given_up.append(event.failure)

    caller = fw.client.Caller(hook=hook) if mode in (ADAPTED, BOTH) else None
    if mode in (INSTALLED, BOTH):
        fw.install(hook=hook)
    for tool, case in CASES.items():
        given_up.clear()
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "calls")
            notes.touch()
            told = _told(runner, Call(tool, notes), caller, given_up)
            calls = notes.read_text().split().count(tool)
        about = {"package": runner.PACKAGE, "version": metadata.version(runner.PACKAGE), "mode": mode}
        adapter = {"adapter": ADAPTERS[stack]} if mode == ADAPTED else {}
        yield {**about, **adapter, "case": case.title, "calls": calls, **told}


def observe_faults(stack: str, mode: str) -> Iterator[dict[str, Any]]:
    """Yield for each fault of a connection: how often the server was called, how often the tool ran, what was seen."""
    runner = importlib.import_module(f"tests.stacks.runners.{stack}")
    given_up: list[fw.Failure] = []
    tools = {fault.tool for fault in FAULTS}

    def hook(event: Any) -> None:
        if event.kind == "failure" and event.tool in tools:  # connecting and listing the tools are told of too
            given_up.append(event.failure)

    for fault in FAULTS:
        given_up.clear()
        caller = fw.client.Caller(fault.policy, hook=hook) if mode == ADAPTED else None
        if mode == INSTALLED:
            fw.install(fault.policy, hook=hook)
        about = {"package": runner.PACKAGE, "version": metadata.version(runner.PACKAGE), "mode": mode}
        about |= {"transport": fault.transport, "fault": fault.title}
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "calls")
            notes.touch()
            if fault.transport == STDIO:
                program = ("tests/stacks/stdio_faults.py", fault.tool, "reads" if fault.annotations else "acts")
                told = _ended(runner, Call(fault.tool, notes, None, (*program, *fault.meets)), caller, given_up)
                calls = effects = len(notes.read_text().split())
                gap = None
            else:
                server = fault.server()
                with server.running() as url:
                    told = _ended(runner, Call(fault.tool, notes, url, ()), caller, given_up)
                calls, effects, gap = len(server.calls), len(server.effects), _gap(server, fault)
        yield {**about, "calls": calls, "effects": effects, "gap": gap, **told}


def _gap(server: FaultServer, fault: Fault) -> float | None:
    """Return by how many seconds the second call came later than the server asked; below 0 it came too early."""
    if fault.asked is None or len(server.calls) < 2:
        return None
    return round(server.calls[1].at - server.calls[0].at - fault.asked, 2)


def _ended(runner: Any, call: Call, caller: fw.client.Caller | None, given_up: list[fw.Failure]) -> dict[str, Any]:
    """Return what was seen, also if the run never ends: then it is left behind in its thread."""
    told: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: told.append(_told(runner, call, caller, given_up)), daemon=True)
    thread.start()
    thread.join(_LONGEST_FAULT)
    return told[0] if told else {"survived": False, "model": None, "application": "hangs"}


def _told(runner: Any, call: Call, caller: fw.client.Caller | None, given_up: list[fw.Failure]) -> dict[str, Any]:
    try:
        seen = runner.run(call, caller)
        if inspect.isawaitable(seen):
            seen = asyncio.run(_finished(seen))
    except Exception as exc:
        return {"survived": False, "model": None, "application": _shown(exc)}
    found = given_up[-1] if given_up else None
    if caller and runner.__name__.rpartition(".")[2] in KEEPERS:
        assert seen.failure == found, f"the stack keeps {seen.failure}, the hook was told {found}"
    return {"survived": True, "model": _cut(seen.model), "application": _shown(found)}


async def _finished(seen: Any) -> Seen:
    return await asyncio.wait_for(seen, _LONGEST_RUN)


def _shown(what: fw.Failure | BaseException | None) -> str | None:
    """Return what the application holds in its hands, in one line."""
    if isinstance(what, BaseExceptionGroup):
        return _shown(what.exceptions[0])
    if isinstance(what, fw.Failure):
        return f"Failure {what.code or what.type}"
    return None if what is None else _cut(f"{type(what).__name__}: {what}")


def _cut(text: str) -> str:
    """Return a text without the frames of tracebacks, which name files of this machine."""
    text = _FRAMES.sub(r"\1  (frames)\n", text)
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


if __name__ == "__main__":
    shown = sys.stdout
    sys.stdout = sys.stderr  # what a framework prints is not an answer
    look = observe_faults if sys.argv[3:] == ["faults"] else observe
    rows = list(look(*sys.argv[1:3]))
    shown.write(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    shown.flush()
    os._exit(0)  # threads that a framework leaves behind keep nobody waiting
