"""What a proxy keeps of the tools that a server lists."""

from typing import Any

import pytest

from failwell.proxy.calls import ListedTools


@pytest.mark.parametrize(
    ("annotations", "promises"),
    [
        ({"readOnlyHint": True}, {"readOnlyHint": True}),
        ({"destructiveHint": False}, {"readOnlyHint": False}),
        ({"idempotentHint": True, "readOnlyHint": None}, {"readOnlyHint": False, "idempotentHint": True}),
        ({"title": "Find a task"}, {}),
        ({"readOnlyHint": None}, {}),
        ("read-only", {}),
        (None, {}),
    ],
)
def test_a_tool_promises_something_once_its_annotations_speak_of_effects(
    annotations: Any, promises: dict[str, bool]
) -> None:
    tools = ListedTools()
    tools.learn({"tools": [{"name": "find", "annotations": annotations}]}, is_whole=True)

    assert tools.get("find").promises == promises
