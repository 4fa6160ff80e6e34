"""Look up codes: rows by code or alias, defaults for what nobody stated, names in the dialects."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec import UNSET, UnsetType, ValidationError, convert

from failwell.codes import ROWS, TYPES, Outcome, Row, Type
from failwell.suggest import did_you_mean, normalised

_by_name: dict[str, Row] = {name: row for row in ROWS for name in (row.code, *row.aliases)}
_rows: dict[str, Row] = {row.code: row for row in ROWS}

_TYPE_OF_KIND: dict[str, Type] = {
    **{row.kind: type_ for type_, row in TYPES.items()},
    **{row.kind: row.type for row in ROWS if row.kind},
    "AuthenticationError": "PERMISSION",
    "AuthorizationError": "PERMISSION",
    "ConnectionError": "TRANSIENT",
}
_MOST_OF_A_CODE = 200
# Words that give a code nobody wrote a row for away, wherever they stand in it.
_TELLING_WORDS: dict[str, Type] = {"INVALID": "VALIDATION", "MISSING": "VALIDATION", "ALREADY": "CONFLICT"}


def rows() -> Iterator[Row]:
    """Yield every row, in the order they were added."""
    yield from _rows.values()


def get(code: str | None) -> Row | None:
    """Return the row of a code or alias, or None."""
    return _by_name.get(code) if code else None


def explain(code: str) -> Row:
    """Return the row of a code or alias, spelled in any case or in a dialect's way.

    Raises:
        LookupError: there is no such row; the message names the nearest one.
    """
    wanted = screaming(code)
    row = get(code) or get(wanted) or next((row for row in rows() if code in (row.flat, row.envelope)), None)
    if row is None:
        raise LookupError(f"unknown code {code!r}{did_you_mean(wanted, _by_name)}")
    return row


def is_code(text: str) -> bool:
    """Return whether a text can be a code: short, printable and without white space."""
    return 0 < len(text) <= _MOST_OF_A_CODE and text.isprintable() and " " not in text


def add(
    code: str,
    *,
    type: Type,
    title: str,
    http_status: int | None = None,
    suggestion: str | None = None,
    recoverable: bool | UnsetType = UNSET,
    retryable: bool | UnsetType | None = UNSET,
    outcome: Outcome | UnsetType = UNSET,
    flat: str | None = None,
    envelope: str | None = None,
    kind: str | None = None,
    aliases: tuple[str, ...] = (),
) -> Row:
    """Add a row for a code of your own and return it.

    The columns are those of `Row`; what is left out follows from the type.

    Raises:
        ValueError: a name has a row already, holds white space or is not one of its choices.
        TypeError: a value is of the wrong type.
    """
    if type not in TYPES:
        raise ValueError(f"unknown type {type!r}: choose one of {', '.join(TYPES)}{did_you_mean(str(type), TYPES)}")
    status = http_status if http_status is not None else _rows[TYPES[type].code].http_status
    other_names = (*aliases, envelope) if envelope and envelope not in (code, *aliases) else aliases
    given = {
        "code": code, "type": type, "http_status": status, "title": title, "suggestion": suggestion,
        "recoverable": recoverable, "retryable": retryable, "outcome": outcome, "flat": flat, "envelope": envelope,
        "kind": kind, "aliases": other_names,
    }  # fmt: skip
    try:
        row = convert({name: value for name, value in given.items() if value is not UNSET}, Row)
    except ValidationError as wrong:
        raise TypeError(f"a row for {code!r} cannot be: {wrong}") from None
    _check_row(row)
    _rows[row.code] = row
    _by_name.update(dict.fromkeys((row.code, *row.aliases), row))
    derive.cache_clear()
    return row


def _check_row(row: Row) -> None:
    literals = {known.flat for known in ROWS if known.flat}
    if row.flat is not None and row.flat not in literals:
        raise ValueError(f"flat knows no literal {row.flat!r}: choose one of {', '.join(sorted(literals))}")
    if not row.title.strip():
        raise ValueError(f"code {row.code!r} needs a title: a sentence without its full stop")
    if not 400 <= row.http_status <= 599:
        raise ValueError(f"http_status of {row.code!r} must be from 400 to 599, not {row.http_status!r}")
    for name in (row.code, *row.aliases):
        if not is_code(name):
            raise ValueError(f"{name!r} is not a code: codes have no white space")
        if name in _by_name:
            raise ValueError(f"code {name!r} has a row already: {_by_name[name].title!r}; rows are never redefined")


def kin(code: str | None) -> Row | None:
    """Return the row of a code, or the row whose code it ends in: `TASK_NOT_FOUND` and `TaskNotFound` are NOT_FOUND."""
    if not code:
        return None
    row = _by_name.get(code)
    if row is not None or len(code) > 100:
        return row
    tail = screaming(code)
    while tail:
        if tail in _by_name:
            return _by_name[tail]
        tail = tail.partition("_")[2]
    return None


def type_of(code: str | None) -> Type | None:
    """Return the type a code stands for, from its row, its ending or a telling word in it; None if it tells nothing."""
    if row := kin(code):
        return row.type
    words = screaming(code).split("_") if code else ()
    return next((type_ for word, type_ in _TELLING_WORDS.items() if word in words), None)


def type_of_kind(kind: str) -> Type | None:
    """Return the type an exception's class name stands for; None if it tells nothing."""
    return _TYPE_OF_KIND.get(kind) or type_of(kind.removesuffix("Exception").removesuffix("Error"))


