"""A warning beside a success: the value arrives as it would without one, and the warning with it."""

import asyncio
from typing import Any

import pytest

import failwell as fw
from tests.matrix import sdks
from tests.matrix.test_intent import ask, low_level

DEPRECATED = fw.tool_error("DEPRECATED", message="Use find instead.", actions=["find"])
DIALECTS = ["compact", "envelope", "flat", "meta", "xml"]


def plain() -> Any:
    return fw.success({"n": 5})


def text() -> str:
    return "done"


def warned_text() -> str:
    return fw.success("done", warning="This takes longer from May on.")  # type: ignore[return-value]  # what it holds


def number() -> dict[str, int]:
    return {"n": 5}


def warned_number() -> dict[str, int]:
    return fw.success({"n": 5}, warning=DEPRECATED)


async def warned_later() -> dict[str, int]:
    return fw.success({"n": 5}, warning=fw.ToolFailure(DEPRECATED))


def server(kind: str, function: Any, **settings: Any) -> Any:
    made = low_level(function) if kind == "lowlevel" else sdks.new(kind)
    if kind != "lowlevel":
        made.tool()(function)
    fw.protect(made, **settings)
    return made


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("function", [warned_number, warned_later])
@pytest.mark.parametrize("kind", sdks.KINDS)
def test_the_value_is_what_it_would_be_without_the_warning(kind: str, function: Any, dialect: str) -> None:
    bare = ask(kind, server(kind, plain if kind == "lowlevel" else number), "plain" if kind == "lowlevel" else "number")
    found = ask(kind, server(kind, function, dialect=dialect), function.__name__)
    warning = fw.read(found)

    assert found["isError"] is False
    assert found["content"][:-1] == bare["content"]
    assert found["structuredContent"] == bare["structuredContent"] == {"n": 5}
    assert warning is not None
    assert (warning.code, warning.severity, warning.outcome) == ("DEPRECATED", "warning", "executed")
    assert warning.actions == ("find",)
    assert "Use find instead." in found["content"][-1]["text"]
    assert fw.decide(warning).action == "stop"


@pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])
def test_a_sentence_is_enough(kind: str) -> None:
    bare = ask(kind, server(kind, text), "text")
    found = ask(kind, server(kind, warned_text), "warned_text")
    warning = fw.read(found)

    assert found["content"][0] == bare["content"][0]
    assert found.get("structuredContent") == bare.get("structuredContent")
    assert found["content"][1]["text"] == "This takes longer from May on."
    assert warning is not None
    assert (warning.severity, warning.retryable) == ("warning", False)


@pytest.mark.parametrize("kind", [kind for kind in sdks.KINDS if kind != "lowlevel"])
def test_a_success_without_a_warning_is_the_value(kind: str) -> None:
    def plain_number() -> dict[str, int]:
        return fw.success({"n": 5})

    found = ask(kind, server(kind, plain_number), "plain_number")

    assert found["structuredContent"] == {"n": 5}
    assert fw.read(found) is None


@pytest.mark.parametrize("dialect", [None, "xml"])
@pytest.mark.parametrize("kind", sdks.KINDS)
def test_an_agent_takes_it_for_a_success(kind: str, dialect: str | None) -> None:
    made = server(kind, warned_number)

    async def run() -> Any:
        async with sdks.session(kind, made) as session:
            wrapped = fw.wrap(session, dialect=dialect)
            send = wrapped.call_tool_mcp if kind == "fastmcp" else wrapped.call_tool
            return await send("warned_number", {})

    result = asyncio.run(run())

    assert sdks.plain(result)["structuredContent"] == {"n": 5}
    assert fw.read(result) is not None
