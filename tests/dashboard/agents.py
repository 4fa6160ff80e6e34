"""Twenty scripted agents whose fates are known: what they do, and what whoever watched them would write down."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio

import failwell as fw
from failwell.records import Recorder
from tests.client.scripted import FINE, LOST, Naps, Scripted, never
from tests.proxy.clients import Client
from tests.records.sessions import SAFE, TASK, WRONG

Calls = Sequence[tuple[str, dict[str, Any]]]


class Truth(NamedTuple):
    """What became of an agent: calls, calls that gave it an error, its failures as (tool, code, verdict), and costs."""

    calls: int
    failed: int
    failures: Sequence[tuple[str, str, str]] = ()
    wasted: int = 0
    duplicates: int = 0


class ProxiedAgent(NamedTuple):
    """An agent behind the proxy: the proxy's options, its calls, and what became of it."""

    options: Sequence[str]
    calls: Calls
    truth: Truth

    def play(self, address: str) -> None:
        with Client("--events", address, "--name", "tasks", *self.options) as client:
            for tool, arguments in self.calls:
                client.call(tool, **arguments)


class WrappedAgent(NamedTuple):
    """An agent with a wrapped session: the answers of the server's only tool, its call, and what became of it."""

    tool: str
    answers: Sequence[Any]
    described: dict[str, Any]
    options: dict[str, Any]
    call: dict[str, Any]
    truth: Truth

    def play(self, address: str) -> None:
        server = Scripted("tasks")
        server.tool(self.tool, *self.answers, **self.described)

        async def main() -> None:
            async with server.connected() as session:
                fw.wrap(session, hook=recorder, sleep=Naps(), chance=never, **self.options)
                await session.call_tool(self.tool, self.call)

        with Recorder(address) as recorder:
            anyio.run(main)


def fails(text: str, n: int = 1) -> dict[str, Any]:
    return {"n": n, "do": f"fail:{text}"}


def works_at(call: int) -> dict[str, Any]:
    """Arguments of a call that fails until the server has had so many."""
    return {"n": 1, "do": f"fail until:{call}"}


def ok(n: int = 1) -> dict[str, Any]:
    return {"n": n}


DENIED, GONE, DOWN, LATE = "403 Forbidden", "404 Not Found", "503 Service Unavailable", "504 Gateway Timeout"
NAMES_LOOK = fw.encode(fw.Failure(code="NOT_FOUND", message="There is no task.", actions=("look",)))["content"][0][
    "text"
]
CHECKED = ("--validate",)

AGENTS: dict[str, ProxiedAgent | WrappedAgent] = {
    "nothing fails": ProxiedAgent((), [("look", ok(1)), ("look", ok(2))], Truth(2, 0)),
    "a retry helps": ProxiedAgent(
        ("--retry",), [("look", works_at(2))], Truth(1, 0, [("look", "SERVICE_UNAVAILABLE", "by_retry")])
    ),
    "retries do not help": ProxiedAgent(
        ("--retry",), [("look", fails(DOWN))], Truth(1, 1, [("look", "SERVICE_UNAVAILABLE", "unresolved")], 1)
    ),
    "it corrects the call": ProxiedAgent(
        CHECKED,
        [("look", {"n": "one"}), ("look", ok())],
        Truth(2, 1, [("look", "VALIDATION_FAILED", "corrected")], 0),
    ),
    "it corrects the call at the third try": ProxiedAgent(
        CHECKED,
        [("look", {"n": "one"}), ("look", {"n": "two"}), ("look", ok())],
        Truth(3, 2, [("look", "VALIDATION_FAILED", "corrected")], 1),
    ),
    "it tries the same later": ProxiedAgent(
        (), [("look", works_at(2))] * 2, Truth(2, 1, [("look", "SERVICE_UNAVAILABLE", "same_call")], 0)
    ),
    "it tries the same twice more": ProxiedAgent(
        (), [("look", works_at(3))] * 3, Truth(3, 2, [("look", "SERVICE_UNAVAILABLE", "same_call")], 1)
    ),
    "it uses the tool that the failure names": ProxiedAgent(
        (), [("act", fails(NAMES_LOOK)), ("look", ok())], Truth(2, 1, [("act", "NOT_FOUND", "named_tool")], 0)
    ),
    "it uses the tool that it meant": ProxiedAgent(
        (),
        [("loook", fails("Unknown tool: loook")), ("look", ok())],
        Truth(2, 1, [("loook", "UNKNOWN_TOOL", "named_tool")], 0),
    ),
    "a search fails and a mail is sent": ProxiedAgent(
        (), [("look", fails(DOWN)), ("act", ok())], Truth(2, 1, [("look", "SERVICE_UNAVAILABLE", "moved_on")], 1)
    ),
    "it may not, and does something else": ProxiedAgent(
        (), [("act", fails(DENIED)), ("look", ok())], Truth(2, 1, [("act", "FORBIDDEN", "moved_on")], 1)
    ),
    "it may not, and does the same to something else": ProxiedAgent(
        (), [("act", fails(DENIED)), ("act", ok(2))], Truth(2, 1, [("act", "FORBIDDEN", "moved_on")], 1)
    ),
    "it gives up": ProxiedAgent((), [("act", fails(GONE))], Truth(1, 1, [("act", "NOT_FOUND", "unresolved")], 1)),
    "it goes round in circles": ProxiedAgent(
        (), [("act", fails(GONE))] * 3, Truth(3, 3, [("act", "NOT_FOUND", "looped")], 3)
    ),
    "it goes round in circles, then elsewhere": ProxiedAgent(
        (), [*[("act", fails(DENIED))] * 3, ("look", ok())], Truth(4, 3, [("act", "FORBIDDEN", "looped")], 3)
    ),
    "it does not repeat what may have happened": ProxiedAgent(
        (), [("act", fails(LATE))], Truth(1, 1, [("act", "UPSTREAM_TIMEOUT", "unresolved")], 1, 1)
    ),
    "it repeats what may have happened": ProxiedAgent(
        (), [("act", works_at(2))] * 2, Truth(2, 1, [("act", "SERVICE_UNAVAILABLE", "same_call")], 0, 0)
    ),
    "two failures at once": ProxiedAgent(
        (),
        [("act", fails(GONE)), ("act", fails(DENIED)), ("act", ok(2))],
        Truth(3, 2, [("act", "NOT_FOUND", "corrected"), ("act", "FORBIDDEN", "moved_on")], 1),
    ),
    "its client repairs the call": WrappedAgent(
        *("claim", [WRONG, FINE], {"inputSchema": TASK}, {"repair": True}, {"taskId": "t-1"}),
        Truth(1, 0, [("claim", "VALIDATION_FAILED", "by_repair")]),
    ),
    "its client has a fallback": WrappedAgent(
        *("rate", [LOST], SAFE, {"fallbacks": {"rate": lambda failure, arguments: "1.0, yesterday"}}, {"of": "EUR"}),
        Truth(1, 0, [("rate", "TIMEOUT", "by_fallback")]),
    ),
}
