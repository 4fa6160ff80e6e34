"""A Redis for all tests of a process, one that may be killed for one test, and limits that end with their test."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from failwell.retry import FleetLimits
from tests.retry.fleet.servers import RedisServer, running

_numbers = itertools.count()


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with running() as server:
        yield server


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    with running() as server:
        yield server


@pytest.fixture
def prefix() -> str:
    return f"test-{next(_numbers)}"


@pytest.fixture
def make() -> Iterator[Callable[..., FleetLimits]]:
    """Makes limits, and closes them in the end."""
    made: list[FleetLimits] = []

    def limits(url: str, *arguments: Any, **more: Any) -> FleetLimits:
        options = {"freshness": 0.0, "patience": 5.0, "warn": lambda _: None, **more}  # machines of tests may be busy
        made.append(FleetLimits.at(url, *arguments, **options))
        return made[-1]

    yield limits
    for one in made:
        one.close()
