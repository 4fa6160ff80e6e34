"""A help desk on a bad day: the server that the agents in this folder call. It runs with mcp 1 and 2."""

import logging

import failwell as fw

try:
    from mcp.server import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

from mcp.types import ToolAnnotations

logging.basicConfig(level=logging.CRITICAL)
server = MCPServer("desk")
READS = ToolAnnotations(readOnlyHint=True)
searches: list[str] = []
outbox: list[str] = []


@server.tool(annotations=READS)
def find_tickets(text: str) -> str:
    """Find tickets that contain a text. The first search is rate limited."""
    searches.append(text)
    if len(searches) == 1:
        raise fw.RateLimited("The desk allows ten searches a second.", retry_after=0.1)
    return f"T-7: the {text} is on fire (search {len(searches)})"


@server.tool()
def send_mail(to: str) -> str:
    """Send a mail. It goes out, but no confirmation comes back."""
    outbox.append(to)
    raise fw.TimedOut("The mail server took the mail and did not confirm it.", actions=["sent_mails"])


@server.tool(annotations=READS)
def sent_mails() -> str:
    """Say which mails have gone out."""
    return f"{len(outbox)} mail sent, to {', '.join(outbox)}"


fw.protect(server, dialect="compact")  # some frameworks pass on the text only

if __name__ == "__main__":
    server.run()
