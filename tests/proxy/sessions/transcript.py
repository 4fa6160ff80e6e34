"""What a session looked like from outside, without what differs from run to run."""

import hashlib
import json
import re
from typing import Any

Message = dict[str, Any]

_LONGEST = 800
_LONGEST_UNCHANGED = 120
_UNSTEADY = {"time": None, "elapsed": "<seconds>"}
_NAMED = {"session": "session", "arguments": "digest", "call": "call"}
_RANDOM = re.compile(r"[0-9a-f]{16}|[0-9a-f]{32}")
# Messages that begin and end most sessions.
_USUAL = re.compile(r'^{"jsonrpc":"2.0",(?:"id":"(hello|list|settle)",|"method":"(notifications/initialized)"})')
_USUAL_IN_EVENTS = {"time": None, "v": 1, "source": "proxy", "server": "demo", "session": "<session 1>"}
_UNSET = object()
_GREETING = "listening on http://127.0.0.1:<port>/mcp, in front of http://127.0.0.1:<port>/mcp"
# How long a tool is still suspended.
_SUSPENDED = re.compile(r"\b(?:1[0-4]|[89])\.\d+\b")
_MOMENT = re.compile(r"\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")


class Transcript:
    """Collects what reached both ends."""

    def __init__(self) -> None:
        self.is_ordered = True
        self._server: list[tuple[str, bytes]] = []
        self._client: list[bytes] = []
        self._answers: list[tuple[Any, list[Any]]] = []
        self._sent: set[bytes] = set()
        self._said: set[bytes] = set()
        self._ids: set[str] = set()

    def sent(self, data: bytes) -> None:
        """Note what the client sent."""
        self._sent.add(data)
        self._ids.update(_ids(data))

    def said(self, data: bytes) -> None:
        """Note what the server sent."""
        self._said.add(data)

    def to_server(self, data: bytes, *, head: str = "") -> None:
        """Note what reached the server."""
        self._server.append((head, data))

    def server_started(self) -> None:
        """Note that the server was started again."""
        self._server.append(("(another server)", b""))

    def to_client(self, data: bytes) -> None:
        """Note a line that reached the client."""
        self._client.append(data)

    def has_reached_server(self, head: str) -> bool:
        """Return whether a request with a head has reached the server."""
        return any(one.startswith(head) for one, _ in self._server)

    def expect(self, label: Any) -> list[Any]:
        """Note that the client waits for a response, and return where it is collected."""
        answer: list[Any] = []
        self._answers.append((label, answer))
        return answer

    def has(self, text: bytes) -> bool:
        """Return whether part of a response has a text."""
        return any(isinstance(one, bytes) and text in one for _, answer in self._answers for one in answer)

    def record(self, events: list[str], told: str, code: int) -> Message:
        """Return the record of a session that is over."""
        own: dict[str, str] = {}
        for _, data in self._server:
            for id in _ids(data) - self._ids:
                own.setdefault(id, f'"<own {len(own) + 1}>"')

        def steady(data: bytes, origin: set[bytes]) -> str:
            return _steady(data, origin, own)

        server = [f"{head} {steady(data, self._sent)}".strip() for head, data in self._server]
        client: list[Any] = [steady(line, self._said) for line in self._client]
        client += [
            _shortened([label, *(one if isinstance(one, str) else steady(one, self._said) for one in answer)])
            for label, answer in self._answers
        ]
        found = _steady_events(events)
        if not self.is_ordered:
            server.sort()
            client.sort(key=json.dumps)
            found.sort(key=json.dumps)
        return {"server": server, "client": client, "events": found, "told": _told(told), "exit": code}

    def shown(self) -> str:
        """Return what is known so far, for a person."""
        lines = [f"to the server: {head} {data[:300]!r}" for head, data in self._server]
        lines += [f"to the client: {data[:300]!r}" for data in self._client]
        lines += [f"{label}: {[one[:300] for one in answer]}" for label, answer in self._answers]
        return "\n".join(lines)


def _shortened(answer: list[Any]) -> Any:
    """Return a response that looks like most others as one word."""
    match answer:
        case [label, "200 json", body] if body == f"={label}":
            return body
        case ["hello", '200 json {"mcp-session-id": "session-1"}', "=hello"]:
            return "=hello"
        case ["notifications/initialized", "202"]:
            return "=notifications/initialized"
    return answer


def _steady(data: bytes, origin: set[bytes], own: dict[str, str]) -> str:
    line = data.removesuffix(b"\n")
    message = line.partition(b"data: ")[2] if line.startswith((b"event:", b"id:", b"data:")) else line
    text = line.decode("utf-8", "backslashreplace")
    if message in origin and (usual := _USUAL.search(message[:_LONGEST_UNCHANGED].decode("utf-8", "replace"))):
        return f"={usual[1] or usual[2]}"
    if message in origin and len(text) > _LONGEST_UNCHANGED:
        return f"(unchanged, {len(text)}) {text[:_LONGEST_UNCHANGED]}"
    for id, name in own.items():
        text = text.replace(id, name)
    text = _MOMENT.sub("<moment>", _SUSPENDED.sub("15", text))
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:_LONGEST]}… {len(text)} characters, {digest}"


def _ids(data: bytes) -> set[str]:
    """Return the ids in a message, as they are written."""
    try:
        message = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return set()
    each = message if isinstance(message, list) else [message]
    return {json.dumps(one["id"]) for one in each if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _steady_events(lines: list[str]) -> list[Message]:
    names: dict[tuple[str, Any], str] = {}
    found = []
    for line in lines:
        event = json.loads(_MOMENT.sub("<moment>", _SUSPENDED.sub("15", line)))
        for key, value in list(event.items()):
            if key in _UNSTEADY:
                event[key] = _UNSTEADY[key]
            elif key == "delay" and isinstance(value, float) and not value.is_integer():  # the turn of a call
                event[key] = "<seconds>"
            elif key in _NAMED and isinstance(value, str) and _RANDOM.fullmatch(value):
                kind = _NAMED[key]
                known = sum(one == kind for one, _ in names)
                event[key] = names.setdefault((kind, value), f"<{kind} {known + 1}>")
        for key, usual in _USUAL_IN_EVENTS.items():
            if event.get(key) == usual:
                del event[key]
        if isinstance(failure := event.get("failure"), dict):  # it repeats much of the event
            event["failure"] = {key: value for key, value in failure.items() if event.get(key, _UNSET) != value}
        found.append(event)
    return found


def _told(text: str) -> list[str]:
    lines = [_PORT.sub("<port>", line).removeprefix("failwell: ") for line in text.splitlines()]
    return [line for line in lines if line != _GREETING]
