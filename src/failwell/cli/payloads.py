"""What a command is given: payloads from stdin or a file, JSON objects from options."""

from pathlib import Path
from typing import Any, NamedTuple, TextIO

from failwell.dialects import json_text


class Misuse(Exception):
    """The command was given something it cannot work with; the text is one line that says what."""


class Streams(NamedTuple):
    """Where a command reads and writes."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO


def payload(streams: Streams, file: Path | None) -> str:
    """Return the text that a command works on.

    Raises:
        Misuse: it cannot be read.
    """
    raw = _from_stdin(streams) if file is None else from_file(file)
    if len(raw) > json_text.LONGEST:
        raise Misuse(f"the payload is too large: at most {json_text.LONGEST:,} bytes are read")
    text = decoded(raw)
    if not text.strip():
        raise Misuse("the payload is empty: give an MCP result, a JSON-RPC response or an error's text")
    return text


def decoded(raw: bytes) -> str:
    """Return bytes as text.

    Raises:
        Misuse: it cannot be read.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        raise Misuse(f"the payload is not UTF-8 text: byte {raw[broken.start]:#04x} at {broken.start}") from None


def json_object(what: str, text: str) -> dict[str, Any]:
    """Return the JSON object that an option or a file holds.

    Raises:
        Misuse: it cannot be read.
    """
    found = json_text.parse_object(text)
    if found is None:
        raise Misuse(f'{what} must be a JSON object, such as {{"path": "a.txt"}}')
    return found


def _from_stdin(streams: Streams) -> bytes:
    if streams.stdin.isatty():
        streams.stderr.write("Reading the payload from the terminal; end it with Ctrl-D.\n")
    raw = getattr(streams.stdin, "buffer", None)
    if raw is None:
        return streams.stdin.read(json_text.LONGEST + 1).encode("utf-8", "replace")
    found: bytes = raw.read(json_text.LONGEST + 1)
    return found


def from_file(file: Path) -> bytes:
    """Return what a file holds, as far as it is read.

    Raises:
        Misuse: it cannot be read.
    """
    try:
        with file.open("rb") as opened:
            return opened.read(json_text.LONGEST + 1)
    except OSError as failed:
        raise Misuse(f"cannot read {str(file)!r}: {failed.strerror}") from None
