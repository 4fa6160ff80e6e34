"""Eight processes on one Redis: together they stay within what one of them may do."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.retry.fleet.servers import RedisServer

MEMBERS = Path(__file__).with_name("members.py")


class Fleet:
    def __init__(self, url: str) -> None:
        command = [sys.executable, MEMBERS, url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, task: str, *, now: int = 0) -> list[int]:
        """Have all members do something at once, and return what each answers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{task} {now}\n")
        self.process.stdin.flush()
        return cast(list[int], json.loads(self.process.stdout.readline()))

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture(scope="module")
def fleet(redis: RedisServer) -> Iterator[Fleet]:
    redis.client.flushdb()
    found = Fleet(redis.url)
    yield found
    found.end()


def test_they_never_exceed_the_shared_budget(fleet: Fleet, redis: RedisServer) -> None:
    retries = fleet.do("spend")

    assert sum(retries) == 100  # 500 tokens, 5 for each
    assert redis.client.get(next(redis.client.scan_iter("failwell:*:budget"))) == b"500.000000"


def test_one_probe_only_passes_a_half_open_breaker(fleet: Fleet, redis: RedisServer) -> None:
    fleet.do("open")
    refused = fleet.do("probe", now=10)
    redis.pass_time("failwell", 31)

    assert refused == [0] * 8
    assert sorted(fleet.do("probe", now=41)) == [0] * 7 + [1]
