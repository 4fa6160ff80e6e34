"""What a server says of its tools during a session may take the right to repeat a call away, and never gives it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import failwell as fw
from tests.client.scripted import FINE, LOST, Naps, Scripted, never, rpc
from tests.matrix import sdks

SAFE = {"readOnlyHint": True}
IDEMPOTENT = {"idempotentHint": True}
UNSAFE = {"readOnlyHint": False, "idempotentHint": False}
WIDENED = pytest.mark.parametrize(
    ("before", "after"),
    [({}, SAFE), ({}, IDEMPOTENT), (UNSAFE, SAFE), (None, SAFE), (UNSAFE, {"read_only": True, "idempotent": True})],
    ids=str,
)
Steps = Callable[[Any], Awaitable[Any]]


class Changing(Scripted):
    """A server whose tool `pay` loses its first two answers, and is described anew whenever it is told so."""

    def __init__(self, annotations: Any, **described: Any) -> None:
        super().__init__()
        self.heard = anyio.Event()
        more = {} if annotations is None else {"annotations": annotations}
        self.tool("pay", LOST, LOST, FINE, **more, **described)

    async def describe(self, **described: Any) -> None:
        """Change what is said of the tool, and tell the client so."""
        self.pages[0][0].update(described)
        self.heard = anyio.Event()
        await self.tools_changed()
        with anyio.fail_after(30):
            await self.heard.wait()

    async def handler(self, message: Any) -> None:
        self.heard.set()


def wrapped(server: Changing, steps: Steps, **options: Any) -> Any:
    async def main() -> Any:
        async with server.connected(message_handler=server.handler) as session:
            return await steps(fw.wrap(session, **{"sleep": Naps(), "chance": never, **options}))

    return anyio.run(main)


def installed(server: Changing, steps: Steps, **options: Any) -> Any:
    async def main() -> Any:
        async with server.connected(message_handler=server.handler) as session:
            return await steps(session)

    fw.install(**{"sleep": Naps(), "chance": never, **options})
    try:
        return anyio.run(main)
    finally:
        fw.uninstall()


WAYS = pytest.mark.parametrize("connected", [wrapped, installed], ids=["wrap", "install"])


@WAYS
@WIDENED
def test_a_changed_annotation_gives_no_right_to_repeat(connected: Any, before: Any, after: Any) -> None:
    server = Changing(before)

    async def steps(session: Any) -> None:
        await session.call_tool("pay")
        await server.describe(annotations=after)
        await session.call_tool("pay")

    connected(server, steps)

    assert server.count("pay") == 2


@WAYS
@WIDENED
def test_what_the_agent_was_listed_counts_from_then_on(connected: Any, before: Any, after: Any) -> None:
    server = Changing(before)

    async def steps(session: Any) -> None:
        await session.list_tools()
        server.pages[0][0]["annotations"] = after  # without a word
        await session.call_tool("pay")

    connected(server, steps)

    assert server.count("pay") == 1


@WAYS
@pytest.mark.parametrize(("has_changed", "calls"), [(False, 3), (True, 1)], ids=["as listed", "changed since"])
def test_what_the_agent_was_listed_counts_if_the_tools_cannot_be_listed_again(
    connected: Any, has_changed: bool, calls: int
) -> None:
    server = Changing(SAFE)

    async def steps(session: Any) -> None:
        await session.list_tools()
        server.listing_error = rpc(-32603, "no list today")
        if has_changed:
            await server.describe(annotations=UNSAFE)
        await session.call_tool("pay")

    connected(server, steps)

    assert server.count("pay") == calls


@WAYS
def test_a_right_that_was_taken_away_does_not_come_back(connected: Any) -> None:
    server = Changing(SAFE)

    async def steps(session: Any) -> None:
        await session.list_tools()
        for annotations in ({}, SAFE):
            server.pages[0][0]["annotations"] = annotations
            await session.list_tools()
        await session.call_tool("pay")

    connected(server, steps)

    assert server.count("pay") == 1


@WAYS
def test_a_right_that_was_taken_away_is_gone_at_once(connected: Any) -> None:
    server = Changing(SAFE)
    steps_slept = list[float]()

    async def sleep(seconds: float) -> None:
        steps_slept.append(seconds)
        await server.describe(annotations=UNSAFE)  # between two tries of one call

    async def steps(session: Any) -> None:
        await session.call_tool("pay")

    connected(server, steps, sleep=sleep)

    assert (server.count("pay"), len(steps_slept)) == (2, 1)


@WAYS
def test_a_tool_that_is_removed_and_comes_back_is_the_one_it_was(connected: Any) -> None:
    server = Changing({})

    async def steps(session: Any) -> None:
        await session.list_tools()
        described = server.pages[0].pop()
        await session.list_tools()
        server.pages[0].append({**described, "annotations": SAFE})
        await session.call_tool("pay")

    connected(server, steps)

    assert server.count("pay") == 1


@WAYS
def test_another_session_begins_anew(connected: Any) -> None:
    for annotations, calls in (({}, 1), (SAFE, 3)):
        server = Changing(annotations)

        async def steps(session: Any) -> None:
            await session.call_tool("pay")

        connected(server, steps)
        assert server.count("pay") == calls


@WAYS
def test_a_changed_schema_gives_no_right_to_a_corrected_call(connected: Any) -> None:
    wrong = fw.encode(fw.Failure(code="INVALID_INPUT", message="task_id is missing.", outcome="rejected"))
    before = {"type": "object", "properties": {"taskId": {"type": "string"}}}
    after = {"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"],
             "additionalProperties": False}  # fmt: skip

    def calls(first: dict[str, Any]) -> int:
        server = Changing({}, inputSchema=first)
        server.answers["pay"] = [wrong]

        async def steps(session: Any) -> None:
            await session.list_tools()
            server.pages[0][0]["inputSchema"] = after
            await session.call_tool("pay", {"taskId": "t-1"})

        connected(server, steps, repair=True)
        return server.count("pay")

    assert (calls(before), calls(after)) == (1, 2)


@pytest.mark.parametrize("is_listed", [True, False], ids=["listed before", "not listed before"])
def test_a_server_on_a_new_connection_may_take_the_right_away(*, is_listed: bool) -> None:
    servers = [Scripted(), Scripted()]
    servers[0].tool("pay", LOST, FINE, lambda _: servers[0].notify.aclose, annotations=SAFE)
    servers[1].tool("pay", LOST, FINE, annotations=UNSAFE)
    opened = iter(servers)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Any]:
        async with next(opened).connected() as session:
            yield session

    async def main() -> Any:
        async with connect() as first:
            session = fw.wrap(first, reconnect=connect, sleep=Naps(), chance=never)
            if is_listed:
                await session.list_tools()
            return [await session.call_tool("pay", {}) for _ in range(3)]

    read, lost, unanswered = anyio.run(main)

    assert not getattr(read, "failure", None)
    assert (lost.failure.outcome, unanswered.failure.outcome) == ("unknown", "unknown")
    assert [server.count("pay") for server in servers] == [3, 1]


def test_a_caller_that_is_given_descriptions_pins_them_too() -> None:
    calls = list[int]()

    async def make(arguments: dict[str, Any]) -> Any:
        calls.append(1)
        return LOST

    async def main() -> None:
        caller = fw.client.Caller(sleep=Naps(), chance=never)
        for annotations in ({}, SAFE):
            description = {"name": "pay", "annotations": annotations}
            await caller.run(make, server="bank", tool="pay", description=description)
        await caller.run(make, server="other", tool="pay", description={"name": "pay", "annotations": SAFE})

    anyio.run(main)

    assert len(calls) == 1 + 1 + 3


@pytest.mark.skipif("fastmcp" not in sdks.KINDS, reason="fastmcp is not installed")
def test_a_client_of_fastmcp_pins_what_it_was_listed() -> None:
    import fastmcp

    server = fastmcp.FastMCP("bank")
    calls = list[int]()

    def pay() -> str:
        calls.append(1)
        raise ConnectionResetError("the upstream did not answer")

    def describe(hint: bool) -> None:
        server.tool(name="pay", annotations={"idempotentHint": hint})(pay)

    async def main() -> None:
        describe(False)
        fw.protect(server)
        async with fastmcp.Client(server) as client:
            fw.wrap(client, sleep=Naps(), chance=never)
            await client.list_tools()
            getattr(server, "local_provider", server).remove_tool("pay")
            describe(True)
            await client.call_tool_mcp("pay", {})

    anyio.run(main)

    assert len(calls) == 1
