"""What only pydantic-ai has: two exceptions for a failed call, and results that are mapped before anybody sees them."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import ModelRetry, ToolFailed

from failwell.integrations.pydantic_ai import fail_well
from tests.stacks.cases import INVALID, TIMED_OUT

pytestmark = pytest.mark.filterwarnings("default")

CONTEXT: Any = SimpleNamespace(tool_manager=None, tool_name="send_mail")


def processed(*answers: Any) -> Any:
    left = list(answers)

    async def call_tool(name: str, arguments: dict[str, Any], **rest: Any) -> Any:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = asyncio.run(fail_well()(CONTEXT, call_tool, "send_mail", {"to": "ada"}))
    assert left == []
    return made


@pytest.mark.parametrize("stored", [TIMED_OUT, json.dumps(TIMED_OUT), [TIMED_OUT], {"isError": True, "content": []}])
def test_a_success_that_looks_like_an_error_is_the_very_value(stored: Any) -> None:
    assert processed(stored) is stored


def test_input_to_correct_is_the_model_s_turn() -> None:
    with pytest.raises(ModelRetry, match="Correct the value, then call again"):
        processed(ToolFailed(json.dumps(INVALID)))


def test_any_other_failure_is_charged_to_no_budget() -> None:
    with pytest.raises(ToolFailed, match="The call may have taken effect"):
        processed(ModelRetry(json.dumps(TIMED_OUT)))
