"""Calls through a proxy are spans of the client's trace, and what the server does is below them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import parse
from tests.proxy.clients import Client
from tests.proxy.http.setting import call, failing, listed, post, scripted, success
from tests.records.test_otlp import Receiver, plain, receiver

__all__ = ["receiver"]

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, DROPPED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"


def meta_in(answer: Any) -> dict[str, Any]:
    """What the server found in `_meta`, which it answers with."""
    found: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])
    return found


def test_a_call_is_a_span_between_that_of_the_client_and_those_of_the_server(receiver: Receiver) -> None:
    with Client("--events", f"otlp:{receiver.url}", "--name", "tasks") as client:
        answer = client.call("look", {"traceparent": SAMPLED, "tracestate": "a=1", "progressToken": 7}, n=1, do="meta")

    (span,) = receiver.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert meta_in(answer) == {
        "traceparent": f"00-{TRACE}-{span.span_id.hex()}-01",
        "tracestate": "a=1",
        "progressToken": 7,
    }
    assert {name: value for name, value in plain(span.attributes).items() if not name.startswith("failwell.")} == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "jsonrpc.request.id": "3",
        "mcp.protocol.version": "2025-06-18",
        "network.transport": "pipe",
    }


@pytest.mark.parametrize("parent", [None, "", "00-0-0-01", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", 7])
def test_a_call_without_a_parent_that_makes_sense_is_a_root(parent: Any, receiver: Receiver) -> None:
    with Client("--events", f"otlp:{receiver.url}") as client:
        answer = client.call("look", None if parent is None else {"traceparent": parent}, n=1, do="meta")

    (span,) = receiver.spans
    assert (span.parent_span_id, len(span.trace_id)) == (b"", 16)
    assert meta_in(answer) == {"traceparent": f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"}


def test_a_trace_that_is_not_sampled_has_no_span_but_logs(receiver: Receiver) -> None:
    with Client("--events", f"otlp:{receiver.url}") as client:
        sent = client.call("look", {"traceparent": DROPPED}, n=1, do="meta")
        client.call("look", {"traceparent": DROPPED}, n=1, do="fail:404 Not Found")

    assert receiver.spans == []
    assert [log.trace_id.hex() for log in receiver.logs] == [TRACE]
    assert meta_in(sent)["traceparent"].startswith(f"00-{TRACE}-")
    assert meta_in(sent)["traceparent"].endswith("-00")


def test_the_error_type_is_the_code_of_the_protocol_or_else_that_the_tool_failed(receiver: Receiver) -> None:
    with Client("--events", f"otlp:{receiver.url}") as client:
        client.call("act", n=1, do="error:-32602")
        client.call("act", n=1, do="fail:404 Not Found")

    protocol, tool = (plain(span.attributes) for span in receiver.spans)
    assert (protocol["error.type"], protocol["rpc.response.status_code"]) == ("-32602", "-32602")
    assert (tool["error.type"], tool["failwell.code"]) == ("tool_error", "NOT_FOUND")
    assert "rpc.response.status_code" not in tool


def test_all_tries_of_a_call_are_one_span(receiver: Receiver) -> None:
    with Client("--events", f"otlp:{receiver.url}", "--retry") as client:
        client.call("look", {"traceparent": SAMPLED}, n=1, do="fail until:2")

    (span,) = receiver.spans
    retry, recovered = receiver.logs
    assert {retry.span_id, recovered.span_id} == {span.span_id}
    assert plain(span.attributes)["failwell.attempts"] == 2


@pytest.mark.parametrize("options", [["--events", "{folder}/calls.jsonl"], ["--observe", "--events", "otlp:{url}"], []])
def test_a_call_passes_as_it_is_where_nothing_is_traced_or_only_looked_at(
    options: list[str], receiver: Receiver, tmp_path: Path
) -> None:
    words = [word.format(folder=tmp_path, url=receiver.url) for word in options]
    with Client(*words) as client:
        answer = client.call("look", {"traceparent": SAMPLED}, n=1, do="meta")

    assert meta_in(answer) == {"traceparent": SAMPLED}


def posted(message: Any, receiver: Receiver, *answers: Any, **headers: str) -> tuple[list[Any], int]:
    """Post a message to a gateway whose events go to a collector; what its server got, and where that listens."""
    bodies: list[Any] = []
    left = list(answers)

    async def handle(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        return web.json_response(left.pop(0))

    async def run() -> int:
        async with scripted(handle) as url:
            events = f"otlp:{receiver.url}"
            options = parse(["--url", f"{url}/mcp", "--listen", "127.0.0.1:0", "--grace", "0", "--events", events])
            setup = Setup(options, events)
            async with listening(options, setup) as port:
                await post(f"http://127.0.0.1:{port}/mcp", message, **headers)
            await asyncio.to_thread(setup.close)
            return int(url.rpartition(":")[2])

    return bodies, asyncio.run(run())


def test_a_gateway_passes_the_trace_on_and_says_where_its_server_is(receiver: Receiver) -> None:
    message = call()
    message["params"]["_meta"] = {"traceparent": SAMPLED}
    headers = {"Mcp-Session-Id": "planted-session", "Mcp-Protocol-Version": "2025-11-25"}
    (got,), port = posted(message, receiver, success(), **headers)

    (span,) = receiver.spans
    found = plain(span.attributes)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert got["params"]["_meta"] == {"traceparent": f"00-{TRACE}-{span.span_id.hex()}-01"}
    assert (found["network.transport"], found["server.address"], found["server.port"]) == ("tcp", "127.0.0.1", port)
    assert (found["mcp.protocol.version"], found["jsonrpc.request.id"]) == ("2025-11-25", "1")
    assert len(found["mcp.session.id"]) == 16
    assert b"planted-session" not in b"".join(request.SerializeToString() for _, request in receiver.got)


def test_calls_in_a_batch_have_spans_and_are_sent_as_they_are(receiver: Receiver) -> None:
    one, other = call(id=1), call(id=2)
    one["params"]["_meta"] = {"traceparent": SAMPLED}
    (got, *_), _ = posted([one, other], receiver, [success(1), failing(2)], listed("work"))

    assert got == [one, other]
    assert [span.parent_span_id.hex() for span in receiver.spans] == [PARENT, ""]


def test_what_a_client_makes_up_is_bounded_and_redacted(receiver: Receiver) -> None:
    message = call(id="key sk-live-51H8xyzABCDEFGHIJKLMNOPQR" + "x" * 5000)
    message["params"]["_meta"] = {"io.modelcontextprotocol/protocolVersion": "v" * 5000}
    posted(message, receiver, success(message["id"]))

    found = plain(receiver.spans[0].attributes)
    assert len(found["mcp.protocol.version"]) < 100
    assert "sk-live" not in found["jsonrpc.request.id"]
