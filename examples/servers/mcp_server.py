"""A server of the mcp SDK whose failures are structured, with one more line."""

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

import failwell as fw

server = MCPServer("tasks")
TASKS = {"t-1": "write the report", "t-2": "water the plants"}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
@fw.raises(fw.NotFound)
def read_task(task: str) -> str:
    """Read what a task is about."""
    if task not in TASKS:
        raise fw.NotFound.of("task", task, suggestion="Call list_tasks to see what exists.", actions=["list_tasks"])
    return TASKS[task]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_tasks() -> list[str]:
    """List all tasks."""
    return list(TASKS)


@server.tool()
def claim_task(task: str, hours: int) -> fw.Result[str]:
    """Claim a task for some hours."""
    if hours > 8:
        return fw.fail(fw.Conflict("Nobody works more than 8 hours a day.", details={"most": 8}))
    return fw.succeed(f"{TASKS[task]}: yours for {hours} h")


fw.protect(server)

if __name__ == "__main__":
    server.run()