class Derived(NamedTuple):
    """What nobody stated about a failure, from its code's row, then from its type."""

    type: Type
    recoverable: bool
    retryable: bool | None
    outcome: Outcome
    kind: str


@lru_cache(maxsize=1024)
def derive(code: str | None, type_: Type | None) -> Derived:
    """Return what follows from a code and a type, either of which may be absent.

    With neither, or a code that tells nothing, the type is INTERNAL and nobody can say whether a retry helps.
    """
    told = type_ or type_of(code)
    if told is None:
        base = TYPES["INTERNAL"]
        return Derived("INTERNAL", base.recoverable, None, base.outcome, base.kind)
    base = TYPES[told]
    row = kin(code)
    if row is None or row.type != told:
        return Derived(told, base.recoverable, base.retryable, base.outcome, base.kind)
    kind = row.kind or base.kind
    if row.code != code and code not in row.aliases:  # only akin: its flags are not stated for this code
        return Derived(told, base.recoverable, base.retryable, base.outcome, kind)
    return Derived(
        told,
        base.recoverable if row.recoverable is UNSET else row.recoverable,
        base.retryable if row.retryable is UNSET else row.retryable,
        base.outcome if row.outcome is UNSET else row.outcome,
        kind,
    )


def http_status_of(code: str | None, type_: Type) -> int:
    """Return the HTTP status that a code is sent with."""
    row = kin(code)
    return row.http_status if row and row.type == type_ else _rows[TYPES[type_].code].http_status


def title_of(code: str | None, type_: Type) -> str:
    """Return the constant sentence of a code, without its full stop."""
    return (kin(code) or _rows[TYPES[type_].code]).title


def flat_literal(code: str | None, type_: Type) -> str:
    """Return which of the eight literals of the flat dialect says a code."""
    row = get(code)
    return row.flat if row and row.flat and row.type == type_ else TYPES[type_].flat


def canonical_code(code: str, tool: str | None = None) -> str:
    """Return the one code of a meaning: aliases resolved, and the prefix of a known tool split off.

    A code that is a row is never split: `RESOURCE_NOT_FOUND` says nothing about a tool named "resource".
    """
    row = _by_name.get(code)
    if row is not None:
        return row.code
    if tool:
        prefix = screaming(tool) + "_"
        if code.startswith(prefix) and len(code) > len(prefix):
            return canonical_code(code[len(prefix) :], tool)
    return code


def prefixed(tool: str, code: str) -> str:
    """Return a code prefixed with its tool: `claim_task` and `ALREADY_CLAIMED` give `CLAIM_TASK_ALREADY_CLAIMED`."""
    return f"{screaming(tool)}_{code}"


def screaming(name: str) -> str:
    """Return a name in SCREAMING_SNAKE_CASE, whatever case it came in."""
    return normalised(name).upper()
