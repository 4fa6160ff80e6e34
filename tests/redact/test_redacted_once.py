"""A failure is redacted once on its way out: what writes it takes what was redacted, and asks for no more."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.records import Event, Recorder
from tests.client.scripted import Scripted
from tests.records.samples import Kept

LOST = fw.Failure(code="TIMEOUT", message="No answer from https://ann:hunter2secret@example.com.", outcome="unknown")
RESULT = {"content": [{"type": "text", "text": LOST.message}], "isError": True}


@pytest.fixture
def redactions(monkeypatch: pytest.MonkeyPatch) -> list[fw.Failure]:
    """The failures that were redacted, wherever that is done."""
    found: list[fw.Failure] = []
    original = fw.dialects.canonical

    def noting(failure: fw.Failure) -> Any:
        found.append(failure)
        return original(failure)

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
