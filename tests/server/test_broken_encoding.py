"""Something in our own error path raises: the agent gets a valid error, and no word that was not redacted."""

from typing import Any

import pytest

import failwell as fw
from failwell.dialects import _placement
from failwell.server import _responder

SECRET = "hunter" + "2xyz"


def _fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError(f"a bug that quotes {SECRET}")


@fw.guard
def connect() -> str:
    """Fail with a password in the text."""
    raise fw.NotFound(f"postgresql://app:{SECRET}@db/x is gone")


@fw.guard
def crash() -> str:
    """Fail in a way that nobody declared."""
    raise KeyError(SECRET)


@pytest.mark.parametrize(
    ("module", "name"),
    [(_placement, "canonical"), (_placement, "write_whole"), (_placement, "_shown"), (_responder, "advised")],
    ids=["redaction", "writing", "wording", "advice"],
)
@pytest.mark.parametrize("tool", [connect, crash])
def test_a_minimal_error_goes_out(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, tool: Any) -> None:
    monkeypatch.setattr(module, name, _fail)

    result = tool()

    assert result["isError"] is True
    assert result["content"][0]["text"]
    assert SECRET not in str(result)


def test_encode_alone_never_raises_for_what_a_failure_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_placement, "canonical", _fail)

    result = fw.encode(fw.Failure(code="NOT_FOUND", message=f"password={SECRET}"))

    assert result == {"content": [{"type": "text", "text": "The tool failed."}], "isError": True, "_meta": {}}
