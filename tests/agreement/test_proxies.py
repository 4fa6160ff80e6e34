"""What the proxies make of the failures of servers that do and do not use failwell."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web

import failwell as fw
from tests.agreement import scripted_server
from tests.agreement.cases import ANNOTATIONS, DIALECTS, HINTS, IN_DIALECTS, Disagreements, plain_failures
from tests.agreement.wire import check_wire, verdicts
from tests.proxy.http.setting import ACCEPT, gateway, scripted

SERVER = Path(scripted_server.__file__)
OUR_KEY = "dev.failwell/failure"


def whole(failure: fw.Failure, dialect: str) -> dict[str, Any]:
    return fw.encode(failure, dialect)


def foreign(failure: fw.Failure, dialect: str) -> dict[str, Any]:
    """Return the result of a server that speaks a dialect and has never heard of failwell."""
    result = fw.encode(failure, dialect)
    del result["_meta"][OUR_KEY]
    return result


def words(failure: fw.Failure, dialect: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": failure.message}], "isError": True}


def results() -> Iterator[tuple[fw.Failure, dict[str, Any]]]:
    """Yield each failure with each way to say it, the dialect another one each time."""
    for number, failure in enumerate(plain_failures()):
        for offset, say in enumerate((whole, foreign, words)):
            yield failure, say(failure, DIALECTS[(number + offset) % len(DIALECTS)])


CASES = list(results())
SCRIPT = {"tools": ANNOTATIONS, "results": [result for _, result in CASES]}
CALLS = [(tool, number) for tool in HINTS for number in range(len(CASES))]


def request(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id: int) -> dict[str, Any]:
    tool, number = CALLS[id]
    return request(id, "tools/call", name=tool, arguments={"number": number})


def check_answer(found: Disagreements, id: int, result: dict[str, Any]) -> None:
    tool, number = CALLS[id]
    failure, sent = CASES[number]
    schema = scripted_server.SCHEMA
    known = fw.read(sent, tool=tool, arguments={"number": number}, input_schema=schema, annotations=ANNOTATIONS[tool])
    assert known is not None
    check_wire(found, result, known, tool, failure, sent)
    if OUR_KEY in sent.get("_meta", {}):
        found.check(verdicts(known, tool) == verdicts(failure, tool), "verdict of the proxy", tool, failure, sent)


@pytest.mark.parametrize("dialect", IN_DIALECTS)
def test_the_stdio_proxy_says_what_decide_says(dialect: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    opening = [request(-2, "initialize", protocolVersion="2025-06-18", capabilities={}), request(-1, "tools/list")]
    lines = "".join(json.dumps(message) + "\n" for message in [*opening, *map(call, range(len(CALLS)))])
    proxy = [sys.executable, "-m", "failwell", "proxy", "--quiet", "--dialect", dialect, "--grace", "60"]

    done = subprocess.run(
        [*proxy, "--", sys.executable, str(SERVER), str(script)],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )

    found = Disagreements()
    answers = {message["id"]: message["result"] for message in map(json.loads, done.stdout.splitlines())}
    for id in range(len(CALLS)):
        check_answer(found, id, answers[id])
    found.assert_none()


@pytest.mark.parametrize("dialect", IN_DIALECTS)
def test_the_http_proxy_says_what_decide_says(dialect: str) -> None:
    async def handle(received: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(scripted_server.answer(await received.json(), SCRIPT))

    async def ask(session: ClientSession, url: str, message: dict[str, Any]) -> dict[str, Any]:
        async with session.post(url, json=message, headers=ACCEPT) as response:
            answer: dict[str, Any] = await response.json()
            return answer

    async def run() -> Disagreements:
        found = Disagreements()
        async with scripted(handle) as url, gateway(url, "--dialect", dialect) as proxy, ClientSession() as session:
            await ask(session, proxy, request(-1, "tools/list"))
            for id in range(DIALECTS.index(dialect), len(CALLS), len(DIALECTS)):
                check_answer(found, id, (await ask(session, proxy, call(id)))["result"])
        return found

    asyncio.run(run()).assert_none()
