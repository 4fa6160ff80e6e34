"""Probes of the tool's name: one that nobody has, and one with a slip in it."""

from collections.abc import Iterator, Sequence

from failwell.check.probes.presence import misspelling
from failwell.check.probes.probe import Probe, Subject

SERVER = "(server)"
"""Where calls to tools that do not exist are reported."""

NOBODY = "failwell_probe_tool"
_MISSING = (
    *(
        "unknown",
        "not found",
        "no tool",
        "no such",
        "does not exist",
        "doesn't exist",
        "not exist",
        "invalid",
        "is not a",
    ),
    *("not recognized", "not available", "unrecognized"),
)


def tool_name_probes(subjects: Sequence[Subject]) -> Iterator[Probe]:
    """Yield calls to tools that do not exist. They carry no arguments: a server that guesses must not run anything."""
    names = [subject.name for subject in subjects]
    preferred = sorted(subjects, key=lambda subject: not subject.read_only)
    slips = (slip for subject in preferred if (slip := misspelling(subject.name)) and slip not in names)
    for row, name in (("unknown_tool", NOBODY), ("misspelt_tool", next(slips, None))):
        if name is not None and name not in names:
            yield Probe(
                id=f"{SERVER}/{row}",
                row=row,
                tool=name,
                arguments={},
                violates=f"there is no tool {name}",
                named=(name,),
                expected=_MISSING,
                types=("NOT_FOUND", "VALIDATION"),
                breaks_schema=False,
            )
