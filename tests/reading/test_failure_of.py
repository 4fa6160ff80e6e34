"""`failure_of`: the failure that a result of any framework carries."""

from types import SimpleNamespace
from typing import Any

import pytest

import failwell as fw
from failwell.dialects._placement import META_KEY

LIMITED = fw.Failure(code="RATE_LIMITED", message="Too many requests.", retry_after=3)
WHOLE: dict[str, Any] = fw.encode(LIMITED)["_meta"][META_KEY]


@pytest.mark.parametrize(
    "result",
    [
        LIMITED,
        fw.fail(LIMITED),
        fw.ToolFailure(LIMITED),
        fw.encode(LIMITED),
        SimpleNamespace(failure=LIMITED),
        SimpleNamespace(artifact={"failure": LIMITED}),
        SimpleNamespace(custom_data={META_KEY: WHOLE}),
        {"status": "error", "content": [], "metadata": {META_KEY: WHOLE}},
        SimpleNamespace(result={"meta": {META_KEY: WHOLE}}),
    ],
    ids=["failure", "err", "exception", "wire", "session", "LangChain", "OpenAI agents", "Strands", "event of Strands"],
)
def test_finds_the_failure_where_a_framework_keeps_it(result: object) -> None:
    found = fw.failure_of(result)

    assert found is not None
    assert (found.code, found.retry_after) == ("RATE_LIMITED", 3)


class Rude:
    """Has a property that fails."""

    @property
    def failure(self) -> str:
        raise RuntimeError("not now")


@pytest.mark.parametrize("result", [None, "RATE_LIMITED: wait", 3, {}, {"_meta": {META_KEY: 1}}, Rude(), object()])
def test_guesses_nothing_and_never_raises(result: object) -> None:
    assert fw.failure_of(result) is None


def test_an_object_that_holds_itself_ends_the_search() -> None:
    itself = SimpleNamespace()
    itself.failure = itself

    assert fw.failure_of(itself) is None
