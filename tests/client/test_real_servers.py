"""Hooked clients against real servers of the installed SDKs, in memory and over standard streams."""

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import failwell as fw
from tests.client.scripted import Naps
from tests.client.test_wrap import is_error, text
from tests.matrix import sdks, servers

SIDES = [(kind, era) for kind in sdks.KINDS for era in sdks.ERAS]
PROGRAM = Path(servers.__file__)


@pytest.fixture(autouse=True)
def _installed() -> None:
    fw.install(sleep=Naps())


def failures(results: dict[str, Any]) -> dict[str, tuple[str, str | None] | None]:
    found = {name: getattr(result, "failure", None) for name, result in results.items()}
    return {name: (failure.type, failure.code) if failure else None for name, failure in found.items()}


@pytest.mark.parametrize(("kind", "era"), SIDES)
def test_every_call_of_a_protected_server_ends_as_it_should(kind: str, era: str) -> None:
    async def main() -> dict[str, Any]:
        async with sdks.session(kind, servers.protected(kind), era) as connected:
            call = connected.call_tool_mcp if kind == "fastmcp" else connected.call_tool
            return {name: await call(name, {}) for name in ("declared", "crash", "claim", "text", "data")}

    results = anyio.run(main)

    assert failures(results) == {
        "declared": ("NOT_FOUND", "NOT_FOUND"),
        "crash": ("INTERNAL", "INTERNAL_ERROR"),
        "claim": ("VALIDATION", "VALIDATION_FAILED"),
        "text": None,
        "data": None,
    }
    assert text(results["text"]) == "done"
    assert [is_error(results[name]) for name in ("declared", "crash", "claim", "text")] == [True, True, True, False]


@pytest.mark.parametrize("kind", sdks.KINDS)
def test_a_server_over_standard_streams_that_knows_nothing_of_us(kind: str) -> None:
    async def main() -> dict[str, Any]:
        program = StdioServerParameters(command=sys.executable, args=[str(PROGRAM), kind, "null"])
        async with stdio_client(program) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return {name: await session.call_tool(name, {}) for name in ("sdk_error", "claim", "text", "nothing")}

    results = anyio.run(main)

    found = failures(results)
    assert found["sdk_error"] == ("TRANSIENT", "RATE_LIMITED")
    assert results["sdk_error"].failure.retry_after == 30
    assert found["text"] is None
    assert is_error(results["claim"])
    assert is_error(results["nothing"])
    assert all(text(result).count("\nNext: ") == 1 for name, result in results.items() if name != "text")


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="the first version of the SDK asks in another way")
def test_a_question_of_the_server_passes() -> None:
    from mcp.types import InputRequiredResult

    async def main() -> Any:
        async with sdks.session("mcp", servers.bare("lowlevel"), "modern") as client:
            return await client.session.call_tool("asking", {}, allow_input_required=True)

    assert isinstance(anyio.run(main), InputRequiredResult)


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="the first version of the SDK has no such client")
def test_a_client_of_the_sdk_can_be_wrapped() -> None:
    fw.uninstall()

    async def main() -> Any:
        async with sdks.session("mcp", servers.protected("lowlevel"), "modern") as client:
            assert fw.wrap(client) is client
            return await client.call_tool("declared", {})

    assert anyio.run(main).failure.code == "NOT_FOUND"
