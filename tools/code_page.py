"""The page of all codes, from the catalog."""

import textwrap
from collections.abc import Iterator

import failwell as fw
from failwell.cli.codes import code_entry, code_rows
from failwell.codes import TYPES, Row

_INTRODUCTION = """\
# Codes

Generated from the catalog; `failwell codes` and `failwell explain CODE` print the same on a terminal.

A code is the specific reason of a failure, its type the decision an agent takes. Three flags answer three questions:

- **recoverable**: may it succeed if tried again, possibly with other input?
- **retryable**: may the same call, unchanged, succeed later? "unknown" means that nobody can say.
- **outcome**: did this call take effect? `not_executed`: it never started. `rejected`: it was refused without effect.
  `unknown`: nobody knows. `executed`: it took effect although it failed.

Any other name is a code too. It is kept as it is, and its type follows from how it ends: `TASK_NOT_FOUND` is a
`NOT_FOUND`. With `fw.codes.add` a code of your own gets a row; `examples/own_code.py` shows how.

| type | what it asks of an agent | recoverable | retryable | outcome |
|---|---|---|---|---|
"""
_WORD_FOR = {True: "yes", False: "no", None: "unknown"}


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_lines()) + "\n"


def example(row: Row) -> str:
    """Return the line of Python that raises a failure with a code."""
    classes = (getattr(fw, name) for name in fw.__all__)
    for cls in classes:
        if isinstance(cls, type) and issubclass(cls, fw.ToolFailure) and cls.code == row.code:
            return f'raise fw.{cls.__name__}("{row.title}.")'
    return f'raise fw.ToolFailure("{row.title}.", code="{row.code}")'


def _lines() -> Iterator[str]:
    for type_, of_type in TYPES.items():
        flags = (_WORD_FOR[of_type.recoverable], _WORD_FOR[of_type.retryable], of_type.outcome)
        yield f"| [{type_}](#type-{type_.lower()}) | {of_type.meaning} | {' | '.join(flags)} |"
    for type_ in TYPES:
        yield from ("", f"## Type {type_}", "")
        yield from textwrap.wrap(", ".join(f"[{row.code}](#{row.code.lower()})" for row in code_rows(type_)), 118)
        for row in code_rows(type_):
            yield from _section(row)


def _section(row: Row) -> Iterator[str]:
    entry = code_entry(row)
    yield from ("", f"### {row.code}", "", f"{row.title}.", "")
    yield from ("| type | HTTP status | recoverable | retryable | outcome |", "|---|---|---|---|---|")
    flags = (_WORD_FOR[entry["recoverable"]], _WORD_FOR[entry["retryable"]], entry["outcome"])
    yield f"| {row.type} | {row.http_status} | {' | '.join(flags)} |"
    yield ""
    yield f"- Suggestion: {row.suggestion or 'none'}"
    yield f"- In the dialects: {', '.join(f'{dialect} `{name}`' for dialect, name in entry['names'].items())}"
    if row.aliases:
        yield f"- Also read as this code: {', '.join(f'`{alias}`' for alias in row.aliases)}"
    yield f"- Example: `{example(row)}`"
