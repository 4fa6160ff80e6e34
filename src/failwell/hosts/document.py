"""A configuration as its text and the position of each value in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

DEEPEST = 64
"""How deep values may be nested."""


class BadConfig(Exception):
    """A configuration cannot be used; the text says why, and where if a place is known."""


class BadSyntax(BadConfig):
    """A text is not what its format demands, at a line and a column that count from 1."""

    def __init__(self, text: str, position: int, what: str) -> None:
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {what}")


@dataclass(slots=True)
class Node:
    """A value, and where it stands: from `start` up to `end`.

    Tables have `members`, arrays have `items`; other values have a `scalar`. `key_start` is where the key of a member
    begins. A table of TOML may be spread over the file, so its own position is that of its first part.
    """

    kind: str
    start: int
    end: int
    scalar: Any = None
    members: dict[str, "Node"] = field(default_factory=dict[str, "Node"])
    items: list["Node"] = field(default_factory=list["Node"])
    key_start: int = -1
    is_inline: bool = True

    @property
    def value(self) -> Any:
        """The value as plain Python."""
        if self.kind == "table":
            return {key: node.value for key, node in self.members.items()}
        return [node.value for node in self.items] if self.kind == "array" else self.scalar

    def at(self, keys: Iterable[str]) -> "Node | None":
        """Return the value below these keys; None if there is none."""
        node: Node | None = self
        for key in keys:
            node = node.members.get(key) if node is not None else None
        return node


class Splice(NamedTuple):
    """New characters in the place of some."""

    start: int
    end: int
    text: str


def apply(text: str, splices: Sequence[Splice]) -> str:
    """Return a text with all replacements made; they may not overlap."""
    parts: list[str] = []
    position = 0
    for splice in sorted(splices):
        assert splice.start >= position
        parts += text[position : splice.start], splice.text
        position = splice.end
    return "".join((*parts, text[position:]))
