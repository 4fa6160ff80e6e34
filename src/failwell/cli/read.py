"""`failwell read`: explain the failure in a payload, in recorded calls or in the answer of a live server."""

import asyncio
import json
import os
import re
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which
from types import TracebackType
from typing import Annotated, Any, TextIO, TypeVar, get_args

import msgspec
import typer
from msgspec import Struct
from rich.text import Text

import failwell as fw
from failwell._json import is_array, is_object, parse_object
from failwell._json import write_json as json_text
from failwell.advice import ADVICE, is_guess
from failwell.check.peers import connector
from failwell.check.peers.peer import BadServer, PeerGone, initialize, list_tools
from failwell.cli.completion import dialect_names
from failwell.cli.console import Cell, flag_rows, list_table, list_width, page, pairs_table, type_text
from failwell.cli.streams import (
    EMPTY_INPUT,
    AsJson,
    Misuse,
    PayloadFile,
    bad_server_misuse,
    check_dialect,
    decode_text,
    interrupt_on_signals,
    parse_json_object,
    read_file,
    read_payload,
    write_json,
)
from failwell.codes import Action
from failwell.dialects._placement import read_whole, write_whole
from failwell.failure import is_certain
from failwell.reading.context import Context
from failwell.reading.evidence import ClaimEvidence, find_evidence
from failwell.reading.reader import explain
from failwell.records._record import Record, decode_line
from failwell.redact.scrubber import clean
from failwell.schema.repair import Repair

ServerDialect = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        help="The error format of the server; its errors count even if not flagged.",
        autocompletion=dialect_names,
        metavar="NAME",
    ),
]
Unflagged = Annotated[bool, typer.Option("--unflagged", help="Look for a failure even if `isError` is false.")]
ToolName = Annotated[str | None, typer.Option("--tool", help="The tool that was called.", metavar="TOOL")]

Value = TypeVar("Value")

_START_TIMEOUT = 60.0
_CALL_TIMEOUT = 30.0
_LONGEST_RESULT = 2000
_MOST_LINES = 10_000
# Where recorders put the answer, and the schema, beside `tool` and `arguments`.
_ANSWER_KEYS = ("raw", "answer", "result", "response")
_SCHEMA_KEYS = ("inputSchema", "input_schema", "schema")
_LIKE_JSON = re.compile(r"""\s*(\{\s*"|\[\s*["{])""")
_ACTIONS: dict[str, Action] = {action: action for action in get_args(Action)}
_RECORDED = "Decided when it was recorded."
_TAKEN = "an MCP result, a JSON-RPC response or the text of an error"
_ORIGINS = {"inferred": "plain text (guessed)"}


