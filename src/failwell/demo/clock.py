"""The time of the demo: real, and quicker than that of the story it tells."""

import asyncio
import time

PACE = 0.05
"""How many seconds a second of the story takes, for the server and the agents alike."""


def now() -> float:
    """Return the seconds of the story."""
    return time.monotonic() / PACE


async def wait(seconds: float) -> None:
    """Wait some seconds of the story."""
    await asyncio.sleep(seconds * PACE)
