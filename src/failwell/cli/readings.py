"""What `failwell read` finds: the failure, the rule that gave it, the decision and the repair, for one call or many."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import failwell as fw
from failwell.cli import live
from failwell.cli.payloads import Misuse, decoded, from_file, json_object, misuse_of
from failwell.dialects import json_text, whole
from failwell.json_types import is_object
from failwell.reader import explain
from failwell.repairing import Repair

_MOST_LINES = 10_000
# Where recorders put the answer, and the schema, beside `tool` and `arguments`.
_ANSWER_KEYS = ("raw", "answer", "result", "response")
_SCHEMA_KEYS = ("inputSchema", "input_schema", "schema")


class Recorded(Struct, frozen=True, kw_only=True):
    """An answer, and what is known of the call that it belongs to."""

    answer: Any
    tool: str | None = None
    arguments: Any = None
    schema: Any = None
    annotations: Any = None


class Found(Struct, frozen=True, kw_only=True):
    """All that can be said of one answer. What is not a failure has none of it."""

    tool: str | None = None
    failure: fw.Failure | None = None
    rule: str | None = None
    decision: fw.Decision | None = None
    repair: Repair | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "failure": self.failure and whole.write(self.failure),
            "rule": self.rule,
            "decision": msgspec.to_builtins(self.decision),
            "repair": msgspec.to_builtins(self.repair),
        }


def lines_of(text: str) -> list[Recorded] | None:
    """Return the calls in a file of recorded lines; None if the text is one payload and not lines of them."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or len(lines) > _MOST_LINES or json_text.parse_object(text) is not None:
        return None
    payloads = [json_text.parse_object(line) for line in lines]
    return [_recorded(payload) for payload in payloads if payload is not None] if None not in payloads else None


def _recorded(payload: dict[str, Any]) -> Recorded:
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
    failure = fw.canonical(reading.failure)
    known = hints if hints is not None else call.annotations if is_object(call.annotations) else None
    return Found(
        tool=call.tool,
        failure=failure,
        rule=reading.rule,
        decision=fw.decide(failure, known),
        repair=fw.repair(reading.failure, call.arguments, call.schema),
    )


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
        with live.Server(command) as server:
            tools = server.tools()
            if tool is None:
                raise Misuse(f"say which tool to call with --tool: the server has {', '.join(tools)}")
            answer = server.call(tool, arguments or {})
    except live.BadServer as bad:
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