def read(
    context: typer.Context,
    *,
    file: PayloadFile = None,
    dialect: ServerDialect = None,
    unflagged: Unflagged = False,
    tool: ToolName = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="The arguments of the call.", metavar="JSON")
    ] = None,
    schema_file: Annotated[
        Path | None, typer.Option("--schema", help="A file with the input schema of the tool.", metavar="FILE")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="The tool changes nothing.")] = False,
    idempotent: Annotated[bool, typer.Option("--idempotent", help="The tool may safely run twice.")] = False,
    as_json: AsJson = False,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="The payload, JSON or text; or a server to call --tool on: a command after --, or a URL.",
            metavar="COMMAND",
        ),
    ] = None,
) -> None:
    """Explain a failure: what it is, what to do, how to fix the call.

    The input is an MCP result, a JSON-RPC response, the text of an error, or a file of recorded lines: each line is one
    of these, an object with `raw`, `tool`, `arguments` and `inputSchema`, or a record written by failwell. The output
    shows the evidence for each statement. Exits with 1 if there is no failure in the input.

    With a command after --, or a URL, failwell starts or contacts that server and calls the tool for real.

    Example: failwell read --idempotent < result.json

    Example: failwell read '{"isError": true, "content": [{"type": "text", "text": "503 Service Unavailable"}]}'

    Example: failwell read --tool add --arguments '{"n": 5}' -- python server.py
    """
    check_dialect(dialect)
    if command and not command[0].strip():
        raise Misuse(EMPTY_INPUT)
    hints: Any = {"read_only": read_only, "idempotent": idempotent} if read_only or idempotent else None
    sent = parse_json_object("--arguments", arguments, example='{"path": "a.txt"}') if arguments is not None else None
    lines = None
    payload = command[0] if command and _is_payload(command, may_be_word=tool is None and file is None) else None
    if command and file is not None:
        raise Misuse(f"both {'a payload' if payload else 'a command'} and --file are given: use one of them")
    if payload is not None and command is not None and len(command) > 1:
        raise Misuse("more than one payload is given: put each on a line of a file, and give that with --file")
    if command and payload is None:
        calls = [_call_server(command, tool, sent)]
    elif (lines := parse_lines(text := payload or read_payload(context.obj, file))) is None:
        schema = _read_schema(schema_file) if schema_file is not None else None
        calls = [parse_payload(text, tool=tool, arguments=sent, schema=schema)]
    else:
        calls = lines
    readings = [analyse(call, dialect=dialect, unflagged=unflagged, hints=hints) for call in calls]
    if as_json:
        values = [reading.as_json() for reading in readings]
        write_json(context.obj.stdout, values[0] if lines is None else values)
    elif lines is None:
        _show_reading(context.obj.stdout, readings[0])
    else:
        _show_list(context.obj.stdout, readings)
    if all(reading.failure is None for reading in readings):
        raise typer.Exit(1)


class RecordedCall(Struct, frozen=True, kw_only=True):
    """An answer, and what is known of the call that it belongs to; or a record of our own."""

    answer: Any
    tool: str | None = None
    arguments: Any = None
    schema: Any = None
    annotations: Any = None
    record: Record | None = None


def _is_payload(command: list[str], *, may_be_word: bool) -> bool:
    """Tell whether what stands in the place of a command is JSON, or a text: no program has such a name.

    One word, where a text may be one, is a text if no such program or file exists.
    """
    word = command[0]
    if word.lstrip()[:1] in ("{", "["):
        return True
    if len(command) > 1 or which(word) is not None:
        return False
    return " " in word or (may_be_word and _PLACES.isdisjoint(word) and not Path(word).exists())


_PLACES = frozenset("/\\.:-")
"""What stands in the names of files and programs and in addresses, and seldom in an error of one word."""


