"""JSON Schema in words: what a valid value looks like."""

from collections.abc import Iterable, Mapping
from typing import Any

from failwell.arguments.formats import FORMATS
from failwell.arguments.schema_tree import SchemaTree
from failwell.arguments.wording import either, shown

_NOUNS = {"integer": "an integer", "number": "a number"}
_MOST_DEPTH = 3


def number(schema: Mapping[str, Any]) -> str:
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


def text(schema: Mapping[str, Any]) -> str:
    """Return which texts are valid: `a string of 3 to 10 characters`."""
    words = "a string"
    if count := amount(schema, "minLength", "maxLength", "character"):
        words += f" of {count}"
    if "pattern" in schema:
        words += f" matching the pattern '{schema['pattern']}'"
    return words


def array(schema: Mapping[str, Any]) -> str:
    """Return which arrays are valid: `an array of 1 to 3 items that all differ`."""
    words = "an array"
    if count := amount(schema, "minItems", "maxItems", "item"):
        words += f" of {count}"
    return (
        f"{words} {'whose items' if words == 'an array' else 'that'} all differ" if schema.get("uniqueItems") else words
    )


def members(schema: Mapping[str, Any]) -> str:
    """Return which objects are valid: `an object with 1 to 3 keys`."""
    return f"an object with {amount(schema, 'minProperties', 'maxProperties', 'key')}"


def amount(schema: Mapping[str, Any], least_key: str, most_key: str, noun: str) -> str:
    """Return how many there may be: `at least 1 item`, `2 to 5 items`, `exactly 3 items`, or nothing."""
    least, most = schema.get(least_key), schema.get(most_key)
    if least is None and most is None:
        return ""
    if most is None:
        return f"at least {counted(least, noun)}"
    if least is None:
        return f"at most {counted(most, noun)}"
    return f"exactly {counted(most, noun)}" if least == most else f"{least} to {counted(most, noun)}"


def counted(count: Any, noun: str) -> str:
    """Return `1 item` or `2 items`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def describe(schema: Any, tree: SchemaTree, depth: int = 0) -> str | None:
    """Return what a schema accepts, in a few words; None if they would not be few."""
    schema = tree.resolved(schema)
    if "const" in schema:
        return shown(schema["const"])
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return either(map(shown, schema["enum"][:20]))
    if (known := FORMATS.get(schema.get("format", ""))) and _only_type(schema) in ("string", ""):
        return known.expected
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            branches = (
                [describe(branch, tree, depth + 1) for branch in schema[keyword]] if depth < _MOST_DEPTH else [None]
            )
            return either(filter(None, branches)) if all(branches) and branches else None
    return _typed(schema, tree, depth)


def _typed(schema: dict[str, Any], tree: SchemaTree, depth: int) -> str | None:
    kind = _only_type(schema)
    if kind in _NOUNS and schema.keys() & {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}:
        return number(schema)
    if kind == "string" and schema.keys() & {"minLength", "maxLength", "pattern"}:
        return text(schema)
    if kind == "array" and depth < _MOST_DEPTH and (item := describe(schema.get("items"), tree, depth + 1)):
        return f"array of {item}"
    types = types_of(schema)
    return either(types) if types else None


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
