"""What an exception means for the whole call, where only an SDK knows how far the call got."""

from typing import Any

import pytest

import failwell as fw
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import Responder, original_exception


@pytest.mark.parametrize(
    ("ran", "single_effect", "outcome"),
    [(True, False, "unknown"), (True, True, "not_executed"), (False, False, "not_executed")],
)
def test_the_outcome_is_that_of_the_whole_call(ran: bool, single_effect: bool, outcome: str) -> None:
    responder = Responder("tool", "compact", {}, single_effect=single_effect)

    assert responder.failure_of(ConnectionRefusedError(), ran=ran).outcome == outcome


def test_a_body_that_was_never_entered_had_no_effect() -> None:
    responder = Responder("tool", "compact", {})

    assert responder.failure_of(KeyError("x")).outcome == "unknown"
    assert responder.failure_of(KeyError("x"), ran=False).outcome == "not_executed"


def test_what_an_sdk_wrapped_is_found_and_what_an_author_wrapped_is_kept() -> None:
    namespace: dict[str, Any] = {"__name__": "somesdk.server"}
    exec("def wrap(exc):\n    raise RuntimeError('SDK') from exc", namespace)
    author = ValueError("author")
    author.__cause__ = KeyError("inner")

    with pytest.raises(RuntimeError) as raised:
        namespace["wrap"](author)

    assert original_exception(raised.value, {"somesdk"}) is author
    assert original_exception(raised.value, {"other"}) is raised.value


def test_annotations_that_cannot_be_read_make_no_tool_safe(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def model_dump(self, **how: Any) -> Any:
            raise RuntimeError("broken")

    assert Protection().responder(CallInfo("tool", Broken())).hints == fw.Hints()
    assert "the annotations of tool tool could not be read" in caplog.text
