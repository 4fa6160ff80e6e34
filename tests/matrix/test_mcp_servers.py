"""What only servers of the mcp SDK have: a protected class, and a low level where nothing was checked."""

import asyncio
import logging
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks, servers
from tests.matrix.cases import CASES, expected, settled

if "mcp" not in sdks.KINDS:
    pytest.skip("another SDK is tested", allow_module_level=True)

from failwell.integrations.mcp import ProtectedServer


def ask(kind: str, server: Any, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with sdks.client(kind, server) as call:
            return await call(name, arguments)

    return asyncio.run(run())


def seen(result: dict[str, Any]) -> fw.Failure:
    found = fw.read(result)
    assert found is not None
    return found


def test_a_server_can_be_protected_from_the_start() -> None:
    server = ProtectedServer("tasks", protection=fw.server.Protection(dialect="xml"))
    for function, how in servers.tools("mcp"):
        server.tool(**how)(function)

    found = ask("mcp", server, "declared")

    assert settled(found) == expected(CASES["raised on purpose"], "xml")
    with pytest.raises(ValueError, match="tasks is already protected"):
        fw.protect(server)


def test_a_subclass_that_refuses_calls_is_heard() -> None:
    base = type(sdks.new("mcp"))

    class Gated(base):
        async def call_tool(self, name: str, *args: Any, **kwargs: Any) -> Any:
            raise fw.Denied("Not today.")

    server = Gated("tasks")
    fw.protect(server)

    found = seen(ask("mcp", server, "text"))

    assert (found.code, found.message, found.origin) == ("FORBIDDEN", "Not today.", "declared")


def test_what_a_subclass_raises_after_a_tool_says_nothing_of_its_single_effect() -> None:
    base = type(sdks.new("mcp"))

    class Refused(base):
        async def call_tool(self, name: str, *args: Any, **kwargs: Any) -> Any:
            await super().call_tool(name, *args, **kwargs)
            raise ConnectionRefusedError(111, "Connection refused")

    server = Refused("tasks")
    server.tool("charge")(lambda: "charged")
    fw.protect(server, single_effect=["charge"])

    assert seen(ask("mcp", server, "charge")).outcome == "unknown"


class Lists:
    """A low-level server, protected before it has handlers, whose list and function can be set."""

    def __init__(self, tools: list[dict[str, Any]] | None, run: Any, *, early: bool) -> None:
        from mcp import types

        self.server = sdks.new("lowlevel")
        if early:
            fw.protect(self.server)
        listed = [types.Tool.model_validate(tool) for tool in tools or ()]
        if sdks.HAS_MCP_1:

            async def call(name: str, arguments: dict[str, Any]) -> Any:
                return run(name)

            async def list_tools() -> Any:
                return listed

            self.server.call_tool()(call)
            if tools is not None:
                self.server.list_tools()(list_tools)
        else:

            async def handle(ctx: Any, params: Any) -> Any:
                return run(params.name)

            async def handle_list(ctx: Any, params: Any) -> Any:
                return types.ListToolsResult(tools=listed)

            self.server.add_request_handler("tools/call", types.CallToolRequestParams, handle)
            if tools is not None:
                self.server.add_request_handler("tools/list", types.PaginatedRequestParams, handle_list)
        if not early:
            fw.protect(self.server)


ADD = {"name": "add", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
BAD = {"name": "bad", "inputSchema": {"type": "object", "properties": {"n": {"type": "intger"}}}}


def done(name: str) -> Any:
    return sdks.result({"content": [{"type": "text", "text": f"{name} is done"}]})


@pytest.mark.parametrize("early", [True, False], ids=["before", "after"])
def test_handlers_may_be_registered_before_or_after(early: bool) -> None:
    server = Lists([ADD], done, early=early).server

    assert ask("lowlevel", server, "add", {"n": 5})["content"][0]["text"] == "add is done"
    assert seen(ask("lowlevel", server, "add", {"n": "five"})).fields[0].path == "n"


def test_a_name_that_the_schema_does_not_mention_is_refused() -> None:
    server = Lists([ADD], done, early=True).server

    assert [problem.path for problem in seen(ask("lowlevel", server, "add", {"n": 5, "note": "x"})).fields] == ["note"]
    assert [problem.path for problem in seen(ask("lowlevel", server, "add", {"m": 5})).fields] == ["m", "n"]


def test_a_tool_that_is_not_listed_may_exist() -> None:
    server = Lists([ADD], done, early=True).server

    assert ask("lowlevel", server, "hidden")["content"][0]["text"] == "hidden is done"


def test_a_server_that_lists_nothing_has_crashes_and_no_unknown_tools() -> None:
    def crash(name: str) -> Any:
        raise KeyError(name)

    assert seen(ask("lowlevel", Lists(None, crash, early=True).server, "add")).code == "INTERNAL_ERROR"


def test_a_schema_that_is_wrong_checks_nothing_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    server = Lists([BAD], done, early=True).server
    if sdks.HAS_MCP_1:
        pytest.skip("mcp 1 checks by itself, and fails")

    with caplog.at_level(logging.WARNING, "failwell"):
        found = ask("lowlevel", server, "bad", {"n": 5})

    assert found["content"][0]["text"] == "bad is done"
    assert "a schema of tool bad is not used for checks: invalid schema of bad" in caplog.text


def test_results_of_steps_are_opened() -> None:
    results = {"ok": fw.succeed("fine"), "err": fw.fail(fw.Conflict("Taken.")), "exc": fw.Conflict("Taken.")}
    listed = [{"name": name, "inputSchema": {"type": "object"}} for name in results]
    server = Lists(listed, results.__getitem__, early=True).server

    assert ask("lowlevel", server, "ok")["content"] == [{"type": "text", "text": "fine"}]
    assert seen(ask("lowlevel", server, "err")).code == "CONFLICT"
    assert seen(ask("lowlevel", server, "exc")).code == "CONFLICT"
