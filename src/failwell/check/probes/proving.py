"""Proof that a call must fail, and for the reason it claims: held against the schema before it is sent."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from failwell.arguments.schema_tree import key_of
from failwell.check.probes.probe import Draft, Row, Subject
from failwell.check.shapes import Keys

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_WRAPPERS = frozenset(("anyOf", "oneOf"))
_ABSENT = frozenset(("required", "dependentRequired", "dependencies"))


def is_proven(subject: Subject, row: Row, draft: Draft) -> bool:
    """Tell whether the schema refuses a call, and refuses it for what the row claims and for nothing else.

    What it was made from is valid and differs from it in one place only, so that place alone is to blame.
    """
    errors = subject.errors(draft.arguments)
    if not errors or (draft.base is not None and not subject.is_valid(draft.base)):
        return False
    allowed = row.keywords | row.also | _WRAPPERS
    if any(error.kind.name not in allowed for error in errors):
        return False
    return any(keyword in row.keywords and _speaks_of(where, keyword, draft) for where, keyword in _flat(errors, draft))


def _speaks_of(where: Keys, keyword: str, draft: Draft) -> bool:
    holder = draft.keys[:-1]
    return where == draft.keys or where == holder or (keyword in _ABSENT and where == holder)


def _flat(errors: Iterable["ValidationError"], draft: Draft) -> Iterator[tuple[Keys, str]]:
    for error in errors:
        yield _place(error.instance_path, draft), error.kind.name
        for branch in getattr(error.kind, "context", ()):
            yield from _flat(branch, draft)


def _place(path: Iterable[str | int], draft: Draft) -> Keys:
    """Return a path with keys as they were sent: jsonschema-rs gives a key that reads like a number as that number."""
    keys: list[str | int] = []
    here: object = draft.arguments
    for step in path:
        key = key_of(here, step)
        keys.append(step if key is None else key)
        here = here[key] if key is not None else None  # type: ignore[index]  # key_of found it there
    return tuple(keys)
