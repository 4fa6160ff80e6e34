"""Names that announce a secret: fields, arguments, headers, parameters of a URL."""

import re
from functools import cache, lru_cache
from typing import Final

from failwell.secrets import (
    INNOCENT_ENDINGS,
    INNOCENT_STARTS,
    NEUTRAL_ENDINGS,
    QUERY_NAMES,
    SECRET_ENDINGS,
    SECRET_WORDS,
)

_KIND_OF_ENDING: Final = {ending: kind for kind, endings in SECRET_ENDINGS.items() for ending in endings}
_ENDINGS: Final = tuple(_KIND_OF_ENDING)


def is_secret_name(name: str) -> bool:
    """Tell whether a field, argument or header of this *name* holds a secret."""
    return kind_of_name(name[-80:]) is not None


@lru_cache(maxsize=1024)
def kind_of_name(name: str) -> str | None:
    """Return the kind of secret that a *name* announces, or None."""
    flat = _compiled(r"[^a-z0-9]++").sub("", name.lower()).rstrip("0123456789")
    for _ in range(3):
        if flat.endswith(INNOCENT_ENDINGS):
            return None
        if flat.endswith(_ENDINGS):
            asks = _compiled(rf"[\W_]*(?:{'|'.join(INNOCENT_STARTS)})(?=[A-Z\W_])").match(name)
            return None if asks else next(kind for ending, kind in _KIND_OF_ENDING.items() if flat.endswith(ending))
        shorter = next((flat.removesuffix(ending) for ending in NEUTRAL_ENDINGS if flat.endswith(ending)), flat)
        if shorter == flat:
            break
        flat = shorter
    words = _compiled(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall(name)
    return SECRET_WORDS.get(words[-1].lower()) if words else None


# What most names have in common, so that most texts are told by a few looks to hold none of them.
_ROOTS: Final = ("key", "token", "secret", "pass", "sess", "card", "cred", "conn", "cookie", "security", "pin")
_NOT_IN_A_FLAT_NAME: Final = bytes(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz0123456789"))


@cache
def _by_root() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the endings of secret names by a part of theirs that few texts hold."""
    found: dict[str, list[str]] = {}
    for ending in _ENDINGS:
        root = next((root for root in _ROOTS if root in ending), ending)
        found.setdefault(root, []).append(ending)
    return tuple((root, tuple(endings)) for root, endings in found.items())


@cache
def _last_words() -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(SECRET_WORDS)})(?![a-z])")


@cache
def _parts() -> re.Pattern[str]:
    """Return what finds a part of any secret name. Grouped by first letter: that is twice as fast."""
    found: dict[str, list[str]] = {}
    for part in (*(root for root, _ in _by_root()), *SECRET_WORDS):
        found.setdefault(part[0], []).append(part[1:])
    return re.compile("|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in found.items()))


def may_name_a_secret(text: str) -> bool:
    """Tell whether any name in a *text* can be secret; False is certain, True may be an alarm for nothing."""
    low = text.lower()
    if ("?" in low or "&" in low or "%" in low) and any(name in low for name in QUERY_NAMES):
        return True
    # A name may be written with anything between its letters: API-Key, api_key, "api key".
    flat = low.encode("ascii", "ignore").translate(None, _NOT_IN_A_FLAT_NAME).decode()
    if not _parts().search(flat):
        return False
    if any(word in low for word in SECRET_WORDS) and _last_words().search(low):
        return True
    return any(root in flat and any(ending in flat for ending in endings) for root, endings in _by_root())


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
