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
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import failwell as fw
from tests.stacks.cases import CASES
from tests.stacks.setting import ADAPTERS, KEEPERS, Call, Seen

BARE, INSTALLED, ADAPTED, BOTH = "bare", "installed", "adapted", "both"
_LONGEST_RUN = 30
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
    rows = list(observe(*sys.argv[1:3]))
    shown.write(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    shown.flush()
    os._exit(0)  # threads that a framework leaves behind keep nobody waiting
