"""Proxies over standard input and output that share their limits."""

import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from failwell.proxy.http.workers import WorkerCounts, read_counts
from tests.proxy.clients import HELLO, SERVER
from tests.retry.fleet.servers import RedisServer

CALL = {"name": "act", "arguments": {"n": 1, "do": "fail:503 Service Unavailable"}}


def through(*words: str, **variables: str) -> tuple[list[Any], str]:
    """Make one call that fails, and return what the client and the operator read."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": CALL},
    ]
    sent = "".join(json.dumps(message) + "\n" for message in messages)
    proxy = [sys.executable, "-m", "failwell", "proxy", "--retry", "--quiet", "--attempts", "1", *words]
    done = subprocess.run(
        [*proxy, "--", *SERVER],
        input=sent,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, **variables},
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_two_proxies_count_together_and_the_password_stays_off_the_command_line(own_redis: RedisServer) -> None:
    own_redis.client.config_set("requirepass", "p@ss/word")
    own_redis.client.auth("p@ss/word")
    url = own_redis.url.replace("127.0.0.1", ":${LIMITS_PASSWORD}@127.0.0.1")
    for _ in range(2):
        answers, told = through("--limits", url, LIMITS_PASSWORD="p@ss/word")
        assert answers[1]["result"]["isError"]
        assert told == ""

    [breaker] = own_redis.client.scan_iter("failwell:*:breaker:*")
    assert len(own_redis.client.hget(breaker, "failures").split()) == 2


def test_without_redis_the_operator_is_told_once_and_the_client_gets_its_answer(own_redis: RedisServer) -> None:
    own_redis.kill()
    answers, told = through("--limits", own_redis.url.replace("127.0.0.1", "ada:hunter2@127.0.0.1"))

    assert answers[1]["result"]["isError"]
    assert told.startswith(f"failwell: {own_redis.url} is unavailable: the connection failed.")
    assert told.count("\n") == 1
    assert "hunter2" not in told


def test_workers_are_not_started_without_the_variable_of_their_limits() -> None:
    words = ["--url", "http://127.0.0.1:1/mcp", "--listen", "127.0.0.1:0", "--workers", "2", "--retry"]
    limits = ["--limits", "redis://:${NOT_SET_HERE}@127.0.0.1"]
    command = [sys.executable, "-m", "failwell", "proxy", *words, *limits]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert done.stderr == "failwell: --limits needs the variable NOT_SET_HERE, which is not set\n"
    assert done.returncode == 2


@pytest.mark.parametrize("written", [b"", b'{"calls":{"a":', b'{"calls":{"a":"b"}}'])
def test_a_worker_that_died_while_it_wrote_counted_nothing(written: bytes) -> None:
    assert read_counts(io.BytesIO(written)) == WorkerCounts()


def test_a_variable_that_is_not_set_is_told_and_the_server_serves(own_redis: RedisServer) -> None:
    answers, told = through("--limits", "redis://:${NOT_SET_HERE}@127.0.0.1")

    assert answers[1]["result"]["isError"]
    assert told == "failwell: --limits needs the variable NOT_SET_HERE, which is not set\n"
