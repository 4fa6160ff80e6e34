"""Tools that ask the client for something: what it cannot do, or its user declines, is told as just that."""

import asyncio
import json
from typing import Any

import pytest

import failwell as fw
from tests.matrix import questions, sdks, servers

# Not every server's tool looks at the answer before it uses it.
KINDS_THAT_CHECK = ("fastmcp", "mcp")
CASES = [
    *((tool, "nothing", "CLIENT_UNSUPPORTED") for tool in questions.TOOLS),
    ("ask", "decline", "USER_DECLINED"),
    ("ask", "cancel", "USER_CANCELLED"),
    ("ask", "wrong", "CLIENT_FAILED"),
    *((tool, "reject", "USER_DECLINED") for tool in ("ask", "sample")),
    *((tool, "crash", "CLIENT_FAILED") for tool in ("ask", "sample")),
    *(("sample", answer, "CLIENT_FAILED") for answer in ("refused connection", "denied user", "cancelled")),
]
REQUESTS = {"ask": "elicitation", "sample": "sampling", "roots": "roots"}


def answered(kind: str, era: str, tool: str, answer: str) -> dict[str, Any]:
    server = questions.server(kind)
    fw.protect(server)

    async def ask() -> dict[str, Any]:
        async with questions.client(kind, server, era, answer) as call:
            return sdks.plain(await call(tool, {}))

    return asyncio.run(ask())


@pytest.mark.filterwarnings("ignore:.*(S|s)ampling.*", "ignore:.*(R|r)oots.*", "ignore:.*SEP-2577.*")
@pytest.mark.parametrize("kind", sdks.KINDS)
@pytest.mark.parametrize(("tool", "answer", "code"), CASES)
def test_a_failed_question_is_told_as_what_it_is(kind: str, tool: str, answer: str, code: str) -> None:
    if answer == "wrong" and kind not in KINDS_THAT_CHECK:
        pytest.skip("nobody checks the answer there")

    found = answered(kind, "handshake", tool, answer)

    failure = fw.read(found)
    assert failure is not None
    assert (failure.code, failure.fields) == (code, ())
    assert failure.details["request"] == REQUESTS[tool]
    assert servers.SECRET not in json.dumps(found)
    if code == "CLIENT_UNSUPPORTED":
        assert failure.message == f"The client does not support {REQUESTS[tool]}."
    assert fw.decide(failure).action != "retry"


@pytest.mark.skipif(sdks.HAS_MCP_1, reason="new in mcp 2")
@pytest.mark.filterwarnings("ignore:.*(S|s)ampling.*", "ignore:.*(R|r)oots.*", "ignore:.*SEP-2577.*")
@pytest.mark.parametrize("kind", sdks.KINDS)
@pytest.mark.parametrize("tool", questions.TOOLS)
def test_a_connection_over_which_nothing_can_be_asked_says_so(kind: str, tool: str) -> None:
    failure = fw.read(answered(kind, "modern", tool, "decline"))

    assert failure is not None
    assert failure.code == "CLIENT_UNSUPPORTED"
    assert "connection" in failure.message


def test_no_is_final_and_no_answer_is_not() -> None:
    declined = fw.Failure(code="USER_DECLINED", message="The user declined.")
    cancelled = fw.Failure(code="USER_CANCELLED", message="The user did not answer the question.")

    assert (declined.recoverable, declined.retryable, fw.decide(declined).action) == (False, False, "stop")
    assert (cancelled.recoverable, cancelled.retryable, fw.decide(cancelled).action) == (True, False, "wait")


@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
@pytest.mark.parametrize("code", ["USER_DECLINED", "USER_CANCELLED", "CLIENT_UNSUPPORTED", "CLIENT_FAILED"])
def test_every_dialect_carries_the_codes(dialect: str, code: str) -> None:
    failure = fw.read(fw.encode(fw.Failure(code=code, message="It did not work."), dialect))

    assert failure is not None
    assert failure.code == code
