"""What guarded functions answer."""

import asyncio
from typing import Any

import pytest

import failwell as fw
from tests.agreement.cases import ANNOTATIONS, HINTS, IN_DIALECTS, Disagreements, failures, plain_failures
from tests.agreement.wire import check_wire, text_of


def guarded(tool: str, dialect: str, **settings: Any) -> Any:
    @fw.guard(tool=tool, dialect=dialect, hints=ANNOTATIONS[tool], **settings)
    def fail(exc: Exception) -> None:
        raise exc

    return fail


@pytest.mark.parametrize("dialect", IN_DIALECTS)
def test_a_guard_says_what_decide_says(dialect: str) -> None:
    found = Disagreements()
    for tool in HINTS:
        fail = guarded(tool, dialect)
        for failure in failures():
            check_wire(found, fail(fw.ToolFailure(failure)), failure, tool)

    found.assert_none()


@pytest.mark.parametrize("dialect", IN_DIALECTS)
def test_a_guard_of_an_async_function_says_what_decide_says(dialect: str) -> None:
    async def run() -> Disagreements:
        found = Disagreements()
        for tool in HINTS:

            @fw.guard(tool=tool, dialect=dialect, hints=HINTS[tool])
            async def fail(failure: fw.Failure) -> fw.Failure:
                return failure

            for failure in plain_failures():
                check_wire(found, await fail(failure), failure, tool)
        return found

    asyncio.run(run()).assert_none()


class ForeignError(Exception):
    """What a library raises: a rule says what it means."""

    def __init__(self, failure: fw.Failure) -> None:
        super().__init__("secret words")
        self.failure_meant = failure


def meaning(exc: ForeignError) -> dict[str, Any]:
    failure = exc.failure_meant
    return {"code": failure.code, "type": failure.type, "outcome": failure.outcome, "message": failure.message}


@pytest.mark.parametrize("dialect", IN_DIALECTS)
@pytest.mark.parametrize("single_effect", [False, True])
def test_a_guard_says_of_a_library_s_error_what_decide_says_of_the_whole_call(
    dialect: str, single_effect: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "failwell")
    found = Disagreements()
    with fw.rule(ForeignError, meaning):
        for tool, hints in HINTS.items():
            fail = guarded(tool, dialect, single_effect=single_effect)
            for meant in plain_failures():
                exc = ForeignError(meant)
                failure, result = fw.from_exception(exc), fail(exc)
                is_widened = failure.outcome in ("not_executed", "rejected") and not (hints.repeatable or single_effect)
                failure = failure.replace(outcome="unknown" if is_widened else failure.outcome, id="e1")
                result["content"][0]["text"] = text_of(result).replace(fw.read(result).id, "e1")
                check_wire(found, result, failure, tool, single_effect)

    found.assert_none()


def test_a_text_that_lost_its_meta_gives_back_the_message_and_what_our_sentence_says() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="Too many requests.", outcome="executed", retry_after=30)
    result = guarded("work", "meta")(fw.ToolFailure(failure))

    read = fw.read(text_of(result))

    assert read is not None
    assert (read.message, read.code, read.outcome, read.retryable) == (
        "Too many requests.", "RATE_LIMITED", "executed", False,
    )  # fmt: skip
    assert (read.origin, read.retry_after) == ("inferred", 30)
    assert read.suggestion == "The call took effect. Do not repeat it."
