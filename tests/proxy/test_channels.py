"""Nothing that must not be seen passes a proxy with a failure, in whatever place it stands."""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from failwell.proxy import rewriter as rewriting
from failwell.proxy.channels import PASSED_VERBATIM, redacted_message
from failwell.proxy.conversation import Settings
from failwell.redact import json_value
from tests.proxy.clients import Client
from tests.proxy.conversations import Ends
from tests.proxy.http.setting import ask, call, event, gateway, post, scripted
from tests.proxy.http.test_remote import Host
from tests.proxy.plants import CHANNELS, HIDDEN, SECRETS, TASKS, TEXT, found_in

# Answers each request with what its parameters say.
ECHO = [
    sys.executable,
    "-I",
    "-c",
    """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        params = asked.get("params", {})
        answer = params.get("arguments", params).get("answer", {"result": {"tools": []}})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
""",
]
IMAGE = base64.b64encode(bytes(range(256)) * 4).decode()


def test_enough_is_planted() -> None:
    assert len(SECRETS) >= 20
    assert all(core in TEXT or core in HIDDEN for core in HIDDEN)
    assert all(found_in(json.dumps(answer)) for answer in CHANNELS.values())


@pytest.mark.parametrize("options", [(), ("--validate",), ("--retry",)], ids=["plain", "validate", "retry"])
def test_nothing_passes_over_standard_output(options: tuple[str, ...]) -> None:
    with Client(*options, command=ECHO) as client:
        answers = {}
        for name, answer in CHANNELS.items():
            client.ask_call("work", answer=answer)
            answers[name] = client.line()

    assert {name: found for name, line in answers.items() if (found := found_in(line))} == {}
    assert [json.loads(line)["id"] for line in answers.values()] == list(range(3, 3 + len(CHANNELS)))


@pytest.mark.parametrize("method", ["resources/read", "tools/list", "prompts/get"])
def test_nothing_passes_with_an_error_that_answers_no_call(method: str) -> None:
    errors = {name: answer for name, answer in CHANNELS.items() if "error" in answer}
    with Client(command=ECHO) as client:
        lines = []
        for answer in errors.values():
            client.ask(method, {"answer": answer})
            lines.append(client.line())

    assert [found_in(line) for line in lines] == [[]] * len(lines)


@pytest.mark.parametrize("options", [(), ("--retry",), ("--validate",)], ids=["plain", "retry", "validate"])
@pytest.mark.parametrize("name", TASKS)
def test_nothing_passes_with_what_became_of_a_task(name: str, options: tuple[str, ...]) -> None:
    with Client(*options, command=ECHO) as client:
        client.ask("tasks/get", {"answer": {"result": TASKS[name]}})
        line = client.line()
        client.ask("tasks/get", {"answer": {"method": "notifications/tasks/status", "params": TASKS[name]}})
        note = client.line()

    assert found_in(line) == []
    assert '"t-1"' in line.decode()
    assert name == "one of several" or found_in(note) == []


@pytest.mark.parametrize("as_event", [False, True], ids=["json", "events"])
@pytest.mark.parametrize("name", TASKS)
def test_nothing_passes_a_gateway_with_what_became_of_a_task(name: str, as_event: bool) -> None:
    async def run() -> bytes:
        answer = {"result": TASKS[name]}
        async with scripted(_served(answer, as_event=as_event)) as url, gateway(url + "/mcp") as front:
            return (await post(front + "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tasks/get"})).body

    body = asyncio.run(run())

    assert found_in(body) == []
    assert b'"t-1"' in body


def test_a_task_that_succeeded_passes_untouched() -> None:
    done = {"taskId": "t-1", "status": "completed", "result": {"content": [{"type": "text", "text": TEXT}]}}
    with Client(command=ECHO) as client:
        client.ask("tasks/get", {"answer": {"result": done}})
        line = client.line()

    assert json.loads(line)["result"] == done


def test_nothing_passes_with_an_answer_that_nobody_asked_for() -> None:
    with Client(command=ECHO) as client:
        answer = {**CHANNELS["a protocol error"], "id": None}
        client.ask("tools/list", {"answer": answer})
        line = client.line()
        client.ask("tools/list", {"answer": {**CHANNELS["text"], "id": 99}})
        other = client.line()

    assert found_in(line) == found_in(other) == []


