"""What comes out of `failwell proxy` for what goes in: lines, records, words for the operator, and the exit code."""

import json
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden import api, inputs
from tests.golden.case import Case, steady

_LONGEST = 120.0
PROXY = [sys.executable, "-m", "failwell", "proxy"]
SERVERS = Path(__file__).with_name("servers")
INIT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "golden", "version": "1"}}

# How the recorded failures and successes of real servers are replayed. What takes long is heavy.
REPLAYS: dict[str, tuple[tuple[str, ...], bool]] = {
    "plain": ((), False),
    "xml": (("--dialect", "xml"), True),
    "flat": (("--dialect", "flat"), True),
    "flipped": (("--flip-unflagged", "*", "--dialect", "meta"), True),
    "validated": (("--validate", "--dialect", "envelope"), True),
    "dry": (("--observe",), True),
}


class Talk:
    """A conversation with the proxy, one message after the other."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [*PROXY, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._last = 0
        # Who waits for a line that never comes gets none after that.
        self._watchdog = threading.Timer(_LONGEST, self.process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def ask(self, method: str, params: Any = None, *, lines: int = 1) -> list[str]:
        """Ask, and return so many lines that come for it."""
        self._last += 1
        asked = {"jsonrpc": "2.0", "id": self._last, "method": method}
        return self.send(json.dumps(asked if params is None else {**asked, "params": params}), lines=lines)

    def send(self, line: str, *, lines: int = 1) -> list[str]:
        """Send a line, and return so many lines that come for it."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return [self.process.stdout.readline().rstrip("\n") for _ in range(lines)]

    def open(self) -> list[str]:
        """Say hello, and ask which tools there are."""
        hello = self.ask("initialize", INIT)
        self.send('{"jsonrpc":"2.0","method":"notifications/initialized"}', lines=0)
        return [*hello, *self.ask("tools/list")]

    def close(self) -> dict[str, Any]:
        """Hang up, and return all that still comes."""
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        with self.process:
            self.process.stdin.close()
            rest, told = self.process.stdout.read(), self.process.stderr.read()
        self._watchdog.cancel()
        return {"rest": rest.splitlines(), "told": told.splitlines(), "exit": self.process.returncode}


def cases() -> Iterator[Case]:
    """Yield a case for every replayed line, and for every scripted session."""
    for replay, (_, is_heavy) in REPLAYS.items():
        for name in _replayed_rows():
            yield Case(
                f"replay/{replay}/{name}",
                lambda replay=replay, name=name: _replayed(replay)[name],
                is_heavy=is_heavy,
            )
        yield Case(f"replay/{replay}/end", lambda replay=replay: _replayed(replay)["end"], is_heavy=is_heavy)
    for name, (options, steps, is_heavy) in SESSIONS.items():
        yield Case(f"session/{name}", lambda options=options, steps=steps: _session(options, steps), is_heavy=is_heavy)


def _call(tool: str, arguments: Any, number: int | None = None) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return params if number is None else {**params, "_meta": {"number": number}}


@cache
def _replayed_rows() -> dict[str, Any]:
    """Return the failures of the corpora and some of the successes, by name."""
    return dict(inputs.failures()) | dict(list(inputs.successes())[::7])


@cache
def _replayed(replay: str) -> dict[str, Any]:
    """Return the line that the proxy makes of each recorded answer, and how it ends."""
    rows = _replayed_rows()
    tools: dict[str, tuple[str, Any]] = {}
    answers, calls = [], []
    for name, row in rows.items():
        listed = {"inputSchema": row.get("inputSchema") or {"type": "object"}, "annotations": row.get("annotations")}
        tool = row["tool"]
        while tool in tools and tools[tool][1] != listed:
            tool += "_"
        tools[tool] = name, listed
        raw = row["raw"]
        answers.append({"error": raw["error"]} if "error" in raw else {"result": raw.get("result", raw)})
        calls.append((name, tool, row["arguments"]))
    with tempfile.TemporaryDirectory() as folder:
        path, records = Path(folder) / "told.json", Path(folder) / "calls.jsonl"
        shown = [{"name": tool, **{k: v for k, v in listed.items() if v}} for tool, (_, listed) in tools.items()]
        path.write_text(json.dumps({"tools": shown, "answers": answers}))
        options = [*REPLAYS[replay][0], "--events", str(records), "--name", "replay"]
        talk = Talk([*options, "--", sys.executable, "-I", str(SERVERS / "replaying.py"), str(path)])
        talk.open()
        found: dict[str, Any] = {}
        for number, (name, tool, arguments) in enumerate(calls):
            found[name] = {"line": talk.ask("tools/call", _call(tool, arguments, number))[0]}
        end = talk.close()
        lines = records.read_text().splitlines()
    by_call: dict[str, list[str]] = {}
    for line in lines:
        by_call.setdefault(json.loads(line).get("call", ""), []).append(line)
    for number, (name, _, _) in enumerate(calls):
        found[name]["records"] = by_call.get(str(number + 3), [])
    found = {name: steady(value) for name, value in found.items()}
    return found | {"end": steady(end, folder=folder)}


