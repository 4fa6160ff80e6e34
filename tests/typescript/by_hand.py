"""A server without failwell that puts its error into the structured content, as many do."""

from fastmcp import FastMCP
from fastmcp.tools import ToolResult

server = FastMCP("by hand")


@server.tool(output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
def count() -> ToolResult:
    error = {"error": {"code": "RATE_LIMITED", "retry_after": 30}}
    return ToolResult("Rate limited, retry after 30 seconds.", structured_content=error, is_error=True)


if __name__ == "__main__":
    server.run(show_banner=False)