def _served(answer: dict[str, Any], *, as_event: bool) -> Any:
    async def handle(request: web.Request) -> web.StreamResponse:
        asked = await request.json() if request.method == "POST" else {}
        message = {"jsonrpc": "2.0", "id": asked.get("id"), **answer}
        if as_event:
            return web.Response(body=event(message), content_type="text/event-stream")
        return web.json_response(message)

    return handle


@pytest.mark.parametrize("as_event", [False, True], ids=["json", "events"])
@pytest.mark.parametrize("words", [(), ("--retry",)], ids=["plain", "retry"])
def test_nothing_passes_a_gateway(as_event: bool, words: tuple[str, ...]) -> None:
    async def run() -> dict[str, list[str]]:
        leaks = {}
        for name, answer in CHANNELS.items():
            async with scripted(_served(answer, as_event=as_event)) as url, gateway(url + "/mcp", *words) as front:
                answered = await post(front + "/mcp", call())
                assert b"jsonrpc" in answered.body
                leaks[name] = found_in(answered.body)
                if "error" in answer:
                    other = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
                    leaks[f"{name}, no call"] = found_in((await post(front + "/mcp", other)).body)
        return {name: found for name, found in leaks.items() if found}

    assert asyncio.run(run()) == {}


@pytest.mark.parametrize("as_event", [False, True], ids=["json", "events"])
def test_nothing_passes_from_a_url_to_standard_output(as_event: bool) -> None:
    async def run() -> dict[str, list[str]]:
        leaks = {}
        for name, answer in CHANNELS.items():
            async with scripted(_served(answer, as_event=as_event)) as url:
                host = Host(url + "/mcp")
                leaks[name] = found_in(json.dumps(await host.ask(call())))
                await host.end()
        return {name: found for name, found in leaks.items() if found}

    assert asyncio.run(run()) == {}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500, 503])
@pytest.mark.parametrize("kind", ["text", "json", "rpc", "chunks"])
def test_nothing_passes_with_the_body_of_an_http_error(status: int, kind: str) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        headers = {"WWW-Authenticate": "Bearer"}
        if kind == "text":
            return web.Response(status=status, text=TEXT, headers=headers)
        if kind == "chunks":
            response = web.StreamResponse(status=status, headers=headers)
            await response.prepare(request)
            for start in range(0, len(TEXT), 7):
                await response.write(TEXT[start : start + 7].encode())
            return response
        answer = {"detail": TEXT} if kind == "json" else {"id": 1, **CHANNELS["a protocol error"]}
        return web.json_response(answer, status=status, headers=headers)

    async def run() -> list[Any]:
        async with scripted(handle) as url, gateway(url + "/mcp") as front:
            known = {"Mcp_Session_Id": "s-1"}
            other = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
            return [
                await post(front + "/mcp", call()),
                await post(front + "/mcp", call(), **known),
                await post(front + "/mcp", other),
                await ask("GET", front + "/mcp"),
            ]

    answers = asyncio.run(run())

    assert [found_in(answer.body) for answer in answers] == [[]] * 4
    assert all(answer.body for answer in answers)
    assert {answer.status for answer in answers} <= {200, status}


@pytest.mark.parametrize("name", ["structured content", "text", "an embedded text"])
def test_a_success_passes_untouched(name: str) -> None:
    result = {**CHANNELS[name]["result"], "isError": False}
    with Client(command=ECHO) as client:
        client.ask_call("work", answer={"result": result})
        answer = client.receive()

    assert answer["result"] == result


@pytest.mark.parametrize("name", [name for name, answer in CHANNELS.items() if "error" not in answer])
def test_a_success_that_is_made_an_error_passes_redacted(name: str) -> None:
    blocks = [{"type": "text", "text": "Error: 404 Not Found"}]
    result = {"content": blocks, **CHANNELS[name]["result"], "isError": False}
    result["content"] = [*blocks, *(result["content"] if isinstance(result["content"], list) else [])]

    found = answered({**CHANNELS[name], "id": 1, "result": result}, flip_unflagged=frozenset("*"))

    assert found is None or found_in(json.dumps(found)) == []


