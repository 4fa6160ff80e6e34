"""Probes of limits: values outside a list, a range, a length, a format or a pattern."""

from collections.abc import Iterator
from typing import Any

from failwell._json import is_array, is_object
from failwell.check.arguments import LONGEST, PLACEHOLDER, SchemaField, options_at, shapes, value_at, with_value
from failwell.check.probes.names import misspelling
from failwell.check.probes.probe import CheckedTool, ProposedCall
from failwell.check.probes.value_types import expected_of
from failwell.failure import join_path
from failwell.schema.words import FORMATS, format_of

_MOST_OPTIONS = 10
_ENOUGH_LETTERS = 4
_NO_FORMAT = ("failwell probe: <no> such {format", PLACEHOLDER, "-", "%", "")
_NO_PATTERN = ("failwell probe", "~", "", "\u00a7 \u00a7", "FAILWELL PROBE", "x" * 300)


def outside_list(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A value that is none of those listed."""
    for field, base in tool.filled_fields:
        options = options_at(field.schema, tool.tree)
        if options and not _is_discriminator(tool, options):
            outside: Any = PLACEHOLDER if any(isinstance(option, str) for option in options) else 987654321
            yield from _outside_options(tool, field, base, outside, options, "is none of the listed values")


def misspelt_option(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A listed value with a slip in it, in the first field that lists texts."""
    for field, base in tool.filled_fields:
        options = options_at(field.schema, tool.tree)
        texts = [option for option in options if isinstance(option, str) and len(option) >= _ENOUGH_LETTERS]
        slip = misspelling(texts[0]) if texts else None
        if slip is not None and slip not in options and not _is_discriminator(tool, options):
            yield from _outside_options(tool, field, base, slip, options, f"is {slip} in place of {texts[0]}")
            return


def _is_discriminator(tool: CheckedTool, options: list[Any]) -> bool:
    """Tell whether a field has one value in each alternative: that is a discriminator, with probes of its own."""
    return len(options) == 1 and len(tool.shapes) > 1


def _outside_options(
    tool: CheckedTool, field: SchemaField, base: dict[str, Any], value: Any, options: list[Any], how: str
) -> Iterator[ProposedCall]:
    arguments = with_value(base, field.keys, value)
    if arguments is not None:
        listed = tuple(_option_text(option) for option in options[:_MOST_OPTIONS])
        yield ProposedCall(
            arguments, base, field.keys, f"{join_path(field.keys)} {how}", (field.name,), (*listed, *expected_of(
                tool, field)), listed if len(options) <= _MOST_OPTIONS else (), field.required,
        )  # fmt: skip


def out_of_range(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A number beyond each limit, or between two steps."""
    for field, base in tool.filled_fields:
        for shape in shapes(field.schema, tool.tree):
            for keyword, value in _out_of_range(shape):
                limit = shape[keyword]
                yield from _beyond_limit(tool, field, base, value, f"is beyond its {keyword} {limit}", limit, keyword)


# Far beyond: a number that is one more might be taken by a server that counts otherwise.
_FAR = {"minimum": -1_000, "maximum": 1_000, "exclusiveMinimum": -1_000, "exclusiveMaximum": 1_000}


def _out_of_range(shape: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, far in _FAR.items():
        limit = shape.get(keyword)
        if isinstance(limit, int | float) and not isinstance(limit, bool):
            step = shape.get("multipleOf") or 1
            yield keyword, ((limit + far) // step) * step
    if isinstance(shape.get("multipleOf"), int) and shape["multipleOf"] > 1:
        step = shape["multipleOf"]
        low = shape.get("minimum", shape.get("exclusiveMinimum", 0))
        yield "multipleOf", int(low) // step * step + step + 1


def wrong_length(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A text or a list that is longer or shorter than allowed."""
    for field, base in tool.filled_fields:
        here = value_at(base, field.keys)
        for shape in shapes(field.schema, tool.tree):
            for keyword, value in _wrong_lengths(here, shape):
                limit = shape[keyword]
                yield from _beyond_limit(tool, field, base, value, f"breaks its {keyword} of {limit}", limit, keyword)


def _wrong_lengths(here: Any, shape: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    least, most = shape.get("minLength", 0), shape.get("maxLength", LONGEST)
    if isinstance(here, str):
        if least > 0:
            yield "minLength", here[: least - 1]
        if most < LONGEST:
            yield "maxLength", (here or "x").ljust(most + 1, (here or "x")[-1])
    fewest, largest = shape.get("minItems", 0), shape.get("maxItems", LONGEST)
    if is_array(here):
        if fewest > 0:
            yield "minItems", here[: fewest - 1]
        if largest < LONGEST and here and not shape.get("uniqueItems"):
            yield "maxItems", (here * (largest + 1))[: largest + 1]
    if is_object(here) and shape.get("minProperties", 0) > 0 and not shape.get("required"):
        yield "minProperties", dict(list(here.items())[: shape["minProperties"] - 1])


def wrong_format(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A text that is not in its format."""
    for field, base in tool.filled_fields:
        for shape in shapes(field.schema, tool.tree):
            name = shape.get("format")
            if isinstance(name, str) and name in FORMATS:
                known = format_of(name)
                words = (name, known.label, known.example, known.words)
                found = _first_refused(tool, field, base, _NO_FORMAT)
                if found is not None:
                    how = f"{join_path(field.keys)} is not in the format {name}"
                    yield ProposedCall(found, base, field.keys, how, (field.name,), words, required=field.required)


def wrong_pattern(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A text that does not match its pattern."""
    for field, base in tool.filled_fields:
        for shape in shapes(field.schema, tool.tree):
            pattern = shape.get("pattern")
            if isinstance(pattern, str):
                found = _first_refused(tool, field, base, _NO_PATTERN)
                if found is not None:
                    how = f"{join_path(field.keys)} does not match the pattern {pattern}"
                    words = (
                        pattern,
                        "pattern",
                        "format",
                        "regex",
                        *([shape["description"]] if isinstance(shape.get("description"), str) else []),
                    )
                    yield ProposedCall(found, base, field.keys, how, (field.name,), words, required=field.required)


def _first_refused(
    tool: CheckedTool, field: SchemaField, base: dict[str, Any], values: tuple[str, ...]
) -> dict[str, Any] | None:
    made = (with_value(base, field.keys, value) for value in values)
    return next((arguments for arguments in made if arguments is not None and not tool.is_valid(arguments)), None)


def _beyond_limit(
    tool: CheckedTool, field: SchemaField, base: dict[str, Any], value: Any, how: str, limit: Any, keyword: str
) -> Iterator[ProposedCall]:
    arguments = with_value(base, field.keys, value)
    if arguments is not None and not tool.is_valid(arguments):
        words = (str(limit), *(("empty",) if limit == 1 else ()))
        yield ProposedCall(
            arguments, base, field.keys, f"{join_path(field.keys)} {how}", (field.name,), words,
            required=field.required, variant=keyword,
        )  # fmt: skip


def _option_text(option: Any) -> str:
    return option if isinstance(option, str) else {True: "true", False: "false", None: "null"}.get(option, str(option))
