"""The layout of the help of all commands: purpose, usage, options in two columns, and examples, wrapped to fit."""

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence

_WIDEST, _NARROWEST = 100, 40
_WIDEST_HEAD = 26
_GAP = 2

Rows = Sequence[tuple[str, str]]


def help_page(*, usage: Sequence[str], about: str, sections: Mapping[str, Rows], examples: Sequence[str] = ()) -> str:
    """Return the help of a command.

    Args:
        usage: how it is called, one line for each way.
        about: paragraphs, separated by blank lines.
        sections: rows of a name and what it means, by the heading above them.
        examples: lines to copy; long ones are continued with a backslash, so that they still work.
    """
    width = terminal_width()
    lines = [line for paragraph in about.split("\n\n") for line in (*textwrap.wrap(paragraph, width), "")]
    lines += [f"{'Usage:' if place == 0 else '      '} {line}" for place, line in enumerate(usage)]
    for heading, rows in sections.items():
        if rows:
            lines += ["", f"{heading}:", *_columns(rows, width)]
    if examples:
        lines += ["", "Examples:", *(line for example in examples for line in _continued(example, width))]
    return "\n".join(lines) + "\n"


def terminal_width() -> int:
    """Return how wide help may be: the terminal, or `COLUMNS`, within reason."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


def _columns(rows: Rows, width: int) -> Iterator[str]:
    fitting = [len(head) for head, _ in rows if len(head) <= _WIDEST_HEAD]
    indent = _GAP + max(fitting, default=_WIDEST_HEAD) + _GAP
    for head, words in rows:
        first = f"{' ' * _GAP}{head}"
        lines = textwrap.wrap(words, width - indent, break_on_hyphens=False) or [""]
        if len(first) + _GAP > indent:
            yield first
            first = ""
        yield f"{first:{indent}}{lines[0]}".rstrip()
        yield from (f"{'':{indent}}{line}" for line in lines[1:])


def _continued(example: str, width: int) -> Iterator[str]:
    """Yield an example in lines that a shell takes for one."""
    lines = textwrap.wrap(example, width - 4, break_long_words=False, break_on_hyphens=False)
    for place, line in enumerate(lines):
        yield f"{'  ' if place == 0 else '    '}{line}{' ' + chr(92) if place < len(lines) - 1 else ''}"
