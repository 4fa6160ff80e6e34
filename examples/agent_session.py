"""An agent's side of three failures: one that passes, one the model must know of, one with a fallback.

Needs `pip install 'failwell[mcp]'`.
"""

import asyncio

from mcp import Client
from mcp.server import MCPServer

import failwell as fw

server = MCPServer("mail", log_level="WARNING")
attempts = iter(range(100))


@server.tool()
def send(to: str) -> str:
    if next(attempts) == 0:
        raise fw.RateLimited("Too many mails.", retry_after=0.01)
    return f"sent to {to}"


@server.tool()
def open_mail(number: int) -> str:
    raise fw.NotFound(f"There is no mail {number}.", actions=["list_mails"])


@server.tool()
def summary() -> str:
    raise fw.Unauthenticated("The token s3cret expired.", outcome="rejected")


fw.protect(server)


def kept(failure: fw.Failure, arguments: dict[str, str]) -> str:
    return f"3 mails, as of this morning ({failure.type}, asked with {arguments})"


async def main() -> None:
    installed = fw.install(
        fallbacks={"summary": kept},
        hook=lambda event: print(f"  {event.tool}, try {event.attempt}: {event.kind}"),
    )
    print(installed.says.partition(":")[0])
    async with Client(server) as client:
        for tool, arguments in (("send", {"to": "ann"}), ("open_mail", {"number": 7}), ("summary", {})):
            result = await client.call_tool(tool, arguments)
            print(result.content[0].text)
    print(fw.uninstall())


asyncio.run(main())
