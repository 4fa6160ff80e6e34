"""Field problems from what a validator said: the kind in one word, and what was sent."""

from typing import Any

from msgspec import UNSET

from failwell import paths
from failwell.failure import ROOT, FieldProblem
from failwell.json_types import is_array, is_object
from failwell.reader.text.context import Context
from failwell.redact import clean, is_secret_name

_LONGEST_SENTENCE = 300

# A word in an error's type or sentence, and the kind of problem it stands for; the first that is there counts.
_KINDS: tuple[tuple[str, str], ...] = (
    ("missing", "missing"),
    ("received undefined", "missing"),
    ("must not be null", "missing"),
    ("unexpected_keyword", "unknown"),
    ("extra_forbidden", "unknown"),
    ("value_error.extra", "unknown"),
    ("unrecognized", "unknown"),
    ("additional", "unknown"),
    ("unknown field", "unknown"),
    ("unexpected", "unknown"),
    ("literal", "enum"),
    ("enum", "enum"),
    ("invalid option", "enum"),
    ("invalid_value", "enum"),
    ("invalid_union_discriminator", "enum"),
    ("one of", "enum"),
    ("allowed values", "enum"),
    ("greater_than", "range"),
    ("less_than", "range"),
    ("minimum", "range"),
    ("maximum", "range"),
    ("multiple", "range"),
    ("number must be", "range"),
    (">=", "range"),
    ("<=", "range"),
    ("too_long", "length"),
    ("too_short", "length"),
    ("minlength", "length"),
    ("maxlength", "length"),
    ("minitems", "length"),
    ("maxitems", "length"),
    ("at least", "length"),
    ("at most", "length"),
    ("too_small", "range"),
    ("too_big", "range"),
    ("too small", "range"),
    ("too big", "range"),
    ("too short", "length"),
    ("too long", "length"),
    ("pattern", "pattern"),
    ("does not match", "pattern"),
    ("invalid_type", "type"),
    ("parsing", "type"),
    ("_type", "type"),
    ("type_error", "type"),
    ("expected", "type"),
    ("of type", "type"),
    ("must be", "type"),
    ("should be", "type"),
    ("format", "format"),
    ("url", "format"),
    ("date", "format"),
    ("required", "missing"),
)


def kind_of(said: str) -> str | None:
    """Return the kind of problem that an error's type or sentence stands for; None if it tells nothing."""
    low = said[:400].lower()
    return next((kind for word, kind in _KINDS if word in low), None)


def problem(context: Context, keys: list[str | int], said: str, kind: str | None = None, **more: Any) -> FieldProblem:
    """Return the problem of the argument that *keys* lead to, with what was sent there."""
    path = context.located(keys) or ROOT
    sent = sent_at(context.arguments, path) if context.is_known else UNSET
    if kind == "missing" and sent is not UNSET and sent is not None:
        kind = "type"
    message = clean(said, _LONGEST_SENTENCE).strip()
    if context.is_known and sent is UNSET and kind in ("type", None) and path != ROOT:
        kind = "missing"
    required = True if kind == "missing" else None
    return FieldProblem(path=path, kind=kind, message=message, sent=sent, required=required, **more)


def sent_at(arguments: Any, path: str) -> Any:
    """Return what was sent at a path; `UNSET` if nothing was, or if it is a secret or the arguments as a whole."""
    try:
        keys = paths.split(path)
    except ValueError:
        return UNSET
    if not keys or any(isinstance(key, str) and is_secret_name(key) for key in keys):
        return UNSET
    for key in keys:
        if is_object(arguments) and key in arguments:
            arguments = arguments[key]  # type: ignore[index]  # just looked up
        elif is_array(arguments) and isinstance(key, int) and key < len(arguments):
            arguments = arguments[key]
        else:
            return UNSET
    return arguments
