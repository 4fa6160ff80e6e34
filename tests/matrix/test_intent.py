"""What an author meant arrives: errors raised on purpose, alone or in a group, and texts written for the caller."""

import asyncio
import inspect
import json
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

import failwell as fw
from tests.matrix import sdks

HIGH = [kind for kind in sdks.KINDS if kind != "lowlevel"]
CHARGED = "The card was charged, but the receipt timed out. Do not pay again."


def ask(kind: str, server: Any, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with sdks.client(kind, server) as call:
            return await call(name, arguments)

    return asyncio.run(run())


def protected(kind: str, function: Any, **settings: Any) -> Any:
    """Return a protected server with one tool."""
    server = low_level(function) if kind == "lowlevel" else sdks.new(kind)
    if kind != "lowlevel":
        server.tool()(function)
    fw.protect(server, **settings)
    return server


def low_level(function: Any) -> Any:
    """Return a low-level server with one tool, whose arguments are all texts."""
    from mcp.types import ListToolsResult, Tool

    names = list(inspect.signature(function).parameters)
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    listed = [Tool(name=function.__name__, inputSchema=schema)]

    async def run(name: str, arguments: dict[str, Any]) -> Any:
        value = function(**arguments)
        return await value if inspect.isawaitable(value) else value

    if not sdks.HAS_MCP_1:

        async def call(ctx: Any, params: Any) -> Any:
            return await run(params.name, params.arguments or {})

        async def list_tools(ctx: Any, params: Any) -> Any:
            return ListToolsResult(tools=listed)

        return sdks.new("lowlevel", on_call_tool=call, on_list_tools=list_tools)
    server = sdks.new("lowlevel")
    server.call_tool()(run)

    @server.list_tools()
    async def list_all() -> list[Tool]:
        return listed

    return server


def answer(
    kind: str, function: Any, arguments: dict[str, Any] | None = None, **settings: Any
) -> tuple[fw.Failure, str]:
    result = ask(kind, protected(kind, function, **settings), function.__name__, arguments)
    found = fw.read(result)
    assert found is not None
    return found, result["content"][0]["text"]


def rpc_error(message: str, data: Any) -> Exception:
    if sdks.HAS_MCP_1:
        from mcp import McpError
        from mcp.types import ErrorData

        return McpError(ErrorData(code=-32000, message=message, data=data))
    from mcp import MCPError

    return MCPError(code=-32000, message=message, data=data)


@pytest.mark.parametrize("kind", HIGH)
def test_what_an_author_says_is_not_overruled_by_the_cause(kind: str) -> None:
    def pay():
        raise sdks.tool_error(kind)(CHARGED) from ConnectionRefusedError(111, "x")

    failure, text = answer(kind, pay)

    assert failure.message == CHARGED
    assert (failure.retryable, failure.outcome) == (False, "unknown")
    assert text.startswith(CHARGED)
    assert fw.decide(failure).action != "retry"
    assert "make the same call again" not in text
    assert "safe to repeat" not in text


@pytest.mark.parametrize("kind", HIGH)
def test_a_text_that_says_nothing_known_is_sent_alone(kind: str) -> None:
    def pay():
        raise sdks.tool_error(kind)("Ask at the desk.") from TimeoutError("x")

    failure, text = answer(kind, pay)

    assert text == "Ask at the desk."
    assert (failure.code, failure.retryable, failure.outcome) == (None, None, "unknown")


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("kind", HIGH)
def test_a_group_with_one_failure_is_that_failure(kind: str, depth: int) -> None:
    async def fail() -> None:
        raise sdks.tool_error(kind)(CHARGED)

    async def nested(left: int) -> None:
        async with anyio.create_task_group() as group:
            if left > 1:
                group.start_soon(nested, left - 1)
            else:
                group.start_soon(fail)

    async def pay():
        await nested(depth)

    failure, text = answer(kind, pay)

    assert (failure.message, failure.retryable) == (CHARGED, False)
    assert text.startswith(CHARGED)


@pytest.mark.parametrize("kind", HIGH)
def test_of_several_failures_what_the_author_said_is_told_and_nothing_more_is_promised(kind: str) -> None:
    async def pay():
        raise ExceptionGroup(
            "x",
            [
                ConnectionRefusedError(111, "x"),
                sdks.tool_error(kind)("Rate limit exceeded, retry after 30 seconds"),
                KeyError("hunter2"),
            ],
        )

    failure, text = answer(kind, pay)

    assert failure.message == "Rate limit exceeded, retry after 30 seconds"
    assert (failure.retryable, failure.outcome, failure.retry_after) == (None, "unknown", 30)
    assert fw.decide(failure).action == "stop"
    assert "hunter2" not in text


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_a_failure_of_ours_in_a_group_keeps_what_it_says(kind: str) -> None:
    async def pay():
        raise ExceptionGroup("x", [fw.NotFound("No card c-1.", actions=["list_cards"]), TimeoutError()])

    failure, _ = answer(kind, pay)

    assert (failure.code, failure.message, failure.actions) == ("NOT_FOUND", "No card c-1.", ("list_cards",))
    assert (failure.retryable, failure.outcome) == (False, "unknown")


@pytest.mark.parametrize("dialect", ["meta", "compact", "envelope", "flat", "xml"])
@pytest.mark.parametrize("kind", sdks.KINDS)
def test_the_data_of_a_json_rpc_error_is_in_the_text(kind: str, dialect: str) -> None:
    def book():
        raise rpc_error("Seat 12A is taken.", {"free": ["12B"], "api_key": "sk-" + "a1b2c3d4" * 5})

    failure, text = answer(kind, book, dialect=dialect)

    assert "Seat 12A is taken." in text
    assert "12B" in text
    assert failure.details["free"] == ["12B"]
    assert "a1b2c3d4" not in text


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_data_that_is_no_json_changes_nothing_else(kind: str) -> None:
    def book():
        raise rpc_error("Seat 12A is taken.", {"free": object()})

    failure, _ = answer(kind, book)

    assert failure.message == "Seat 12A is taken."


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_what_a_service_sent_is_not_the_callers_fault(kind: str) -> None:
    def look_up():
        return json.loads("<html>502 Bad Gateway</html>")

    failure, _ = answer(kind, look_up)

    assert (failure.type, failure.outcome, failure.fields) == ("INTERNAL", "unknown", ())


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_an_argument_that_cannot_be_parsed_is_the_callers_fault(kind: str) -> None:
    def load(text: str):
        return json.loads(text)

    failure, _ = answer(kind, load, {"text": '{"a": 1,'})

    assert (failure.type, failure.code) == ("VALIDATION", "PARSE_ERROR")


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_data_that_the_tool_made_is_not_the_callers_fault(kind: str) -> None:
    class Order(BaseModel):
        n: int

    def order(text: str):
        return Order.model_validate({"n": "many " + text})

    failure, _ = answer(kind, order, {"text": "x"})

    assert (failure.type, failure.outcome, failure.fields) == ("INTERNAL", "unknown", ())


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_an_argument_that_the_body_refuses_is_the_callers_fault(kind: str) -> None:
    class Order(BaseModel):
        n: int

    def order(text: str):
        return Order(n=text)

    failure, _ = answer(kind, order, {"text": "many"})

    assert (failure.type, failure.code, failure.outcome) == ("VALIDATION", "VALIDATION_FAILED", "unknown")


@pytest.mark.parametrize("settings", [ValueError, (ValueError, KeyError), {"book": ValueError}], ids=str)
@pytest.mark.parametrize("kind", HIGH)
def test_a_text_written_for_the_caller_is_sent_if_the_author_says_so(kind: str, settings: Any) -> None:
    def book():
        raise ValueError("Seat 12A is taken; choose 12B.")

    _, kept = answer(kind, book)
    _, sent = answer(kind, book, public_errors=settings)

    assert "12B" not in kept
    assert sent == "Seat 12A is taken; choose 12B."


@pytest.mark.parametrize("kind", HIGH)
def test_texts_of_other_code_are_never_sent_with_it(kind: str) -> None:
    def book(how: str):
        if how == "builtin":
            return int("hunter2")
        if how == "library":
            return json.loads("hunter2")
        raise KeyError("hunter2")

    for how in ("builtin", "library", "another class"):
        _, text = answer(kind, book, {"how": how}, public_errors=ValueError)
        assert "hunter2" not in text


@pytest.mark.parametrize("kind", HIGH)
def test_public_errors_of_another_tool_do_not_count(kind: str) -> None:
    def book():
        raise ValueError("Seat 12A is taken.")

    def pay():
        raise ValueError("Card c-1 has expired.")

    server = sdks.new(kind)
    server.tool()(book)
    server.tool()(pay)
    fw.protect(server, public_errors={"pay": ValueError})

    assert "12A" not in ask(kind, server, "book")["content"][0]["text"]
    assert "Card c-1 has expired." in ask(kind, server, "pay")["content"][0]["text"]


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_a_rule_can_hold_for_one_server(kind: str) -> None:
    class SeatTaken(ValueError):
        pass

    def book():
        raise SeatTaken("12A")

    ours, other = protected(kind, book), protected(kind, book)
    with fw.rule(SeatTaken, lambda exc: {"code": "CONFLICT", "message": f"Seat {exc} is taken."}, server=ours):
        here, there = fw.read(ask(kind, ours, "book")), fw.read(ask(kind, other, "book"))
    after = fw.read(ask(kind, ours, "book"))

    assert here is not None
    assert there is not None
    assert after is not None
    assert (here.code, here.message) == ("CONFLICT", "Seat 12A is taken.")
    assert there.code == after.code == "INTERNAL_ERROR"