def answered(message: dict[str, Any], **options: Any) -> dict[str, Any] | None:
    """Return what a client gets for an answer to its call; None: that answer as it is."""
    runner = Ends(Settings(**options)).runner
    request = {"jsonrpc": "2.0", "id": message["id"], "method": "tools/call", "params": {"name": "work"}}
    runner.from_client(json.dumps(request).encode() + b"\n")
    line = json.dumps(message).encode() + b"\n"
    found = runner.from_server(line)
    changed: dict[str, Any] | None = None if found in (None, line) else json.loads(found or b"")
    return changed


def _rewritten(result: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": True, **result}}
    found = answered(message)
    assert found is not None
    return found["result"]


def test_what_must_pass_verbatim_does() -> None:
    secret = SECRETS["github"][0]
    image = {"type": "image", "data": IMAGE, "mimeType": "image/png"}
    file = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": IMAGE}}
    task = {"io.modelcontextprotocol/related-task": {"taskId": secret}, "progressToken": secret}

    result = _rewritten({"content": [image, file], "_meta": task, "task": {"taskId": secret}})

    assert result["content"][1:] == [image, file]
    assert {key: result["_meta"][key] for key in task} == task
    assert result["task"] == {"taskId": secret}


def test_an_id_that_looks_like_a_secret_stays_the_id() -> None:
    id = SECRETS["github"][0]
    found = answered({"id": id, **CHANNELS["a protocol error"]})

    assert found is not None
    assert found["id"] == id
    assert found["error"]["code"] == -32600


def test_an_address_that_the_user_is_asked_to_open_stays_whole() -> None:
    asked = {"mode": "url", "url": f"https://login.example/?token={SECRETS['github'][0]}", "elicitationId": "e-1"}
    data = {"elicitations": [{**asked, "message": TEXT}]}
    message = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32042, "message": "URL needed", "data": data}}

    found = answered(message)

    assert found is not None
    (elicitation,) = found["error"]["data"]["elicitations"]
    assert {key: elicitation[key] for key in asked} == asked
    assert found_in(elicitation["message"]) == []


def test_what_passes_verbatim_has_its_reason() -> None:
    assert all(reason for _, reason in PASSED_VERBATIM.values())


def test_what_holds_no_secret_is_not_changed() -> None:
    more = {"structuredContent": {"a": [1, 2.5, None, "text", {"deep": True}]}, "other": {"x": "y"}}

    result = _rewritten(more)

    assert {key: result[key] for key in more} == more


def test_a_dry_run_changes_nothing() -> None:

    assert all(answered({"id": 1, **answer}, dry_run=True) is None for answer in CHANNELS.values())


class TestWhenRewritingBreaks:
    """Something in our own path raises: what passes then is a minimal error, never the server's words."""

    @pytest.fixture(params=["explain", "write_result", "redact_json", "advised", "json_safe"])
    def broken(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
        def fail(*_: Any, **__: Any) -> Any:
            raise RuntimeError("a bug")

        monkeypatch.setattr(rewriting, request.param, fail)
        monkeypatch.setattr(json_value, "clean", fail)
        return str(request.param)

    @pytest.mark.parametrize("name", CHANNELS)
    def test_a_minimal_error_goes_out(self, broken: str, name: str) -> None:
        found = answered({"jsonrpc": "2.0", "id": 1, **CHANNELS[name]})

        assert found is not None, broken
        assert found_in(json.dumps(found)) == []
        assert (found["id"], found["result"]["isError"]) == (1, True)

    @pytest.mark.usefixtures("broken")
    def test_a_minimal_error_answers_other_requests_too(self) -> None:
        found = redacted_message(json.dumps({"jsonrpc": "2.0", "id": 7, **CHANNELS["a protocol error"]}).encode())

        assert found_in(found.decode()) == []
        assert (json.loads(found)["id"], json.loads(found)["error"]["code"]) == (7, -32603)

    @pytest.mark.usefixtures("broken")
    def test_it_does_over_standard_output(self) -> None:
        with Client(command=ECHO) as client:
            client.ask_call("work", answer=CHANNELS["structured content"])
            line = client.line()
            client.ask("resources/read", {"answer": CHANNELS["a protocol error"]})
            other = client.line()
            fine = client.call("work", answer={"result": {"content": []}})

        assert found_in(line) == found_in(other) == []
        assert json.loads(line)["result"]["isError"] is True
        assert json.loads(other)["error"]["code"] == -32603
        assert fine["result"] == {"content": []}


DEEP = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%s}],"isError":true,"x":' + (
    b"[" * 100_000 + b"]" * 100_000 + b"}}"
)


