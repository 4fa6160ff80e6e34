"""Effects happen at most once per key, whatever dies: workers, and the store itself."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.exceptions.servers import Postgres
from tests.retry.fleet.servers import RedisServer
from tests.server.effects import Mode, Tally, play

QUICK = 300
MANY = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 1_500
SURE: list[Mode] = ["resolver", "downstream", "transaction"]
"""Where an effect can be looked up, repeated or undone, so that every key ends with exactly one."""


@pytest.fixture
def durable_redis(tmp_path: Path) -> Iterator[RedisServer]:
    (tmp_path / "redis").mkdir()
    server = RedisServer(str(tmp_path / "redis"), "--appendonly", "yes", "--appendfsync", "always")
    server.start()
    yield server
    server.kill()


def check(found: Tally, mode: Mode) -> None:
    assert found.unsettled == 0
    assert set(found.effects) <= {0, 1}, str(found)
    if mode == "plain":
        assert found.unknown >= found.effects.get(0, 0), str(found)  # whatever did not happen is reported as unknown
    else:
        assert set(found.effects) == {1}, str(found)
        assert found.unknown == 0


@pytest.mark.parametrize("mode", ["plain", *SURE])
@pytest.mark.parametrize("calls", [QUICK, pytest.param(MANY, marks=pytest.mark.slow)])
def test_effects_happen_at_most_once_with_sqlite(tmp_path: Path, mode: Mode, calls: int) -> None:
    check(play(calls, f"sqlite:///{tmp_path / 'effects.db'}", mode, tmp_path), mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["plain", *SURE])
def test_effects_happen_at_most_once_with_postgresql_that_crashes(
    postgres: Postgres, tmp_path: Path, mode: Mode
) -> None:
    address = f"postgresql://{postgres.url}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS failwell_claims")
    crashes: list[int] = []

    check(play(MANY, address, mode, tmp_path, disturb=_every(10, lambda: _crash(address, crashes))), mode)
    assert crashes


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["plain", "resolver", "downstream"])
def test_effects_happen_at_most_once_with_a_redis_that_crashes(
    durable_redis: RedisServer, tmp_path: Path, mode: Mode
) -> None:
    crashes: list[int] = []

    def crash() -> None:
        durable_redis.kill()
        durable_redis.start()
        crashes.append(1)

    check(play(MANY, durable_redis.url, mode, tmp_path, disturb=_every(10, crash)), mode)
    assert crashes


def _every(number: int, act: Callable[[], None]) -> Callable[[int], None]:
    def disturb(ended: int) -> None:
        if ended % number == 0:
            act()

    return disturb


def _crash(address: str, crashes: list[int]) -> None:
    """Kill a process of the server, after which PostgreSQL ends all others and recovers from its log."""
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            pid = connection.execute("SELECT pg_backend_pid()").fetchone()
            assert pid is not None
            os.kill(pid[0], signal.SIGKILL)
            crashes.append(pid[0])
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return