def parse_lines(text: str) -> list[RecordedCall] | None:
    """Return the calls in a file of recorded lines; None if the text is one payload and not lines of them.

    Raises:
        Misuse: a line is no JSON object, or there are too many.
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2 or parse_object(text) is not None:
        return None
    payloads = [parse_object(line) for _, line in lines]
    others = [numbered for numbered, payload in zip(lines, payloads, strict=True) if payload is None]
    if 2 * len(others) >= len(lines) and not (
        len(others) < len(lines) and all(_is_like_json(line) for _, line in others)
    ):
        return None
    if others:
        raise Misuse(f"line {others[0][0]} of the payload is not a JSON object, as a recorded line must be")
    if len(lines) > _MOST_LINES:
        raise Misuse(f"the payload has {len(lines):,} lines: at most {_MOST_LINES:,} are read")
    return [
        _parse_line(line, payload) for (_, line), payload in zip(lines, payloads, strict=True) if payload is not None
    ]


def parse_payload(text: str, **known: Any) -> RecordedCall:
    """Return the one answer, or the one record, that a text is.

    Raises:
        Misuse: it is JSON that holds no answer, or JSON that was cut off.
    """
    try:
        found = json.loads(text)
    except ValueError as broken:
        is_cut = _is_like_json(text) and "Extra data" not in str(broken)
        if is_cut:
            raise Misuse(f"the payload looks like JSON but is invalid: {broken}; give {_TAKEN}") from None
        return RecordedCall(answer=text, **known)
    except RecursionError:
        raise Misuse(f"the payload is nested too deeply; give {_TAKEN}") from None
    if not isinstance(found, dict | str) and not (is_array(found) and any(map(is_object, found))):
        raise Misuse(f"the payload is JSON but not the result of a tool; give {_TAKEN}")
    return RecordedCall(answer=text, record=_parse_record(text, found), **known)


def _parse_line(line: str, payload: dict[str, Any]) -> RecordedCall:
    if ours := _parse_record(line, payload):
        return RecordedCall(answer=payload, record=ours)
    key = next((key for key in _ANSWER_KEYS if key in payload), None)
    if key is None or "jsonrpc" in payload:
        return RecordedCall(answer=payload)
    tool = payload.get("tool")
    return RecordedCall(
        answer=payload[key],
        tool=tool if isinstance(tool, str) else None,
        arguments=payload.get("arguments"),
        schema=next((payload[key] for key in _SCHEMA_KEYS if key in payload), None),
        annotations=payload.get("annotations"),
    )


def _parse_record(line: str, payload: Any) -> Record | None:
    is_ours = is_object(payload) and {"time", "source", "kind"} <= payload.keys()
    return decode_line(line.encode("utf-8", "replace")) if is_ours else None


def _is_like_json(text: str) -> bool:
    return _LIKE_JSON.match(text) is not None


def _read_schema(file: Path) -> dict[str, Any]:
    return parse_json_object(f"the schema in {str(file)!r}", decode_text(read_file(file)), example='{"type": "object"}')


class CallReading(Struct, frozen=True, kw_only=True):
    """All that can be said of one answer: a failure, or the *result* of a success. `kind` is that of a record."""

    tool: str | None = None
    kind: str | None = None
    result: str | None = None
    failure: fw.dialects.RedactedFailure | None = None
    rule: str | None = None
    evidence: tuple[ClaimEvidence, ...] = ()
    decision: fw.Decision | None = None
    repair: Repair | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "result": self.result,
            "failure": self.failure and write_whole(self.failure),
            "rule": self.rule,
            "evidence": [{**msgspec.to_builtins(found), "reason": found.sentence} for found in self.evidence],
            "decision": msgspec.to_builtins(self.decision),
            "repair": msgspec.to_builtins(self.repair),
        }


def analyse(call: RecordedCall, *, dialect: str | None, unflagged: bool, hints: Any = None) -> CallReading:
    """Return all that can be said of an answer."""
    if call.record is not None:
        return _analyse_record(call.record, hints)
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
        return CallReading(tool=call.tool, result=_result_text(call.answer))
    failure = fw.dialects.canonical(reading.failure)
    known = hints if hints is not None else call.annotations if is_object(call.annotations) else None
    return CallReading(
        tool=call.tool,
        failure=failure,
        rule=reading.rule,
        evidence=find_evidence(call.answer, reading, Context(call.tool, call.arguments, call.schema, call.annotations)),
        decision=fw.decide(failure, known, policy=ADVICE),
        repair=fw.repair(reading.failure, call.arguments, call.schema),
    )


def _result_text(answer: Any) -> str:
    """Return what a call that succeeded gave, as a person would see it: redacted, and cut where it is long."""
    found = parse_object(answer) if isinstance(answer, str) else answer
    if is_object(found) and is_object(found.get("result")):
        found = found["result"]
    if not is_object(found):
        return clean(answer if isinstance(answer, str) else json.dumps(answer, default=str), _LONGEST_RESULT)
    blocks = [block for block in found.get("content") or () if is_object(block)]
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    texts += [f"[{block.get('type', 'block')}]" for block in blocks if not isinstance(block.get("text"), str)]
    if texts:
        return clean("\n".join(texts), _LONGEST_RESULT)
    return clean(json.dumps(found.get("structuredContent", found), default=str), _LONGEST_RESULT)


def _analyse_record(record: Record, hints: Any) -> CallReading:
    """Return what was recorded: the step too, which was decided where the tool was known."""
    reading = CallReading(tool=record.tool or None, kind=record.kind)
    failure = read_whole(record.failure)
    if failure is None:
        return reading
    failure = fw.dialects.canonical(failure)
    decision = fw.decide(failure, hints, attempt=record.attempt, policy=ADVICE)
    action = _ACTIONS.get(record.decision or "", decision.action)
    if action != decision.action:
        decision = fw.Decision(action=action, reason=_RECORDED, delay=record.delay, actions=failure.actions)
    return msgspec.structs.replace(reading, failure=failure, decision=decision)


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
            connect = connector(command, start=_START_TIMEOUT, wait=_CALL_TIMEOUT, cwd=cwd, env=env)
            self._peer = self._runner.run(connect())
        except BaseException:
            self._runner.close()
            raise

    def __enter__(self) -> "LiveServer":
        try:
            self._wait_for(initialize(self._peer), timeout=_START_TIMEOUT)
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
        return {tool["name"]: tool for tool in self._wait_for(list_tools(self._peer), timeout=_CALL_TIMEOUT)}

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a call."""
        request = self._peer.request("tools/call", {"name": tool, "arguments": arguments})
        return self._wait_for(request, timeout=_CALL_TIMEOUT)

    def _wait_for(self, request: Coroutine[Any, Any, Value], *, timeout: float) -> Value:
        try:
            return self._runner.run(asyncio.wait_for(request, timeout))
        except TimeoutError:
            raise BadServer(f"the server did not answer within {timeout:g} s") from None
        except PeerGone as gone:
            complaint = self._peer.complaint()
            raise BadServer(f"{gone}: {complaint}" if complaint else str(gone)) from None


