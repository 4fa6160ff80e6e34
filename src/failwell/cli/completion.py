"""Shell completion: what may stand at a place of the command line, and the answer to a shell that asks."""

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from failwell import codes
from failwell.codes import TYPES
from failwell.dialects import DIALECTS
from failwell.proxy.options import OPTIONS

_ASKED = "_FAILWELL_COMPLETE"
# The parser is click, on its own or inside of typer, as the version goes.
_PARSER = typer.BadParameter.__module__.rpartition(".")[0]


def is_asked() -> bool:
    """Tell whether a shell started this process to ask for completions."""
    return bool(os.environ.get(_ASKED))


def answer(command: Any) -> int:
    """Write the completions that the shell asked for, and return the exit code."""
    try:
        command.main(args=[], prog_name="failwell", complete_var=_ASKED)
    except SystemExit as answered:
        return 2 if answered.code else 0
    return 0


def dialect_names(incomplete: str) -> Iterator[str]:
    """Yield the dialects."""
    yield from (name for name in DIALECTS if name.startswith(incomplete))


def schema_names(incomplete: str) -> Iterator[str]:
    """Yield the dialects that have a JSON Schema."""
    yield from (name for name in dialect_names(incomplete) if hasattr(DIALECTS[name], "json_schema"))


def type_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the types with what they mean."""
    yield from _alike(incomplete, {name: type_.meaning for name, type_ in TYPES.items()})


def code_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the codes with their titles, and the types that are no codes."""
    titles = {row.code: row.title for row in codes.rows()}
    types = {name: type_.meaning for name, type_ in TYPES.items() if name not in titles}
    yield from _alike(incomplete, titles | types)


def event_actions(incomplete: str) -> Iterator[str]:
    """Yield what `events` does."""
    yield from (name for name in ("list", "export", "summary", "prune") if name.startswith(incomplete))


def _alike(incomplete: str, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names in the case that was begun with: a shell drops what does not begin as the word does."""
    for name, words in names.items():
        spelt = name.lower() if incomplete.islower() else name
        if spelt.startswith(incomplete):
            yield spelt, words


class ProxyCommand(TyperCommand):
    """A command that completes the options of the proxy, which the proxy parses by itself."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what the word may become: a dialect behind `--dialect`, else an option."""
        item = import_module(f"{_PARSER}.shell_completion").CompletionItem
        if ctx.args[-1:] == ["--dialect"]:
            return [item(name) for name in dialect_names(incomplete)]
        return [item(one.name, help=one.help) for one in OPTIONS if one.name.startswith(incomplete)]
