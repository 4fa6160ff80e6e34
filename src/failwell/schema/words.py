"""Describe values and JSON Schemas in words: what was sent, and what would be valid."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from failwell.errors import quoted
from failwell.schema.tree import SchemaTree

_MOST_OF_A_VALUE = 80
_JSON_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    ((list, tuple), "array"),
    (dict, "object"),
)


def shown_value(value: Any) -> str:
    """Return a value as short text inside a sentence: strings quoted, objects and long arrays by their type."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "object"
    text = json_text_of(value)
    return text if text is not None and len(text) <= _MOST_OF_A_VALUE else json_type(value)


def json_text_of(value: Any) -> str | None:
    """Return a value as JSON text; None if it cannot be written, as integers of many thousand digits cannot."""
    import json  # only now: few sentences show a value that is no text

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


def either_of(words: Iterable[str]) -> str:
    """Return `a, b or c`."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} or {last}" if first else last


class Format(NamedTuple):
    """A format's short name, what a valid value is, and an example."""

    label: str
    words: str
    example: str

    @property
    def expected(self) -> str:
        """What to send instead, in words."""
        return f"{self.words} (e.g. {self.example})"


# Every format that jsonschema-rs checks; a test holds each example against it.
FORMATS: dict[str, Format] = {
    "date": Format("date", "a date as YYYY-MM-DD", "2025-01-31"),
    "date-time": Format("date-time", "a date and time with offset, RFC 3339", "2025-01-31T09:30:00Z"),
    "time": Format("time", "a time with offset, RFC 3339", "09:30:00Z"),
    "duration": Format("duration", "an ISO 8601 duration", "P1DT12H"),
    "email": Format("email", "a valid email address", "user@example.com"),
    "idn-email": Format("email", "a valid email address", "user@example.com"),
    "hostname": Format("hostname", "a valid host name", "api.example.com"),
    "idn-hostname": Format("hostname", "a valid host name", "api.example.com"),
    "ipv4": Format("IPv4 address", "four numbers from 0 to 255 joined by dots", "192.0.2.1"),
    "ipv6": Format("IPv6 address", "a valid IPv6 address", "2001:db8::1"),
    "uri": Format("URI", "an absolute URI with its scheme", "https://example.com/path"),
    "uri-reference": Format("URI reference", "a URI or a relative reference", "/path?query=1"),
    "iri": Format("IRI", "an absolute IRI with its scheme", "https://example.com/path"),
    "iri-reference": Format("IRI reference", "an IRI or a relative reference", "/path?query=1"),
    "uri-template": Format("URI template", "a URI template, RFC 6570", "https://example.com/users/{id}"),
    "uuid": Format("UUID", "a valid UUID", "123e4567-e89b-12d3-a456-426614174000"),
    "regex": Format("regular expression", "a valid regular expression", "^[a-z]+$"),
    "json-pointer": Format("JSON pointer", "a JSON pointer, RFC 6901", "/items/0/name"),
    "relative-json-pointer": Format("relative JSON pointer", "a relative JSON pointer", "1/name"),
}


def format_of(name: str) -> Format:
    """Return the words of a format; one without a row is called by its name."""
    return FORMATS.get(name) or Format(name, f"a valid {name}", "")


_NOUNS = {"integer": "an integer", "number": "a number"}
_MOST_DEPTH = 3


def number_in_words(schema: Mapping[str, Any]) -> str:
    """Return which numbers are valid: `an integer from 1 to 100`."""
    low, high = schema.get("minimum"), schema.get("maximum")
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if over is True:  # draft 4: a flag beside the limit
        low, over = None, low
    if under is True:
        high, under = None, high
    parts = [f"from {low} to {high}"] if low is not None and high is not None else []
    if not parts:
        parts += [
            f"{word} {limit}" for word, limit in (("of at least", low), ("of at most", high)) if limit is not None
        ]
    parts += [f"{word} {limit}" for word, limit in (("greater than", over), ("less than", under)) if _is_number(limit)]
    if "multipleOf" in schema:
        parts.append(f"that is a multiple of {schema['multipleOf']}")
    return " ".join([_NOUNS.get(_only_type(schema), "a number"), " and ".join(parts)]).strip()


