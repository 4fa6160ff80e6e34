"""What `protect` says of things that are no servers, and the parts of it that need no SDK."""

import subprocess
import sys
from typing import Any

import pytest

import failwell as fw


class FastMCP:
    """A class that only bears the name of a server's."""


@pytest.mark.parametrize(
    "thing", [None, "server", object(), FastMCP(), FastMCP], ids=lambda thing: type(thing).__name__
)
def test_what_is_no_server_is_refused_in_one_sentence(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"^protect takes a server of fastmcp or the mcp SDK, not \w+$"):
        fw.protect(thing)


def test_no_sdk_is_imported_to_find_out_what_it_was_given() -> None:
    program = """
import sys
import failwell as fw
try:
    fw.protect(object())
except TypeError:
    print(sorted({"mcp", "fastmcp", "pydantic", "jsonschema_rs"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("value", [5, None, "text", {"content": []}, [fw.NotFound("x").failure]], ids=str)
def test_a_value_is_the_same_in_a_result_and_by_itself(value: Any) -> None:
    plain, wrapped = fw.guard(lambda: value)(), fw.guard(lambda: fw.succeed(value))()

    assert plain == wrapped
    assert fw.read(plain) is None


def test_a_failure_is_found_in_whatever_it_was_returned_as() -> None:
    exc = fw.NotFound("Task 7 does not exist.")
    values: list[Any] = [exc, exc.failure, fw.fail(exc), fw.succeed(exc.failure)]

    found = [fw.read(fw.guard(tool="tasks")(lambda value=value: value)()) for value in values]

    assert found == [exc.failure.replace(tool="tasks")] * 4


def test_ids_do_not_read_like_numbers() -> None:
    @fw.guard
    def crash() -> None:
        raise KeyError("x")

    ids = {fw.read(crash()).id or "" for _ in range(200)}

    assert len(ids) == 200
    assert all(len(id) == 12 and id[0].isalpha() for id in ids)
