"""Probes with wrong names of tools: one that no tool has, and one with a slip in it."""

from collections.abc import Iterator, Sequence

from failwell.check.probes.field_names import misspelling
from failwell.check.probes.probe import CheckedTool, Probe
from failwell.check.report import SERVER

UNKNOWN_TOOL = "failwell_probe_tool"
_NOT_FOUND = (
    *("unknown", "not found", "no tool", "no such", "does not exist", "doesn't exist", "not exist", "invalid"),
    *("is not a", "not recognized", "not available", "unrecognized"),
)


def tool_name_probes(tools: Sequence[CheckedTool]) -> Iterator[Probe]:
    """Yield calls to tools that do not exist. They carry no arguments: a server that guesses must not run anything."""
    names = [tool.name for tool in tools]
    preferred = sorted(tools, key=lambda tool: not tool.read_only)
    slips = (slip for tool in preferred if (slip := misspelling(tool.name)) and slip not in names)
    for row, name in (("unknown_tool", UNKNOWN_TOOL), ("misspelt_tool", next(slips, None))):
        if name is not None and name not in names:
            yield Probe(
                id=f"{SERVER}/{row}",
                row=row,
                tool=name,
                arguments={},
                violates=f"there is no tool {name}",
                named=(name,),
                expected=_NOT_FOUND,
                types=("NOT_FOUND", "VALIDATION"),
                breaks_schema=False,
            )
