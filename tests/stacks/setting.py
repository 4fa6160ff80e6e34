"""What a runner of a stack is given and what it hands back."""

from pathlib import Path
from typing import Any, NamedTuple

from failwell import Failure
from tests.stacks.cases import CASES

DONE = "That is all."

# How each stack takes failwell beside `fw.install()`, where there is such a way.
ADAPTERS = {
    "agent_framework": "fw.install() and include_detailed_errors=True",
    "fastmcp": "fw.wrap(client)",
    "google_adk": "App(…, plugins=[fail_well()])",
    "langchain": "MultiServerMCPClient(…, tool_interceptors=[fail_well()])",
    "mcp": "fw.wrap(session)",
    "openai_agents": "fail_well(MCPServerStdio(…))",
    "pydantic_ai": "MCPToolset(…, process_tool_call=fail_well())",
    "strands": "Agent(…, plugins=[fail_well()])",
}

# Stacks that keep the failure themselves; of the others the application hears by a hook.
KEEPERS = ("fastmcp", "langchain", "mcp", "openai_agents", "strands")


class Call(NamedTuple):
    """One tool call that a stack's model makes, and the server it is made to: at a URL, or over standard streams."""

    tool: str
    notes: Path
    url: str | None = None
    program: tuple[str, ...] = ("tests/stacks/server.py",)

    @property
    def arguments(self) -> dict[str, str]:
        return dict(CASES[self.tool].arguments) if self.program == ("tests/stacks/server.py",) else {"text": "printer"}

    @property
    def command(self) -> str:
        return "python"

    @property
    def args(self) -> list[str]:
        """The server's program, from the folder that the stack runs in: one framework names tools after it."""
        return list(self.program)

    @property
    def env(self) -> dict[str, str]:
        return {"STACKS_CALLS": str(self.notes)}

    @property
    def stdio(self) -> dict[str, Any]:
        """The server as most stacks take it."""
        return {"command": self.command, "args": self.args, "env": self.env}


class Seen(NamedTuple):
    """What the model was shown as the tool's answer, word for word, and the failure where the stack itself keeps it."""

    model: str
    failure: Failure | None = None
