"""The page of all codes, from the catalog."""

from collections import Counter
from collections.abc import Iterator

import failwell as fw
from failwell.cli.codes import code_entry, code_rows
from failwell.codes import TYPES, Row

_INTRODUCTION = """\
# Error codes

Every code with its type, whether a retry helps, and its name in each format. `failwell codes` and `failwell explain
CODE` print the same.

A code is the specific reason for a failure; its type tells an agent how to react. Each code answers three questions:

- **recoverable**: could another call succeed, possibly with other input?
- **retryable**: could the same call, unchanged, succeed later? If so, the failure is also recoverable.
- **outcome**: did this call take effect? `not_executed`: it never started. `rejected`: it was refused without any
  effect. `unknown`: it may have taken effect. `executed`: it took effect even though it failed.

Raise a code with its exception, if it has one: `raise fw.NotFound("…")`. Otherwise use
`raise fw.ToolFailure("…", code="FILE_NOT_FOUND")`, which takes any name: its type follows from its ending, so
`TASK_NOT_FOUND` is a `NOT_FOUND`. `fw.codes.add` adds a code of your own; see `examples/own_code.py`.

The formats envelope and xml write the code, compact writes the type, and flat and meta write a name of their own: that
of the type below, unless the code lists another one under "Names".

| type | meaning | recoverable | retryable | outcome | flat | meta |
|---|---|---|---|---|---|---|
"""
_WORD_FOR = {True: "yes", False: "no", None: "unknown"}
_FLAGS = {
    (True, True): "retryable",
    (True, False): "recoverable, not retryable",
    (False, False): "not recoverable",
    (False, None): "not recoverable, retryable unknown",
}
"""Whether a failure is recoverable and retryable, in words. What is retryable is recoverable."""


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_lines()) + "\n"


def _exception(row: Row) -> type[fw.ToolFailure] | None:
    classes = (getattr(fw, name) for name in fw.__all__)
    exceptions = (cls for cls in classes if isinstance(cls, type) and issubclass(cls, fw.ToolFailure))
    return next((cls for cls in exceptions if cls.code == row.code), None)


def _lines() -> Iterator[str]:
    for type_, of_type in TYPES.items():
        flags = (_WORD_FOR[of_type.recoverable], _WORD_FOR[of_type.retryable], of_type.outcome)
        names = (f"`{_usual_name(type_, dialect)}`" for dialect in ("flat", "meta"))
        yield f"| [{type_}](#type-{type_.lower()}) | {of_type.meaning} | {' | '.join((*flags, *names))} |"
    for type_ in TYPES:
        yield from ("", f"## Type {type_}")
        for row in code_rows(type_):
            yield from _section(row)


def _section(row: Row) -> Iterator[str]:
    entry = code_entry(row)
    yield from ("", f"### {row.code}", "", f"{row.title}.", "")
    flags = _FLAGS[entry["recoverable"], entry["retryable"]]
    yield f"- {flags}, {entry['outcome']}, HTTP {row.http_status}"
    if row.suggestion:
        yield f"- Suggestion: {row.suggestion}"
    if names := list(_unusual_names(row, entry["names"])):
        yield f"- Names: {', '.join(names)}"
    if aliases := [f"`{alias}`" for alias in row.aliases if alias not in entry["names"].values()]:
        yield f"- Aliases: {', '.join(aliases)}"
    if cls := _exception(row):
        yield f"- Exception: `fw.{cls.__name__}`"


def _unusual_names(row: Row, names: dict[str, str]) -> Iterator[str]:
    """Yield the names that do not follow from the type or the code, each once, before the formats that use it."""
    usual = {dialect: _usual_name(row.type, dialect) or row.code for dialect in names}
    unusual = {dialect: name for dialect, name in names.items() if name != usual[dialect]}
    for name in dict.fromkeys(unusual.values()):
        yield f"`{name}` ({', '.join(dialect for dialect, other in unusual.items() if other == name)})"


def _usual_name(type_: str, dialect: str) -> str | None:
    """Return the name that most codes of a type have in a format, if it names types; None if it names codes."""
    if dialect in ("envelope", "xml"):
        return None
    return Counter(code_entry(row)["names"][dialect] for row in code_rows(type_)).most_common(1)[0][0]
