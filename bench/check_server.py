"""A server of fastmcp with many tools, for the benchmark of `failwell check`."""

import sys
from typing import Literal

from fastmcp import FastMCP

server = FastMCP("many")


def look_up(name: str, kind: Literal["task", "note", "file"], most: int = 10, tags: list[str] | None = None) -> str:
    """Look something up."""
    return f"{most} of {kind} {name} {tags}"


for number in range(int(sys.argv[1])):
    server.tool(look_up, name=f"look_up_{number}", annotations={"readOnlyHint": True})

if __name__ == "__main__":
    server.run(show_banner=False)
