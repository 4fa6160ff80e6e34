"""`redact_json`: redact every secret in a JSON value and keep everything else.

`json_safe` makes a short copy to show; this keeps all of it, since programs read what they get.
"""

import base64
import binascii
from functools import lru_cache
from typing import Any, Final

from failwell._json import is_array, is_object, parse_json, write_json
from failwell.redact.scrubber import clean, drop_invisible, holds_json, is_secret_name, placeholder, scrub

MOST_CHARACTERS: Final = 1_000_000
"""Characters that are looked at; texts behind them are cut."""

_DEEPEST_TEXT = 4  # JSON in a text of JSON in a text, and so on
_SHORTEST_NUMBER = 10**12  # cards have 13 digits and more
_SHORT_BINARY = 256

VERBATIM: Final = "verbatim"
BINARY: Final = "binary"
Exceptions = dict[str, Any]
"""By key, or `*` for each item: VERBATIM, BINARY, or the exceptions further down."""


def redact_json(value: Any, exceptions: Exceptions | None = None) -> Any:
    """Return a value with a placeholder for each secret: in texts, in names, behind names, and in JSON within texts.

    Raises:
        RecursionError: it is too deep.
    """
    return _Redaction().value(value, exceptions or {}, 0)


class _Redaction:
    """One walk through a value."""

    def __init__(self) -> None:
        self._left = MOST_CHARACTERS

    def value(self, value: Any, exceptions: Any, level: int) -> Any:
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, str):
            return self._binary(value, level) if exceptions is BINARY else self.text(value, level)
        if is_object(value):
            return self._object(value, exceptions if is_object(exceptions) else {}, level)
        if is_array(value):
            within: Any = exceptions.get("*") if is_object(exceptions) else None
            found = [self.value(item, within, level) for item in value]
            is_pair = len(found) == 2 and isinstance(found[0], str) and isinstance(found[1], str)
            return [found[0], placeholder("value")] if is_pair and is_secret_name(found[0]) else found
        if isinstance(value, int) and abs(value) >= _SHORTEST_NUMBER:
            return _number(value)
        return value

    def _object(self, value: dict[str, Any], exceptions: Exceptions, level: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            kept = exceptions.get(key, {})
            if kept is VERBATIM and not isinstance(item, dict | list):
                found[key] = item
                continue
            name, is_secret = _known_name(key) if len(key) <= _LONGEST_NAME else (self.text(key, level), False)
            is_hidden = is_secret and not (item is None or isinstance(item, bool))
            found[name] = placeholder("value") if is_hidden else self.value(item, kept, level)
        if "value" in found:
            named = found.get("name") or found.get("key")
            if isinstance(named, str) and is_secret_name(named):
                found["value"] = placeholder("value")
        return found

    def text(self, text: str, level: int) -> str:
        if len(text) > self._left:
            text = f"{text[: max(self._left, 0)]}…"
        self._left -= len(text)
        safe = _clean(text)
        if level < _DEEPEST_TEXT and holds_json(text):
            held = parse_json(text)
            if is_object(held) or is_array(held):
                redacted = self.value(held, {}, level + 1)
                if redacted != held:
                    return _clean(write_json(redacted))
        # Within JSON, characters that nobody sees are left to whoever shows the text.
        return text if level and safe == drop_invisible(text) else safe

    def _binary(self, text: str, level: int) -> str:
        """Return encoded bytes as they are, unless they are a text, or the encoded form is one."""
        try:
            held = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return self.text(text, level)
        try:
            inner = held.decode()
        except UnicodeDecodeError:
            return self.text(text, level) if len(text) <= _SHORT_BINARY else text
        redacted = self.text(inner, level)
        return text if redacted == inner else base64.b64encode(redacted.encode()).decode()


_LONGEST_NAME = 100


@lru_cache(maxsize=1024)
def _known_name(name: str) -> tuple[str, bool]:
    """Return a name as it may be seen, and whether what it names must not be; the same come again with every item.

    Characters that nobody sees stay: without them a name could become another, and a message an answer.
    """
    safe = _clean(name)
    return name if safe == drop_invisible(name) else safe, is_secret_name(name)


def _clean(text: str) -> str:
    return clean(text, 8 * len(text) + 64)  # a placeholder may be longer than the secret


def _number(value: int) -> Any:
    if value.bit_length() > 1000:
        return value
    return value if scrub(str(value)) == str(value) else placeholder("value")
