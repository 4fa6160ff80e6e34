"""What only servers of fastmcp have: middleware, strict validation, mounted servers, timeouts."""

import asyncio
import logging
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks, servers
from tests.matrix.cases import CASES, WRONG, expected, settled

if "fastmcp" not in sdks.KINDS:
    pytest.skip("another SDK is tested", allow_module_level=True)

from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
from fastmcp.server.middleware.rate_limiting import RateLimitError

from failwell.integrations.fastmcp import FailwellMiddleware

VERSION = sdks.version("fastmcp")


def ask(server: Any, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with sdks.client("fastmcp", server) as call:
            return await call(name, arguments)

    return asyncio.run(run())


def seen(result: dict[str, Any]) -> fw.Failure:
    found = fw.read(result)
    assert found is not None
    return found


def test_the_middleware_can_be_added_by_hand() -> None:
    server = FastMCP("tasks", middleware=[FailwellMiddleware(dialect="xml")])
    for function, how in servers.tools("fastmcp"):
        server.tool(**how)(function)

    for name in ("raised on purpose", "a failure returned", "wrong arguments", "a result that breaks its schema"):
        case = CASES[name]
        assert settled(ask(server, case.tool, case.arguments)) == expected(case, "xml")


def test_a_server_with_the_middleware_is_protected_already() -> None:
    server = FastMCP("tasks", middleware=[FailwellMiddleware()])

    with pytest.raises(ValueError, match="tasks is protected already"):
        fw.protect(server)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "fastmcp" in case.kinds])
def test_an_error_handling_middleware_does_not_hide_failures(name: str) -> None:
    server = servers.bare("fastmcp", middleware=[ErrorHandlingMiddleware()])
    fw.protect(server, single_effect=["refused_once"])

    assert settled(ask(server, CASES[name].tool, CASES[name].arguments)) == expected(CASES[name])


@pytest.mark.parametrize("middleware", [ErrorHandlingMiddleware, RetryMiddleware])
def test_middleware_in_the_way_is_named(middleware: type[Middleware], caplog: pytest.LogCaptureFixture) -> None:
    fw.protect(FastMCP("tasks", middleware=[middleware()]))

    [record] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.getMessage().startswith(f"tasks has a {middleware.__name__}: ")


@pytest.mark.parametrize("middleware", [ErrorHandlingMiddleware, RetryMiddleware])
def test_middleware_that_came_after_is_named_once_when_a_tool_is_called(
    middleware: type[Middleware], caplog: pytest.LogCaptureFixture
) -> None:
    server = servers.protected("fastmcp")
    server.add_middleware(middleware())

    ask(server, "text")
    ask(server, "text")

    said = [record.getMessage() for record in caplog.records if record.name == "failwell" and record.levelno == 30]
    assert [text.partition(":")[0] for text in said] == [f"{server.name} has a {middleware.__name__}"]


def test_a_tool_that_a_middleware_hides_is_not_offered_to_who_called_another() -> None:
    class Hiding(Middleware):
        async def on_list_tools(self, context: Any, call_next: Any) -> Any:
            return [tool for tool in await call_next(context) if tool.name != "number"]

    server = servers.protected("fastmcp")
    open_to_all = seen(ask(server, "numbers"))
    server.add_middleware(Hiding())

    found = seen(ask(server, "numbers"))

    assert "number" in open_to_all.actions
    assert found.code == "UNKNOWN_TOOL"
    assert "number" not in found.actions
    assert "'number'" not in found.message


@pytest.mark.skipif(VERSION < (3,), reason="fastmcp 2 does not see why a tool failed")
def test_how_often_a_middleware_retried_is_told() -> None:
    server = FastMCP("tasks", middleware=[RetryMiddleware(max_retries=2, base_delay=0.001)])
    fw.protect(server)

    @server.tool
    def refused():
        raise ConnectionRefusedError(111, "no")

    found = ask(server, "refused")

    assert seen(found).code == "CONNECTION_REFUSED"
    assert found["_meta"]["dev.failwell/retry"] == {"attempts": 3}


def test_what_a_middleware_refuses_was_not_executed() -> None:
    class Full(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise RateLimitError("Rate limit exceeded")

    server = servers.protected("fastmcp")
    server.add_middleware(Full())

    found = seen(ask(server, "text"))

    assert (found.code, found.outcome, found.retryable) == ("RATE_LIMITED", "not_executed", True)


def test_strict_validation_reports_every_field() -> None:
    server = servers.protected("fastmcp", strict_input_validation=True)

    found = seen(ask(server, "claim", WRONG))

    assert (found.code, found.outcome) == ("VALIDATION_FAILED", "not_executed")
    assert {problem.path: problem.sent for problem in found.fields} == {
        "task": 5,
        "hours": "many",
        "mode": None,
        "mod": "fast",
    }


@pytest.mark.skipif(VERSION < (3,), reason="new in fastmcp 3")
def test_a_tool_that_runs_out_of_time_timed_out() -> None:
    server = FastMCP("tasks")
    fw.protect(server)

    @server.tool(timeout=0.01)
    async def slow() -> str:
        await asyncio.Event().wait()
        return "never"

    found = seen(ask(server, "slow"))

    assert (found.code, found.outcome) == ("TIMEOUT", "unknown")


def _with_child() -> tuple[Any, Any]:
    child, parent = servers.bare("fastmcp"), FastMCP("parent")
    parent.mount(child, **({"prefix": "sub"} if VERSION < (3,) else {"namespace": "sub"}))
    return parent, child


def test_failures_of_a_mounted_server_are_answered_by_its_parent() -> None:
    parent, _ = _with_child()
    fw.protect(parent)

    raised, crashed, wrong, body, unknown = (
        seen(ask(parent, f"sub_{tool}", arguments))
        for tool, arguments in (
            ("declared", {}),
            ("crash", {}),
            ("claim", WRONG),
            ("broken_upstream", {}),
            ("declard", {}),
        )
    )

    assert (raised.code, raised.tool) == ("NOT_FOUND", "sub_declared")
    assert (crashed.code, crashed.outcome) == ("INTERNAL_ERROR", "unknown")
    assert (wrong.code, {problem.path for problem in wrong.fields}) == (
        "VALIDATION_FAILED",
        {"task", "hours", "mode", "mod"},
    )
    assert body.code == "BAD_UPSTREAM_RESPONSE"
    assert (unknown.code, unknown.actions[0]) == ("UNKNOWN_TOOL", "sub_declared")


def test_a_mounted_server_that_is_protected_answers_in_its_own_dialect() -> None:
    parent, child = _with_child()
    fw.protect(parent, dialect="flat")
    fw.protect(child, dialect="xml")

    found = ask(parent, "sub_declared")

    assert settled(found) == expected(CASES["raised on purpose"], "xml")


def test_methods_are_protected_too() -> None:
    server = FastMCP("tasks")
    fw.protect(server)

    class Counter:
        def __call__(self, n: int) -> str:
            raise fw.Conflict(f"{n} is taken.")

    server.tool(Counter().__call__, name="counter")

    assert seen(ask(server, "counter", {"n": 5})).message == "5 is taken."
    assert [problem.path for problem in seen(ask(server, "counter", {"n": "x"})).fields] == ["n"]


def test_hidden_tools_are_not_offered() -> None:
    class Hiding(Middleware):
        async def on_list_tools(self, context: Any, call_next: Any) -> Any:
            return [tool for tool in await call_next(context) if tool.name != "declared"]

    server = servers.bare("fastmcp", middleware=[Hiding()])
    fw.protect(server)

    assert "declared" not in seen(ask(server, "declard")).actions
