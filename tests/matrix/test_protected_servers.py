"""How a protected server behaves besides its failures: settings, observers, misuse, what is added later."""

import asyncio
import json
import logging
from importlib import metadata
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks, servers
from tests.matrix.cases import CASES, expected, settled

EVERY = pytest.mark.parametrize("kind", sdks.KINDS)
HIGH = pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])


def ask(kind: str, server: Any, *calls: tuple[Any, ...], **how: Any) -> list[dict[str, Any]]:
    """Return the results of some calls, each a name and perhaps arguments."""

    async def run() -> list[dict[str, Any]]:
        async with sdks.client(kind, server) as call:
            return [await call(*given, **how) for given in calls]

    return asyncio.run(run())


def seen(result: dict[str, Any]) -> fw.Failure:
    found = fw.read(result)
    assert found is not None
    return found


@EVERY
def test_says_in_one_sentence_what_it_did(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    server = servers.bare(kind)

    with caplog.at_level(logging.INFO, "failwell"):
        protection = fw.protect(server, dialect="xml")

    assert protection.says.startswith("Failures of tasks are answered in the dialect xml: ")
    assert protection.says in caplog.text
    assert repr(protection) == f"<Protection: {protection.says}>"


@HIGH
@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
def test_a_failure_that_is_returned_encoded_is_a_failure(kind: str, dialect: str) -> None:
    def encoded() -> Any:
        return fw.encode(servers.MISSING, dialect)

    def about_it() -> dict[str, Any]:
        return {"last": fw.encode(servers.MISSING, dialect)}

    server = sdks.new(kind)
    for tool in (encoded, about_it):
        server.tool()(tool)
    events: list[fw.records.Event] = []
    fw.protect(server, observers=[events.append])

    failed, succeeded = ask(kind, server, ("encoded",), ("about_it",))

    assert seen(failed) == servers.MISSING.failure.replace(tool="encoded", suggestion="Call list_tasks.")
    assert (failed["isError"], succeeded["isError"]) == (True, False)
    assert [event.kind for event in events] == ["failure", "success"]


@EVERY
def test_protecting_twice_is_refused_and_changes_nothing(kind: str) -> None:
    server = servers.protected(kind)

    with pytest.raises(ValueError, match="tasks is already protected"):
        fw.protect(server, dialect="xml")

    [found] = ask(kind, server, ("declared",))
    assert settled(found) == expected(CASES["raised on purpose"])


@EVERY
def test_an_unsupported_version_is_refused_and_nothing_is_changed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = servers.bare(kind)
    monkeypatch.setattr(metadata, "version", lambda package: "9.1.0")

    with pytest.raises(ValueError, match=r"protect supports \w+ from [\d.]+ to below \d, not 9.1.0"):
        fw.protect(server)

    monkeypatch.undo()
    assert "dev.failwell/failure" not in json.dumps(ask(kind, server, ("text",), ("by_hand",)))
    assert fw.protect(server).says


@EVERY
@pytest.mark.parametrize(
    ("settings", "error", "why"),
    [
        ({"dialect": "flt"}, ValueError, "did you mean 'flat'"),
        ({"dialects": {"claim": "flt"}}, ValueError, "did you mean 'flat'"),
        ({"colour": "red"}, TypeError, "colour"),
        ({"raises": {"claim": ["NOT A CODE"]}}, ValueError, "not a code"),
        ({"single_effect": "claim"}, TypeError, "names of tools"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_and_the_server_can_still_be_protected(
    kind: str, settings: dict[str, Any], error: type[Exception], why: str
) -> None:
    server = servers.bare(kind)

    with pytest.raises(error, match=why):
        fw.protect(server, **settings)

    fw.protect(server)
    assert seen(ask(kind, server, ("declared",))[0]).code == "NOT_FOUND"


@EVERY
def test_a_tool_can_have_its_own_dialect(kind: str) -> None:
    server = servers.protected(kind, {"dialect": "meta", "dialects": {"declared": "xml"}})

    own, other = ask(kind, server, ("declared",), ("crash",))

    assert settled(own) == expected(CASES["raised on purpose"], "xml")
    assert settled(other) == expected(CASES["a crash"], "meta")


@EVERY
@pytest.mark.parametrize(
    ("is_allowed", "wanted", "got"), [(False, "xml", "flat"), (True, "xml", "xml"), (True, "klingon", "flat")]
)
def test_a_client_chooses_the_dialect_if_it_may(kind: str, is_allowed: bool, wanted: str, got: str) -> None:
    server = servers.protected(kind, {"dialect": "flat", "client_choice": is_allowed})

    [found] = ask(kind, server, ("declared",), meta={"dev.failwell/dialect": wanted})

    assert settled(found) == expected(CASES["raised on purpose"], got)


@EVERY
def test_settings_of_the_dialect_are_used(kind: str) -> None:
    server = servers.protected(kind, {"dialect": "envelope", "version": "7.7"})

    [found] = ask(kind, server, ("declared",))

    assert json.loads(found["content"][0]["text"])["version"] == "7.7"


@EVERY
def test_structured_content_is_for_tools_without_an_output_schema(kind: str) -> None:
    server = servers.protected(kind, {"structured": True, "dialect": "compact"})

    without, with_schema = ask(kind, server, ("declared",), ("missing_schema",))

    assert without["structuredContent"] == json.loads(without["content"][0]["text"])
    assert "structuredContent" not in with_schema


@EVERY
def test_what_tools_declare_is_listed_and_described_on_request(kind: str) -> None:
    server = servers.bare(kind)
    fw.protect(server, describe=True, raises={"claim": [fw.Conflict], "text": ["STORE_CLOSED"]})

    async def listed() -> dict[str, Any]:
        async with sdks.session(kind, server) as connected:
            found = await connected.list_tools()
        tools = found if isinstance(found, list) else found.tools
        return {tool.name: sdks.plain(tool) for tool in tools}

    tools = asyncio.run(listed())

    assert tools["claim"]["_meta"]["dev.failwell/raises"] == [
        {"code": "CONFLICT", "type": "CONFLICT", "retryable": False}
    ]
    assert tools["claim"]["description"].endswith("Can fail with: CONFLICT (It conflicts with the current state).")
    assert tools["text"]["description"].endswith("Can fail with: STORE_CLOSED.")
    assert "dev.failwell/raises" not in tools["crash"].get("_meta", {})


@EVERY
def test_observers_hear_of_every_call_once(kind: str) -> None:
    heard: list[fw.records.Event] = []

    def broken(event: fw.records.Event) -> None:
        raise RuntimeError("broken observer")

    server = servers.protected(kind, {"observers": [broken, heard.append]})
    calls = [("text",), ("declared",), ("claim", {}), ("declard",), ("broken_output",), ("ok",)]

    ask(kind, server, *calls)

    codes = [None, "NOT_FOUND", "VALIDATION_FAILED", "UNKNOWN_TOOL", "INTERNAL_ERROR", None]
    assert [(one.tool, one.failure and one.failure.code) for one in heard] == [
        (call[0], code) for call, code in zip(calls, codes, strict=True)
    ]
    assert all(one.elapsed for one in heard)


@EVERY
def test_crashes_are_logged_with_the_id_the_agent_gets(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    [found] = ask(kind, servers.protected(kind), ("crash",))

    [record] = [record for record in caplog.records if record.name == "failwell"]
    assert record.getMessage() == f"tool crash failed, id {seen(found).id}"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], KeyError)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@HIGH
def test_tools_that_are_added_later_are_protected_too(kind: str) -> None:
    server = sdks.new(kind)
    fw.protect(server)

    @server.tool()
    def hostile():
        raise Unprintable

    @server.tool()
    async def slow() -> int:
        return fw.fail(fw.RateLimited("Too many.", retry_after=3))

    hostile_one, slow_one = ask(kind, server, ("hostile",), ("slow",))

    assert seen(hostile_one).code == "INTERNAL_ERROR"
    assert (seen(slow_one).code, seen(slow_one).retry_after) == ("RATE_LIMITED", 3)


@HIGH
def test_a_tool_that_calls_another_handles_its_failure(kind: str) -> None:
    if kind == "fastmcp" and sdks.version("fastmcp") < (3,):
        pytest.skip("fastmcp 2 has no call from tool to tool")
    server = sdks.new(kind)

    @server.tool()
    def inner():
        return fw.NotFound("Task 7 does not exist.").failure

    @server.tool()
    async def careful() -> str:
        try:
            await server.call_tool("inner", {})
        except Exception as exc:
            return f"handled {type(exc).__name__}"
        return "not reached"

    @server.tool()
    async def careless() -> str:
        await server.call_tool("inner", {})
        return "not reached"

    fw.protect(server)

    handled, passed_on = ask(kind, server, ("careful",), ("careless",))

    assert handled["content"][0]["text"].startswith("handled")
    assert (seen(passed_on).message, passed_on["isError"]) == ("Task 7 does not exist.", True)


@HIGH
def test_cancellation_passes_through(kind: str) -> None:
    if kind == "fastmcp" and sdks.version("fastmcp") < (3,):
        pytest.skip("fastmcp 2 has no public call")
    server = sdks.new(kind)

    @server.tool()
    async def cancelled() -> str:
        raise asyncio.CancelledError

    fw.protect(server)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(server.call_tool("cancelled", {}))


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="mcp 1 makes text of them itself")
@EVERY
def test_an_error_that_is_part_of_the_protocol_stays_one(kind: str) -> None:
    def needing():
        raise sdks.rpc_error(-32021, "sampling is needed")

    server = sdks.new(kind, on_call_tool=_async(needing)) if kind == "lowlevel" else sdks.new(kind)
    if kind != "lowlevel":
        server.tool()(needing)
    fw.protect(server)

    async def run() -> Any:
        async with sdks.client(kind, server) as call:
            try:
                return await call("needing")
            except Exception as exc:
                return exc

    raised = asyncio.run(run())

    assert (raised.error.code, raised.error.message) == (-32021, "sampling is needed")


def _async(function: Any) -> Any:
    async def handler(ctx: Any, params: Any) -> Any:
        return function()

    return handler


@EVERY
def test_arguments_that_worked_before_work_still(kind: str) -> None:
    """A text for a number that the SDK accepts is not refused anew."""
    arguments = {"task": "t-1", "hours": 5 if kind == "lowlevel" else "5", "mode": "safe"}

    [found] = ask(kind, servers.protected(kind), ("claim", arguments))

    assert found["content"][0]["text"] == "claimed"


@EVERY
def test_an_argument_that_a_tool_does_not_have_is_refused_and_the_right_one_named(kind: str) -> None:
    arguments = {"task": "t-1", "hours": 5, "mode": "safe", "taks": "x"}

    [found] = ask(kind, servers.protected(kind), ("claim", arguments))

    failure = fw.read(found)
    assert failure is not None
    assert (failure.code, failure.outcome) == ("VALIDATION_FAILED", "not_executed")
    assert [(problem.path, problem.kind) for problem in failure.fields] == [("taks", "unknown")]


@EVERY
def test_a_misspelt_argument_is_told_with_what_is_missing(kind: str) -> None:
    [found] = ask(kind, servers.protected(kind), ("claim", {"task": "t-1", "hours": 5, "moed": "safe"}))

    failure = fw.read(found)
    assert failure is not None
    said = {problem.path: (problem.kind, problem.did_you_mean) for problem in failure.fields}
    assert said["moed"] == ("unknown", "mode")
    assert said["mode"][0] == "missing"


@pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "fastmcp"])
def test_unknown_arguments_reach_the_tool_if_that_is_wanted(kind: str) -> None:
    arguments = {"task": "t-1", "hours": 5, "mode": "safe", "note": "x"}

    [found] = ask(kind, servers.protected(kind, {"allow_unknown": True}), ("claim", arguments))

    failure = fw.read(found)  # the SDK drops them, or the function itself refuses them
    assert failure is None or failure.code == "INTERNAL_ERROR"


@EVERY
def test_without_jsonschema_rs_failures_arrive_all_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    monkeypatch.delitem(sys.modules, "failwell.schema.validator", raising=False)
    monkeypatch.delattr("failwell.schema.validator", raising=False)
    server = servers.protected(kind)

    declared, wrong = ask(kind, server, ("declared",), ("claim", {"task": 5, "hours": 1, "mode": "safe"}))

    assert seen(declared).code == "NOT_FOUND"
    if kind == "lowlevel" and not sdks.HAS_MCP_1:
        assert wrong["content"][0]["text"] == "claimed"
    else:
        assert (seen(wrong).code, seen(wrong).outcome) == ("VALIDATION_FAILED", "not_executed")
