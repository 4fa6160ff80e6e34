"""The recorded sessions on disk, one line for each, and what is different now."""

import asyncio
import difflib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.proxy.sessions.launcher import Launcher
from tests.proxy.sessions.stage import Stage
from tests.proxy.sessions.table import Session

DATA = Path(__file__).with_name("data")
Record = dict[str, Any]


async def play(session: Session, launcher: Launcher) -> Record:
    """Play a session and return its record."""
    transport, form = ("http", "sse") if session.transport == "sse" else (session.transport, "json")
    async with Stage(transport, session.words, launcher, form=form) as stage:
        stage.transcript.is_ordered = session.is_ordered
        await session.play(stage)
        return await stage.end()


async def play_all(sessions: Iterable[Session], launcher: Launcher, *, at_once: int = 4) -> dict[str, Record | str]:
    """Play sessions, some at the same time; of one that breaks, return why."""
    found: dict[str, Record | str] = {}
    places = asyncio.Semaphore(at_once)

    async def one(session: Session) -> None:
        async with places:
            try:
                found[session.name] = await play(session, launcher)
            except Exception as broken:  # told like any other difference
                found[session.name] = f"{type(broken).__name__}: {broken}"

    await asyncio.gather(*(one(session) for session in sessions))
    return found


def recorded() -> dict[str, Record]:
    """Return the recorded sessions."""
    found: dict[str, Record] = {}
    for path in sorted(DATA.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            name, record = json.loads(line)
            found[name] = {part: _unpacked(value) if part in _PACKED else value for part, value in record.items()}
    return found


def write(records: dict[str, Record]) -> None:
    """Record sessions, a file for each transport."""
    DATA.mkdir(exist_ok=True)
    for path in DATA.glob("*.jsonl"):
        path.unlink()
    by_file: dict[str, list[str]] = {}
    for name, record in records.items():
        packed = {part: _packed(value) if part in _PACKED else value for part, value in record.items()}
        line = json.dumps([name, packed], separators=(",", ":"))
        by_file.setdefault(name.partition("/")[0], []).append(f"{line}\n")
    for file, lines in by_file.items():
        (DATA / f"{file}.jsonl").write_text("".join(lines))


_PACKED = ("server", "client")
_HEAD = "\N{SECTION SIGN}"


def _packed(value: Any) -> Any:
    """Return lines with their messages as objects, wherever that keeps every character; files are shorter so."""
    if isinstance(value, list):
        return [_packed(one) for one in value]
    head, brace, rest = value.partition("{") if isinstance(value, str) else ("", "", "")
    try:
        message = json.loads(brace + rest) if brace else None
    except (ValueError, RecursionError):
        return value
    packed = {_HEAD + head: message} if head else message
    return packed if isinstance(message, dict) and _unpacked(packed) == value else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(one) for one in value]
    if not isinstance(value, dict):
        return value
    head, message = next(iter(value.items())) if len(value) == 1 else ("", value)
    head, message = (head[1:], message) if head.startswith(_HEAD) else ("", value)
    return head + json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def difference(before: Record | str | None, now: Record | str | None) -> str:
    """Return how a session differs from its record, line by line; empty: it does not."""
    if before == now:
        return ""
    return "\n".join(difflib.unified_diff(readable(before), readable(now), "recorded", "now", lineterm="", n=2))


def readable(record: Record | str | None) -> list[str]:
    """Return a record as lines, in which JSON is laid out."""
    if record is None:
        return ["(none)"]
    if isinstance(record, str):
        return record.splitlines()
    lines = []
    for part, value in record.items():
        lines.append(f"{part}:")
        for one in value if isinstance(value, list) else [value]:
            lines += [f"  {line}" for piece in (one if isinstance(one, list) else [one]) for line in _laid_out(piece)]
    return lines


def _laid_out(piece: Any) -> list[str]:
    text = piece if isinstance(piece, str) else json.dumps(piece)
    start = text.find("{")
    if start < 0:
        return [text]
    try:
        found = json.loads(text[start:])
    except (ValueError, RecursionError):
        return [text]
    return [text[:start], *json.dumps(found, indent=1).splitlines()]
