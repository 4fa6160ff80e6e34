"""What the gateway learns from one client is never used for another."""

import asyncio
import json
import ssl
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from aiohttp import ClientSession, web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from failwell.proxy.http import sessions
from failwell.proxy.http.headers import identity
from tests.proxy.http.setting import ACCEPT, Answered, Handler, call, failing, gateway, listed, post, scripted, success

LIST = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

# Two clients that a server can tell apart, by their headers and their query.
TENANTS: dict[str, tuple[tuple[dict[str, str], str], tuple[dict[str, str], str]]] = {
    name: (({name: "tenant-one"}, ""), ({name: "tenant-two"}, ""))
    for name in (
        "Authorization",
        "X-API-Key",
        "Cookie",
        "X-Forwarded-User",
        "X-Forwarded-Client-Cert",
        "X-Anything-Else",
        "Mcp-Session-Id",
    )
}
TENANTS["a query"] = (({}, "?token=one"), ({}, "?token=two"))
TENANTS["a header that only one has"] = (({"X-API-Key": "tenant-one"}, ""), ({}, ""))
TENANTS["the same session id"] = tuple(  # type: ignore[assignment]  # two of them
    ({"Mcp-Session-Id": "guessed", "X-API-Key": name}, "") for name in ("one", "two")
)


def exchange(
    handler: Handler, *requests: tuple[Any, tuple[dict[str, str], str]], words: tuple[str, ...] = ()
) -> list[Answered]:
    """What clients get for their messages, one after the other, through one gateway."""

    async def run() -> list[Answered]:
        found: list[Answered] = []
        async with scripted(handler) as url, gateway(url + "/mcp", *words) as base, ClientSession() as client:
            for message, (headers, query) in requests:
                data, named = json.dumps(message), {**ACCEPT, **headers}
                async with client.post(base + "/mcp" + query, data=data, headers=named) as response:
                    found.append(Answered(response.status, response.headers, await response.read()))
        return found

    return asyncio.run(run())


def tool(name: str, schema: dict[str, Any], **annotations: bool) -> dict[str, Any]:
    return {"name": name, "inputSchema": schema, "annotations": annotations}


def tenant_of(request: web.Request) -> str:
    return "one" if "one" in str(sorted(request.headers.items())) + request.query_string else "two"


@pytest.mark.parametrize("tenants", TENANTS.values(), ids=TENANTS)
def test_what_one_tenant_s_tools_promise_gives_no_right_to_repeat_another_s_calls(tenants: Any) -> None:
    calls: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if body["method"] == "tools/list":
            return web.json_response({**listed("pay", idempotentHint=tenant_of(request) == "one"), "id": body["id"]})
        calls.append(body)
        return web.Response(status=502, headers={"Retry-After": "0"})

    one, two = tenants
    exchange(handle, (LIST, one), (call("pay"), two), words=("--retry",))

    assert len(calls) == 1


@pytest.mark.parametrize("tenants", TENANTS.values(), ids=TENANTS)
def test_one_tenant_s_schema_refuses_no_call_of_another(tenants: Any) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if body["method"] == "tools/list":
            schema = SCHEMA if tenant_of(request) == "one" else {"type": "object"}
            return web.json_response(
                {"jsonrpc": "2.0", "id": body["id"], "result": {"tools": [{"name": "work", "inputSchema": schema}]}}
            )
        return web.json_response(success(id=body["id"]))

    one, two = tenants
    answers = exchange(handle, (LIST, one), (call(n="x"), two), (call(n="x"), one), words=("--validate",))

    assert answers[1].message == success()
    assert answers[2].failure["type"] == "VALIDATION"


@pytest.mark.parametrize("tenants", TENANTS.values(), ids=TENANTS)
def test_no_tenant_is_offered_the_tools_of_another(tenants: Any) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if body["method"] == "tools/list":
            return web.json_response({**listed(f"tool-of-{tenant_of(request)}"), "id": body["id"]})
        return web.json_response(failing(id=body["id"], text="Unknown tool: tool-of"))

    one, two = tenants
    answers = exchange(handle, (LIST, one), (call("tool-of"), two))

    assert b"tool-of-two" in answers[1].body
    assert b"tool-of-one" not in answers[1].body


@pytest.mark.parametrize("scope", ["public", "private"])
def test_a_listing_for_all_gives_no_other_client_the_right_to_repeat_a_call(scope: str) -> None:
    calls: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if body["method"] == "tools/list":
            answer = {**listed("pay", idempotentHint=tenant_of(request) == "one"), "id": body["id"]}
            answer["result"] |= {"cacheScope": scope, "ttlMs": 60_000}
            return web.json_response(answer)
        calls.append(body)
        return web.Response(status=502, headers={"Retry-After": "0"})

    one, two = TENANTS["X-API-Key"]
    exchange(handle, (LIST, one), (call("pay"), two), words=("--retry",))

    assert len(calls) == 1


VARYING = {
    "Traceparent": "00-{}-01",
    "X-Request-Id": "{}",
    "X-B3-TraceId": "{}",
    "Accept": "text/event-stream, application/json, text/{}",
    "Cache-Control": "no-store-{}",
    "Last-Event-Id": "{}",
    "Mcp-Method": "method-{}",
    "Mcp-Name": "name-{}",
    "Mcp-Param-City": "city-{}",
    "Mcp-Protocol-Version": "2026-07-{}",
}


