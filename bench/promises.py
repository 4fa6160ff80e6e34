"""What the project has promised, figure by figure: `promises.toml`, the one place where goals stand.

Each figure of each suite has at least one row there, under the name of its suite. A row without a goal is shown for
information. `what` and `beside` are patterns, so that one row can speak for the same figure of several SDKs, dialects
or samples: the worst of them counts.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import Struct


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the report: what is said of which figures, in which unit, and what it should be."""

    says: str
    what: str
    beside: str = "*"
    unit: str = "×"
    goal: str | None = None
    # Shown only where the goal is missed: why, and what is measured as the floor of its figures.
    missed: str | None = None
    floor: str | None = None

    def covers(self, what: str, beside: str) -> bool:
        """Return whether it speaks of a figure of its suite."""
        return fnmatchcase(what, self.what) and fnmatchcase(beside, self.beside)


def _read() -> dict[str, dict[str, Row]]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=dict[str, dict[str, Row]])


# By suite, then by the id of the row.
ROWS = _read()
