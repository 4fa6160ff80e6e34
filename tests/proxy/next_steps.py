"""What the proxy makes of recorded failures, beside the next steps that an expert would give.

`tests/data/next_steps.jsonl` was labelled before anybody looked at an answer of the proxy. A failure has all steps that
are right, or none: `fix:ARGUMENT`, `use:TOOL` (`*`: any that there is), `wait`, `verify` (whether it took effect),
`operator` (somebody else must act) and `stop`.

`tests/data/further_servers.jsonl` has more servers, with all their tools, that no rule was written for when they were
recorded and labelled. Those kept back were first read when all others met the goals.

`tests/data/servers_called_again.jsonl` has new calls of servers that were recorded first, and of servers that are new,
labelled in the same way. Only failures that a server flags are in it.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any

from msgspec import Struct

import failwell as fw
from failwell.proxy.conversation import Settings
from tests.proxy.conversations import Ends, settings
from tests.reading import corpus
from tests.reading.corpus import Row

_OWN_LINES = ("Next: ", "Wait at least: ", "Use: ", "- ")
_ASKS = re.compile(r"\b(?:please|verify|install|contact|check)\b", re.IGNORECASE)
_ADVERT = re.compile(r"\s*For further information visit \S+")


class ProxiedAnswer(Struct, frozen=True):
    """A recorded failure, and what the client gets for it."""

    row: Row
    steps: list[str]
    original: str
    text: str
    failure: fw.Failure | None

    @property
    def own_lines(self) -> str:
        """What the proxy added to the text."""
        said = set(self.original.split("\n"))
        return "\n".join(line for line in self.text.split("\n") if line.startswith(_OWN_LINES) and line not in said)

    @property
    def is_claimed(self) -> bool:
        """Whether the proxy says that it understands the failure."""
        failure = self.failure
        return failure is not None and (failure.confidence is None or failure.confidence >= corpus.CERTAIN)

    @property
    def has_right_type(self) -> bool:
        """Whether its type is one of those that are right."""
        return self.failure is not None and self.failure.type in self.row["category_ok"]

    @property
    def right_fields(self) -> list[bool]:
        """Whether each argument that it blames is one of those at fault, where somebody labelled them."""
        labelled = self.row.get("fields")
        if self.failure is None or labelled is None:
            return []
        return [corpus.argument_of(problem.path) in labelled for problem in self.failure.fields]

    @property
    def lost(self) -> list[str]:
        """The words of the server that the text no longer has."""
        kept = set(re.findall(r"\w+", self.text))
        return [word for word in re.findall(r"\w+", _ADVERT.sub("", self.original)) if word not in kept]


@cache
def labels() -> dict[str, list[str]]:
    """Return the steps that an expert would give, by the id of the failure."""
    lines = (corpus.DATA / "next_steps.jsonl").read_text().splitlines()
    return {row["id"]: row["next"] for row in map(json.loads, lines)}


@cache
def further_servers() -> tuple[dict[str, Any], ...]:
    """Return the servers of the second recording: their tools, and their labelled answers."""
    return _servers("further_servers.jsonl")


@cache
def further_answers(*, kept_back: bool) -> tuple[ProxiedAnswer, ...]:
    """Return what a client gets from the proxy as it is started by default."""
    return _by_default(server for server in further_servers() if server["kept_back"] is kept_back)


@cache
def answers_again(*, is_new: bool) -> tuple[ProxiedAnswer, ...]:
    """Return the same for calls that were made later, of new servers or of those recorded first."""
    return _by_default(server for server in _servers("servers_called_again.jsonl") if server["is_new"] is is_new)


def _servers(file: str) -> tuple[dict[str, Any], ...]:
    return tuple(map(json.loads, (corpus.DATA / file).read_text(encoding="utf-8").splitlines()))


def _by_default(servers: Iterable[dict[str, Any]]) -> tuple[ProxiedAnswer, ...]:
    return tuple(
        _answer({**row, "server": server["server"]}, server["tools"], settings(marks_unflagged=True), row["next"])
        for server in servers
        for row in server["answers"]
    )


class Figures(Struct, frozen=True):
    """How right answers are: those that claim a type, the arguments they blame, and the steps of those with a label."""

    servers: int
    answers: int
    claimed: float
    types: float
    fields: float
    steps: float
    lost: int


def figures(found: Iterable[ProxiedAnswer]) -> Figures:
    """Return the figures of some answers."""
    found = list(found)
    claims = [answer for answer in found if answer.is_claimed]
    return Figures(
        servers=len({answer.row["server"] for answer in found}),
        answers=len(found),
        claimed=len(claims) / len(found),
        types=share(answer.has_right_type for answer in claims),
        fields=share(is_right for answer in claims for is_right in answer.right_fields),
        steps=share(is_given(answer, answer.text, answer.own_lines) for answer in found if answer.steps),
        lost=sum(bool(answer.lost) for answer in found),
    )


@cache
def answers() -> tuple[ProxiedAnswer, ...]:
    """Return what a client gets for each recorded failure, those that are not flagged made errors."""
    tools, every = _tools(), settings(flip_unflagged=frozenset("*"))
    return tuple(
        _answer(row, list(tools[row["server"]].values()), every, labels().get(row["id"], []))
        for row in corpus.failures()
    )


def is_given(answer: ProxiedAnswer, text: str, own_lines: str) -> bool:
    """Return whether a text, or lines that the proxy added to it, give one of the right steps."""
    return any(_gives(step, answer.row, text, own_lines) for step in answer.steps)


def share(values: Iterable[bool]) -> float:
    """Return how many of all are true."""
    found = list(values)
    return sum(found) / len(found)


@cache
def _tools() -> dict[str, dict[str, Any]]:
    """Return the tools of each server, as far as somebody called them."""
    tools: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in (*corpus.failures(), *corpus.recorded_successes()):
        if (schema := row.get("inputSchema")) is not None:
            listed = {"name": row["tool"], "inputSchema": schema, "annotations": row.get("annotations")}
            tools[row["server"]].setdefault(row["tool"], listed)
    for server in further_servers():
        tools[server["server"]] |= {tool["name"]: tool for tool in server["tools"]}
    return tools


def _answer(row: Row, tools: list[dict[str, Any]], chosen: Settings, steps: list[str]) -> ProxiedAnswer:
    ends = Ends(chosen, tools=tools)
    params = {"name": row["tool"], "arguments": row["arguments"]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ends.runner.from_client(json.dumps(call).encode() + b"\n")
    raw = row["raw"]
    said = {"error": raw["error"]} if "error" in raw else {"result": raw.get("result", raw)}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, **said}).encode() + b"\n"
    found = json.loads(ends.runner.from_server(line) or line)
    original = raw["error"]["message"] if "error" in raw else _text(said["result"])
    text = _text(found["result"]) if "result" in found else found["error"]["message"]
    return ProxiedAnswer(row, steps, original, text, fw.read(found, tool=row["tool"]))


def _text(result: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for block in result.get("content", ()))


def _gives(step: str, row: Row, text: str, own_lines: str) -> bool:
    kind, _, name = step.partition(":")
    match kind:
        case "fix":
            return _names(text, name) or _quotes(text, row["arguments"], name)
        case "use" if name == "*":
            return any(_names(own_lines, tool) for tool in _tools()[row["server"]])
        case "use":
            return _names(text, name)
        case "operator" | "stop":
            return "Next: " in own_lines or _ASKS.search(text) is not None
        case _:
            return "Next: " in own_lines or "Wait at least: " in own_lines


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _quotes(text: str, arguments: Any, name: str) -> bool:
    """Return whether a text repeats what was sent in an argument, or a telling part of it."""
    value = arguments.get(name) if isinstance(arguments, dict) else None
    values = [str(one) for one in (value if isinstance(value, list) else [value]) if one is not None]
    return any(one in text or any(part in text for part in re.findall(r"[\w./-]{4,}", one)) for one in values)
