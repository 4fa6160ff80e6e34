"""Probes with wrong names: fields that are missing, misspelt or unknown, and tools that do not exist."""

from collections.abc import Iterator, Sequence
from typing import Any

from failwell._json import is_array
from failwell.check.arguments import value_at, with_value, without_value
from failwell.check.probes.probe import CheckedTool, Probe, ProposedCall
from failwell.check.report import SERVER
from failwell.failure import join_path

UNKNOWN_FIELD = "failwell_probe"
"""The name of a field that no tool has."""

UNKNOWN_TOOL = "failwell_no_such_tool"
"""The name of a tool that no server has, without a word that says what it would do: that changes how texts are read."""

REQUIRED = ("required", "missing", "must", "needed", "need", "mandatory", "undefined", "expected", "provide")
_NOT_FOUND = (
    *("unknown", "not found", "no tool", "no such", "does not exist", "doesn't exist", "not exist", "invalid"),
    *("is not a", "not recognized", "not available", "unrecognized"),
)
_UNKNOWN = (
    *("unknown", "unexpected", "unrecognized", "unrecognised", "extra", "additional", "not allowed", "not permitted"),
    *("no such", "not known", "invalid key"),
)


def empty(tool: CheckedTool) -> Iterator[ProposedCall]:
    """An empty object, where something is required."""
    if tool.is_valid({}):
        return
    required = tool.schema.get("required")
    names = tuple(name for name in required if isinstance(name, str)) if is_array(required) else ()
    yield ProposedCall({}, None, (), "no arguments at all, though some are required", names, REQUIRED)


def missing(tool: CheckedTool) -> Iterator[ProposedCall]:
    """Each required field left out, the others valid."""
    for field, base in tool.filled_fields:
        name = field.keys[-1]
        arguments = without_value(base, field.keys)
        if arguments is not None and isinstance(name, str) and not tool.is_valid(arguments):
            violates = f"the required field {join_path(field.keys)} is left out"
            yield ProposedCall(arguments, base, field.keys, violates, (name,), REQUIRED, required=field.required)


def misspelt(tool: CheckedTool) -> Iterator[ProposedCall]:
    """The first required field under a name that is almost right."""
    for field, base in tool.filled_fields:
        name = field.keys[-1]
        slip = misspelling(str(name))
        rest = without_value(base, field.keys)
        if rest is None or slip is None or tool.is_valid(rest):
            continue
        arguments = with_value(rest, (*field.keys[:-1], slip), value_at(base, field.keys))
        if arguments is not None and slip not in value_at(base, field.keys[:-1]):
            violates = f"the field {join_path(field.keys)} is spelt {slip}"
            yield ProposedCall(arguments, base, field.keys, violates, (str(name),), required=field.required)
            return


def unknown(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A field that nobody knows, beside valid ones."""
    for _, base in tool.valid_arguments[:1]:
        arguments: dict[str, Any] = {**base, UNKNOWN_FIELD: 1}
        if not tool.is_valid(arguments):
            violates = f"a field {UNKNOWN_FIELD} that the schema does not allow"
            yield ProposedCall(arguments, base, (UNKNOWN_FIELD,), violates, (UNKNOWN_FIELD,), _UNKNOWN)


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


def misspelling(word: str) -> str | None:
    """Return a word with two of its letters swapped, or else one dropped; None if it is too short for that."""
    middle = len(word) // 2
    for index in (*range(middle, len(word) - 1), *range(1, middle)):
        one, two = word[index], word[index + 1]
        if one != two and one.isalnum() and two.isalnum():
            return word[:index] + two + one + word[index + 2 :]
    return word[:-1] if len(word) > 3 else None
