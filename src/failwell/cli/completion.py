"""Shell completion: the response to the shell, and the values that several commands complete."""

import os
from collections.abc import Iterator
from typing import Any

from failwell import codes
from failwell.codes import TYPES
from failwell.dialects import DIALECTS
from failwell.hosts.locations import HOSTS

_VARIABLE = "_FAILWELL_COMPLETE"


def is_requested() -> bool:
    """Tell whether a shell started this process to ask for completions."""
    return bool(os.environ.get(_VARIABLE))


def respond(command: Any) -> int:
    """Write the completions that the shell asked for, and return the exit code."""
    try:
        command.main(args=[], prog_name="failwell", complete_var=_VARIABLE)
    except SystemExit as ended:
        return 2 if ended.code else 0
    return 0


def dialect_names(incomplete: str) -> Iterator[str]:
    """Yield the dialects."""
    yield from (name for name in DIALECTS if name.startswith(incomplete))


def type_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the types with what they mean."""
    yield from _match_case(incomplete, {name: type_.meaning for name, type_ in TYPES.items()})


def code_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the codes with their titles, and the types that are no codes."""
    titles = {row.code: row.title for row in codes.rows()}
    types = {name: type_.meaning for name, type_ in TYPES.items() if name not in titles}
    yield from _match_case(incomplete, titles | types)


def event_actions(incomplete: str) -> Iterator[str]:
    """Yield what `events` does."""
    yield from (name for name in ("list", "tail", "export", "summary", "mark", "prune") if name.startswith(incomplete))


def host_actions(incomplete: str) -> Iterator[str]:
    """Yield what `hosts` does."""
    yield from (name for name in ("list", "wrap", "unwrap", "check") if name.startswith(incomplete))


def host_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the hosts."""
    yield from ((host.name, host.title) for host in HOSTS if host.name.startswith(incomplete))


def _match_case(incomplete: str, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names in the case that was begun with: a shell drops what does not begin as the word does."""
    for name, words in names.items():
        spelt = name.lower() if incomplete.islower() else name
        if spelt.startswith(incomplete):
            yield spelt, words
