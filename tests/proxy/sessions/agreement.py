"""Where the same session looks different over different transports, leaving out what belongs to the transport."""

import json
import re
from typing import Any

from tests.proxy.sessions.store import Record, difference

_FRAME = re.compile(r"^(?:(?:id|event|retry): ?[^\n]*\n)*data: ?")
_UNCHANGED = re.compile(r"^\(unchanged, \d+\) ")
_HEAD = re.compile(r"^\d{3}(?: |$)")


def disagreements(records: dict[str, Record], first: str, second: str) -> dict[str, str]:
    """Return the sessions that both transports know and show differently."""
    found: dict[str, str] = {}
    for name, record in records.items():
        transport, _, rest = name.partition("/")
        other = records.get(f"{second}/{rest}")
        if transport == first and other is not None:
            shown = difference(_neutral(record), _neutral(other))
            if shown:
                found[rest] = shown
    return found


def _neutral(record: Record) -> Record:
    client = [piece for one in record["client"] for piece in (one[1:] if isinstance(one, list) else [one])]
    return {
        "server": sorted(_calls(record["server"])),
        "client": sorted(found for piece in client if (found := _message(piece))),
        "events": [{**event, "session": None} for event in record["events"]],
        "told": record["told"],
    }


def _calls(lines: list[str]) -> list[str]:
    """Return what reached the server and has to do with calls."""
    return [line[line.find("{") :] for line in map(_without_head, lines) if "tools/call" in line or "cancelled" in line]


def _without_head(line: str) -> str:
    for head in ("POST ", "GET ", "DELETE "):
        if line.startswith(head):
            line = line.removeprefix(head)
            try:
                _, at = json.JSONDecoder().raw_decode(line)
            except ValueError:
                return line
            return line[at:].strip() or line
    return line


def _message(piece: str) -> str:
    text = _FRAME.sub("", _UNCHANGED.sub("", piece))
    return "" if text.startswith("=") or _HEAD.match(text) else text.strip()


def told(found: dict[str, str]) -> Any:
    """Return disagreements for a person."""
    return "\n".join(f"\n== {name}\n{shown}" for name, shown in found.items())