@pytest.mark.parametrize(("name", "value"), VARYING.items(), ids=VARYING)
def test_headers_that_differ_between_requests_of_one_client_do_not_split_it(name: str, value: str) -> None:
    asked: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        asked.append(body["method"])
        return web.json_response(
            {**(listed("work") if body["method"] == "tools/list" else failing()), "id": body["id"]}
        )

    exchange(handle, *((message, ({name: value.format(n)}, "")) for n, message in enumerate([LIST, call(), call()])))

    assert asked == ["tools/list", "tools/call", "tools/call"]


def test_clients_are_told_apart_by_their_certificates() -> None:
    keys = {identity([("X", "1")], query="", certificate=one) for one in (None, b"one", b"two")}

    assert len(keys) == 3


def certificates(folder: Path, *names: str) -> Iterator[Path]:
    """Write self-signed certificates for this machine, each with its key."""
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        start = datetime(2020, 1, 1, tzinfo=UTC)
        made = (
            x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + timedelta(days=36_500))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        form = serialization.Encoding.PEM
        own = key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        path = folder / f"{name}.pem"
        path.write_bytes(made.public_bytes(form) + own)
        yield path


def test_tenants_that_differ_only_by_their_certificates_share_nothing(tmp_path: Path) -> None:
    """The server gets the same headers of both: only the order of the requests says whose they are."""
    server, one, two = certificates(tmp_path, "server", "one", "two")
    lists = iter([[tool("pay", SCHEMA, idempotentHint=True)], [tool("pay", {"type": "object"})]])
    calls: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if body["method"] == "tools/list":
            return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": {"tools": next(lists)}})
        calls.append(body)
        return web.Response(status=502, headers={"Retry-After": "0"})

    async def run() -> list[Answered]:
        accepting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        accepting.load_cert_chain(server)
        accepting.verify_mode = ssl.CERT_REQUIRED
        found: list[Answered] = []
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(scripted(handle))
            for name in (one, two):
                accepting.load_verify_locations(name)
            loop = asyncio.get_running_loop()
            with mock.patch.object(loop, "create_server", partial(loop.create_server, ssl=accepting)):
                base = await stack.enter_async_context(gateway(url + "/mcp", "--retry", "--validate"))
            for message, name in [(LIST, one), (LIST, two), (call("pay", n="x"), one), (call("pay", n="x"), two)]:
                shown = ssl.create_default_context(cafile=server)
                shown.load_cert_chain(name)
                address = base.replace("http:", "https:") + "/mcp"
                async with (
                    ClientSession() as client,
                    client.post(address, data=json.dumps(message), headers=ACCEPT, ssl=shown) as response,
                ):
                    found.append(Answered(response.status, response.headers, await response.read()))
        return found

    answers = asyncio.run(run())

    assert answers[2].failure["type"] == "VALIDATION"  # by its own schema, before the server hears of it
    assert answers[3].failure["code"] == "BAD_GATEWAY"
    assert len(calls) == 1  # the other's tool promised that it may be repeated, its own did not


def test_sessions_beyond_the_bound_forget_only_clients_that_are_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with a call on its way can still cancel it after many others have come."""
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 3)
    cancellations: list[Any] = []

    async def run() -> Answered:
        waiting, cancelled = asyncio.Event(), asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            body = json.loads(await request.read())
            if body["method"] == "notifications/cancelled":
                cancellations.append(body["params"]["requestId"])
                cancelled.set()
                return web.Response(status=202)
            if request.headers["Mcp-Session-Id"] != "first":
                return web.json_response(success(id=body["id"]))
            if body["id"] == 1 or body["method"] == "tools/list":
                return web.Response(status=503, headers={"Retry-After": "0"})
            waiting.set()
            await cancelled.wait()
            return web.json_response(success(id=body["id"]))

        words = ("--retry", "--retry-safe", "work")
        async with scripted(handle) as url, gateway(url + "/mcp", *words) as base:
            first = asyncio.create_task(post(base, call(), Mcp_Session_Id="first"))
            await waiting.wait()
            for number in range(5):
                await post(base, call(), Mcp_Session_Id=f"other {number}")
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            await post(base, note, Mcp_Session_Id="first")
            return await first

    answer = asyncio.run(run())

    assert answer.message["id"] == 1
    assert cancellations == ["failwell-retry-1"]


def test_a_client_that_posts_to_the_endpoint_of_another_s_stream_gets_its_own_answer() -> None:
    """The older transport on a server that names one endpoint for all, and tells clients apart by their keys."""

    async def run() -> tuple[Answered, bytes]:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            if request.method == "POST":
                return web.Response(status=503)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b"event: endpoint\ndata: /messages\n\n")
            await asyncio.Event().wait()
            return response

        async with (
            scripted(handle) as url,
            gateway(url + "/sse") as base,
            ClientSession() as client,
            client.get(base + "/sse", headers={"X-API-Key": "one"}) as stream,
        ):
            first = await stream.content.readuntil(b"\n\n")
            answer = await post(base + "/messages", call(), X_API_Key="two")
            own = await post(base + "/messages", call(), X_API_Key="one")
            assert own.status == 202
            return answer, first + await stream.content.readuntil(b"\n\n")

    answer, stream = asyncio.run(run())

    assert answer.failure["code"] == "SERVICE_UNAVAILABLE"
    assert stream.count(b"SERVICE_UNAVAILABLE") > 0
    assert stream.count(b"event:") == 2
