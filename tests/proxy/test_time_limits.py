"""Calls that take too long, through both proxies: cancelled as the protocol says, and answered."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, ClientTimeout, web

import failwell as fw
from tests.proxy.clients import Client
from tests.proxy.conversations import Ends, settings
from tests.proxy.http.setting import ACCEPT, call, event, gateway, post, scripted, success

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def failure(answer: dict[str, Any]) -> fw.Failure:
    found = fw.read(answer)
    assert found is not None
    return found


@pytest.mark.parametrize("option", ["--timeout", "--deadline"])
def test_a_call_that_hangs_is_cancelled_and_answered(option: str) -> None:
    with Client(option, "0.2") as client:
        answer = client.call("act", n=1, do="silence")
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert failure(answer).code == "TIMEOUT"
    assert failure(answer).outcome == "unknown"
    assert [one for one in seen if one[0] == "notifications/cancelled"] == [
        ["notifications/cancelled", None, answer["id"]]
    ]


def test_a_safe_call_that_hangs_is_made_again_under_another_id() -> None:
    with Client("--timeout", "0.2", "--retry", "--attempts", "2") as client:
        answer = client.call("look", n=1, do="silence")
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert failure(answer).code == "TIMEOUT"
    calls = [id for method, id, _ in seen if method == "tools/call"][:-1]
    cancelled = [id for method, _, id in seen if method == "notifications/cancelled"]
    assert len(calls) == 2
    assert cancelled == calls


class Timed(Ends):
    """A conversation whose calls may take ten seconds, and thirty with all their tries."""

    def __init__(self) -> None:
        super().__init__(settings(timeout=10.0, deadline=30.0))
        self.runner.watch_times()

    def client(self, message: dict[str, Any]) -> None:
        assert self.runner.from_client(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n") is None
        self.runner.note_all_sent()

    def server(self, message: dict[str, Any]) -> bytes | None:
        return self.runner.from_server(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def at(self, now: float) -> list[Any]:
        """Return what was answered by then."""
        self.now = now
        self.pass_time()
        return [json.loads(line)["id"] for line in self.to_client]


CALL = {"id": 1, "method": "tools/call", "params": {"name": "act", "arguments": {}, "_meta": {"progressToken": "p"}}}


def progress(value: int) -> dict[str, Any]:
    return {"method": "notifications/progress", "params": {"progressToken": "p", "progress": value}}


def test_progress_gives_a_try_more_time_and_never_the_call() -> None:
    ends = Timed()
    ends.client(CALL)
    for value, now in enumerate((8.0, 16.0, 24.0, 29.0)):
        assert ends.at(now) == []
        assert ends.server(progress(value)) is None

    assert ends.at(30.0) == [1]


def test_without_progress_a_try_has_its_time() -> None:
    ends = Timed()
    ends.client(CALL)

    assert ends.at(9.9) == []
    assert ends.at(10.0) == [1]


def test_the_time_that_a_user_takes_does_not_count() -> None:
    ends = Timed()
    ends.client(CALL)
    ends.server({"id": "ask", "method": "elicitation/create", "params": {}})
    assert ends.at(29.0) == []
    ends.client({"id": "ask", "result": {"action": "accept"}})

    assert ends.at(29.5) == []


def test_an_answer_that_comes_too_late_is_dropped() -> None:
    ends = Timed()
    ends.client(CALL)
    assert ends.at(10.0) == [1]

    assert ends.server({"id": 1, "result": {"content": []}}) == b""


def test_an_answer_to_the_cancellation_is_dropped() -> None:
    ends, passed = Timed(), list[bytes | None]()

    class AnsweringServer(list[bytes]):
        def append(self, _: bytes, /) -> None:
            passed.append(ends.server({"id": 1, "result": {"content": []}}))

    ends.to_server = AnsweringServer()
    ends.client(CALL)

    assert ends.at(10.0) == [1]
    assert passed == [b""]


def test_what_is_no_call_has_no_limit() -> None:
    ends = Timed()
    ends.client({"id": 5, "method": "initialize", "params": {}})

    assert ends.at(100.0) == []


async def _hang_over_http(message: dict[str, Any], *, streams: bool) -> tuple[Any, list[Any], bool]:
    """Return the answer to a call that hangs, what else the server got, and whether the stream was closed."""
    got: list[Any] = []
    closed = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["method"] != "tools/call":
            got.append(body)
            return web.Response(status=202) if "id" not in body else web.json_response(success(body["id"]))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if streams:
            await response.prepare(request)
            await response.write(event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()
        return response

    async with scripted(handler) as url, gateway(url + "/mcp", "--timeout", "0.3") as base:
        answer = await post(base, message)
        async with asyncio.timeout(20):
            await closed.wait()
    return answer, [one for one in got if one["method"] == "notifications/cancelled"], closed.is_set()


@pytest.mark.parametrize("streams", [False, True], ids=["no answer", "a stream without an end"])
def test_over_http_an_older_call_that_hangs_is_cancelled_by_a_notification(streams: bool) -> None:
    answer, cancelled, _ = asyncio.run(_hang_over_http(call(), streams=streams))

    assert answer.failure["code"] == "TIMEOUT"
    assert answer.failure["outcome"] == "unknown"
    assert [one["params"]["requestId"] for one in cancelled] == [1]


def test_over_http_an_answer_to_the_cancellation_is_dropped() -> None:
    marker = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}

    async def run() -> list[Any]:
        said, heard = asyncio.Queue[bytes](), asyncio.Event()

        async def hear(stream: ClientResponse) -> Any:
            while not (line := await stream.content.readline()).startswith(b"data: "):
                assert line, "the stream ended"
            heard.set()
            return json.loads(line[6:])

        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            if request.method == "GET":
                await response.prepare(request)
                while True:
                    await response.write(await said.get())
            if (await request.json())["method"] == "tools/call":
                await asyncio.Event().wait()
            said.put_nowait(event(success()))
            said.put_nowait(event(marker))
            await heard.wait()  # so the answer arrives while the cancellation is on its way
            return web.Response(status=202)

        async with (
            scripted(handler) as url,
            gateway(url + "/mcp", "--timeout", "0.3") as base,
            ClientSession(headers={**ACCEPT, "Mcp-Session-Id": "one"}) as session,
            session.get(base, timeout=ClientTimeout(20)) as stream,
        ):
            return await asyncio.gather(post(base, call(), Mcp_Session_Id="one"), hear(stream))

    answer, message = asyncio.run(run())

    assert answer.failure["code"] == "TIMEOUT"
    assert message == marker


@pytest.mark.parametrize("streams", [False, True], ids=["no answer", "a stream without an end"])
def test_over_http_a_newer_call_that_hangs_is_cancelled_by_closing_its_stream(streams: bool) -> None:
    message = call()
    message["params"] |= MODERN

    answer, cancelled, is_closed = asyncio.run(_hang_over_http(message, streams=streams))

    assert answer.failure["code"] == "TIMEOUT"
    assert cancelled == []
    assert is_closed


@pytest.mark.parametrize(("elapsed", "codes"), [(6.0, ["TIMEOUT"]), (4.0, [])])
def test_observing_reports_a_call_that_would_have_timed_out_and_passes_its_answer(
    elapsed: float, codes: list[str]
) -> None:
    ends = Ends(settings(dry_run=True, timeout=5.0))
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "act", "arguments": {}}}
    assert ends.runner.from_client(json.dumps(message).encode() + b"\n") is None
    line = json.dumps(success(id=1)).encode() + b"\n"

    ends.now += elapsed
    answer = ends.runner.from_server(line)

    assert (answer or line) == line
    assert [one.failure.code for one in ends.events] == codes