# What the server can be told to say, by number.
SAYINGS: list[Any] = [
    "503 Service Unavailable",
    api.encode(api.Failure(code="CONFLICT", message="Busy.", retryable=True, retry_after=0.01))["content"][0]["text"],
    {"error": {"code": "not_found", "message": "no such thing", "retryable": False}},
    {"code": -32602, "message": "Invalid arguments: n must be positive"},
    "404 Not Found",
    "Something odd happened",
    "Error: no such file: a.txt",
    "Permission denied: größe ✓",
    "504 Gateway Timeout",
    "Rate limit exceeded, retry in 3600 seconds",
]
UNAVAILABLE, OURS, MISSING, ERROR, NOT_FOUND, STRANGE, NO_FILE, DENIED, TIMEOUT, LIMITED = range(len(SAYINGS))

# What is sent in order: a tool, its arguments, and how many lines come back.
Step = tuple[str, dict[str, Any], int]
STEPS: list[Step] = [
    ("look", {"n": 1}, 1),
    ("look", {"n": "one"}, 1),
    ("look", {}, 1),
    ("look", {"n": 1, "m": 2}, 1),
    ("look", {"n": 1, "do": "fail", "say": NOT_FOUND}, 1),
    ("act", {"n": 1, "do": "fail", "say": STRANGE}, 1),
    ("act", {"n": 1, "do": "say", "say": NO_FILE}, 1),
    ("act", {"n": 1, "do": "fail", "say": OURS}, 1),
    ("act", {"n": 1, "do": "fail", "say": MISSING}, 1),
    ("act", {"n": 1, "do": "structured", "say": MISSING}, 1),
    ("act", {"n": 1, "do": "error", "say": ERROR}, 1),
    ("typed", {"n": 1, "do": "fail", "say": DENIED}, 1),
    ("act", {"n": 1, "do": "large"}, 1),
    ("act", {"n": 1, "do": "changed"}, 2),
    ("none", {"n": 1}, 1),
]
ODD: list[Step] = [
    ("look", {"n": 1, "do": "twice"}, 3),
    ("look", {"n": 1, "do": "garbage"}, 3),
    ("look", {"n": 2}, 1),
]
# What is tried again after no time that anybody would notice.
AGAIN: list[Step] = [
    ("look", {"n": 1, "do": "fail:1", "say": UNAVAILABLE}, 1),
    ("put", {"n": 1, "do": "fail:2", "say": OURS}, 1),
    ("act", {"n": 1, "do": "fail:1", "say": TIMEOUT}, 1),
    ("act", {"n": 2, "do": "fail:1", "say": OURS}, 1),
    ("look", {"n": 3, "do": "fail", "say": UNAVAILABLE}, 1),
    ("look", {"n": 4, "do": "fail", "say": LIMITED}, 1),
    ("look", {"n": 5, "do": "fail", "say": NOT_FOUND}, 1),
]
SESSIONS: dict[str, tuple[tuple[str, ...], list[Step], bool]] = {
    "plain": ((), [*STEPS, *ODD], False),
    "validate": (("--validate",), STEPS, True),
    "flip": (("--flip-unflagged", "act"), STEPS, True),
    "dry run": (("--observe", "--validate", "--retry", "--flip-unflagged", "*"), STEPS, True),
    "quiet": (("--quiet", "--dialect", "compact"), STEPS, True),
    "retry": (("--retry",), AGAIN, False),
    "retry once": (("--retry", "--attempts", "2", "--retry-safe", "act"), AGAIN, True),
    "everything": (("--retry", "--validate", "--flip-unflagged", "*", "--dialect", "xml"), [*STEPS, *AGAIN], True),
    "dies": ((), [("look", {"n": 1}, 1), ("act", {"n": 1, "do": "die"}, 1)], False),
    "dies half-way": ((), [("look", {"n": 1}, 1), ("act", {"n": 1, "do": "half"}, 1)], True),
    "dies and restarts": (
        ("--restart",),
        [("look", {"n": 1}, 1), ("act", {"n": 1, "do": "die"}, 1), ("look", {"n": 2}, 1)],
        True,
    ),
    "dies, restarts and retries": (
        ("--restart", "--retry"),
        [("act", {"n": 1, "do": "die"}, 1), ("look", {"n": 2}, 1), ("look", {"n": 3, "do": "fail:1", "say": OURS}, 1)],
        True,
    ),
} | {f"dialect {dialect}": (("--dialect", dialect), STEPS, True) for dialect in api.DIALECTS}


def _session(options: Sequence[str], steps: list[Step]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "calls.jsonl"
        server = [sys.executable, "-I", str(SERVERS / "faulty.py"), json.dumps(SAYINGS)]
        talk = Talk([*options, "--events", str(records), "--name", "faulty", "--", *server])
        found: list[Any] = [talk.open(), talk.ask("ping"), talk.ask("no/such")]
        found += [talk.ask("tools/call", _call(tool, arguments), lines=lines) for tool, arguments, lines in steps]
        end = talk.close()
        written = records.read_text().splitlines()
    value = {"lines": [_short(lines) for lines in found], **end, "records": _short(written)}
    return steady(_hide_delays(value), folder=folder, python=sys.executable, servers=str(SERVERS))


def _short(lines: list[str]) -> list[str]:
    return [line.replace("x" * 1000, "<x>") for line in lines]


def _hide_delays(value: Any) -> Any:
    """Return a session without the delays that chance decides; those that a server asked for stay in its text."""
    return json.loads(re.sub(r'(\\"delay\\":)[\d.e-]+', r"\1<delay>", json.dumps(value)))
