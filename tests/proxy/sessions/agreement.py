"""Where the same session looks different over different transports, leaving out what belongs to the transport."""

import json
import re

from tests.proxy.sessions.store import Record, difference

_FRAME = re.compile(r"^(?:(?:id|event|retry): ?[^\n]*\n)*data: ?")
_UNCHANGED = re.compile(r"^\(unchanged, \d+\) ")
_SHOWN = 90
_HEAD = re.compile(r"^\d{3}(?: |$)")


def disagreements(records: dict[str, Record], first: str, second: str) -> dict[str, str]:
    """Return the sessions that both transports know and show differently."""
    found: dict[str, str] = {}
    for name, record in records.items():
        transport, _, rest = name.partition("/")
        other = records.get(f"{second}/{rest}") if transport == first else None
        if other is not None and (told := difference(_neutral(record), _neutral(other))):
            found[rest] = told
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
    text, is_cut = _UNCHANGED.subn("", piece)
    text = _FRAME.sub("", text)[: _SHOWN if is_cut else None]
    return "" if text.startswith("=") or _HEAD.match(text) else text.strip()


def shown(found: dict[str, str]) -> str:
    """Return disagreements for a person."""
    return "".join(f"\n== {name}\n{difference}\n" for name, difference in found.items())
