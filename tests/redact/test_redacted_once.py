"""A failure is redacted once on its way out: what writes it takes what was redacted, and asks for no more."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.rewriter import Rewriter
from failwell.records import Event, Recorder
from failwell.redact import canonical
from tests.client.scripted import Scripted
from tests.records.samples import Kept

LOST = fw.Failure(code="TIMEOUT", message="No answer from https://ann:hunter2secret@example.com.", outcome="unknown")
RESULT = {"content": [{"type": "text", "text": LOST.message}], "isError": True}


@pytest.fixture
def redactions(monkeypatch: pytest.MonkeyPatch) -> list[fw.Failure]:
    """The failures that were redacted, wherever that is done."""
    found: list[fw.Failure] = []
    original = fw.dialects.canonical

    def noting(failure: fw.Failure, *cleaned: Any) -> Any:
        found.append(failure)
        return original(failure, *cleaned)

    for module in ("dialects._placement", "renderer", "records._record", "sdk.mcp_client"):
        monkeypatch.setattr(f"failwell.{module}.canonical", noting)
    return found


def guarded() -> Any:
    return fw.guard()(lambda: LOST)()


def wrapped() -> Any:
    server = Scripted("tasks")
    server.tool("send", RESULT)

    async def main() -> Any:
        async with server.connected() as session:
            fw.wrap(session)
            return await session.call_tool("send", {})

    return anyio.run(main)


def recorded() -> Any:
    sink = Kept()
    with Recorder(sink) as recorder:
        recorder(Event(source="client", kind="failure", tool="send", failure=LOST))
    assert sink.records[0].text is not None
    return sink.records


@pytest.mark.parametrize("way", [guarded, wrapped, recorded, lambda: fw.render(LOST)])
def test_a_failure_is_redacted_once(way: Callable[[], Any], redactions: list[fw.Failure]) -> None:
    found = way()

    assert len(redactions) == 1
    assert "hunter2secret" not in str(found)


@pytest.mark.parametrize("text", ["ENOENT: no such file, open '/srv/data/missing.txt'", "It broke."])
def test_a_proxy_cleans_the_text_of_an_answer_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned: list[str] = []

    def noting(original: Callable[[str, int], str], text: str, limit: int) -> str:
        found = original(text, limit)
        cleaned.append(found)
        return found

    for name in ("clean", "clean_ends"):
        monkeypatch.setattr(canonical, name, partial(noting, getattr(canonical, name)))
    call, rewriter = ProxiedCall(id=1, tool="send"), Rewriter()
    result = {"content": [{"type": "text", "text": text}], "isError": True}
    reading = rewriter.read_answer(call, {"jsonrpc": "2.0", "id": 1, "result": result}, is_failed=True)
    answer, _ = rewriter.write_answer(call, reading)

    assert reading.failure is not None
    assert cleaned.count(reading.failure.message) == 1
    assert answer is not None
    assert answer["result"]["_meta"]["dev.failwell/failure"]["message"] == reading.failure.message
