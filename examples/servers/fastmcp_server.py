"""A fastmcp server whose failures are structured, with one more line."""

from fastmcp import FastMCP

import failwell as fw

server = FastMCP("tasks")
TASKS = {"t-1": "write the report", "t-2": "water the plants"}


@server.tool(annotations={"readOnlyHint": True})
@fw.raises(fw.NotFound)
def read_task(task: str) -> str:
    """Read what a task is about."""
    if task not in TASKS:
        raise fw.NotFound.of("task", task, suggestion="Call list_tasks to see what exists.", actions=["list_tasks"])
    return TASKS[task]


@server.tool(annotations={"readOnlyHint": True})
def list_tasks() -> list[str]:
    """List all tasks."""
    return list(TASKS)


@server.tool
def claim_task(task: str, hours: int) -> fw.Result[str]:
    """Claim a task for some hours."""
    if hours > 8:
        return fw.fail(fw.Conflict("Nobody works more than 8 hours a day.", details={"most": 8}))
    return fw.succeed(f"{TASKS[task]}: yours for {hours} h")


fw.protect(server)

if __name__ == "__main__":
    server.run(show_banner=False)
