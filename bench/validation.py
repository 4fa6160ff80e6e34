"""`check_arguments` beside the jsonschema package, on valid and invalid arguments."""

from collections.abc import Iterator
from typing import Any

import jsonschema

from bench.measure import Figure, compare
from failwell.server import Checker

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 1},
        "subject": {"type": "string", "maxLength": 200},
        "priority": {"enum": ["low", "normal", "high"]},
        "retries": {"type": "integer", "minimum": 0, "maximum": 5},
    },
    "required": ["to", "subject"],
    "additionalProperties": False,
}
VALID = {"to": ["ann@example.com", "bob@example.com"], "subject": "Hi", "priority": "high", "retries": 2}
INVALID = {"to": [], "subjct": "Hi", "priority": "urgent", "retries": 9}


def run() -> Iterator[Figure]:
    """Measure a checker and jsonschema's validator, both compiled before."""
    ours = Checker(SCHEMA)
    theirs = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    yield compare(
        "validation",
        "valid arguments",
        lambda: ours.check(VALID),
        "jsonschema",
        lambda: theirs.is_valid(VALID),
        number=500,
    )
    yield compare(
        "validation",
        "four wrong fields, in words",
        lambda: ours.check(INVALID),
        "jsonschema, errors only",
        lambda: list(theirs.iter_errors(INVALID)),
        number=200,
    )