def _call_server(command: Sequence[str], tool: str | None, arguments: dict[str, Any] | None) -> RecordedCall:
    """Start a server, call a tool of it, and return the call with its answer.

    Raises:
        Misuse: the server cannot be started or does not answer, or no tool was named.
    """
    try:
        with interrupt_on_signals(), LiveServer(command) as server:
            tools = server.tools()
            if tool is None:
                raise Misuse(f"name the tool to call with --tool: the server has {', '.join(tools)}")
            answer = server.call(tool, arguments or {})
    except BadServer as bad:
        is_data = len(command) == 1 and Path(command[0]).is_file() and not os.access(command[0], os.X_OK)
        meant = f"; to read this file, use failwell read --file {command[0]}" if is_data else ""
        raise Misuse(f"{bad_server_misuse(command, bad)}{meant}") from None
    known = tools.get(tool, {})
    return RecordedCall(
        answer=json.dumps(answer),
        tool=tool,
        arguments=arguments or {},
        schema=known.get("inputSchema"),
        annotations=known.get("annotations"),
    )


def _show_reading(stdout: TextIO, reading: CallReading) -> None:
    """Show a failure, what to do about it, and how to mend the call."""
    failure, decision = reading.failure, reading.decision
    if failure is None or decision is None:
        stdout.write(f"Not a failure{f': a record of {reading.kind}' if reading.kind else ''}.\n")
        if reading.result:
            stdout.write(f"\n{reading.result}\n")
        return
    with page(stdout) as console:
        code = failure.code if failure.code != failure.type else None
        console.print(Text.assemble(type_text(failure.type), "  ", (code or "", "bold")))
        console.print(failure.message)
        console.print()
        console.print(pairs_table((*_failure_rows(failure), ("rule", _rule_text(reading)))))
        if reading.evidence:
            console.print()
            console.print(Text("evidence", "bold"))
            console.print(pairs_table((_claim_text(found), found.sentence) for found in reading.evidence))
        console.print()
        console.print(Text.assemble(("→ ", "dim"), (_decision_text(decision), "bold")))
        # Of what was not understood nothing is claimed that would need the note.
        is_guessed = failure.origin == "inferred" and not is_guess(failure)
        console.print(f"{decision.reason.rstrip('.')} ({_note(failure)})." if is_guessed else decision.reason)
        if decision.suggestion and decision.suggestion != failure.suggestion:
            console.print(Text(decision.suggestion, "dim"))
        if reading.repair is not None:
            console.print()
            console.print(Text.assemble(("repair", "bold"), (f"  {reading.repair.confidence:.0%} sure", "dim")))
            console.print(json_text(reading.repair.arguments))
            for change in reading.repair.changes:
                console.print(Text(f"{change.path}: {change.reason}", "dim"))


