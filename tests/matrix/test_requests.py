"""Requests that are no calls of a tool: failures are JSON-RPC errors, by the version of the protocol, and redacted."""

import asyncio
import functools
import json
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks, servers

SIDES = [(kind, era) for kind in sdks.KINDS for era in sdks.ERAS]
READ, PROMPT, COMPLETE, LIST = "resources/read", "prompts/get", "completion/complete", "resources/list"
GONE = {"handshake": -32002, "modern": -32602}
WRONG, BROKEN = dict.fromkeys(GONE, -32602), dict.fromkeys(GONE, -32603)
CRASHES = {
    READ: "The resource could not be read.",
    PROMPT: "The prompt could not be rendered.",
    COMPLETE: "The argument could not be completed.",
    LIST: "The request failed unexpectedly.",
}
HIGH, LOW = ("fastmcp", "mcp"), ("lowlevel",)
EVERY = HIGH + LOW

# What is asked for, its JSON-RPC code in each era, the failure, and where it can be asked for.
REQUESTS: list[tuple[str, str, dict[str, int], dict[str, Any], tuple[str, ...]]] = [
    *(
        (method, "crash", BROKEN, {"code": "INTERNAL_ERROR", "type": "INTERNAL", "message": message}, EVERY)
        for method, message in CRASHES.items()
        if method != LIST
    ),
    (LIST, "crash", BROKEN, {"code": "INTERNAL_ERROR", "message": CRASHES[LIST]}, LOW),
    *(
        (method, "refused", BROKEN, {"code": "CONNECTION_REFUSED", "retryable": True, "outcome": "not_executed"}, EVERY)
        for method in (READ, PROMPT, COMPLETE)
    ),
    *(
        (method, "missing", GONE if method == READ else WRONG, {"message": "Task 't-9' does not exist.",
         "actions": ("list_tasks",), "suggestion": "Call list_tasks.", "code": "NOT_FOUND"}, EVERY)
        for method in (READ, PROMPT, COMPLETE)
    ),
    (READ, "numbered", GONE, {"code": "NOT_FOUND", "type": "NOT_FOUND"}, EVERY),
    (READ, "nowhere", GONE, {"code": "NOT_FOUND", "message": "There is no resource 'data://nowhere'."}, HIGH),
    (PROMPT, "nothing", WRONG, {"code": "NOT_FOUND", "message": "There is no prompt 'nothing'."}, HIGH),
]  # fmt: skip


@functools.cache
def errors(kind: str, era: str) -> dict[tuple[str, str], Any]:
    """Return what a client raises for each request to a protected server."""
    server = servers.protected(kind)

    async def ask() -> dict[tuple[str, str], Any]:
        found: dict[tuple[str, str], Any] = {}
        async with sdks.session(kind, server, era) as connected:
            for method, subject, _, _, kinds in REQUESTS:
                if kind in kinds:
                    try:
                        found[method, subject] = await sdks.request(connected, method, subject)
                    except Exception as exc:
                        found[method, subject] = exc
        return found

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("kind", "era", "method", "subject", "numbers", "wanted"),
    [(*side, *row[:-1]) for side in SIDES for row in REQUESTS if side[0] in row[-1]],
)
def test_a_request_that_fails_is_answered_by_the_version_of_the_protocol(
    kind: str, era: str, method: str, subject: str, numbers: dict[str, int], wanted: dict[str, Any]
) -> None:
    raised = errors(kind, era)[method, subject]

    assert raised.error.code == numbers[era]
    failure = fw.read(raised)
    assert {name: getattr(failure, name) for name in wanted} == wanted
    assert failure.message == raised.error.message
    assert failure.tool is None
    assert (raised.error.data.get("uri") == f"data://{subject}") is (method == READ)
    assert servers.SECRET not in json.dumps(raised.error.model_dump(mode="json"))


