"""Names in the settings that are no tool's: a server with them does not start, or says so when its tools are listed."""

import asyncio
import logging
from typing import Any

import pytest

import failwell as fw
from failwell.server import MemoryClaims
from tests.matrix import sdks

HIGH = [kind for kind in sdks.KINDS if kind != "lowlevel"]
WRONG: list[dict[str, Any]] = [
    {"timeout": {"pya": 5}},
    {"raises": {"pya": [fw.NotFound]}},
    {"dialects": {"pya": "xml"}},
    {"single_effect": {"pya"}},
    {"public_errors": {"pya": ValueError}},
    {"idempotent": ["pya"], "store": MemoryClaims()},
]
by_setting = pytest.mark.parametrize("settings", WRONG, ids=lambda settings: next(iter(settings)))


def pay(cents: int) -> str:
    return "paid"


def leaves(exc: BaseException) -> list[str]:
    inner = exc.exceptions if isinstance(exc, BaseExceptionGroup) else ()
    return [str(exc), *(text for one in inner for text in leaves(one))]


async def connect(kind: str, server: Any) -> None:
    async with sdks.client(kind, server):
        pass


@pytest.mark.parametrize("kind", HIGH)
@by_setting
def test_a_server_does_not_start_with_a_name_that_no_tool_has(kind: str, settings: dict[str, Any]) -> None:
    server = sdks.new(kind)
    fw.protect(server, **settings)
    server.tool()(pay)

    with pytest.raises((Exception, BaseExceptionGroup)) as raised:
        asyncio.run(connect(kind, server))

    wanted = f"{next(iter(settings))} names 'pya', which is not a tool of tasks; did you mean 'pay'?"
    assert any(text.endswith(wanted) for text in leaves(raised.value)), leaves(raised.value)


@pytest.mark.parametrize("kind", HIGH)
def test_tools_may_be_added_after_the_settings_that_name_them(kind: str) -> None:
    server = sdks.new(kind)
    fw.protect(server, timeout={"pay": 60, "*": 60}, raises={"pay": [fw.NotFound]})
    server.tool()(pay)

    async def ask() -> dict[str, Any]:
        async with sdks.client(kind, server) as call:
            return await call("pay", {"cents": 5})

    assert asyncio.run(ask())["isError"] is False


@pytest.mark.skipif("lowlevel" not in sdks.KINDS, reason="this SDK has no low-level server")
def test_a_low_level_server_says_so_when_its_tools_are_listed(caplog: pytest.LogCaptureFixture) -> None:
    from tests.matrix.test_timeouts import server

    async def work() -> str:
        return "done"

    made = server("lowlevel", work, timeout={"wrok": 60})

    async def ask() -> None:
        async with sdks.session("lowlevel", made) as session:
            for _ in range(2):
                await session.list_tools()

    with caplog.at_level(logging.ERROR, "failwell"):
        asyncio.run(ask())

    assert [record.getMessage() for record in caplog.records] == [
        "timeout names 'wrok', which is not a tool of tasks; did you mean 'work'?"
    ]


@pytest.mark.parametrize(
    ("name", "meant"), [("timout", "timeout"), ("dailect", "dialect"), ("catch_exits", "catch_exit")]
)
def test_a_misspelt_setting_is_refused(name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"did you mean '{meant}'"):
        fw.protect(sdks.new(sdks.KINDS[0]), **{name: 5})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dialects": "compact"}, "dialects takes a mapping"),
        ({"raises": [fw.NotFound]}, "raises takes a mapping"),
        ({"observers": print}, "observers takes a list"),
        ({"observers": [5]}, "observers takes a list"),
        ({"observers": 5}, "observers takes a list"),
        ({"structured": "yes"}, "structured must be True or False, not 'yes'"),
        ({"allow_unknown": 1}, "allow_unknown must be True or False, not 1"),
        ({"public_errors": ValueError()}, "public_errors takes exception classes"),
    ],
)
def test_a_setting_of_another_kind_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        fw.protect(sdks.new(sdks.KINDS[0]), **settings)


def test_a_misspelt_setting_of_guard_is_refused() -> None:
    with pytest.raises(TypeError, match="did you mean 'timeout'"):
        fw.guard(timout=5)
