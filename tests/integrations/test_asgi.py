"""Tools over plain HTTP: endpoints and applications of real frameworks, with a real client."""

import asyncio
import gzip
import json
import logging
import socket
import threading
from collections.abc import Callable
from typing import Annotated, Any

import fastapi
import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import failwell as fw
from failwell.integrations.asgi import FailureMiddleware, endpoint

SECRET = "hunter2-s3cret"


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="failwell")


def request(app: Any, *, method: str = "POST", path: str = "/", **rest: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://tools") as client:
            return await client.request(method, path, **rest)

    return asyncio.run(send())


def failure_of(response: httpx.Response, dialect: str = "envelope") -> fw.Failure:
    found = fw.read(response.text, dialect=dialect)
    assert found is not None
    return found


def claim(task_id: str, count: int = 1) -> dict[str, Any]:
    if task_id == "crash":
        raise ValueError(SECRET)
    if task_id == "busy":
        raise fw.RateLimited("Slow down.", retry_after=2.5)
    if task_id != "t-1":
        raise fw.NotFound.of("task", task_id)
    return {"task": task_id, "count": count}


async def claim_async(task_id: str) -> fw.Result[str]:
    return fw.succeed(task_id) if task_id == "t-1" else fw.fail(fw.error("No such task.", code="NOT_FOUND"))


def test_an_endpoint_answers_a_value_in_the_envelope() -> None:
    response = request(endpoint(claim), json={"task_id": "t-1", "count": 2})

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {"success": True, "result": {"task": "t-1", "count": 2}}


def test_an_endpoint_answers_a_failure_with_its_status() -> None:
    response = request(endpoint(claim, clock=lambda: "now", version="2"), json={"task_id": "t-9"})

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "success": False,
        "error_code": "RESOURCE_NOT_FOUND",
        "message": "It does not exist",
        "error": "Task 't-9' does not exist.",
        "code": 404,
        "details": {"tool": "claim", "resource": "task", "resource_id": "t-9"},
        "timestamp": "now",
        "version": "2",
    }


def test_a_status_that_the_author_states_is_sent() -> None:
    def tool() -> None:
        raise fw.Conflict("Held by bob.", http_status=423)

    assert request(endpoint(tool)).status_code == 423


def test_always_200_says_it_in_the_body_only() -> None:
    response = request(endpoint(claim, always_200=True), json={"task_id": "busy"})

    assert response.status_code == 200
    assert "retry-after" not in response.headers
    assert (failure_of(response).code, failure_of(response).retry_after) == ("RATE_LIMITED", 2.5)


def test_a_delay_is_a_header_too_and_never_shorter() -> None:
    response = request(endpoint(claim), json={"task_id": "busy"})

    assert (response.status_code, response.headers["retry-after"]) == (429, "3")


def test_a_crash_is_a_500_with_an_id_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="failwell")
    response = request(endpoint(claim), json={"task_id": "crash"})

    failure = failure_of(response)
    assert (response.status_code, failure.code) == (500, "INTERNAL_ERROR")
    assert failure.id is not None
    assert failure.id in caplog.text
    assert SECRET not in response.text


def test_an_async_tool_may_return_a_result() -> None:
    app = endpoint(claim_async)

    assert request(app, json={"task_id": "t-1"}).json() == {"success": True, "result": "t-1"}
    assert request(app, json={"task_id": "t-2"}).status_code == 404
    assert [field.path for field in failure_of(request(app)).fields] == ["task_id"]


def test_arguments_that_a_tool_does_not_take_are_named() -> None:
    response = request(endpoint(claim), json={"taskid": "t-1"})

    assert response.status_code == 400
    assert response.json()["required_fields"] == ["task_id"]
    assert [(field.path, field.kind) for field in failure_of(response).fields] == [
        ("task_id", "missing"),
        ("taskid", "unknown"),
    ]


def test_a_type_error_inside_a_tool_is_not_the_caller_s() -> None:
    def tool() -> int:
        return len(5)  # type: ignore[arg-type]  # the bug that is tested

    assert failure_of(request(endpoint(tool))).code == "INTERNAL_ERROR"


def test_a_schema_is_checked_before_the_tool_runs() -> None:
    ran: list[Any] = []
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    response = request(endpoint(ran.append, name="add", schema=schema), json={"n": "x"})

    assert (response.status_code, ran) == (400, [])
    assert [field.path for field in failure_of(response).fields] == ["n"]


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"content": b'{"task_id": '}, 400, "PARSE_ERROR"),
        ({"content": b'{"task_id": "\xff"}'}, 400, "PARSE_ERROR"),
        ({"content": b"[" * 100_000}, 400, "PARSE_ERROR"),
        ({"json": ["t-1"]}, 400, "VALIDATION_FAILED"),
        ({"json": {"task_id": "x" * 200_000}}, 413, "PAYLOAD_TOO_LARGE"),
        ({"headers": {"content-length": "9" * 5000}}, 413, "PAYLOAD_TOO_LARGE"),
        ({"data": {"task_id": "t-1"}}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({"method": "GET"}, 405, "METHOD_NOT_ALLOWED"),
    ],
    ids=["half", "no text", "deep", "array", "large", "endless", "form", "method"],
)
def test_requests_that_hold_no_arguments_are_refused(sent: dict[str, Any], status: int, code: str) -> None:
    response = request(endpoint(claim, largest=150_000), **sent)

    failure = failure_of(response)
    assert (response.status_code, failure.code, failure.outcome) == (status, code, "not_executed")
    assert failure.tool == "claim"
    assert response.headers.get("allow") == ("POST" if status == 405 else None)


