"""Flat text: what can be said of a failure that carries no structure."""

from typing import Any

from failwell.failure import Failure
from failwell.redact import clean

CERTAIN = 0.7
"""Below this confidence the answer is: don't know."""

_LONGEST_MESSAGE = 1000
_NOTHING_SAID = "The tool reported an error without saying which."


def classify(text: str, *, tool: str | None = None, arguments: Any = None, input_schema: Any = None) -> Failure:
    """Return the failure that an error text tells of, with a confidence; nobody can say whether a retry helps."""
    del arguments, input_schema  # what rules will look at beside the text
    message = clean(text, _LONGEST_MESSAGE).strip() or _NOTHING_SAID
    return Failure(message=message, tool=tool, origin="inferred", confidence=0.0)
