"""What the tools of protected servers answer, through the clients of their SDKs."""

import asyncio
import logging
from typing import Any

import pytest

import failwell as fw
from tests.agreement.cases import ANNOTATIONS, DIALECTS, HINTS, IN_DIALECTS, Disagreements, plain_failures
from tests.agreement.wire import check_wire
from tests.matrix import sdks

FAILURES = list(plain_failures())


def server(kind: str, dialect: str) -> Any:
    """Return a protected server with a tool for each kind of hints, which raises the failure of a number."""
    made = sdks.new(kind)
    for tool, hints in ANNOTATIONS.items():

        def fail(number: int) -> None:
            raise fw.ToolFailure(FAILURES[number])

        made.tool(name=tool, annotations=sdks.annotations(**hints))(fail)
    fw.protect(made, dialect=dialect)
    return made


def check_server(kind: str, dialect: str, *, every: int = 1) -> None:
    """Make a call for each tool and every so many failures, beginning with another one for each dialect."""

    async def run() -> Disagreements:
        found, first = Disagreements(), DIALECTS.index(dialect) % every
        async with sdks.client(kind, server(kind, dialect)) as call:
            for tool in HINTS:
                for number in range(first, len(FAILURES), every):
                    check_wire(found, await call(tool, {"number": number}), FAILURES[number], tool, kind)
        return found

    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    asyncio.run(run()).assert_none()


@pytest.mark.skipif("mcp" not in sdks.KINDS, reason="another SDK is tested")
@pytest.mark.parametrize("dialect", IN_DIALECTS)
def test_a_protected_server_of_the_mcp_sdk_says_what_decide_says(dialect: str) -> None:
    check_server("mcp", dialect)


@pytest.mark.skipif("fastmcp" not in sdks.KINDS, reason="another SDK is tested")
@pytest.mark.parametrize("dialect", IN_DIALECTS)
def test_a_protected_server_of_fastmcp_says_what_decide_says(dialect: str) -> None:
    check_server("fastmcp", dialect, every=len(DIALECTS))  # a call takes three times as long: each failure once
