"""Servers whose tools change, or differ from client to client: no call is judged by a list that is not the caller's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks

ERA = pytest.mark.parametrize("era", sdks.ERAS)
HIGH = pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])
LOW = pytest.mark.skipif("lowlevel" not in sdks.KINDS, reason="this SDK has no low-level server")


def tool(name: str, schema: dict[str, Any], **more: Any) -> Any:
    from mcp.types import Tool

    return Tool(name=name, inputSchema={"type": "object", **schema}, **more)


def one_of(*values: str) -> dict[str, Any]:
    return {"properties": {"team": {"enum": list(values)}}, "required": ["team"]}


IS_CALL = ContextVar("is_call", default=False)
"""Whether a call is being handled: a server of mcp 1 that is asked for its list does not know why."""


class Tenants:
    """A protected low-level server that counts its clients and asks, for each of them, what it lists and answers."""

    def __init__(
        self, lists: Callable[[int], list[Any]], answers: Callable[[int, str, dict[str, Any]], Any], **settings: Any
    ) -> None:
        self.listings = 0
        self.fails_within_calls = False
        self._clients = 0
        self._lists, self._answers = lists, answers
        self.server = self._mcp_1() if sdks.HAS_MCP_1 else self._mcp_2()
        fw.protect(self.server, **settings)
        if sdks.HAS_MCP_1:
            self._note_calls()

    @asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncIterator[int]:
        self._clients += 1
        yield self._clients

    def listed(self, client: int, *, is_call: bool) -> list[Any]:
        self.listings += 1
        if is_call and self.fails_within_calls:
            raise ConnectionError("the list is elsewhere")
        return self._lists(client)

    def _mcp_1(self) -> Any:
        server = sdks.new("lowlevel", lifespan=self.lifespan)

        @server.list_tools()
        async def list_tools() -> list[Any]:
            return self.listed(server.request_context.lifespan_context, is_call=IS_CALL.get())

        @server.call_tool()
        async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
            answer = self._answers(server.request_context.lifespan_context, name, arguments)
            return answer.get("structuredContent") or sdks.result(answer)

        return server

    def _note_calls(self) -> None:
        from mcp.types import CallToolRequest

        handler = self.server.request_handlers[CallToolRequest]

        async def handle(request: Any) -> Any:
            IS_CALL.set(True)
            return await handler(request)

        self.server.request_handlers[CallToolRequest] = handle

    def _mcp_2(self) -> Any:
        from mcp.types import ListToolsResult

        async def list_tools(ctx: Any, params: Any) -> Any:
            return ListToolsResult(tools=self.listed(ctx.lifespan_context, is_call=ctx.method == "tools/call"))

        async def call_tool(ctx: Any, params: Any) -> Any:
            return sdks.result(self._answers(ctx.lifespan_context, params.name, params.arguments or {}))

        return sdks.new("lowlevel", lifespan=self.lifespan, on_call_tool=call_tool, on_list_tools=list_tools)

    def ask(self, era: str, *steps: tuple[int, str, dict[str, Any]] | Callable[[], Any]) -> list[Any]:
        """Return what clients get: each step is a client, a tool and its arguments, or something to be done."""

        async def run() -> list[Any]:
            async with AsyncExitStack() as stack:
                most = max(step[0] for step in steps if isinstance(step, tuple))
                calls = [
                    await stack.enter_async_context(sdks.client("lowlevel", self.server, era)) for _ in range(most)
                ]
                return [
                    await calls[step[0] - 1](step[1], step[2]) if isinstance(step, tuple) else step() for step in steps
                ]

        return asyncio.run(run())


def fine(client: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{name} of {client}"}]}


def texts(results: list[Any]) -> list[str]:
    return [result["content"][0]["text"] for result in results if result is not None]


@LOW
@ERA
def test_a_value_that_the_list_allows_by_now_is_not_refused(era: str) -> None:
    teams = ["red"]
    tenants = Tenants(lambda _: [tool("join", one_of(*teams))], fine)

    results = tenants.ask(
        era, (1, "join", {"team": "red"}), lambda: teams.append("blue"), (1, "join", {"team": "blue"})
    )

    assert texts(results) == ["join of 1"] * 2


@LOW
@ERA
def test_a_value_that_a_schema_allows_since_it_was_changed_in_place_is_not_refused(era: str) -> None:
    listed = tool("join", one_of("red"))
    teams = (listed.inputSchema if sdks.HAS_MCP_1 else listed.input_schema)["properties"]["team"]["enum"]
    tenants = Tenants(lambda _: [listed], fine)

    results = tenants.ask(
        era, (1, "join", {"team": "red"}), lambda: teams.append("blue"), (1, "join", {"team": "blue"})
    )

    assert texts(results) == ["join of 1"] * 2


@LOW
@ERA
def test_a_value_that_the_list_does_not_allow_any_more_is_refused_with_the_new_ones(era: str) -> None:
    teams = ["red"]
    tenants = Tenants(lambda _: [tool("join", one_of(*teams))], fine)

    def rename() -> None:
        teams[:] = ["blue"]

    *_, refused = tenants.ask(era, (1, "join", {"team": "red"}), rename, (1, "join", {"team": "green"}))

    failure = fw.read(refused)
    assert failure is not None
    assert failure.fields[0].options == ("blue",)


@LOW
@ERA
def test_no_client_is_judged_by_the_list_of_another(era: str) -> None:
    tenants = Tenants(lambda client: [tool("join", one_of("crimson" if client == 1 else "blue"))], fine)
    red, blue = {"team": "crimson"}, {"team": "blue"}

    first, second, third, fourth, refused = tenants.ask(
        era, (1, "join", red), (2, "join", blue), (1, "join", red), (2, "join", blue), (2, "join", {"team": "green"})
    )

    assert texts([first, second, third, fourth]) == ["join of 1", "join of 2"] * 2
    failure = fw.read(refused)
    assert failure is not None
    assert failure.fields[0].options == ("blue",)
    assert "crimson" not in str(refused)


@LOW
@ERA
def test_no_client_is_offered_the_tools_of_another(era: str) -> None:
    def answer(client: int, name: str, arguments: dict[str, Any]) -> Any:
        if name == "find_payrol":
            raise ValueError(name)
        return fine(client, name, arguments)

    tenants = Tenants(lambda client: [tool("find_payroll" if client == 1 else "find_holiday", {})], answer)

    *_, unknown = tenants.ask(era, (1, "find_payroll", {}), (2, "find_payrol", {}))

    failure = fw.read(unknown)
    assert failure is not None
    assert failure.code == "UNKNOWN_TOOL"
    assert "find_holiday" in str(unknown)
    assert "find_payroll" not in str(unknown)


@LOW
@ERA
def test_no_result_is_judged_by_the_output_schema_of_another_client(era: str) -> None:
    def listed(client: int) -> list[Any]:
        name = "total" if client == 1 else "count"
        return [tool("sum", {}, outputSchema={"type": "object", "required": [name]})]

    def answer(client: int, name: str, arguments: dict[str, Any]) -> Any:
        return {**fine(client, name, arguments), "structuredContent": {"total" if client == 1 else "count": 5}}

    results = Tenants(listed, answer).ask(era, (1, "sum", {}), (2, "sum", {}), (1, "sum", {}))

    assert [result["structuredContent"] for result in results] == [{"total": 5}, {"count": 5}, {"total": 5}]


@LOW
@ERA
def test_no_client_is_told_to_repeat_a_call_because_the_tool_of_another_may_be(era: str) -> None:
    def listed(client: int) -> list[Any]:
        return [tool("pay", {}, annotations=sdks.annotations(idempotentHint=client == 1, readOnlyHint=False))]

    def answer(client: int, name: str, arguments: dict[str, Any]) -> Any:
        raise ConnectionRefusedError("no route")

    first, second = map(fw.read, Tenants(listed, answer).ask(era, (1, "pay", {}), (2, "pay", {})))

    assert first is not None
    assert second is not None
    assert (first.outcome, second.outcome) == ("not_executed", "unknown")


@LOW
@ERA
def test_a_list_that_fails_refuses_nothing(era: str) -> None:
    tenants = Tenants(lambda _: [tool("join", one_of("red"))], fine)

    def fail() -> None:
        tenants.fails_within_calls = True

    results = tenants.ask(era, (1, "join", {"team": "red"}), fail, (1, "join", {"team": "blue"}))

    assert texts(results) == ["join of 1"] * 2


@LOW
@ERA
def test_calls_that_pass_cost_no_list_each(era: str) -> None:
    tenants = Tenants(lambda _: [tool("join", one_of("red"))], fine)

    tenants.ask(era, *[(1, "join", {"team": "red"})] * 20)

    assert tenants.listings <= 3


@LOW
def test_failures_that_an_author_raised_cost_a_session_no_list_each() -> None:
    def missing(client: int, name: str, arguments: dict[str, Any]) -> Any:
        raise fw.NotFound("There is no such team.")

    tenants = Tenants(lambda _: [tool("join", one_of("red"))], missing)

    found = tenants.ask("handshake", *[(1, "join", {"team": "red"})] * 20)

    assert {fw.read(one).message for one in found} == {"There is no such team."}
    assert tenants.listings <= 3


@HIGH
def test_a_tool_that_was_replaced_is_judged_by_what_it_is_now(kind: str) -> None:
    server = sdks.new(kind)
    fw.protect(server)

    def early(team: int) -> str:
        return f"early {team}"

    def late(team: str, colour: str) -> str:
        return f"late {team} {colour}"

    async def run() -> list[Any]:
        server.tool(name="join")(early)
        async with sdks.client(kind, server) as call:
            before = [await call("join", {"team": 1}), await call("join", {"team": "x"})]
            getattr(server, "local_provider", server).remove_tool("join")
            server.tool(name="join")(late)
            return [*before, await call("join", {"team": "x", "colour": "y"}), await call("join", {"team": "x"})]

    passed, refused, passed_now, refused_now = asyncio.run(run())

    assert texts([passed, passed_now]) == ["early 1", "late x y"]
    assert [[problem.path for problem in (fw.read(one) or fw.Failure(message="")).fields] for one in
            (refused, refused_now)] == [["team"], ["colour"]]  # fmt: skip


@HIGH
def test_a_tool_that_was_removed_is_unknown_and_one_that_was_added_is_offered(kind: str) -> None:
    server = sdks.new(kind)
    fw.protect(server)

    def join() -> str:
        return "joined"

    async def run() -> list[Any]:
        server.tool(name="join")(join)
        async with sdks.client(kind, server) as call:
            before = await call("join")
            getattr(server, "local_provider", server).remove_tool("join")
            server.tool(name="joint")(join)
            return [before, await call("join"), await call("joint")]

    before, removed, added = asyncio.run(run())

    failure = fw.read(removed)
    assert texts([before, added]) == ["joined"] * 2
    assert failure is not None
    assert (failure.code, failure.actions or failure.fields[0].options) == ("UNKNOWN_TOOL", ("joint",))