def text_in_words(schema: Mapping[str, Any]) -> str:
    """Return which texts are valid: `a string of 3 to 10 characters`."""
    words = "a string"
    if count := amount_in_words(schema, "minLength", "maxLength", "character"):
        words += f" of {count}"
    if "pattern" in schema:
        words += f" matching the pattern '{schema['pattern']}'"
    return words


def array_in_words(schema: Mapping[str, Any]) -> str:
    """Return which arrays are valid: `an array of 1 to 3 items that all differ`."""
    words = "an array"
    if count := amount_in_words(schema, "minItems", "maxItems", "item"):
        words += f" of {count}"
    return (
        f"{words} {'whose items' if words == 'an array' else 'that'} all differ" if schema.get("uniqueItems") else words
    )


def members_in_words(schema: Mapping[str, Any]) -> str:
    """Return which objects are valid: `an object with 1 to 3 keys`."""
    return f"an object with {amount_in_words(schema, 'minProperties', 'maxProperties', 'key')}"


def amount_in_words(schema: Mapping[str, Any], least_key: str, most_key: str, noun: str) -> str:
    """Return how many there may be: `at least 1 item`, `2 to 5 items`, `exactly 3 items`, or nothing."""
    least, most = schema.get(least_key), schema.get(most_key)
    if least is None and most is None:
        return ""
    if most is None:
        return f"at least {counted_in_words(least, noun)}"
    if least is None:
        return f"at most {counted_in_words(most, noun)}"
    return f"exactly {counted_in_words(most, noun)}" if least == most else f"{least} to {counted_in_words(most, noun)}"


def counted_in_words(count: Any, noun: str) -> str:
    """Return `1 item` or `2 items`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def schema_in_words(schema: Any, tree: SchemaTree, depth: int = 0) -> str | None:
    """Return what a schema accepts, in a few words; None if they would not be few."""
    schema = tree.resolved(schema)
    if "const" in schema:
        return shown_value(schema["const"])
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return either_of(map(shown_value, schema["enum"][:20]))
    if (known := FORMATS.get(schema.get("format", ""))) and _only_type(schema) in ("string", ""):
        return known.expected
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            branches = (
                [schema_in_words(branch, tree, depth + 1) for branch in schema[keyword]]
                if depth < _MOST_DEPTH
                else [None]
            )
            return either_of(filter(None, branches)) if all(branches) and branches else None
    return _typed(schema, tree, depth)


def _typed(schema: dict[str, Any], tree: SchemaTree, depth: int) -> str | None:
    kind = _only_type(schema)
    if kind in _NOUNS and schema.keys() & {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}:
        return number_in_words(schema)
    if kind == "string" and schema.keys() & {"minLength", "maxLength", "pattern"}:
        return text_in_words(schema)
    if kind == "array" and depth < _MOST_DEPTH and (item := schema_in_words(schema.get("items"), tree, depth + 1)):
        return f"array of {item}"
    types = types_of(schema)
    return either_of(types) if types else None


def options_of(schema: Any, tree: SchemaTree) -> tuple[Any, ...]:
    """Return the values that a schema lists, if it does."""
    schema = tree.resolved(schema)
    if "const" in schema:
        return (schema["const"],)
    return tuple(schema["enum"]) if isinstance(schema.get("enum"), list) else ()


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the JSON types that a schema names, in its order."""
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _only_type(schema: Mapping[str, Any]) -> str:
    types: Iterable[str] = types_of(schema)
    return next(iter(types), "") if len(types_of(schema)) == 1 else ""


def _is_number(limit: Any) -> bool:
    return isinstance(limit, int | float) and not isinstance(limit, bool)
