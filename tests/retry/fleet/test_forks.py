"""What a process that was forked makes of limits that its parent used: it begins anew, and waits for no thread."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.retry.fleet.servers import RedisServer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked on this system")


@pytest.fixture(scope="module")
def found(redis: RedisServer) -> Any:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.retry.fleet.forking", redis.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_child_waits_for_no_lock_that_a_thread_of_its_parent_held(found: Any) -> None:
    assert found["locked"] == "ok"


def test_a_child_has_connections_of_its_own(found: Any) -> None:
    is_away, has_those_of_its_parent = found["redis"]

    assert not is_away
    assert not has_those_of_its_parent


def test_a_child_sees_for_itself_whether_the_store_is_away(found: Any) -> None:
    was_away, in_child = found["away"]

    assert was_away
    assert in_child == [False, False, 2]


def test_what_a_parent_has_to_tell_is_not_told_by_its_child_too(found: Any) -> None:
    assert found["to be told"] == [[14.0, 14.0, 14.0], [7.0]]


def test_a_child_asks_by_another_name(found: Any) -> None:
    child, parent = (name.partition(":") for name in found["callers"])

    assert child[2] == parent[2]  # the same object, by its address
    assert child[0] != parent[0]


def test_calls_of_a_child_have_other_numbers(found: Any) -> None:
    first, in_child, second = found["numbers"]

    assert second == first + 1
    assert in_child not in range(first - 10**6, first + 10**6)
