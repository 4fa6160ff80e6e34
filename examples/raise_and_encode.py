"""A server of three tools: what they raise reaches the client as a result, whatever it is."""

import json
from collections.abc import Callable
from typing import Any

import failwell as fw

TASKS: dict[str, dict[str, Any]] = {
    "t-1": {"title": "Water the plants", "owner": None},
    "t-2": {"title": "Feed the cat", "owner": "ann"},
}


def get_task(task_id: str) -> dict[str, Any]:
    if task_id not in TASKS:
        raise fw.NotFound.of("task", task_id, actions=["list_tasks"])
    return TASKS[task_id]


def claim_task(task_id: str, owner: str) -> str:
    problems = fw.Validation(tool="claim_task")
    if not task_id:
        problems.add("task_id", task_id, "task_id is required", required=True)
    if not owner.isalpha():
        problems.add("owner", owner, "Not a name", expected="letters only")
    problems.raise_if_any()
    holder = get_task(task_id)["owner"]
    if holder:
        raise fw.Conflict(f"Task '{task_id}' belongs to {holder}.", code="ALREADY_CLAIMED", details={"held_by": holder})
    return f"Task '{task_id}' is yours."


def sync_tasks() -> None:
    raise ConnectionRefusedError("https://sync:s3cret@tasks.internal refused the connection")


TOOLS: dict[str, Callable[..., Any]] = {"get_task": get_task, "claim_task": claim_task, "sync_tasks": sync_tasks}


def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Answer a `tools/call` request."""
    try:
        return fw.success(TOOLS[name](**arguments))
    except Exception as exc:
        return fw.encode(fw.from_exception(exc), "compact")


def main() -> None:
    for name, arguments in (
        ("get_task", {"task_id": "t-1"}),
        ("get_task", {"task_id": "t-9"}),
        ("claim_task", {"task_id": "", "owner": "r2d2"}),
        ("claim_task", {"task_id": "t-2", "owner": "bob"}),
        ("sync_tasks", {}),
    ):
        result = call_tool(name, arguments)
        print(f"{name} {json.dumps(arguments)}")
        print(f"  isError {result['isError']}: {result['content'][0]['text']}")


if __name__ == "__main__":
    main()
