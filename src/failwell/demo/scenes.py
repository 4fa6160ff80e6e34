"""The scenes of the demo: one call for each way to fail, and what each agent made of it.

Needs no SDK, so that the command line can load it.
"""

import asyncio
import json
import time
from typing import Any, Literal, NamedTuple

from msgspec import Struct

SIDES = ("bare", "failwell")
"""The server as it is written today, and the protected one."""

PACE = 0.05
"""How many seconds a second of the story takes, for the server and the agents alike."""


def ignore(*_: object) -> None:
    """Do nothing with a step or a scene."""


def story_time() -> float:
    """Return the seconds of the story."""
    return time.monotonic() / PACE


async def story_sleep(seconds: float) -> None:
    """Wait some seconds of the story."""
    await asyncio.sleep(seconds * PACE)


class Scene(Struct, frozen=True, kw_only=True):
    """One call that fails at first. The answer that holds the *proof* is the one that was wanted."""

    title: str
    tool: str
    arguments: dict[str, Any]
    proof: str
    effect: str | None = None
    """The name of what happens for good if the tool runs, in the journal of the server."""


SCENES = (
    Scene(
        title="a record that does not exist",
        tool="read_order",
        arguments={"order": "o-1O2"},
        proof="1 desk for Ann",
    ),
    Scene(
        title="a misspelt argument",
        tool="set_quantity",
        arguments={"order": "o-102", "quantiy": 2},
        proof="o-102: 2 pieces",
        effect="set_quantity",
    ),
    Scene(
        title="a misspelt choice",
        tool="set_speed",
        arguments={"order": "o-102", "speed": "expres"},
        proof="o-102: express",
        effect="set_speed",
    ),
    Scene(
        title="a value of the wrong type",
        tool="tag_order",
        arguments={"order": "o-102", "tags": "gift"},
        proof="o-102: gift",
        effect="tag_order",
    ),
    Scene(title="a misspelt tool", tool="list_order", arguments={}, proof="o-101 o-102 o-240"),
    Scene(
        title="a rate limit that asks for 15 s",
        tool="find_products",
        arguments={"words": "desk"},
        proof="desk, 12 pieces",
    ),
    Scene(
        title="a database that is locked for a moment",
        tool="set_stock",
        arguments={"product": "desk", "pieces": 3},
        proof="desk: 3 pieces",
        effect="set_stock",
    ),
    Scene(
        title="a timeout while reading",
        tool="exchange_rate",
        arguments={"currency": "NOK"},
        proof="1 EUR = 11.42 NOK",
    ),
    Scene(
        title="a timeout after the mail was sent",
        tool="send_email",
        arguments={"to": "ann@example.com"},
        proof="ann@example.com",
        effect="mails",
    ),
    Scene(
        title="a timeout after the card was charged",
        tool="charge_card",
        arguments={"order": "o-102", "cents": 4900},
        proof="charged",
        effect="charges",
    ),
    Scene(
        title="an order that somebody else is editing",
        tool="edit_order",
        arguments={"order": "o-102", "note": "ring twice"},
        proof="o-102: ring twice",
        effect="edit_order",
    ),
    Scene(title="not allowed", tool="delete_customer", arguments={"customer": "c-7"}, proof="deleted"),
    Scene(title="a crash with a password in its text", tool="export_customers", arguments={}, proof="exported"),
    Scene(
        title="an error sent as a success",
        tool="track_parcel",
        arguments={"parcel": "p-1"},
        proof="p-1 is in Oslo",
    ),
)


AgentEnding = Literal["recovered", "handed over", "misled"]
"""The wanted answer came; a person or a model must go on; or the agent took a failure for the answer."""


class AgentStep(Struct, frozen=True, kw_only=True):
    """One call, what came back, and what the agent decided to do next."""

    tool: str
    arguments: dict[str, Any]
    failed: bool
    got: str
    """What the agent understood of the answer."""
    text: str
    """The text of the answer, whole."""
    decided: str
    reason: str


class AgentRun(Struct, frozen=True, kw_only=True):
    """All steps of an agent in one scene, and how they ended."""

    steps: tuple[AgentStep, ...]
    ending: AgentEnding
    effects: int = 0
    """How often the side effect happened, counted in the journal of the server."""
    secrets: int = 0
    """How many answers held the password."""

    @property
    def recovered(self) -> bool:
        """Whether the caller got what it wanted, without a model."""
        return self.ending == "recovered"

    @property
    def wasted(self) -> int:
        """How many calls failed after the first that did: they told nothing new."""
        return max(0, sum(step.failed for step in self.steps) - 1)

    @property
    def duplicates(self) -> int:
        """How often the side effect happened more than once."""
        return max(0, self.effects - 1)


class SceneResult(NamedTuple):
    """A scene, and the run of the agent on each side."""

    scene: Scene
    runs: dict[str, AgentRun]


class DemoScore(Struct, frozen=True, kw_only=True):
    """The sums of one side over all scenes."""

    scenes: int
    recovered: int
    calls: int
    wasted: int
    duplicates: int
    secrets: int


def arguments_text(arguments: dict[str, Any]) -> str:
    """Return arguments as they are written in a call."""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
