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


def test_which_tools_may_help_follows_the_list_of_tools() -> None:
    tools, nothing = ListedTools(), {"type": "object", "properties": {}}
    assert tools.is_empty
    tools.learn({"tools": [{"name": "list_tasks", "inputSchema": nothing}]}, is_whole=True)
    assert (tools.candidates(), tools.is_empty) == (("list_tasks",), False)

    tools.learn({"tools": [{"name": "create_task"}, {"name": "create_temp", "inputSchema": nothing}]}, is_whole=False)

    assert tools.candidates() == ("list_tasks", "create_task")
    tools.outdate()
    assert (tools.candidates(), tools.is_empty) == ((), True)


def test_a_list_without_tools_is_empty() -> None:
    tools = ListedTools()
    tools.learn({"tools": [{"name": "list_tasks"}]}, is_whole=True)
    tools.learn({"tools": []}, is_whole=True)

    assert tools.is_empty


def test_what_is_left_of_a_tool_that_may_have_changed_is_made_once() -> None:
    tools, schema = ListedTools(), {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    tools.learn({"tools": [{"name": "find", "inputSchema": schema, "outputSchema": {}}]}, is_whole=True)
    tools.outdate()
    tools.outdate()
    left = tools.get("find")

    assert left.input_schema == {"properties": {"id": {}}, "additionalProperties": True}
    assert left.has_output_schema
    assert tools.get("find") is left  # its schema is checked by what was compiled for this very object
