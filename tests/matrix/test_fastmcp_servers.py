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
from fastmcp.tools import Tool
from fastmcp.tools.tool_transform import ArgTransform, forward

from failwell.integrations.fastmcp import FailwellMiddleware

VERSION = sdks.version("fastmcp")
if VERSION >= (3,):
    from fastmcp.server import create_proxy


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


def test_what_fails_after_a_tool_says_nothing_of_its_single_effect() -> None:
    class Refused(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            await call_next(context)
            raise ConnectionRefusedError(111, "Connection refused")

    server = FastMCP("tasks", middleware=[Refused()])

    @server.tool
    def charge() -> str:
        return "charged"

    @server.tool
    def refused() -> str:
        raise ConnectionRefusedError(111, "Connection refused")

    fw.protect(server, single_effect=["charge", "refused"])

    assert seen(ask(server, "charge")).outcome == "unknown"
    assert seen(ask(server, "refused")).outcome == "not_executed"


def test_a_middleware_made_of_ours_may_have_hooks_of_its_own() -> None:
    heard: list[str] = []

    class Listening(FailwellMiddleware):
        async def on_request(self, context: Any, call_next: Any) -> Any:
            heard.append(context.method)
            return await call_next(context)

    server = FastMCP("tasks", middleware=[Listening()])
    for function, how in servers.tools("fastmcp"):
        server.tool(**how)(function)
    case = CASES["raised on purpose"]

    assert settled(ask(server, case.tool, case.arguments)) == expected(case)
    assert "tools/call" in heard


def test_a_server_with_the_middleware_is_protected_already() -> None:
    server = FastMCP("tasks", middleware=[FailwellMiddleware()])

    with pytest.raises(ValueError, match="tasks is already protected"):
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


def _claim(task: str, hours: int) -> str:
    if task == "returned":
        return fw.fail(fw.NotFound("No such task."))  # type: ignore[return-value]  # what is tested
    if task == "refused":
        raise fw.Invalid("Too many hours.", fields=[fw.FieldProblem(path="hours", message="at most 8")])
    return "done"


async def _own(job: str, duration: int) -> Any:
    if job == "own":
        return fw.fail(fw.Conflict("Somebody has it."))
    return await forward(job=job, duration=duration)


def _transformed(**how: Any) -> Any:
    changes = {"task": ArgTransform(name="job"), "hours": ArgTransform(name="duration")}
    server = FastMCP("tasks")
    server.add_tool(Tool.from_tool(Tool.from_function(_claim), name="take", transform_args=changes, **how))
    fw.protect(server)
    return server


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({"job": "a", "duration": "many"}, {"duration": "type"}),
        ({"job": "a"}, {"duration": "missing"}),
        ({"job": "a", "duration": 1, "hours": 2}, {"hours": "unknown"}),
        ({"job": "refused", "duration": 9}, {"duration": None}),
    ],
    ids=["type", "missing", "unknown", "from the body"],
)
@pytest.mark.parametrize("how", [{}, {"transform_fn": _own}], ids=["arguments only", "a function of its own"])
def test_transformed_arguments_have_the_names_that_the_caller_knows(
    how: dict[str, Any], arguments: dict[str, Any], problems: dict[str, Any]
) -> None:
    found = seen(ask(_transformed(**how), "take", arguments))

    assert found.type == "VALIDATION"
    assert {problem.path: problem.kind for problem in found.fields} == problems


def test_a_sentence_about_transformed_arguments_has_the_names_that_the_caller_knows() -> None:
    server = FastMCP("tasks")
    as_text = {"hours": ArgTransform(name="duration", type=str)}
    server.add_tool(Tool.from_tool(Tool.from_function(_claim), name="take", transform_args=as_text))
    fw.protect(server)

    found = seen(ask(server, "take", {"task": "a", "duration": "many"}))

    assert found.message == "duration: Expected integer, received string"


def test_what_a_transformed_tool_returns_is_looked_at() -> None:
    server = _transformed(transform_fn=_own)

    returned, own = (seen(ask(server, "take", {"job": job, "duration": 1})) for job in ("returned", "own"))

    assert (returned.code, returned.message) == ("NOT_FOUND", "No such task.")
    assert (own.code, own.message) == ("CONFLICT", "Somebody has it.")


def _proxy(remote: Any) -> Any:
    return FastMCP.as_proxy(remote) if VERSION < (3,) else create_proxy(remote)


def test_failures_of_a_remote_server_are_structured() -> None:
    proxy = _proxy(servers.bare("fastmcp"))
    fw.protect(proxy)

    limited = ask(proxy, "sdk_error")
    missing, wrong = seen(ask(proxy, "declared")), seen(ask(proxy, "claim", WRONG))

    assert limited["_meta"]["dev.failwell/failure"]["code"] == "RATE_LIMITED"
    assert seen(limited).retry_after == 30
    assert missing.code == "NOT_FOUND"
    assert (wrong.code, {problem.path for problem in wrong.fields}) == (
        "VALIDATION_FAILED",
        {"task", "hours", "mode", "mod"},
    )
    assert seen(ask(proxy, "sdk_errr")).code == "UNKNOWN_TOOL"


@pytest.mark.skipif(VERSION < (3,), reason="fastmcp 2 passes on nothing but the text")
def test_what_a_protected_remote_server_says_passes_unchanged() -> None:
    remote = servers.protected("fastmcp")
    proxy = _proxy(remote)
    fw.protect(proxy)

    assert settled(ask(proxy, "declared")) == settled(ask(remote, "declared"))
    assert settled(ask(proxy, "warned")) == settled(ask(remote, "warned"))


def test_a_remote_server_that_is_down_is_a_failure_that_may_pass() -> None:
    remote = servers.bare("fastmcp")
    proxy = _proxy(remote)
    fw.protect(proxy)

    async def run() -> dict[str, Any]:
        async with sdks.client("fastmcp", proxy) as call:
            await call("text")

            async def down(*_: Any, **__: Any) -> Any:
                raise ConnectionRefusedError(111, "hunter2")

            remote._mcp_server.run = down
            return await call("text")

    result = asyncio.run(run())

    assert result["isError"]
    assert "hunter2" not in str(result)


@pytest.mark.skipif(VERSION < (3,), reason="fastmcp 2 looks for the tools of remote servers in another way")
def test_the_tools_of_a_remote_server_that_was_never_reached_are_not_called_unknown() -> None:
    parent = FastMCP("parent")
    parent.mount(_proxy("http://127.0.0.1:9/mcp"), namespace="sub")
    fw.protect(parent)

    failure = seen(ask(parent, "sub_pay"))

    assert (failure.type, failure.outcome) == ("TRANSIENT", "not_executed")
    assert failure.code in (
        "CONNECTION_FAILED",
        "CONNECTION_REFUSED",
    )  # a wrapped client knows more


@pytest.mark.parametrize("tool", ["returned", "returned_err"])
def test_failures_that_a_mounted_server_returns_need_no_second_line(tool: str) -> None:
    parent, _ = _with_child()
    fw.protect(parent)

    assert seen(ask(parent, f"sub_{tool}")).message == "Task 't-9' does not exist."


def test_failures_of_a_mounted_remote_server_are_structured() -> None:
    parent = FastMCP("parent")
    parent.mount(_proxy(servers.bare("fastmcp")), **({"prefix": "sub"} if VERSION < (3,) else {"namespace": "sub"}))
    fw.protect(parent)

    found = ask(parent, "sub_sdk_error")

    assert found["_meta"]["dev.failwell/failure"]["code"] == "RATE_LIMITED"
