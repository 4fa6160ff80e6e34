"""Servers whose tools return what can't be sent, for each kind of SDK, and a program that serves them.

`odd_results.py KIND [OPTIONS]` serves standard input and output; the options of `protect` are JSON.
"""

import asyncio
import json
import logging
import math
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import failwell as fw
from tests.matrix import sdks, servers
from tests.matrix.servers import SECRET

LONE = "a" + chr(0xD800)
UNICODE = "it contains text that is not valid Unicode"
NO_FORM = "it contains a value that JSON cannot represent"
DEEP = "it is nested too deeply"
NUMBER = "it contains NaN or Infinity, which JSON does not allow"
LONG = "it contains an integer of more than 4,300 digits"


class Odd:
    """What JSON has no form for; its text is not for clients either."""

    def __repr__(self) -> str:
        return "<Odd>"


class OwnBaseException(BaseException):
    """What no `except Exception` catches."""


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"v": value}
    return value


def circle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["v"] = value
    return value


VALUES: dict[str, tuple[Any, str]] = {
    "surrogate": ({"v": LONE}, UNICODE),
    "surrogate_key": ({LONE: 1}, UNICODE),
    "nan": ({"v": math.nan}, NUMBER),
    "infinity": ({"v": [-math.inf]}, NUMBER),
    "deep": (nested(500), DEEP),
    "too_deep_for_clients": (nested(220), DEEP),
    "circle": (circle(), DEEP),
    "long_integer": ({"v": 10**4400}, LONG),
    "not_text": ({"v": b"\xff\xfe"}, UNICODE),
}


PROMPTS = ("text", "exits_async", "awaits_cancelled", "raises_own", "raises_own_in_group")
"""The tools that are prompts and resources too."""


def tools() -> list[Any]:
    def returning(name: str, value: Any) -> Any:
        def tool() -> dict[str, Any]:
            return value

        tool.__name__ = name
        return tool

    def text() -> str:
        return LONE

    def not_a_number() -> float:
        return math.nan

    def exits() -> str:
        sys.exit(3)

    async def exits_async() -> str:
        raise SystemExit

    async def awaits_cancelled() -> str:
        task = asyncio.ensure_future(asyncio.sleep(60))
        await asyncio.sleep(0)
        task.cancel()
        await task
        return "never"

    async def raises_own() -> str:
        raise OwnBaseException(SECRET)

    async def raises_own_in_group() -> str:
        raise BaseExceptionGroup("several", [OwnBaseException(SECRET), KeyError(SECRET)])

    def fine() -> dict[str, Any]:
        return {"v": ["NaN", 1.5, None, 10**4299, {"Infinity": "9" * 5000}]}

    named = [returning(name, value) for name, (value, _) in VALUES.items()]
    return [*named, text, not_a_number, exits, exits_async, awaits_cancelled, raises_own, raises_own_in_group, fine]


def server(kind: str, settings: dict[str, Any] | None) -> Any:
    """Return a server with these tools, protected if there are settings."""
    if kind == "lowlevel":
        made = servers.low_level([(tool, {}) for tool in tools()])
    else:
        made = sdks.new(kind)
        for tool in tools():
            made.tool()(tool)
            if tool.__name__ in PROMPTS:
                made.prompt(tool.__name__)(tool)
                made.resource(f"data://{tool.__name__}")(tool)
    if settings is not None:
        fw.protect(made, **settings)
    return made


if __name__ == "__main__":
    logging.disable()  # nobody reads it
    servers.serve(server(sys.argv[1], json.loads(sys.argv[2])))
