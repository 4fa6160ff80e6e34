"""Real HTTP clients against servers that misbehave."""

import asyncio
import json
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import requests.adapters
import urllib3
import urllib3.exceptions

from failwell import from_exception
from tests.exceptions import loopback
from tests.exceptions.caught import caught, judgement

SHORT = 0.1
PATIENT = 10.0  # for servers that answer: a busy machine is no failure of theirs


def get_httpx(url: str, timeout: float = PATIENT, lib: Any = httpx, **options: Any) -> object:
    with lib.Client(timeout=timeout, follow_redirects=True, trust_env=False) as client:
        return client.get(url, **options).raise_for_status().json()


def get_httpx_async(url: str, timeout: float = PATIENT, lib: Any = httpx) -> object:
    async def get() -> object:
        async with lib.AsyncClient(timeout=timeout, follow_redirects=True, trust_env=False) as client:
            return (await client.get(url)).raise_for_status().json()

    return asyncio.run(get())


def get_requests(url: str, timeout: float = PATIENT) -> object:
    with requests.Session() as session:
        session.trust_env = False
        response = session.get(url, timeout=timeout)
        response.raise_for_status()
        return response.json()


def get_urllib3(url: str, timeout: float = PATIENT) -> object:
    with urllib3.PoolManager(timeout=timeout, retries=urllib3.Retry(0, status_forcelist=range(400, 600))) as pool:
        return pool.request("GET", url).json()


def get_aiohttp(url: str, timeout: float = PATIENT) -> object:
    async def get() -> object:
        limits = aiohttp.ClientTimeout(sock_connect=timeout, sock_read=timeout)
        async with aiohttp.ClientSession(timeout=limits, raise_for_status=True) as session, session.get(url) as answer:
            return await answer.json()

    return asyncio.run(get())


CLIENTS: dict[str, Callable[..., object]] = {
    "httpx": get_httpx,
    "httpx async": get_httpx_async,
    "httpx2": partial(get_httpx, lib=httpx2),
    "httpx2 async": partial(get_httpx_async, lib=httpx2),
    "requests": get_requests,
    "urllib3": get_urllib3,
    "aiohttp": get_aiohttp,
}
any_client = pytest.mark.parametrize("get", CLIENTS.values(), ids=CLIENTS)

STATUSES = {
    400: ("VALIDATION", "INVALID_ARGUMENT", "rejected"),
    401: ("PERMISSION", "UNAUTHORIZED", "rejected"),
    403: ("PERMISSION", "FORBIDDEN", "rejected"),
    404: ("NOT_FOUND", "NOT_FOUND", "rejected"),
    409: ("CONFLICT", "CONFLICT", "rejected"),
    410: ("NOT_FOUND", "GONE", "rejected"),
    413: ("VALIDATION", "PAYLOAD_TOO_LARGE", "rejected"),
    422: ("VALIDATION", "INVALID_ARGUMENT", "rejected"),
    429: ("TRANSIENT", "RATE_LIMITED", "not_executed"),
    500: ("TRANSIENT", "UPSTREAM_ERROR", "unknown"),
    501: ("INTERNAL", "NOT_IMPLEMENTED", "rejected"),
    502: ("TRANSIENT", "BAD_GATEWAY", "unknown"),
    503: ("TRANSIENT", "SERVICE_UNAVAILABLE", "unknown"),
    504: ("TRANSIENT", "UPSTREAM_TIMEOUT", "unknown"),
}


@any_client
@pytest.mark.parametrize("status", STATUSES)
def test_a_status_means_the_same_through_every_client(get: Callable[..., object], status: int, serve: Any) -> None:
    failure = from_exception(caught(get, serve(loopback.answering(status))))

    assert (failure.type, failure.code, failure.outcome) == STATUSES[status]
    assert failure.http_status == status
    assert failure.origin == "mapped"


@pytest.mark.parametrize("name", [name for name in CLIENTS if name != "urllib3"])  # it keeps no headers
def test_the_delay_a_service_asks_for_survives(name: str, serve: Any) -> None:
    exc = caught(CLIENTS[name], serve(loopback.answering(429, {"Retry-After": "7"})))

    assert from_exception(exc).retry_after == 7


@pytest.mark.parametrize("name", ["httpx", "httpx async", "httpx2", "httpx2 async", "requests"])
def test_a_code_in_the_body_beats_the_status(name: str, serve: Any) -> None:
    body = json.dumps({"error": {"code": "insufficient_quota", "message": "hunter2"}}).encode()

    failure = from_exception(caught(CLIENTS[name], serve(loopback.answering(429, body=body))))

    assert (failure.type, failure.code) == ("PERMISSION", "QUOTA_EXHAUSTED")
    assert "hunter2" not in repr(failure)


@any_client
def test_a_refused_connection_never_reached_anybody(get: Callable[..., object], refused: str) -> None:
    assert judgement(caught(get, refused)) == ("TRANSIENT", "CONNECTION_REFUSED", "not_executed")


@any_client
def test_a_connection_nobody_takes_up_times_out_unexecuted(get: Callable[..., object], unanswered: str) -> None:
    assert judgement(caught(get, unanswered, SHORT)) == ("TRANSIENT", "CONNECT_TIMEOUT", "not_executed")


