"""Input and output of commands: payloads, files and JSON; misuse and interruption."""

import json
import shlex
import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NamedTuple, TextIO

import typer

from failwell import dialects
from failwell._json import LONGEST_JSON, parse_object
from failwell.check.peers.peer import ENDED

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PayloadFile = Annotated[
    Path | None, typer.Option("--file", "-f", help="Read this file instead of standard input.", metavar="FILE")
]

_ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Misuse(Exception):
    """The command was given something it cannot work with; the text is one line that says what."""


def bad_server_misuse(command: Sequence[str], bad: Exception) -> Misuse:
    """Return what to say of a server that cannot be worked with: why, and if it gave no reason, where to find one."""
    silent = str(bad) == ENDED
    return Misuse(
        f"{bad} without an error message; run it yourself to see why: {shlex.join(command)}" if silent else str(bad)
    )


class Streams(NamedTuple):
    """Where a command reads and writes."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO


EMPTY_INPUT = "the input is empty: give an MCP result, a JSON-RPC response or the text of an error"


def read_payload(streams: Streams, file: Path | None) -> str:
    """Return the text that a command works on.

    Raises:
        Misuse: it cannot be read.
    """
    raw = _read_stdin(streams) if file is None else read_file(file)
    if len(raw) > LONGEST_JSON:
        raise Misuse(f"the input is too large: at most {LONGEST_JSON:,} bytes are read")
    text = decode_text(raw)
    if not text.strip():
        raise Misuse(EMPTY_INPUT)
    return text


def _read_stdin(streams: Streams) -> bytes:
    if streams.stdin.isatty():
        streams.stderr.write("Reading from the terminal; press Ctrl-D to end the input.\n")
    raw = getattr(streams.stdin, "buffer", None)
    if raw is None:
        return streams.stdin.read(LONGEST_JSON + 1).encode("utf-8", "replace")
    found: bytes = raw.read(LONGEST_JSON + 1)
    return found


def read_file(file: Path) -> bytes:
    """Return what a file holds, as far as it is read.

    Raises:
        Misuse: it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return stream.read(LONGEST_JSON + 1)
    except OSError as failed:
        raise Misuse(f"cannot read {str(file)!r}: {failed.strerror}") from None


def decode_text(raw: bytes) -> str:
    """Return bytes as text.

    Raises:
        Misuse: they are not UTF-8.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        raise Misuse(f"the payload is not UTF-8 text: byte {raw[broken.start]:#04x} at {broken.start}") from None


def parse_json_object(what: str, text: str, *, example: str) -> dict[str, Any]:
    """Return the JSON object that an option or a file holds.

    Raises:
        Misuse: it holds something else.
    """
    found = parse_object(text)
    if found is None:
        raise Misuse(f"{what} must be a JSON object, such as {example}")
    return found


def check_dialect(name: str | None) -> None:
    """Accept the name of a dialect, or none.

    Raises:
        Misuse: there is no such dialect; the text names them all.
    """
    try:
        if name is not None:
            dialects.get(name)
    except ValueError as unknown:
        raise Misuse(str(unknown)) from None


def write_json(stdout: TextIO, value: Any) -> None:
    """Write a value as JSON, in letters that the stream can spell."""
    is_unicode = (getattr(stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    stdout.write(json.dumps(value, indent=2, ensure_ascii=not is_unicode) + "\n")


@contextmanager
def interrupt_on_signals() -> Generator[None]:
    """Let signals that end a process do what Ctrl-C does, so that whatever closes servers is run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # One that is ignored, as under nohup, stays so.
    taken = [number for number in _ENDING_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # An event loop has put its own handler there. Shells make background jobs ignore Ctrl-C, and nothing else.
    on_interrupt = signal.getsignal(signal.SIGINT)
    (on_interrupt if callable(on_interrupt) else signal.default_int_handler)(number, frame)
