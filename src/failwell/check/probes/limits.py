"""Probes of limits: values outside a list, a range, a length, a format or a pattern."""

from collections.abc import Iterator
from typing import Any

from failwell._json import is_array, is_object
from failwell.check.arguments import SchemaPlace, options_at, shapes, value_at, with_value
from failwell.check.probes.kinds import expected_of
from failwell.check.probes.presence import misspelling
from failwell.check.probes.probe import Draft, Subject
from failwell.failure import join_path
from failwell.schema.words import FORMATS, format_of

_OUTSIDE = "failwell-probe"
_LONGEST = 5000
_MOST_OPTIONS = 10
_ENOUGH_LETTERS = 4
_NO_FORMAT = ("failwell probe: <no> such {format", "failwell-probe", "-", "%", "")
_NO_PATTERN = ("failwell probe", "~", "", "\u00a7 \u00a7", "FAILWELL PROBE", "x" * 300)


def outside_list(subject: Subject) -> Iterator[Draft]:
    """A value that is none of those listed."""
    for place, base in subject.spots:
        options = options_at(place.schema, subject.tree)
        if options and not _is_chooser(subject, options):
            outside: Any = _OUTSIDE if any(isinstance(option, str) for option in options) else 987654321
            yield from _listing(subject, place, base, outside, options, "is none of the listed values")


def misspelt_option(subject: Subject) -> Iterator[Draft]:
    """A listed value with a slip in it, in the first field that lists texts."""
    for place, base in subject.spots:
        options = options_at(place.schema, subject.tree)
        texts = [option for option in options if isinstance(option, str) and len(option) >= _ENOUGH_LETTERS]
        slip = misspelling(texts[0]) if texts else None
        if slip is not None and slip not in options and not _is_chooser(subject, options):
            yield from _listing(subject, place, base, slip, options, f"is {slip} in place of {texts[0]}")
            return


def _is_chooser(subject: Subject, options: list[Any]) -> bool:
    """Tell whether a field has one value in each alternative: that is a discriminator, with probes of its own."""
    return len(options) == 1 and len(subject.shapes) > 1


def _listing(
    subject: Subject, place: SchemaPlace, base: dict[str, Any], value: Any, options: list[Any], how: str
) -> Iterator[Draft]:
    arguments = with_value(base, place.keys, value)
    if arguments is not None:
        listed = tuple(_written(option) for option in options[:_MOST_OPTIONS])
        yield Draft(
            arguments, base, place.keys, f"{join_path(place.keys)} {how}", (place.name,), (*listed, *expected_of(
                subject, place)), listed if len(options) <= _MOST_OPTIONS else (), place.required,
        )  # fmt: skip


def out_of_range(subject: Subject) -> Iterator[Draft]:
    """A number beyond each limit, or between two steps."""
    for place, base in subject.spots:
        for shape in shapes(place.schema, subject.tree):
            for keyword, value in _beyond(shape):
                limit = shape[keyword]
                yield from _limited(subject, place, base, value, f"is beyond its {keyword} {limit}", limit, keyword)


# Far beyond: a number that is one more might be taken by a server that counts otherwise.
_FAR = {"minimum": -1_000, "maximum": 1_000, "exclusiveMinimum": -1_000, "exclusiveMaximum": 1_000}


def _beyond(shape: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, far in _FAR.items():
        limit = shape.get(keyword)
        if isinstance(limit, int | float) and not isinstance(limit, bool):
            step = shape.get("multipleOf") or 1
            yield keyword, ((limit + far) // step) * step
    if isinstance(shape.get("multipleOf"), int) and shape["multipleOf"] > 1:
        step = shape["multipleOf"]
        low = shape.get("minimum", shape.get("exclusiveMinimum", 0))
        yield "multipleOf", int(low) // step * step + step + 1


def wrong_length(subject: Subject) -> Iterator[Draft]:
    """A text or a list that is longer or shorter than allowed."""
    for place, base in subject.spots:
        here = value_at(base, place.keys)
        for shape in shapes(place.schema, subject.tree):
            for keyword, value in _misfits(here, shape):
                limit = shape[keyword]
                yield from _limited(subject, place, base, value, f"breaks its {keyword} of {limit}", limit, keyword)


def _misfits(here: Any, shape: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    least, most = shape.get("minLength", 0), shape.get("maxLength", _LONGEST)
    if isinstance(here, str):
        if least > 0:
            yield "minLength", here[: least - 1]
        if most < _LONGEST:
            yield "maxLength", (here or "x").ljust(most + 1, (here or "x")[-1])
    fewest, largest = shape.get("minItems", 0), shape.get("maxItems", _LONGEST)
    if is_array(here):
        if fewest > 0:
            yield "minItems", here[: fewest - 1]
        if largest < _LONGEST and here and not shape.get("uniqueItems"):
            yield "maxItems", (here * (largest + 1))[: largest + 1]
    if is_object(here) and shape.get("minProperties", 0) > 0 and not shape.get("required"):
        yield "minProperties", dict(list(here.items())[: shape["minProperties"] - 1])


def wrong_format(subject: Subject) -> Iterator[Draft]:
    """A text that is not in its format."""
    for place, base in subject.spots:
        for shape in shapes(place.schema, subject.tree):
            name = shape.get("format")
            if isinstance(name, str) and name in FORMATS:
                known = format_of(name)
                words = (name, known.label, known.example, known.words)
                found = _first_refused(subject, place, base, _NO_FORMAT)
                if found is not None:
                    how = f"{join_path(place.keys)} is not in the format {name}"
                    yield Draft(found, base, place.keys, how, (place.name,), words, required=place.required)


def wrong_pattern(subject: Subject) -> Iterator[Draft]:
    """A text that does not match its pattern."""
    for place, base in subject.spots:
        for shape in shapes(place.schema, subject.tree):
            pattern = shape.get("pattern")
            if isinstance(pattern, str):
                found = _first_refused(subject, place, base, _NO_PATTERN)
                if found is not None:
                    how = f"{join_path(place.keys)} does not match the pattern {pattern}"
                    words = (
                        pattern,
                        "pattern",
                        "format",
                        "regex",
                        *([shape["description"]] if isinstance(shape.get("description"), str) else []),
                    )
                    yield Draft(found, base, place.keys, how, (place.name,), words, required=place.required)


def _first_refused(
    subject: Subject, place: SchemaPlace, base: dict[str, Any], values: tuple[str, ...]
) -> dict[str, Any] | None:
    made = (with_value(base, place.keys, value) for value in values)
    return next((arguments for arguments in made if arguments is not None and not subject.is_valid(arguments)), None)


def _limited(
    subject: Subject, place: SchemaPlace, base: dict[str, Any], value: Any, how: str, limit: Any, keyword: str
) -> Iterator[Draft]:
    arguments = with_value(base, place.keys, value)
    if arguments is not None and not subject.is_valid(arguments):
        words = (str(limit), *(("empty",) if limit == 1 else ()))
        yield Draft(
            arguments, base, place.keys, f"{join_path(place.keys)} {how}", (place.name,), words,
            required=place.required, variant=keyword,
        )  # fmt: skip


def _written(option: Any) -> str:
    return option if isinstance(option, str) else {True: "true", False: "false", None: "null"}.get(option, str(option))
