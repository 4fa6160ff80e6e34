"""Field problems from what a validator said: the kind in one word, and what was sent."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from failwell import paths
from failwell.arguments import schema_words
from failwell.arguments.schema_tree import SchemaTree, key_of
from failwell.failure import ROOT, FieldProblem
from failwell.reader.text.context import Context
from failwell.redact import clean, is_secret_name
from failwell.suggest import closest

_LONGEST_SENTENCE = 300
_MOST_OPTIONS = 10

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
    sent = _sent(context, keys, path) if context.is_known else UNSET
    if kind == "missing" and sent is not UNSET and sent is not None:
        kind = "type"
    is_safe = len(said) <= _LONGEST_SENTENCE and said in context.safe_text
    message = (said if is_safe else clean(said, _LONGEST_SENTENCE)).strip()
    if context.is_known and sent is UNSET and kind in ("type", None) and path != ROOT:
        kind = "missing"
    required = True if kind == "missing" else None
    return FieldProblem(path=path, kind=kind, message=message, sent=sent, required=required, **more)


def _sent(context: Context, keys: list[str | int], path: str) -> Any:
    if len(keys) != 1 or path != keys[0]:
        return sent_at(context.arguments, path)
    return UNSET if is_secret_name(path) else context.arguments.get(path, UNSET)


def sent_at(arguments: Any, path: str) -> Any:
    """Return what was sent at a path; `UNSET` if nothing was, or if it is a secret or the arguments as a whole."""
    try:
        keys = paths.split(path)
    except ValueError:
        return UNSET
    if not keys or any(isinstance(key, str) and is_secret_name(key) for key in keys):
        return UNSET
    for key in keys:
        found = key_of(arguments, key)
        if found is None:
            return UNSET
        arguments = arguments[found]
    return arguments


def informed(found: FieldProblem, context: Context) -> FieldProblem:
    """Return a problem with what the schema adds to it: the options, what was expected, what was meant."""
    if found.path in context.properties:
        tree = SchemaTree(context.schema)
        part = context.properties[found.path]
        options = schema_words.options_of(part, tree)
        texts = [option for option in options if isinstance(option, str)]
        meant = closest(found.sent, texts, most=1) if texts and isinstance(found.sent, str) else ()
        return replace(
            found,
            options=options[:_MOST_OPTIONS],
            expected=None if options else schema_words.describe(part, tree),
            required=found.path in context.required,
            did_you_mean=meant[0] if meant else None,
        )
    known = next((known for known in context.problems if known.path == found.path), None)
    if known is None:
        return found
    changes = {name: getattr(known, name) for name in ("expected", "options", "did_you_mean", "required", "kind")}
    return replace(found, **changes)
