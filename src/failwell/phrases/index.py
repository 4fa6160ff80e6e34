"""The index of the phrases, kept in a file: `python -m tools.phrase_index` writes it anew."""

import os
from functools import cache

import msgspec

from failwell.phrases.language import Index

PATH = os.path.join(os.path.dirname(__file__), "index.json")
"""Where the index is kept."""


def stored_index(name: str) -> Index | None:
    """Return the index of a table, by its name; None if there is none, and it must be made."""
    return _stored().get(name)


@cache
def _stored() -> dict[str, Index]:
    try:
        with open(PATH, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Index])
    except (OSError, msgspec.MsgspecError):  # a table makes its own index then
        return {}
