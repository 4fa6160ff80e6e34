"""Idempotency keys on every SDK: one effect, the same answer, and a name for the tool that knows."""

import asyncio
from typing import Any

import pytest

import failwell as fw
from failwell.server import MemoryClaims
from tests.matrix import sdks
from tests.matrix.stdio import MODERN
from tests.matrix.test_http import served

KEY = "dev.failwell/idempotency_key"
REPLAYED = "dev.failwell/replayed"
ERA = pytest.mark.parametrize("era", sdks.ERAS)
HIGH = pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])
LOW = pytest.mark.skipif("lowlevel" not in sdks.KINDS, reason="this SDK has no low-level server")


def shop(kind: str, effects: list[int], **settings: Any) -> Any:
    server = sdks.new(kind, "shop")

    @fw.verified_by("get_payment")
    @fw.idempotent(MemoryClaims(), **settings)
    def pay(amount: int) -> dict[str, int]:
        effects.append(amount)
        if amount == 8:
            raise RuntimeError("lost the bank")
        return {"receipt": len(effects)}

    server.tool()(pay)
    fw.protect(server)
    return server


async def _calls(kind: str, server: Any, era: str, *calls: tuple[int, str | None]) -> list[dict[str, Any]]:
    async with sdks.client(kind, server, era) as call:
        return [await _pay(call, amount, key) for amount, key in calls]


async def _pay(call: Any, amount: int, key: str | None) -> dict[str, Any]:
    found: dict[str, Any] = await call("pay", {"amount": amount}, **({"meta": {KEY: key}} if key else {}))
    return found


@HIGH
@ERA
def test_an_effect_happens_once_for_a_key(kind: str, era: str) -> None:
    effects: list[int] = []
    key = "a" * 16

    first, again, other = asyncio.run(_calls(kind, shop(kind, effects), era, (5, key), (5, key), (6, key)))

    assert effects == [5]
    assert REPLAYED not in first.get("_meta", {})
    assert again.pop("_meta")[REPLAYED] is True
    first.pop("_meta", None)
    assert again == first
    failure = fw.read(other)
    assert failure is not None
    assert failure.code == "IDEMPOTENCY_MISMATCH"


@HIGH
@ERA
def test_what_is_unknown_stays_so_and_names_the_tool_that_knows(kind: str, era: str) -> None:
    effects: list[int] = []
    key = "a" * 16

    answers = asyncio.run(_calls(kind, shop(kind, effects), era, (8, key), (8, key)))

    assert effects == [8]
    failures = [fw.read(answer) for answer in answers]
    assert [failure.outcome for failure in failures if failure] == ["unknown", "unknown"]
    assert [failure.actions for failure in failures if failure] == [("get_payment",), ("get_payment",)]
    assert failures[1] is not None
    assert failures[1].code == "OUTCOME_UNKNOWN"


@HIGH
@ERA
def test_a_call_without_the_key_that_a_tool_requires_is_refused(kind: str, era: str) -> None:
    effects: list[int] = []

    (refused,) = asyncio.run(_calls(kind, shop(kind, effects, required=True), era, (5, None)))

    assert effects == []
    failure = fw.read(refused)
    assert failure is not None
    assert failure.code == "MISSING_REQUIRED_FIELD"


@LOW
@ERA
def test_a_low_level_server_takes_keys_for_the_tools_that_are_named(era: str) -> None:
    from mcp import types

    effects: list[Any] = []
    tool = types.Tool(name="pay", inputSchema={"type": "object", "properties": {"amount": {"type": "integer"}}})  # type: ignore[call-arg]  # the name on the wire, which both SDKs take
    server = sdks.new("lowlevel", "shop")
    if sdks.HAS_MCP_1:

        @server.list_tools()
        async def list_tools() -> Any:
            return [tool]

        @server.call_tool()
        async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
            effects.append(arguments["amount"])
            return [types.TextContent(type="text", text="paid")]

    else:

        async def listed(ctx: Any, params: Any) -> Any:
            return types.ListToolsResult(tools=[tool])

        async def called(ctx: Any, params: Any) -> Any:
            effects.append(params.arguments["amount"])
            return types.CallToolResult(content=[types.TextContent(type="text", text="paid")])

        server = sdks.new("lowlevel", "shop", on_list_tools=listed, on_call_tool=called)
    fw.protect(server, idempotent=["pay"], store=MemoryClaims())

    key = "a" * 16
    first, again = asyncio.run(_calls("lowlevel", server, era, (5, key), (5, key)))

    assert effects == [5]
    assert again["_meta"][REPLAYED] is True
    assert again["content"] == first["content"]


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="new in mcp 2")
@HIGH
def test_a_question_to_the_client_settles_nothing(kind: str) -> None:
    from mcp.types import InputRequiredResult

    server, asked = sdks.new(kind, "shop"), []

    @fw.idempotent(MemoryClaims())
    def pay(amount: int):
        asked.append(amount)
        if len(asked) < 3:
            return InputRequiredResult.model_validate({"inputRequests": {"roots": {"method": "roots/list"}}})
        return "paid"

    server.tool()(pay)
    fw.protect(server)
    keys = ["a" * 16, "a" * 16, "b" * 16, "b" * 16]

    async def ask() -> list[dict[str, Any]]:
        async with sdks.session(kind, server, "modern") as session:
            params = {"name": "pay", "arguments": {"amount": 5}}
            return [await _raw(session, "tools/call", {**params, "_meta": {KEY: key}}) for key in keys]

    answers = asyncio.run(ask())

    assert [answer["resultType"] for answer in answers] == ["input_required"] * 2 + ["complete"] * 2
    assert asked == [5, 5, 5]
    assert answers[3]["_meta"][REPLAYED] is True


async def _raw(session: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    inner = getattr(session, "session", session)
    found: dict[str, Any] = await inner._dispatcher.send_raw_request(
        method, {**params, "_meta": {**MODERN, **params["_meta"]}}
    )
    return found


@HIGH
@ERA
def test_over_http_without_a_principal_keys_are_refused(kind: str, era: str) -> None:
    effects: list[int] = []
    server = shop(kind, effects)

    with served(server.http_app() if kind == "fastmcp" else server.streamable_http_app()) as url:
        with_key, without = asyncio.run(_calls(kind, url, era, (5, "a" * 16), (6, None)))

    failure = fw.read(with_key)
    assert failure is not None
    assert (failure.code, failure.outcome) == ("UNAUTHORIZED", "not_executed")
    assert without["isError"] is False
    assert effects == [6]


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="new in mcp 2")
@LOW
def test_the_handle_of_a_task_is_replayed_as_the_same_handle() -> None:
    handles: list[int] = []

    async def call(ctx: Any, params: Any) -> dict[str, Any]:
        handles.append(1)
        return {"resultType": "task", "taskId": f"task-{len(handles)}", "status": "working"}

    server = sdks.new("lowlevel", "shop", on_call_tool=call)
    fw.protect(server, idempotent=["pay"], store=MemoryClaims())

    async def ask() -> list[dict[str, Any]]:
        async with sdks.session("lowlevel", server, "modern") as session:
            params = {"name": "pay", "arguments": {"amount": 5}, "_meta": {KEY: "a" * 16}}
            return [await _raw(session, "tools/call", params) for _ in range(2)]

    first, again = asyncio.run(ask())

    assert handles == [1]
    assert again.pop("_meta")[REPLAYED] is True
    first.pop("_meta", None)
    assert (first["taskId"], again) == ("task-1", first)
