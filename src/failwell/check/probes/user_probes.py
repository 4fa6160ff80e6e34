"""Probes and values of a user, from files.

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

from failwell.check.probes.probe import CheckedTool, Probe
from failwell.check.report import NotProbed
from failwell.codes import Type

_MAY_WRITE = "may change something, and these arguments are valid: allow it with --allow-writes"


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The failure that a user expects."""

    type: Type | None = None
    code: str | None = None


class UserProbe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that a user knows must fail, and how."""

    name: str
    tool: str
    arguments: dict[str, Any] = {}
    expect: Expected = Expected()


class _ProbesFile(Struct, frozen=True, forbid_unknown_fields=True):
    probe: tuple[UserProbe, ...] = ()


def read_probes(text: str) -> tuple[UserProbe, ...]:
    """Return the probes in a file.

    Raises:
        ValueError: it is not such a file; the text says where.
    """
    return msgspec.convert(tomllib.loads(text), _ProbesFile).probe


def read_values(text: str) -> dict[str, dict[str, Any]]:
    """Return the values in a file, by tool.

    Raises:
        ValueError: it is not such a file; the text says where.
    """
    return msgspec.convert(tomllib.loads(text), dict[str, dict[str, Any]])


def make_user_probes(
    probes: tuple[UserProbe, ...], tools: Mapping[str, CheckedTool]
) -> tuple[list[Probe], list[NotProbed]]:
    """Return the probes that may be sent, and those that may not."""
    allowed: list[Probe] = []
    refused: list[NotProbed] = []
    for probe in probes:
        tool = tools[probe.tool]
        breaks_schema = not tool.is_valid(probe.arguments)
        if tool.careful and not breaks_schema:
            refused.append(NotProbed(tool=probe.tool, probe=f"own/{probe.name}", reason=_MAY_WRITE))
            continue
        default = ("VALIDATION",) if breaks_schema else ()
        allowed.append(
            Probe(
                id=f"{probe.tool}/own/{probe.name}",
                row="own",
                tool=probe.tool,
                arguments=probe.arguments,
                violates=probe.name,
                types=(probe.expect.type,) if probe.expect.type else default,
                code=probe.expect.code,
                breaks_schema=breaks_schema,
            )
        )
    return allowed, refused