@any_client
def test_an_answer_that_never_comes_leaves_the_outcome_unknown(get: Callable[..., object], serve: Any) -> None:
    assert judgement(caught(get, serve(loopback.hanging), SHORT)) == ("TRANSIENT", "UPSTREAM_TIMEOUT", "unknown")


@any_client
@pytest.mark.parametrize(
    "behaviour",
    [loopback.closing, loopback.resetting, loopback.CUT, loopback.CUT_CHUNK],
    ids=["closes", "resets", "cuts the body", "cuts a chunk"],
)
def test_a_connection_lost_midway_leaves_the_outcome_unknown(
    get: Callable[..., object], behaviour: loopback.Behaviour, serve: Any
) -> None:
    assert judgement(caught(get, serve(behaviour))) == ("TRANSIENT", "CONNECTION_LOST", "unknown")


@any_client
def test_an_answer_that_is_not_http_is_never_called_safe_to_repeat(get: Callable[..., object], serve: Any) -> None:
    failure = from_exception(caught(get, serve(loopback.GARBAGE)))

    assert failure.code in ("CONNECTION_LOST", "BAD_UPSTREAM_RESPONSE")
    assert failure.outcome == "unknown"


@any_client
@pytest.mark.parametrize("behaviour", [loopback.BAD_GZIP, loopback.NOT_JSON], ids=["bad gzip", "not JSON"])
def test_an_answer_that_cannot_be_read_is_the_services_fault(
    get: Callable[..., object], behaviour: loopback.Behaviour, serve: Any
) -> None:
    failure = from_exception(caught(get, serve(behaviour)))

    assert (failure.type, failure.outcome) == ("INTERNAL", "unknown")
    assert failure.code == "BAD_UPSTREAM_RESPONSE"
    assert "hunter2" not in repr(failure)


@any_client
def test_redirects_in_circles_are_not_retried(get: Callable[..., object], serve: Any) -> None:
    failure = from_exception(caught(get, serve(loopback.redirecting)))

    assert failure.type in ("INTERNAL", "TRANSIENT")
    assert failure.code in ("TOO_MANY_REDIRECTS", "UPSTREAM_ERROR")


@any_client
def test_a_certificate_nobody_vouches_for_is_not_worth_another_try(
    get: Callable[..., object], serve: Any, untrusted: Any
) -> None:
    exc = caught(get, serve(loopback.answering(), tls=untrusted))

    assert judgement(exc) == ("INTERNAL", "TLS_VERIFY_FAILED", "not_executed")
    assert from_exception(exc).retryable is False


@any_client
def test_a_server_without_tls_is_not_worth_another_try(get: Callable[..., object], serve: Any) -> None:
    url = serve(loopback.greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n", b"")).replace("http:", "https:")

    assert judgement(caught(get, url)) == ("INTERNAL", "TLS_VERIFY_FAILED", "not_executed")


@any_client
@pytest.mark.parametrize("number", [socket.EAI_NONAME, socket.EAI_AGAIN], ids=["no such name", "resolver is down"])
def test_a_name_that_cannot_be_looked_up(get: Callable[..., object], number: int, name_service: Any) -> None:
    name_service(number)

    told = judgement(caught(get, "http://service.example/"))

    if number == socket.EAI_NONAME:
        assert told == ("NOT_FOUND", "HOST_NOT_FOUND", "not_executed")
    else:
        assert told == ("TRANSIENT", "DNS_TEMPORARY", "not_executed")


@any_client
@pytest.mark.parametrize("url", ["http://", "foo://example/", "http://[::1"], ids=["no host", "scheme", "broken"])
def test_an_address_that_is_none_was_never_called(get: Callable[..., object], url: str) -> None:
    assert judgement(caught(get, url)) == ("VALIDATION", "INVALID_URL", "not_executed")


@pytest.mark.parametrize("lib", [httpx, httpx2])
def test_a_full_pool_is_told_from_a_slow_service(lib: Any, serve: Any) -> None:
    url = serve(loopback.hanging)

    async def together() -> None:
        limits = lib.Limits(max_connections=1)
        async with lib.AsyncClient(limits=limits, timeout=lib.Timeout(1, pool=0.02), trust_env=False) as client:
            await asyncio.gather(client.get(url), client.get(url))

    assert judgement(caught(asyncio.run, together())) == ("TRANSIENT", "POOL_TIMEOUT", "not_executed")


def test_retries_used_up_by_a_status_still_tell_it(serve: Any) -> None:
    url = serve(loopback.answering(503))

    def get() -> None:
        with requests.Session() as session:
            retries = urllib3.Retry(1, status_forcelist=[503], backoff_factor=0)
            session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retries))
            session.get(url, timeout=PATIENT)

    assert from_exception(caught(get)).http_status == 503


def test_a_wrapper_of_a_users_own_gives_way_to_what_it_wraps(refused: str) -> None:
    class StorageError(Exception):
        pass

    def store() -> None:
        try:
            get_httpx(refused)
        except httpx.HTTPError as exc:
            raise StorageError("could not store hunter2") from exc

    assert judgement(caught(store)) == ("TRANSIENT", "CONNECTION_REFUSED", "not_executed")
