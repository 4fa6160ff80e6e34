"""Texts that surely hold no secret, told in a fraction of the time that looking for the secrets takes.

Each answer is certain where it is True. Where it is False, `failwell.redact.scrubber` looks for itself.

Each answer is certain where it is True. Where it is False, `failwell.redact` looks for itself.
"""

import re
from functools import cache
from typing import Final

from failwell.redact.secrets import SHAPES, TOKENS, may_name_a_secret

SHORTEST_TOKEN: Final = 15
"""No token that is known by its look alone has fewer characters."""

# Most messages are plain: short printable words, none with a sign that joins a name to a value, no groups of digits.
# No secret can be written that way, unless it follows one of a few words.
_PLAIN: Final = r"(?:[!-#&-9;<?-~]{0,14}+ (?![0-9]{4}(?:[ -]|[0-9]{4})))*+[!-#&-9;<?-~]{0,14}+\Z"
_START: Final = r"(?<![A-Za-z0-9])"
# A letter before the token may belong to an escape: \n in JSON, %3D in a URL.
_ESCAPED_START: Final = rf"(?:{_START}|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{{2}}))"
_DIGITS: Final = frozenset("0123456789")
# Every number of a card begins like this.
_CARD: Final = r"[2-6]\d\d\d[ -]?\d{4}"


def is_plain(text: str) -> bool:
    """Tell whether a text consists of short words that surely are no secret, and of nothing that is not seen."""
    if not _compiled(_PLAIN).match(text):
        return False
    low = text.lower()
    return not (
        ("pass" in low or "pwd" in low or "--" in low or "login" in low)
        or ("bearer" in low or "basic" in low or "authoriz" in low or "cookie" in low)
    )


def is_harmless(text: str) -> bool:
    """Tell whether a text surely holds no secret, though its words may be long and joined by signs."""
    low = text.lower()
    for gate in _gates():
        if gate in low:
            return False
    if _compiled(_CARD).search(text):
        return False
    for word in text.encode("ascii", "replace").split():
        if len(word) >= SHORTEST_TOKEN and token_in(shown := word.decode()).search(shown):
            return False
    return not may_name_a_secret(low)


def token_in(word: str) -> re.Pattern[str]:
    """Return what finds tokens in a *word*: none begins in the middle of letters, unless they are an escape."""
    return _token(_ESCAPED_START if "\\" in word or "%" in word else _START)


@cache
def _token(start: str) -> re.Pattern[str]:
    return _compiled(rf"{start}(?=[A-Za-z0-9]\S{{{SHORTEST_TOKEN - 1}}})(?:{'|'.join(TOKENS.values())})")


@cache
def _gates() -> tuple[str, ...]:
    """Return what every text with a secret of some shape holds, in lower case; cards are looked for by their digits."""
    every = (gate.lower() for shape in SHAPES for gate in shape.gates)
    return tuple(dict.fromkeys(gate for gate in every if gate not in _DIGITS))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
