"""What an agent did about one scene: its calls, its steps, and how it ended."""

import json
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from failwell.demo.connecting import Answer

TAKE_IT, GO_BY_IT, HAND_OVER = "take it", "go by it", "hand it over"
"""What an agent decides about an answer that it believes, about one that it only looked at, and at its wits' end."""

Ending = Literal["recovered", "handed over", "misled"]
"""The wanted answer came; a person or a model must go on; or the agent took a failure for the answer."""


class Step(Struct, frozen=True, kw_only=True):
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


Tell = Callable[[Step, Answer], None]
"""Called with each step of an agent, and the answer before it."""


class Course(Struct, frozen=True, kw_only=True):
    """All steps of a scene, and what came of them."""

    steps: tuple[Step, ...]
    ending: Ending
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


def step_of(
    tool: str,
    arguments: dict[str, Any],
    answer: Answer,
    decided: str,
    reason: str,
    *,
    failed: bool,
    got: str | None = None,
) -> Step:
    """Return a step; what was got is the text, without the words that stand before each error, unless it is given."""
    text = " ".join(answer.text.split()).removeprefix(f"Error executing tool {tool}: ")
    return Step(
        tool=tool,
        arguments=arguments,
        failed=failed,
        got=text if got is None else got,
        text=answer.text,
        decided=decided,
        reason=reason,
    )


def shown(arguments: dict[str, Any]) -> str:
    """Return arguments as they stand in a call."""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