def test_a_body_that_only_turns_out_too_large_is_refused_too() -> None:
    async def parts() -> Any:
        for _ in range(4):
            yield b" " * 50

    response = request(endpoint(claim, largest=150), content=parts())

    assert failure_of(response).code == "PAYLOAD_TOO_LARGE"


def test_a_client_that_goes_away_is_not_answered() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "headers": []}
    asyncio.run(endpoint(claim)(scope, receive, send))

    assert sent == []


def test_an_endpoint_is_no_application_for_web_sockets() -> None:
    with pytest.raises(TypeError, match="claim is an endpoint for HTTP, not for websocket"):
        asyncio.run(endpoint(claim)({"type": "websocket"}, None, None))  # type: ignore[arg-type]  # never used


def test_observers_and_limits_work_as_in_a_guard() -> None:
    meter = fw.records.Meter()
    app = endpoint(claim, observers=[meter], limit=fw.server.Limit(1))
    request(app, json={"task_id": "t-9"})
    request(app, json={"task_id": "t-1"})

    assert meter.snapshot()["claim"].calls == 2
    assert meter.snapshot()["claim"].failed == 1


@pytest.mark.parametrize(
    ("dialect", "kind"),
    [("compact", "application/json"), ("flat", "application/json"), ("xml", "application/xml; charset=utf-8")],
)
def test_other_dialects_can_be_served(dialect: str, kind: str) -> None:
    app = endpoint(claim, dialect=dialect)
    response = request(app, json={"task_id": "t-9"})

    assert (response.status_code, response.headers["content-type"]) == (404, kind)
    assert failure_of(response, dialect).code == "NOT_FOUND"
    assert request(app, json={"task_id": "t-1"}).json() == {"task": "t-1", "count": 1}


def test_a_warning_is_sent_with_200() -> None:
    def tool() -> fw.Failure:
        return fw.tool_error("DEPRECATED", message="Use claim_2.", severity="warning")

    assert request(endpoint(tool)).status_code == 200


def test_a_value_that_json_cannot_say_is_the_tool_s_failure() -> None:
    def tool() -> Any:
        loop: list[Any] = []
        loop.append(loop)
        return loop

    assert request(endpoint(tool)).status_code == 500


def test_wrong_settings_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="unknown dialect 'envelop'"):
        endpoint(claim, dialect="envelop")
    with pytest.raises(TypeError):
        FailureMiddleware(Starlette(), colour="red")


async def missing(request: Request) -> Response:
    raise HTTPException(404, "Task 7 does not exist.")


async def declared(request: Request) -> Response:
    raise fw.RateLimited("Slow down.", retry_after=30)


async def crash(request: Request) -> Response:
    raise ValueError(SECRET)


async def unreachable(request: Request) -> Response:
    raise ConnectionRefusedError(111, SECRET)


async def sign_in(request: Request) -> Response:
    return PlainTextResponse("Unauthorized", 401, headers={"WWW-Authenticate": "Bearer"})


async def by_hand(request: Request) -> Response:
    payload = {"success": False, "error_code": "CLAIM_FAILED", "message": "No", "error": "No.", "code": 409, "mine": 1}
    return JSONResponse(payload, 409)


async def broken_stream(request: Request) -> Response:
    async def parts() -> Any:
        yield b"half"
        raise ValueError(SECRET)

    return StreamingResponse(parts())


async def fine(request: Request) -> Response:
    return PlainTextResponse("fine")


async def page(request: Request) -> Response:
    return PlainTextResponse("Traceback (most recent call last): " + SECRET, 500)


async def html(request: Request) -> Response:
    return Response("<html><h1>Held by bob</h1></html>", 409, media_type="text/html")


async def problem(request: Request) -> Response:
    payload = {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "Held by bob."}
    return JSONResponse(payload, 409, media_type="application/problem+json")


async def endless(request: Request) -> Response:
    return PlainTextResponse("Held by bob. " * 100_000, 409)


async def packed(request: Request) -> Response:
    return Response(gzip.compress(b"Held by bob."), 409, headers={"Content-Encoding": "gzip"})


HANDLERS = (
    *(missing, declared, crash, unreachable, sign_in, by_hand, broken_stream, fine, page),
    *(html, problem, endless, packed),
)
ROUTES = [Route(f"/{handler.__name__}", handler, methods=["GET", "POST"]) for handler in HANDLERS]


def inside(**settings: Any) -> Any:
    return Starlette(routes=ROUTES, middleware=[Middleware(FailureMiddleware, **settings)])


def outside(**settings: Any) -> Any:
    return FailureMiddleware(Starlette(routes=ROUTES), **settings)


