"""Deliberate differences: a test that shows one names it, and the page for users lists the same."""

from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

_Test = TypeVar("_Test", bound=Callable[..., None])

DIFFERENCES: dict[str, set[str]] = defaultdict(set)
"""What differs, by dialect, in the words of the page."""


def differs(dialect: str, what: str) -> Callable[[_Test], _Test]:
    """Mark a test as the proof of a deliberate difference."""
    DIFFERENCES[dialect].add(what)
    return lambda test: test