@pytest.mark.parametrize(("kind", "era"), SIDES)
def test_the_wire_shaped_error_is_read_as_the_exception_is(kind: str, era: str) -> None:
    raised = errors(kind, era)[READ, "missing"]
    wire = {"jsonrpc": "2.0", "id": 1, "error": raised.error.model_dump(mode="json")}

    assert fw.read(wire) == fw.read(raised)


def fails(kind: str, raised: Exception) -> Any:
    """Return what a client gets from a prompt that raises something."""

    def prompt() -> str:
        raise raised

    async def get(name: str, arguments: Any) -> Any:
        raise raised

    server = sdks.new(kind)
    if kind == "lowlevel":
        sdks.register(server, get_prompt=get)
    else:
        server.prompt("failing")(prompt)
    fw.protect(server)

    async def ask() -> Any:
        async with sdks.session(kind, server) as connected:
            with pytest.raises(type(sdks.rpc_error(0, ""))) as caught:
                await connected.get_prompt("failing")
            return caught.value

    return asyncio.run(ask())


EVERY_KIND = pytest.mark.parametrize("kind", sdks.KINDS)


@pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])
@pytest.mark.parametrize("is_early", [True, False])
def test_a_failure_that_a_resource_or_prompt_returns_is_one(kind: str, is_early: bool) -> None:
    def missing() -> Any:
        return fw.fail(servers.MISSING.failure)

    async def missing_async(key: str) -> Any:
        return servers.MISSING.failure

    async def fine() -> Any:
        return fw.succeed("fine")

    def add(server: Any) -> None:
        server.resource("data://missing")(missing)
        server.resource("data://missing/{key}")(missing_async)
        server.prompt("missing")(missing)
        server.prompt("fine")(fine)

    server = sdks.new(kind)
    if is_early:
        add(server)
    fw.protect(server)
    if not is_early:
        add(server)

    async def ask(connected: Any, method: str, subject: str) -> Any:
        with pytest.raises(type(sdks.rpc_error(0, ""))) as caught:
            await sdks.request(connected, method, subject)
        return fw.read(caught.value)

    async def run() -> Any:
        async with sdks.session(kind, server) as connected:
            failed = [
                await ask(connected, *one) for one in ((READ, "missing"), (READ, "missing/1"), (PROMPT, "missing"))
            ]
            return failed, await connected.get_prompt("fine")

    failed, found = asyncio.run(run())

    assert [(one.code, one.message) for one in failed] == [("NOT_FOUND", "Task 't-9' does not exist.")] * 3
    assert found.messages[0].content.text == "fine"


@EVERY_KIND
def test_an_author_s_own_number_and_data_stay_and_what_is_secret_in_them_does_not(kind: str) -> None:
    error = sdks.rpc_error(4711, f"The store is closed, password={servers.SECRET}")
    error.error.data = {"opens": "08:00", "api_key": servers.SECRET}

    found = fails(kind, error)

    assert found.error.code == 4711
    assert found.error.message.startswith("The store is closed")
    assert found.error.data["opens"] == "08:00"
    assert servers.SECRET not in json.dumps(found.error.model_dump(mode="json"))


@EVERY_KIND
@pytest.mark.parametrize("code", [-32601, -32021, -32042])
def test_an_error_of_the_protocol_is_left_as_it_is(kind: str, code: int) -> None:
    error = sdks.rpc_error(code, "the client knows what to do")
    error.error.data = {"requiredCapabilities": {"sampling": {}}}

    found = fails(kind, error)

    assert (found.error.code, found.error.message) == (code, "the client knows what to do")
    assert found.error.data == {"requiredCapabilities": {"sampling": {}}}


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@EVERY_KIND
def test_an_exception_without_a_text_is_answered_too(kind: str) -> None:
    found = fails(kind, Unprintable())

    assert found.error.code == -32603
    assert "Unprintable" not in found.error.message


@pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])
def test_the_arguments_of_a_prompt_are_named_if_they_are_wrong(kind: str) -> None:
    server = sdks.new(kind)

    @server.prompt("plan")
    def plan(days: int, goal: str) -> str:
        return goal

    fw.protect(server)

    async def ask() -> list[Any]:
        found: list[Any] = []
        async with sdks.session(kind, server) as connected:
            for arguments in ({}, {"days": "many", "goal": "x"}, {"days": "5", "goal": "x"}):
                try:
                    found.append(await connected.get_prompt("plan", arguments))
                except Exception as exc:
                    found.append(exc)
        return found

    nothing, wrong, right = asyncio.run(ask())

    assert [(one.path, one.kind) for one in fw.read(nothing).fields] == [("days", "missing"), ("goal", "missing")]
    assert [(one.path, one.kind) for one in fw.read(wrong).fields] == [("days", "type")]
    assert (nothing.error.code, wrong.error.code) == (-32602, -32602)
    assert right.messages[0].content.text == "x"


@pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])
def test_what_a_resource_or_prompt_could_not_parse_is_the_caller_s_only_if_the_caller_sent_it(kind: str) -> None:
    server = sdks.new(kind)

    @server.resource("data://stored")
    def stored() -> Any:
        return json.loads("<html>")

    @server.resource("data://{text}")
    def sent(text: str) -> Any:
        return json.loads(text)

    @server.prompt("prompted")
    def prompted(text: str) -> Any:
        return json.loads(text if text != "stored" else "<html>")

    fw.protect(server)

    async def ask(method: str, subject: str, arguments: Any = None) -> Any:
        async with sdks.session(kind, server) as connected:
            with pytest.raises(Exception) as caught:  # noqa: PT011 - of whichever SDK is there
                await sdks.request(connected, method, subject, arguments)
            return fw.read(caught.value).code

    assert asyncio.run(ask(READ, "stored")) == "INTERNAL_ERROR"
    assert asyncio.run(ask(READ, "broken")) == "PARSE_ERROR"
    assert asyncio.run(ask(PROMPT, "prompted", {"text": "stored"})) == "INTERNAL_ERROR"
    assert asyncio.run(ask(PROMPT, "prompted", {"text": "{broken"})) == "PARSE_ERROR"


@EVERY_KIND
def test_successes_stay_as_they_were(kind: str) -> None:
    def answers(*, is_protected: bool) -> list[Any]:
        async def get(name: str, arguments: Any) -> Any:
            from mcp.types import GetPromptResult

            message = {"role": "user", "content": {"type": "text", "text": "hello"}}
            return GetPromptResult.model_validate({"messages": [message]})

        server = sdks.new(kind)
        if kind == "lowlevel":
            sdks.register(server, get_prompt=get)
        else:
            server.prompt("greet")(lambda: "hello")
        if is_protected:
            fw.protect(server)

        async def ask() -> list[Any]:
            async with sdks.session(kind, server) as connected:
                return [sdks.plain(await connected.get_prompt("greet"))]

        return asyncio.run(ask())

    assert answers(is_protected=True) == answers(is_protected=False)


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="new in mcp 2")
@EVERY_KIND
def test_a_question_to_the_client_is_no_failure(kind: str) -> None:
    from mcp.types import InputRequiredResult

    asked = InputRequiredResult.model_validate({"inputRequests": {"roots": {"method": "roots/list"}}})

    async def get(name: str, arguments: Any) -> Any:
        return asked

    server = sdks.new(kind)
    if kind == "lowlevel":
        sdks.register(server, get_prompt=get)
    else:
        server.prompt("asking")(lambda: asked)
    fw.protect(server)

    async def ask() -> Any:
        async with sdks.session(kind, server, "modern") as connected:
            session = getattr(connected, "session", connected)
            return await session.get_prompt("asking", allow_input_required=True)

    assert type(asyncio.run(ask())).__name__ == "InputRequiredResult"
