"""The server of the demo, over stdio: `python -m failwell.demo.server FILE [DIALECT]`.

With a dialect it is protected. Without one it is written as servers are today: the text of whatever a tool raises goes
to the agent. Nothing else differs.
"""

import functools
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.types import ToolAnnotations

import failwell as fw
from failwell.demo.services import Services
from failwell.demo.shop import Shop

if TYPE_CHECKING or find_spec("mcp.server.mcpserver"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
else:  # version 1 of the SDK
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError

_READS = {"readOnlyHint": True}
_REPEATS = {"idempotentHint": True}
_WRITES = {"readOnlyHint": False}


def build(shop: Shop, dialect: str | None) -> MCPServer:
    """Return the server with all tools, protected if there is a dialect."""
    server = MCPServer("shop", log_level="CRITICAL")
    for tool, hints in (
        (shop.list_orders, _READS),
        (shop.read_order, _READS),
        (shop.set_quantity, _REPEATS),
        (shop.set_speed, _REPEATS),
        (shop.tag_order, _REPEATS),
        (shop.find_products, _READS),
        (shop.exchange_rate, _READS),
        (shop.set_stock, _REPEATS),
        (shop.edit_order, _WRITES),
        (shop.send_email, _WRITES),
        (shop.list_sent, _READS),
        (shop.charge_card, _WRITES),
        (shop.delete_customer, _WRITES),
        (shop.export_customers, _WRITES),
        (shop.track_parcel, _READS),
    ):
        served = tool if dialect is not None else with_error_texts(tool)
        server.tool(annotations=ToolAnnotations.model_validate(hints))(served)
    if dialect is not None:
        fw.protect(server, dialect=dialect)
    return server


def with_error_texts(tool: Callable[..., str]) -> Callable[..., str]:
    """Return a tool whose errors reach the agent in their own words.

    Version 1 of the SDK does so by itself. Version 2 sends "Error executing tool" and no word more unless a tool
    raises its `ToolError`, which leaves an agent nothing to act on: that would be too easy to beat.
    """

    @functools.wraps(tool)
    def call(*args: object, **kwargs: object) -> str:
        try:
            return tool(*args, **kwargs)
        except Exception as exc:
            raise ToolError(str(exc)) from exc

    return call


def main(file: str, dialect: str | None = None) -> None:
    """Serve standard input and output until the input ends."""
    services = Services(Path(file))
    try:
        build(Shop(Path(file), services.url), dialect).run()
    finally:
        services.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