def _show_list(stdout: TextIO, readings: list[CallReading]) -> None:
    """List what many answers hold, a line each, and how many there are of each type."""
    rows: list[tuple[Cell, ...]] = []
    for number, reading in enumerate(readings, 1):
        failure, repair = reading.failure, reading.repair
        if failure is None or reading.decision is None:
            rows.append((str(number), Text(reading.kind or "not a failure", "dim"), "", reading.tool or "", "", "", ""))
        else:
            rows.append(
                (
                    str(number),
                    type_text(failure.type),
                    _decision_text(reading.decision),
                    reading.tool or "",
                    f"{repair.confidence:.0%}" if repair else "",
                    _rule_text(reading) or "",
                    failure.code or "",
                )
            )
    counts = Counter(reading.failure.type if reading.failure else "not a failure" for reading in readings)
    with page(stdout) as console:
        width = list_width(stdout, console)
        console.print(
            list_table(("", "type", "next", "tool", "repair", "rule", "code"), rows, width=width, right=("",))
        )
        console.print()
        console.print(", ".join(f"{count} {name}" for name, count in counts.most_common()))


def _failure_rows(failure: fw.Failure) -> Iterator[tuple[str, str | None]]:
    yield from flag_rows(
        recoverable=None if is_guess(failure) else failure.recoverable,
        retryable=failure.retryable,
        outcome=failure.outcome,
        note=_note(failure),
    )
    yield "wait at least", None if failure.retry_after is None else f"{failure.retry_after} s"
    yield "severity", failure.severity
    yield "tool", "/".join(part for part in (failure.tool, failure.action) if part)
    yield "suggestion", failure.suggestion
    yield "what helps", ", ".join(failure.actions)
    for problem in failure.fields:
        yield f"field {problem.path}", problem.message
    for key, value in failure.details.items():
        yield f"detail {key}", value if isinstance(value, str) else json_text(value)
    yield "id", failure.id
    yield "read from", _ORIGINS.get(failure.origin, "structure")


def _note(failure: fw.Failure) -> str:
    """Return what a claim rests on where nobody stated it for this call."""
    if is_certain(failure):
        return ""
    return "guessed from text" if failure.origin == "inferred" else "inferred from the payload"


def _claim_text(found: ClaimEvidence) -> str:
    """Return a claim in a few words: its name, and its value where that is short."""
    if found.claim == "failure":
        return "it failed"
    if found.claim.startswith("field "):
        return found.claim
    value = "unknown" if found.value is None else json_text(found.value).strip('"')
    return f"{found.claim.replace('_', ' ')} {value}"


def _rule_text(reading: CallReading) -> str | None:
    if reading.failure is None or is_certain(reading.failure):
        return None
    sure = reading.failure.confidence or 0
    # Without a rule of ours and yet sure: somebody on the way, such as a proxy, has guessed and says so.
    return f"{reading.rule or ('guessed by the sender' if sure else 'none')} ({sure:.0%} sure)"


def _decision_text(decision: fw.Decision) -> str:
    """Return a decision in a few words."""
    words = decision.action.replace("_", " ")
    if decision.delay is not None:
        return f"{words} in {decision.delay:g} s"
    return f"{words} {', '.join(decision.actions)}" if decision.action == "use" else words
