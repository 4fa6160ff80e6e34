"""What `failwell read` finds: the failure, its rule, the decision and the repair, for recorded calls or a live one."""

import asyncio
import json
import os
import re
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct

import failwell as fw
from failwell._json import is_array, is_object, parse_object
from failwell.advice import Action
from failwell.check.peers.http import HttpPeer
from failwell.check.peers.peer import BadServer, Peer, PeerGone, list_tools, shake_hands
from failwell.check.peers.stdio import StdioPeer
from failwell.cli.streams import Misuse, address_in, decoded, ended_as_by_interrupt, from_file, json_object, misuse_of
from failwell.dialects._placement import read_whole, write_whole
from failwell.reading.reader import explain
from failwell.records._record import Record, decode_line
from failwell.schema.repair import Repair

__all__ = ["BadServer", "LiveServer"]


Value = TypeVar("Value")

_START = 60.0
_WAIT = 30.0


class LiveServer:
    """A server started for real, or reached by its URL; a context manager that ends it.

    Raises:
        BadServer: it cannot be started, ended, or did not answer in time; the text is one line that says which.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self._runner = asyncio.Runner()
        try:
            self._peer = self._runner.run(_connected(command, cwd, env))
        except BaseException:
            self._runner.close()
            raise

    def __enter__(self) -> "LiveServer":
        try:
            self._answer(shake_hands(self._peer), wait=_START)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._runner.run(self._peer.close())
        self._runner.close()

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return the tools by name."""
        return {tool["name"]: tool for tool in self._answer(list_tools(self._peer))}

    def call(self, tool: str, arguments: dict[str, Any], *, wait: float = _WAIT) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a call."""
        return self._answer(self._peer.request("tools/call", {"name": tool, "arguments": arguments}), wait=wait)

    def _answer(self, asked: Coroutine[Any, Any, Value], *, wait: float = _WAIT) -> Value:
        try:
            return self._runner.run(asyncio.wait_for(asked, wait))
        except TimeoutError:
            raise BadServer(f"the server did not answer within {wait:g} s") from None
        except PeerGone as gone:
            complaint = self._peer.complaint()
            raise BadServer(f"{gone}: {complaint}" if complaint else str(gone)) from None


async def _connected(command: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None) -> Peer:
    address = address_in(command)
    if address is not None:
        return HttpPeer(address, start=_START, wait=_WAIT)
    return await StdioPeer.start(command, cwd=cwd, env=env)


_MOST_LINES = 10_000
# Where recorders put the answer, and the schema, beside `tool` and `arguments`.
_ANSWER_KEYS = ("raw", "answer", "result", "response")
_SCHEMA_KEYS = ("inputSchema", "input_schema", "schema")
_LIKE_JSON = re.compile(r"""\s*(\{\s*"|\[\s*["{])""")
_ACTIONS: dict[str, Action] = {action: action for action in get_args(Action)}
_RECORDED = "Decided so when it was recorded."
_TAKEN = "an MCP result, a JSON-RPC response or an error's text"


class Recorded(Struct, frozen=True, kw_only=True):
    """An answer, and what is known of the call that it belongs to; or a record of our own."""

    answer: Any
    tool: str | None = None
    arguments: Any = None
    schema: Any = None
    annotations: Any = None
    record: Record | None = None


class Found(Struct, frozen=True, kw_only=True):
    """All that can be said of one answer. What is not a failure has none of it; `kind` is that of a record."""

    tool: str | None = None
    kind: str | None = None
    failure: fw.Failure | None = None
    rule: str | None = None
    decision: fw.Decision | None = None
    repair: Repair | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "failure": self.failure and write_whole(self.failure),
            "rule": self.rule,
            "decision": msgspec.to_builtins(self.decision),
            "repair": msgspec.to_builtins(self.repair),
        }


def lines_of(text: str) -> list[Recorded] | None:
    """Return the calls in a file of recorded lines; None if the text is one payload and not lines of them.

    Raises:
        Misuse: a line is no JSON object, or there are too many.
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2 or parse_object(text) is not None:
        return None
    payloads = [parse_object(line) for _, line in lines]
    others = [place for place, payload in zip(lines, payloads, strict=True) if payload is None]
    if 2 * len(others) >= len(lines) and not (
        len(others) < len(lines) and all(_is_like_json(line) for _, line in others)
    ):
        return None
    if others:
        raise Misuse(f"line {others[0][0]} of the payload is no JSON object, which a recorded line is")
    if len(lines) > _MOST_LINES:
        raise Misuse(f"the payload has {len(lines):,} lines: at most {_MOST_LINES:,} are read")
    return [_recorded(line, payload) for (_, line), payload in zip(lines, payloads, strict=True) if payload is not None]


def single(text: str, **known: Any) -> Recorded:
    """Return the one answer, or the one record, that a text is.

    Raises:
        Misuse: it is JSON that holds no answer, or JSON that was cut off.
    """
    try:
        found = json.loads(text)
    except ValueError as broken:
        is_cut = _is_like_json(text) and "Extra data" not in str(broken)
        if is_cut:
            raise Misuse(f"the payload begins like JSON and is none: {broken}; give {_TAKEN}") from None
        return Recorded(answer=text, **known)
    except RecursionError:
        raise Misuse(f"the payload is JSON that is nested too deep; give {_TAKEN}") from None
    if not isinstance(found, dict | str) and not (is_array(found) and any(map(is_object, found))):
        raise Misuse(f"the payload is JSON that holds no answer of a tool; give {_TAKEN}")
    return Recorded(answer=text, record=_record_in(text, found), **known)


def _is_like_json(text: str) -> bool:
    return _LIKE_JSON.match(text) is not None


def _record_in(line: str, payload: Any) -> Record | None:
    is_ours = is_object(payload) and {"time", "source", "kind"} <= payload.keys()
    return decode_line(line.encode("utf-8", "replace")) if is_ours else None


def _recorded(line: str, payload: dict[str, Any]) -> Recorded:
    if ours := _record_in(line, payload):
        return Recorded(answer=payload, record=ours)
    key = next((key for key in _ANSWER_KEYS if key in payload), None)
    if key is None or "jsonrpc" in payload:
        return Recorded(answer=payload)
    tool = payload.get("tool")
    return Recorded(
        answer=payload[key],
        tool=tool if isinstance(tool, str) else None,
        arguments=payload.get("arguments"),
        schema=next((payload[key] for key in _SCHEMA_KEYS if key in payload), None),
        annotations=payload.get("annotations"),
    )


def found_in(call: Recorded, *, dialect: str | None, unflagged: bool, hints: Any = None) -> Found:
    """Return all that can be said of an answer."""
    if call.record is not None:
        return _of_record(call.record, hints)
    reading = explain(
        call.answer,
        tool=call.tool,
        arguments=call.arguments,
        input_schema=call.schema,
        annotations=call.annotations,
        dialect=dialect,
        unflagged=unflagged,
    )
    if reading is None:
        return Found(tool=call.tool)
    failure = fw.dialects.canonical(reading.failure)
    known = hints if hints is not None else call.annotations if is_object(call.annotations) else None
    return Found(
        tool=call.tool,
        failure=failure,
        rule=reading.rule,
        decision=fw.decide(failure, known),
        repair=fw.repair(reading.failure, call.arguments, call.schema),
    )


def _of_record(recorded: Record, hints: Any) -> Found:
    """Return what was recorded: the step too, which was decided where the tool was known."""
    found = Found(tool=recorded.tool or None, kind=recorded.kind)
    failure = read_whole(recorded.failure)
    if failure is None:
        return found
    failure = fw.dialects.canonical(failure)
    decision = fw.decide(failure, hints, attempt=recorded.attempt)
    action = _ACTIONS.get(recorded.decision or "", decision.action)
    if action != decision.action:
        decision = fw.Decision(action=action, reason=_RECORDED, delay=recorded.delay, actions=failure.actions)
    return msgspec.structs.replace(found, failure=failure, decision=decision)


def schema_in(file: Path) -> dict[str, Any]:
    """Return the JSON Schema that a file holds.

    Raises:
        Misuse: it cannot be read.
    """
    return json_object(f"the schema in {str(file)!r}", decoded(from_file(file)), example='{"type": "object"}')


def summary(found: list[Found]) -> Iterator[tuple[str, int]]:
    """Yield how many answers there are of each type."""
    counts: dict[str, int] = {}
    for one in found:
        name = one.failure.type if one.failure else "not a failure"
        counts[name] = counts.get(name, 0) + 1
    yield from sorted(counts.items(), key=lambda pair: -pair[1])


def made(command: Sequence[str], tool: str | None, arguments: dict[str, Any] | None) -> Recorded:
    """Start a server, call a tool of it, and return the call with its answer.

    Raises:
        Misuse: the server cannot be started or does not answer, or no tool was named.
    """
    try:
        with ended_as_by_interrupt(), LiveServer(command) as server:
            tools = server.tools()
            if tool is None:
                raise Misuse(f"say which tool to call with --tool: the server has {', '.join(tools)}")
            answer = server.call(tool, arguments or {})
    except BadServer as bad:
        is_data = len(command) == 1 and Path(command[0]).is_file() and not os.access(command[0], os.X_OK)
        meant = f"; to read what it holds: failwell read --file {command[0]}" if is_data else ""
        raise Misuse(f"{misuse_of(command, bad)}{meant}") from None
    known = tools.get(tool, {})
    return Recorded(
        answer=json.dumps(answer),
        tool=tool,
        arguments=arguments or {},
        schema=known.get("inputSchema"),
        annotations=known.get("annotations"),
    )
