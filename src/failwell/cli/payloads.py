"""What commands are given and give: payloads, names and JSON objects come in, JSON goes out."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from failwell import dialects
from failwell.dialects import json_text


class Misuse(Exception):
    """The command was given something it cannot work with; the text is one line that says what."""


def misuse_of(command: Sequence[str], bad: Exception) -> Misuse:
    """Return what to say of a server that cannot be worked with: why, and if it gave no reason, where to find one."""
    silent = str(bad) == "the server ended"
    return Misuse(f"{bad} without a word; start it by itself to see why: {shlex.join(command)}" if silent else str(bad))


def address_in(command: Sequence[str]) -> str | None:
    """Return the URL of a server that was given in place of a command to start one.

    Raises:
        Misuse: it is the URL of something else.
    """
    if len(command) != 1 or "://" not in command[0]:
        return None
    if not command[0].startswith(("http://", "https://")):
        raise Misuse(f"{command[0]} is no address of an MCP server: it begins with http:// or https://")
    return command[0]


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


def json_object(what: str, text: str, *, example: str) -> dict[str, Any]:
    """Return the JSON object that an option or a file holds.

    Raises:
        Misuse: it cannot be read.
    """
    found = json_text.parse_object(text)
    if found is None:
        raise Misuse(f"{what} must be a JSON object, such as {example}")
    return found


def dialect_named(name: str) -> dialects.Dialect:
    """Return the dialect of a name.

    Raises:
        Misuse: there is none; the text names them all.
    """
    try:
        return dialects.get(name)
    except ValueError as unknown:
        raise Misuse(str(unknown)) from None


def write_json(stdout: TextIO, value: Any) -> None:
    """Write a value as JSON, in letters that the stream can spell."""
    is_unicode = (getattr(stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    stdout.write(json.dumps(value, indent=2, ensure_ascii=not is_unicode) + "\n")


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
