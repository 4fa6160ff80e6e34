"""Ten thousand calls that fail in every layer: each answer is valid, safe and says what to do."""

import asyncio
import json
import random
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import httpx2
import jsonschema_rs
import pytest

import failwell as fw
from failwell.dialects import DIALECTS, _compact, _envelope, _flat

SECRET = "hunter" + "2hunter2"
CALLS = 10_000
SCHEMAS = {module.name: jsonschema_rs.validator_for(module.json_schema()) for module in (_compact, _envelope, _flat)}


class Hostile(Exception):
    """Lies about itself in every way."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__

    @property
    def status_code(self) -> int:
        raise ValueError(SECRET)


def looped() -> Exception:
    one, two = ValueError(SECRET), KeyError(SECRET)
    one.__cause__, two.__cause__ = two, one
    return one


def answered(status: int) -> Exception:
    request = httpx2.Request("GET", f"https://user:{SECRET}@example.com/?token={SECRET}")
    response = httpx2.Response(status, headers={"Retry-After": "7"}, text=SECRET, request=request)
    return httpx2.HTTPStatusError(SECRET, request=request, response=response)


def constraint() -> Exception:
    database = sqlite3.connect(":memory:")
    try:
        database.execute("create table t (a unique)")
        database.executemany("insert into t values (?)", [(SECRET,), (SECRET,)])
    except sqlite3.Error as exc:
        return exc
    finally:
        database.close()
    raise AssertionError("the constraint did not hold")


EXCEPTIONS: list[Callable[[], BaseException]] = [
    lambda: ValueError(SECRET),
    lambda: KeyError(SECRET),
    lambda: RuntimeError(f"password={SECRET}"),
    lambda: FileNotFoundError(2, "No such file", f"/home/{SECRET}"),
    lambda: PermissionError(13, SECRET),
    lambda: ConnectionRefusedError(111, SECRET),
    lambda: TimeoutError(SECRET),
    lambda: socket.gaierror(-2, SECRET),
    lambda: subprocess.CalledProcessError(1, ["login", SECRET], SECRET, SECRET),
    lambda: subprocess.TimeoutExpired(["login", SECRET], 5),
    lambda: json.JSONDecodeError(SECRET, SECRET, 0),
    lambda: UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET),
    lambda: httpx2.ConnectTimeout(SECRET),
    lambda: httpx2.ReadTimeout(SECRET),
    lambda: answered(429),
    lambda: answered(500),
    lambda: answered(404),
    constraint,
    looped,
    Hostile,
    lambda: ExceptionGroup(SECRET, [ValueError(SECRET), TimeoutError(SECRET)]),
    lambda: ExceptionGroup(SECRET, [ConnectionResetError(SECRET)]),
    lambda: fw.NotFound("Task 7 does not exist.", details={"password": SECRET}),
    lambda: fw.RateLimited(f"token={SECRET} is used up", retry_after=3),
    lambda: fw.Invalid("m", fields=[fw.FieldProblem(path="password", sent=SECRET, message=f"{SECRET} is short")]),
    lambda: MemoryError(SECRET),
    lambda: RecursionError(SECRET),
    lambda: type("OwnError", (Exception,), {"code": SECRET, "status": SECRET})(SECRET * 1000),
]
CANCELLATIONS: list[Callable[[], BaseException]] = [
    asyncio.CancelledError,
    KeyboardInterrupt,
    lambda: SystemExit(SECRET),
]


def thrown(make: Callable[[], BaseException], layers: int) -> Any:
    """Raise at the bottom of several layers, some of which wrap what they catch."""
    if layers == 0:
        raise make()
    if layers % 2:
        try:
            return thrown(make, layers - 1)
        except Exception as exc:
            raise RuntimeError(f"layer {layers} {SECRET}") from exc
    return thrown(make, layers - 1)


def assert_valid(dialect: str, result: dict[str, Any]) -> None:
    [block] = result["content"]
    text = block["text"]
    assert text
    if dialect in SCHEMAS:
        SCHEMAS[dialect].validate(json.loads(text))
    elif dialect == "xml":
        assert ElementTree.fromstring(text).tag in ("tool_error", "validation_error")
    else:
        assert isinstance(result["_meta"]["errorType"], str)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", logger="failwell")


def test_every_answer_is_valid_and_safe_and_every_cancellation_gets_out() -> None:
    chance = random.Random(20261115)
    tools = {dialect: fw.guard(dialect=dialect)(thrown) for dialect in DIALECTS}
    codes: set[str | None] = set()
    for number in range(CALLS):
        dialect = chance.choice(list(tools))
        if number % 50 == 0:
            cancellation = chance.choice(CANCELLATIONS)
            with pytest.raises(BaseException) as caught:  # noqa: PT011 - which one is asserted below
                tools[dialect](cancellation, chance.randrange(4))
            assert type(caught.value) is type(cancellation())
            continue

        result = tools[dialect](chance.choice(EXCEPTIONS), chance.randrange(4))

        assert SECRET not in json.dumps(result)
        assert_valid(dialect, result)
        found = fw.read(result)
        assert found is not None
        assert found.type in fw.codes.TYPES
        assert fw.decide(found).reason
        codes.add(found.code)
    assert len(codes) >= 15