def deep_server(answer: str, directory: Path) -> Client:
    """A client of a server that answers the first request with this line."""
    server = "import sys\nsys.stdin.readline()\nprint(open(sys.argv[1]).read(), flush=True)\nsys.stdin.read()"
    path = directory / "answer"
    path.write_text(answer)
    return Client(command=[sys.executable, "-I", "-c", server, str(path)])


def test_a_failing_answer_that_is_too_deep_to_be_read_passes_as_a_minimal_error(tmp_path: Path) -> None:
    client = deep_server((DEEP % (1, json.dumps(TEXT).encode())).decode(), tmp_path)
    client.ask_call("work")
    line = client.line()
    client.close()

    assert found_in(line) == []
    assert json.loads(line)["result"]["isError"] is True


_DEEP = "[" * 100_000 + "]" * 100_000
_FAILED = f'"result":{{"content":[{{"type":"text","text":{json.dumps(TEXT)}}}],"isError":true,"x":{_DEEP}}}'
_ERROR = f'"error":{{"code":-32603,"message":{json.dumps(TEXT)},"data":{_DEEP}}}'
ODD_DEEP = {
    "its id in the middle": ("tools/call", f'{{"x":[],"id":1,{_FAILED},"y":[]}}'),
    "another id too": ("tools/call", f'{{"x":{{"id":7}},"id":1,{_FAILED},"y":[]}}'),
    "no id": ("tools/call", f'{{"jsonrpc":"2.0",{_FAILED}}}'),
    "no call": ("resources/read", f'{{"jsonrpc":"2.0","id":1,{_ERROR}}}'),
}


@pytest.mark.parametrize("name", ODD_DEEP)
def test_one_that_is_too_deep_is_answered_wherever_its_id_stands(name: str, tmp_path: Path) -> None:
    method, answer = ODD_DEEP[name]
    client = deep_server(answer, tmp_path)
    client.ask(method, {"name": "work"})
    line = client.line()
    client.close()

    assert found_in(line) == []
    assert json.loads(line)["id"] == 1


def test_one_that_is_too_deep_and_may_answer_any_of_several_requests_is_redacted_as_a_text(tmp_path: Path) -> None:
    client = deep_server(f'{{"jsonrpc":"2.0","id":null,{_FAILED}}}', tmp_path)
    client.ask("tools/call", {"name": "work"})
    client.ask("tools/call", {"name": "work"})
    line = client.line()
    client.close()

    assert found_in(line) == []
    assert line.rstrip().endswith(f'"isError":true,"x":{_DEEP}}}}}'.encode())


def test_a_request_of_the_server_that_is_too_deep_passes_and_answers_nothing(tmp_path: Path) -> None:
    sent = f'{{"jsonrpc":"2.0","method":"sampling/createMessage","id":1,"params":{{"error":{_DEEP}}}}}'
    client = deep_server(sent, tmp_path)
    client.ask("tools/call", {"name": "work"})
    line = client.line()
    client.close()

    assert line.rstrip() == sent.encode()


@pytest.mark.parametrize("as_event", [False, True], ids=["json", "events"])
def test_so_it_does_through_a_gateway(as_event: bool) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        data = DEEP % (1, json.dumps(TEXT).encode())
        kind = "text/event-stream" if as_event else "application/json"
        return web.Response(body=b"data: " + data + b"\n\n" if as_event else data, content_type=kind)

    async def run() -> Any:
        async with scripted(handle) as url, gateway(url + "/mcp") as front:
            return await post(front + "/mcp", call())

    answer = asyncio.run(run())

    assert found_in(answer.body) == []
    assert answer.failure["type"] == "INTERNAL"
