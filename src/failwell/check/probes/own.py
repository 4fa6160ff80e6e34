"""A user's own probes and values, from files.

A file of probes is TOML:

    [[probe]]
    name = "no such task"
    tool = "read_task"
    arguments = { task = "t-404" }
    expect = { type = "NOT_FOUND", code = "NOT_FOUND" }

A file of values is TOML too: a table of fields for each tool, and fields of any tool under `"*"`.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from failwell.check.probes import Probe, Subject
from failwell.check.report import NotProbed
from failwell.codes import Type

_MAY_WRITE = "may change something, and these arguments are valid: allow it with --allow-writes"


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The failure that a user expects."""

    type: Type | None = None
    code: str | None = None


class OwnProbe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that a user knows must fail, and how."""

    name: str
    tool: str
    arguments: dict[str, Any] = {}
    expect: Expected = Expected()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    probe: tuple[OwnProbe, ...] = ()


def read_probes(text: str) -> tuple[OwnProbe, ...]:
    """Return the probes in a file.

    Raises:
        ValueError: it is not such a file; the text says where.
    """
    return msgspec.convert(_table(text), _File).probe


def read_values(text: str) -> dict[str, dict[str, Any]]:
    """Return the values in a file, by tool.

    Raises:
        ValueError: it is not such a file; the text says where.
    """
    return msgspec.convert(_table(text), dict[str, dict[str, Any]])


def _table(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def own_probes(wanted: tuple[OwnProbe, ...], subjects: Mapping[str, Subject]) -> tuple[list[Probe], list[NotProbed]]:
    """Return the probes that may be sent, and those that may not."""
    allowed: list[Probe] = []
    refused: list[NotProbed] = []
    for own in wanted:
        subject = subjects[own.tool]
        breaks_schema = not subject.is_valid(own.arguments)
        if subject.careful and not breaks_schema:
            refused.append(NotProbed(tool=own.tool, probe=f"own/{own.name}", reason=_MAY_WRITE))
            continue
        default = ("VALIDATION",) if breaks_schema else ()
        allowed.append(
            Probe(
                id=f"{own.tool}/own/{own.name}",
                row="own",
                tool=own.tool,
                arguments=own.arguments,
                violates=own.name,
                types=(own.expect.type,) if own.expect.type else default,
                code=own.expect.code,
                breaks_schema=breaks_schema,
            )
        )
    return allowed, refused
