"""Many calls through whole proxies to servers that count their effects, and fail in every way.

A call of a tool that promises nothing takes effect once at most, and no answer denies an effect, or makes one up.
"""

import asyncio
import json
import random
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("the servers need pipes that Windows does not have", allow_module_level=True)

from aiohttp import ClientSession, web

from tests.proxy.clients import Client
from tests.proxy.counting import TOOLS, fault
from tests.proxy.http.setting import ACCEPT, gateway, scripted

COUNTING = [sys.executable, "-I", str(Path(__file__).with_name("counting.py"))]
CALLS = [200, pytest.param(2_000, marks=pytest.mark.slow)]
FEW, MANY = 4, 32
"""Calls on their way: those that die with a process fail together, and so many would suspend all others."""


def tool_of(number: int) -> str:
    return ("act", "look")[number % 2]


def check(answers: dict[int, dict[str, Any]], effects: Counter[int], calls: int) -> None:
    """Check the answer to each call against the effects that it had."""
    assert set(answers) == set(range(calls))
    seen: Counter[str] = Counter()
    for number, answer in answers.items():
        result = answer["result"]
        is_failed = result.get("isError") is True
        outcome = result["_meta"]["dev.failwell/failure"]["outcome"] if is_failed else "executed"
        seen[f"{tool_of(number)} {outcome}"] += 1
        if tool_of(number) == "act":
            assert effects[number] <= 1, f"{number} took effect {effects[number]} times"
        assert outcome != "executed" or effects[number], f"{number} took no effect"
        assert outcome != "not_executed" or not effects[number], f"{number} took effect"
    assert seen["act unknown"] >= 5
    assert any(effects[number] > 1 for number in answers)  # where that is right, calls are made again


@pytest.mark.parametrize("calls", CALLS)
def test_no_effect_is_repeated_by_a_session_whose_server_fails_and_dies(calls: int, tmp_path: Path) -> None:
    noted = tmp_path / "effects"
    client = Client("--retry", "--restart", "--quiet", command=[*COUNTING, "5", str(noted), str(calls // 4)])
    places, answers, twice = threading.Semaphore(FEW), dict[int, Any](), list[int]()

    def send() -> None:
        for number in range(calls):
            places.acquire()
            client.ask("tools/call", {"name": tool_of(number), "arguments": {"n": number}}, id=number)

    client.request("tools/list")
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    while len(answers) < calls:
        answer = client.receive()
        twice += [answer["id"]] if answer["id"] in answers else []
        answers[answer["id"]] = answer
        places.release()
    sender.join()
    client.close()

    assert twice == []
    check(answers, Counter(map(int, noted.read_text().split())), calls)


@pytest.mark.parametrize("calls", CALLS)
def test_no_effect_is_repeated_by_a_gateway_whose_server_fails_and_breaks_off(calls: int) -> None:
    effects, answers = Counter[int](), dict[int, Any]()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        message = await request.json()
        if message["method"] == "tools/list":
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": TOOLS}})
        has_effect, (said, *_) = fault("5", message)
        effects[message["params"]["arguments"]["n"]] += has_effect
        drawn = random.Random(f"6 {message['id']}").random()
        if drawn < 0.05:
            assert request.transport is not None
            request.transport.abort()
        if drawn < 0.1:
            return web.Response(status=503)
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], **said})

    async def run() -> None:
        left = iter(range(calls))
        async with (
            scripted(handle) as url,
            gateway(f"{url}/mcp", "--retry") as base,
            ClientSession(headers=ACCEPT) as session,
            asyncio.timeout(300),
            asyncio.TaskGroup() as group,
        ):

            async def work() -> None:
                for number in left:
                    params = {"name": tool_of(number), "arguments": {"n": number}}
                    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
                    async with session.post(base, data=body) as response:
                        answers[number] = await response.json()
                        assert answers[number]["id"] == number

            for _ in range(MANY):
                group.create_task(work())

    asyncio.run(run())

    check(answers, effects, calls)
