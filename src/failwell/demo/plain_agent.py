"""The agent without failwell: what careful harnesses do with flat text.

Most harnesses hand every error to the model at once. Those that retry do it on words that sound like trouble that
passes, up to three calls in all, with a growing delay. So does this one: to repeat everything blindly would look worse,
and to repeat nothing would leave it nothing to recover.
"""

from typing import NamedTuple

from failwell.demo import clock
from failwell.demo.client import DemoAnswer, DemoConnection
from failwell.demo.scenes import HAND_OVER, TAKE_IT, Scene, Tell, step_of

PASSING = (
    "timed out",
    "timeout",
    "rate limit",
    "too many requests",
    "429",
    "502",
    "503",
    "504",
    "temporarily",
    "unavailable",
    "connection",
    "locked",
    "try again",
)
"""Words by which the agent takes an error for one that passes."""

DELAYS = (1.0, 2.0)
"""Seconds of the story that the agent waits before its second and its third call."""


class Next(NamedTuple):
    """What to do after an answer, and why; with a delay, make the call again."""

    decided: str
    reason: str
    delay: float | None = None


def decide(answer: DemoAnswer, attempt: int) -> Next:
    """Return what to do after the answer to an attempt."""
    if not answer.is_error:
        return Next(TAKE_IT, "it is not flagged as an error")
    if not any(word in answer.text.lower() for word in PASSING):
        return Next(HAND_OVER, "the text names nothing that passes")
    if attempt > len(DELAYS):
        return Next(HAND_OVER, f"it failed {attempt} times")
    delay = DELAYS[attempt - 1]
    return Next(f"retry in {delay:g} s", "the text sounds like trouble that passes", delay)


async def attend(connection: DemoConnection, scene: Scene, tell: Tell) -> DemoAnswer | None:
    """Return the answer that the agent takes for the wanted one; None if it hands the failure over."""
    attempt = 1
    while True:
        answer = await connection.call(scene.tool, scene.arguments)
        following = decide(answer, attempt)
        tell(step_of(scene.tool, scene.arguments, answer, *following[:2], failed=answer.is_error), answer)
        if following.delay is None:
            return None if answer.is_error else answer
        await clock.wait(following.delay)
        attempt += 1
