"""The index of the phrases, kept in a file: `python -m tools.phrase_index` writes it anew."""

from functools import cache
from pathlib import Path

import msgspec

from failwell.phrases.language import Index

PATH = Path(__file__).with_name("index.json")
"""Where the index is kept."""


def stored_index(name: str) -> Index | None:
    """Return the index of a table, by its name; None if there is none, and it must be made."""
    return _stored().get(name)


@cache
def _stored() -> dict[str, Index]:
    try:
        return msgspec.json.decode(PATH.read_bytes(), type=dict[str, Index])
    except (OSError, msgspec.MsgspecError):  # a table makes its own index then
        return {}
