"""The official client and server over standard input and output; what stands between them is given as a command.

`python proxy_official.py` is the server. Its calls are measured by bench/proxy.py.
"""

import asyncio
import statistics
import sys
import time
from contextlib import AsyncExitStack

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.server import MCPServer

SERVER = [sys.executable, __file__]


def measure(
    commands: dict[str, list[str]], *, rounds: int, calls: int, in_flight: int
) -> dict[str, tuple[float, float]]:
    """Return the seconds that a call takes in a row, and each of many at once: medians of rounds taken in turns."""
    return asyncio.run(_measure(commands, rounds, calls, in_flight))


async def _measure(
    commands: dict[str, list[str]], rounds: int, calls: int, in_flight: int
) -> dict[str, tuple[float, float]]:
    row: dict[str, list[float]] = {name: [] for name in commands}
    crowd: dict[str, list[float]] = {name: [] for name in commands}
    async with AsyncExitStack() as stack:
        sessions = {name: await _connected(stack, command) for name, command in commands.items()}
        for _ in range(rounds):
            for name, session in sessions.items():
                row[name] += [await _seconds(session, 1) for _ in range(calls)]
            for name, session in sessions.items():
                crowd[name].append(await _seconds(session, in_flight) / in_flight)
    return {name: (statistics.median(row[name]), statistics.median(crowd[name])) for name in commands}


async def _connected(stack: AsyncExitStack, command: list[str]) -> ClientSession:
    streams = await stack.enter_async_context(stdio_client(StdioServerParameters(command=command[0], args=command[1:])))
    session = await stack.enter_async_context(ClientSession(*streams[:2]))
    await session.initialize()
    await session.list_tools()
    await _seconds(session, 20)
    return session


async def _seconds(session: ClientSession, number: int) -> float:
    start = time.perf_counter()
    await asyncio.gather(*(session.call_tool("add", {"a": 1, "b": 2}) for _ in range(number)))
    return time.perf_counter() - start


def main() -> None:
    """Serve one tool."""
    server = MCPServer("bench")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Return the sum of two numbers."""
        return a + b

    server.run("stdio")


if __name__ == "__main__":
    main()
