"""The cases of the trial, the servers they come from, and the labels that readers never see."""

from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

_T = TypeVar("_T")
HERE = Path(__file__).parent

Action = Literal["retry_now", "retry_later", "fix_input", "other_tool", "verify", "ask_user", "stop"]
ACTIONS: tuple[Action, ...] = ("retry_now", "retry_later", "fix_input", "other_tool", "verify", "ask_user", "stop")
REPEATS = frozenset[Action](("retry_now", "retry_later"))

# The two classes that are counted by themselves.
UNKNOWN_WRITE = "unknown_write"
REPEAT = "repeat"


class Server(Struct, frozen=True, forbid_unknown_fields=True):
    """A server with the tools it lists: a program, a URL, or a server that the library protects."""

    name: str
    kind: Literal["stdio", "http", "protected"]
    tools: list[dict[str, Any]]

    def tool(self, name: str) -> dict[str, Any] | None:
        """Return a tool as it is listed, or None if there is no such tool."""
        return next((tool for tool in self.tools if tool["name"] == name), None)


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """A failing call.

    `answer` is what the server does. A program sends a `result` or an `error`, or ends with `exit`; behind a URL there
    is an `http` status, or none if the connection is closed; a protected server `raises`, `returns` what its schema
    does not allow, `warns`, or its arguments are `refused`, and `ran` says whether the body of the tool ran.
    """

    id: str
    source: str
    situation: str
    server: str
    tool: str
    arguments: dict[str, Any]
    answer: dict[str, Any]


class Label(Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """What a case is, and which next steps are right."""

    id: str
    kind: str
    right: list[Action]
    why: str


@cache
def cases() -> list[Case]:
    """Return all cases, in the order in which readers see them: it says nothing about their classes."""
    return _rows("cases.jsonl", Case)


@cache
def servers() -> dict[str, Server]:
    """Return the servers by name."""
    return {server.name: server for server in _rows("servers.jsonl", Server)}


@cache
def labels() -> dict[str, Label]:
    """Return the labels by the id of the case."""
    return {label.id: label for label in _rows("labels.jsonl", Label)}


def _rows(name: str, cls: type[_T]) -> list[_T]:
    return [msgspec.json.decode(line, type=cls) for line in (HERE / name).read_bytes().splitlines()]
