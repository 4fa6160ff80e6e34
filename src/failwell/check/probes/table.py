"""The table of probes, and the calls that it gives for a tool.

To add a probe, write a function that proposes calls in the module of its subject, and add a row here.
"""

from failwell.check.probes import discriminators, limits, names, value_types
from failwell.check.probes.probe import CheckedTool, Probe, ProbeRow, ProposedCall, is_proven
from failwell.check.report import NotProbed
from failwell.failure import join_path

_MISSING = frozenset(("required", "dependentRequired", "dependencies"))
_STRANGE = frozenset(("additionalProperties", "unevaluatedProperties", "propertyNames", "falseSchema"))
_TOO_FEW = frozenset(("minProperties",))
_TYPE = frozenset(("type",))
_LISTED = frozenset(("enum", "const"))
_RANGE = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_LENGTH = frozenset(("minLength", "maxLength", "minItems", "maxItems", "minProperties"))
_TEXT = frozenset(("format", "pattern", "minLength", "maxLength"))
_FORMAT, _PATTERN = frozenset(("format",)), frozenset(("pattern",))
_DROPPED = "a server that ignores unknown fields would run the tool"
_UNCHECKED = "many servers do not check formats, and would run the tool"
_OPTIONAL = "a server that ignores a wrong optional field would run the tool"

ROWS: tuple[ProbeRow, ...] = (
    ProbeRow("empty", "an empty object", names.empty, _MISSING, also_breaks=_TOO_FEW),
    ProbeRow("missing_field", "a required field left out", names.missing, _MISSING, also_breaks=_TOO_FEW),
    ProbeRow("misspelt_field", "a misspelt field name", names.misspelt, _MISSING, also_breaks=_STRANGE),
    ProbeRow("wrong_type", "a value of another type", value_types.wrong_type, _TYPE, also_breaks=_LISTED),
    ProbeRow("nested_wrong_type", "a wrong value deep inside", value_types.nested, _TYPE, also_breaks=_LISTED),
    ProbeRow("null", "null instead of a value", value_types.null, _TYPE | _LISTED),
    ProbeRow("not_listed", "a value outside the list", limits.outside_list, _LISTED, also_breaks=_TEXT),
    ProbeRow("misspelt_option", "a misspelt listed value", limits.misspelt_option, _LISTED, also_breaks=_TEXT),
    ProbeRow("out_of_range", "a number out of its range", limits.out_of_range, _RANGE),
    ProbeRow("wrong_length", "too long or too short", limits.wrong_length, _LENGTH, also_breaks=_PATTERN | _FORMAT),
    ProbeRow("wrong_pattern", "a text that does not match its pattern", limits.wrong_pattern, _PATTERN,
             also_breaks=_TEXT - _PATTERN),
    ProbeRow("wrong_format", "a text in the wrong format", limits.wrong_format, _FORMAT,
             also_breaks=_TEXT - _FORMAT, unsafe_reason=_UNCHECKED, may_be_ignored=True),
    ProbeRow("discriminator", "the field that selects the action", discriminators.discriminator, _MISSING | _LISTED,
             also_breaks=_STRANGE),
    ProbeRow("unknown_field", "an unknown field", names.unknown, _STRANGE,
             unsafe_reason=_DROPPED, may_be_ignored=True),
)  # fmt: skip
"""In the order in which they are sent: what surely fails first."""


def make_probes(tool: CheckedTool) -> tuple[list[Probe], list[NotProbed]]:
    """Return the calls that a tool must refuse, each proven, and those that were not made."""
    made: dict[str, Probe] = {}
    left_out: dict[str, NotProbed] = {}
    for row in ROWS:
        for call in row.propose(tool):
            name = "/".join(part for part in (row.name, _path(call), call.variant) if part)
            if name in made or not is_proven(tool, row, call):
                continue
            reason = _unsafe_reason(tool, row, call)
            if reason is None:
                made[name] = _probe(tool, row, call, name)
            else:
                left_out.setdefault(name, NotProbed(tool=tool.name, probe=name, reason=reason))
    if not tool.valid_arguments:
        left_out["-"] = NotProbed(tool=tool.name, probe=None, reason=_no_arguments_reason(made))
    return list(made.values()), list(left_out.values())


def _no_arguments_reason(made: dict[str, Probe]) -> str:
    how = "only an empty call was made" if made else "nothing was sent"
    return f"no valid arguments could be made from its schema, so {how}: give them with --values"


def _unsafe_reason(tool: CheckedTool, row: ProbeRow, call: ProposedCall) -> str | None:
    """Return why a call is not made to a tool that may change something; None if it may be."""
    if not tool.careful:
        return None
    return row.unsafe_reason or (None if call.required else _OPTIONAL)


def _path(call: ProposedCall) -> str:
    return join_path(call.keys) if call.keys else ""


def _probe(tool: CheckedTool, row: ProbeRow, call: ProposedCall, name: str) -> Probe:
    return Probe(
        id=f"{tool.name}/{name}",
        row=row.name,
        tool=tool.name,
        arguments=call.arguments,
        violates=call.violates,
        keys=call.keys,
        named=call.named,
        expected=call.expected,
        options=call.options,
        may_be_ignored=row.may_be_ignored,
    )
