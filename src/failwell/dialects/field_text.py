"""Field problems as sentences for a model: what is wrong, what was sent, what is expected, what may be chosen."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET

from failwell.dialects import json_text
from failwell.failure import FieldProblem
from failwell.paths import last_key, parent

_NOTHING_SENT = ("missing", "unknown")


def sentences(problems: Iterable[FieldProblem]) -> Iterator[tuple[str, str]]:
    """Yield a path and a sentence for each problem; unrecognized keys of one object share theirs."""
    problems = tuple(problems)
    grouped: set[str] = set()
    for problem in problems:
        if not _is_plain_unknown(problem):
            yield problem.path, sentence(problem)
            continue
        where = parent(problem.path)
        if where not in grouped:
            grouped.add(where)
            yield where, _unknown([p for p in problems if _is_plain_unknown(p) and parent(p.path) == where])


def sentence(problem: FieldProblem) -> str:
    """Return one problem in words."""
    parts = [_ended(problem.message)]
    if problem.sent is not UNSET and problem.kind not in _NOTHING_SENT:
        parts.append(f"You sent: {_shown(problem.sent)}.")
    if problem.expected:
        parts.append(f"Expected: {_ended(problem.expected)}")
    if problem.options:
        parts.append(f"Valid options: {', '.join(map(_shown, problem.options))}.")
    if problem.did_you_mean:
        parts.append(f"Did you mean {_shown(problem.did_you_mean)}?")
    return " ".join(parts)


def _is_plain_unknown(problem: FieldProblem) -> bool:
    return problem.kind == "unknown" and problem.message == FieldProblem(path=problem.path, kind="unknown").message


def _unknown(problems: list[FieldProblem]) -> str:
    names = ", ".join(f"'{last_key(problem.path)}'" for problem in problems)
    meant = [
        f" Did you mean '{problem.did_you_mean}' instead of '{last_key(problem.path)}'?"
        for problem in problems
        if problem.did_you_mean
    ]
    return (
        f"Unrecognized key(s) in object: {names}. Remove or correct unrecognized fields: {names}. Check for typos."
        + "".join(meant)
    )


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _shown(value: Any) -> str:
    if not isinstance(value, str):
        return json_text.write(value)
    return "'" + " ".join(value.splitlines()).replace("'", "\\'") + "'"