@pytest.fixture(params=[inside, outside])
def wrapped(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return how Starlette gets the middleware: as one of its own, or around it."""
    return request.param  # type: ignore[no-any-return]  # one of the two above


@pytest.mark.parametrize(
    ("path", "status", "code", "tool", "message"),
    [
        ("missing", 404, "NOT_FOUND", "missing", "Task 7 does not exist."),
        ("declared", 429, "RATE_LIMITED", "declared", "Slow down."),
        ("crash", 500, "INTERNAL_ERROR", "crash", "The tool failed unexpectedly."),
        ("sign_in", 401, "UNAUTHORIZED", "sign_in", None),
        ("page", 500, "INTERNAL_ERROR", "page", "The tool failed unexpectedly."),
        ("nowhere", 404, "NOT_FOUND", None, "It does not exist."),
        ("html", 409, "CONFLICT", "html", "It conflicts with the current state."),
        ("problem", 409, "CONFLICT", "problem", "Held by bob."),
        ("endless", 409, "CONFLICT", "endless", "It conflicts with the current state."),
        ("packed", 409, "CONFLICT", "packed", "It conflicts with the current state."),
    ],
)
def test_whatever_fails_in_an_application_is_answered(
    wrapped: Callable[..., Any], path: str, status: int, code: str, tool: str | None, message: str | None
) -> None:
    response = request(wrapped(), path=f"/{path}")

    failure = failure_of(response)
    assert (response.status_code, failure.code, failure.tool) == (status, code, tool)
    assert message is None or failure.message == message
    assert response.json()["code"] == status
    assert SECRET not in response.text


def test_every_failure_of_an_application_can_be_a_200(wrapped: Callable[..., Any]) -> None:
    app = wrapped(always_200=True)

    assert [request(app, path=f"/{path}").status_code for path in ("missing", "crash", "by_hand")] == [200, 200, 200]


def test_headers_that_say_nothing_of_the_body_are_kept(wrapped: Callable[..., Any]) -> None:
    assert request(wrapped(), path="/sign_in").headers["www-authenticate"] == "Bearer"
    assert request(wrapped(), path="/declared").headers["retry-after"] == "30"


def test_envelopes_written_by_hand_are_passed_on_as_they_are(wrapped: Callable[..., Any]) -> None:
    bare = request(Starlette(routes=ROUTES), path="/by_hand")
    response = request(wrapped(), path="/by_hand")

    assert (response.status_code, response.content) == (409, bare.content)


def test_what_succeeds_is_not_touched(wrapped: Callable[..., Any]) -> None:
    bare = request(Starlette(routes=ROUTES), path="/fine")
    response = request(wrapped(), path="/fine")

    assert (response.status_code, response.content, response.headers) == (200, bare.content, bare.headers)


def test_a_response_that_breaks_half_way_is_not_patched_up(wrapped: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=SECRET):
        request(wrapped(), path="/broken_stream")


@pytest.mark.parametrize(("method", "outcome"), [("POST", "unknown"), ("GET", "not_executed")])
def test_a_method_that_may_be_repeated_tells_that_nothing_happened(method: str, outcome: str) -> None:
    failure = failure_of(request(outside(), path="/unreachable", method=method))

    assert (failure.code, failure.outcome) == ("CONNECTION_REFUSED", outcome)


def test_start_and_end_of_an_application_pass_through() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    asyncio.run(FailureMiddleware(app)({"type": "lifespan"}, None, None))  # type: ignore[arg-type]  # never used

    assert seen == ["lifespan"]


def test_what_fastapi_refuses_is_answered_field_by_field() -> None:
    app = fastapi.FastAPI()
    app.add_middleware(FailureMiddleware)

    @app.post("/claim")
    def claim_task(task_id: Annotated[str, fastapi.Body()], count: Annotated[int, fastapi.Body()]) -> str:
        raise fastapi.HTTPException(409, "Task t-1 is held by bob.")

    refused = request(app, path="/claim", json={"count": "many"})
    held = request(app, path="/claim", json={"task_id": "t-1", "count": 1})

    assert refused.status_code == 422
    assert [(field.path, field.kind) for field in failure_of(refused).fields] == [
        ("task_id", "missing"),
        ("count", "type"),
    ]
    assert (held.status_code, failure_of(held).code, held.json()["error"]) == (
        409,
        "CONFLICT",
        "Task t-1 is held by bob.",
    )


def test_a_real_server_serves_endpoints() -> None:
    routes = [Route("/tools/claim", endpoint(claim), methods=["POST"])]
    app = FailureMiddleware(Starlette(routes=routes))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=30) as client:
                found = client.post("/tools/claim", json={"task_id": "t-1"})
                lost = client.post("/tools/claim", json={"task_id": "t-9"})
                other = client.post("/tools/clam", json={})
        finally:
            server.should_exit = True
            thread.join()

    assert found.json() == {"success": True, "result": {"task": "t-1", "count": 1}}
    assert (lost.status_code, failure_of(lost).tool, json.loads(lost.text)["code"]) == (404, "claim", 404)
    assert (other.status_code, failure_of(other).code) == (404, "NOT_FOUND")
