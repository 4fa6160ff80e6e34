"""The sentences about wrong arguments: one function per kind of problem, the same for every validator."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from failwell import paths
from failwell.arguments.formats import format_of
from failwell.errors import quoted
from failwell.failure import FieldProblem
from failwell.redact import is_secret_name
from failwell.suggest import closest

MOST_OPTIONS = 10
"""So many options are all listed; of more, the nearest."""

_MOST_OF_A_VALUE = 80
_JSON_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    ((list, tuple), "array"),
    (dict, "object"),
)
_OPENINGS = {"enum": "Invalid enum value", "const": "Invalid literal value"}


class Place(NamedTuple):
    """A place in the arguments: the keys that lead there, what was sent there, and whether something must be."""

    keys: tuple[str | int, ...] = ()
    value: Any = UNSET
    required: bool | None = None

    @property
    def path(self) -> str:
        """The keys as one text."""
        return paths.join(self.keys)

    @property
    def sent(self) -> Any:
        """What may be echoed: never a secret, nor the arguments as a whole."""
        is_secret = any(isinstance(key, str) and is_secret_name(key) for key in self.keys)
        return UNSET if is_secret or not self.keys else self.value

    def problem(self, kind: str, message: str | None, **more: Any) -> FieldProblem:
        """Return a problem with the value here."""
        return FieldProblem(
            path=self.path, kind=kind, message=message or "", sent=self.sent, required=self.required, **more
        )


def missing(
    place: Place, *, when: str | None = None, expected: str | None = None, options: Sequence[Any] = ()
) -> FieldProblem:
    """Return the problem of a value that must be sent, always or *when* something else is."""
    message = f"{place.path} is required{f' when {when} is sent' if when else ''}"
    listed = tuple(options[:MOST_OPTIONS])
    return FieldProblem(
        path=place.path, kind="missing", message=message, expected=expected, options=listed, required=True
    )


def unknown(place: Place, names: Iterable[str]) -> FieldProblem:
    """Return the problem of a key nobody knows, where the keys in *names* could have been sent."""
    names = tuple(names)
    meant = closest(str(place.keys[-1]), names, most=1)
    options = names if len(names) <= MOST_OPTIONS else ()
    if meant and is_secret_name(meant[0]):
        place = place._replace(value=UNSET)  # a misspelt name does not make its value less of a secret
    return place.problem("unknown", None, options=options, did_you_mean=meant[0] if meant else None)


def wrong_type(place: Place, types: Sequence[str], *, options: Sequence[Any] = ()) -> FieldProblem:
    """Return the problem of a value that is of none of these JSON types."""
    expected = either(types)
    message = f"Expected {expected}, received {json_type(place.value)}"
    return place.problem("type", message, expected=expected, options=tuple(options))


def not_an_option(place: Place, options: Sequence[Any], *, kind: str = "enum") -> FieldProblem:
    """Return the problem of a value that is none of these."""
    sent = place.sent
    texts = [option for option in options if isinstance(option, str)]
    near = _near_misses(sent, texts)
    listed, more = tuple(options), ""
    if len(listed) > MOST_OPTIONS:
        listed = (*near, *(option for option in options if option not in near))[:MOST_OPTIONS]
        more = f" | … ({len(options)} in all)"
    received = "" if sent is UNSET else f", received {shown(sent)}"
    message = f"{_OPENINGS[kind]}. Expected {' | '.join(map(shown, listed))}{more}{received}"
    return place.problem(kind, message, options=listed, did_you_mean=near[0] if near else None)


def _near_misses(sent: Any, options: Sequence[str]) -> list[str]:
    """Return the options that a value is a slip of: about as long, as `superadmin` is no misspelt `admin`."""
    if isinstance(sent, bool) or not isinstance(sent, str | int) or json_text_of(sent) is None:
        return []
    text = str(sent)
    return [near for near in closest(text, options) if 3 * abs(len(near) - len(text)) <= max(len(near), len(text))]


def wrong_format(place: Place, name: str) -> FieldProblem:
    """Return the problem of a text that is not in the format it should be."""
    known = format_of(name)
    return place.problem("format", f"Invalid {known.label}", expected=known.expected if known.example else known.words)


def shown(value: Any) -> str:
    """Return a value as short text inside a sentence: strings quoted, objects and long arrays by their type."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "object"
    text = json_text_of(value)
    return text if text is not None and len(text) <= _MOST_OF_A_VALUE else json_type(value)


def json_text_of(value: Any) -> str | None:
    """Return a value as JSON text; None if it cannot be written, as integers of many thousand digits cannot."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def json_type(value: Any) -> str:
    """Return the JSON type of a value; the Python type of what JSON does not know."""
    if value is None:
        return "null"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return next((name for types, name in _JSON_TYPES if isinstance(value, types)), type(value).__name__)


def either(words: Iterable[str]) -> str:
    """Return `a, b or c`."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} or {last}" if first else last
