"""The table of probes, and the calls that it gives for a tool."""

from failwell.check.probes import discriminators, kinds, limits, presence
from failwell.check.probes.probe import Draft, Probe, ProbeRow, Subject, is_proven
from failwell.check.report import NotProbed
from failwell.failure import join_path

_MISSING = frozenset(("required", "dependentRequired", "dependencies"))
_STRANGE = frozenset(("additionalProperties", "unevaluatedProperties", "propertyNames", "falseSchema"))
_TOO_FEW = frozenset(("minProperties",))
_LISTED = frozenset(("enum", "const"))
_SHAPE = frozenset(("format", "pattern", "minLength", "maxLength"))
_RUNS = "a server that drops what it does not know would run the tool"

ROWS: tuple[ProbeRow, ...] = (
    ProbeRow("empty", "an empty object", presence.empty, _MISSING, also=_TOO_FEW),
    ProbeRow("missing_field", "a required field left out", presence.missing, _MISSING, also=_TOO_FEW),
    ProbeRow("misspelt_field", "a field with a slip in its name", presence.misspelt, _MISSING, also=_STRANGE),
    ProbeRow("wrong_type", "a value of another type", kinds.wrong_type, frozenset(("type",)), also=_LISTED),
    ProbeRow("nested_wrong_type", "a wrong value deep inside", kinds.nested, frozenset(("type",)), also=_LISTED),
    ProbeRow("null", "null where something is due", kinds.null, frozenset(("type", "enum", "const"))),
    ProbeRow("not_listed", "a value outside the list", limits.outside_list, _LISTED, also=_SHAPE),
    ProbeRow("misspelt_option", "a listed value with a slip in it", limits.misspelt_option, _LISTED, also=_SHAPE),
    ProbeRow("out_of_range", "a number out of its range", limits.out_of_range, frozenset(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))),
    ProbeRow("wrong_length", "too long or too short", limits.wrong_length, frozenset(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties")), also=frozenset(("pattern", "format"))),
    ProbeRow("wrong_pattern", "a text that does not match its pattern", limits.wrong_pattern, frozenset(("pattern",)),
        also=frozenset(("minLength", "maxLength", "format"))),
    ProbeRow("wrong_format", "a text that is not in its format", limits.wrong_format, frozenset(("format",)),
        also=frozenset(("pattern", "minLength", "maxLength")),
        writers="many servers do not check formats, and would run the tool", may_be_ignored=True),
    ProbeRow("discriminator", "the field that chooses what to do", discriminators.discriminator, _MISSING | _LISTED,
        also=_STRANGE),
    ProbeRow("unknown_field", "a field nobody knows", presence.unknown, _STRANGE, writers=_RUNS, may_be_ignored=True),
)  # fmt: skip
"""In the order in which they are sent: what surely fails first."""

_OPTIONAL = "a server that ignores a wrong optional field would run the tool"


def probes_of(subject: Subject) -> tuple[list[Probe], list[NotProbed]]:
    """Return the calls that a tool must refuse, each proven, and those that were not made."""
    made: dict[str, Probe] = {}
    left_out: dict[str, NotProbed] = {}
    for row in ROWS:
        for draft in row.draw(subject):
            name = "/".join(part for part in (row.name, _path(draft), draft.variant) if part)
            if name in made or not is_proven(subject, row, draft):
                continue
            reason = _reason_against(subject, row, draft)
            if reason is None:
                made[name] = _probe(subject, row, draft, name)
            else:
                left_out.setdefault(name, NotProbed(tool=subject.name, probe=name, reason=reason))
    if not subject.bases:
        left_out["-"] = NotProbed(tool=subject.name, probe=None, reason=_no_base(made))
    return list(made.values()), list(left_out.values())


def _no_base(made: dict[str, Probe]) -> str:
    how = "only an empty call was made" if made else "nothing was sent"
    return f"no valid arguments could be made from its schema, so {how}: give them with --values"


def _reason_against(subject: Subject, row: ProbeRow, draft: Draft) -> str | None:
    """Return why a call is not made to a tool that may change something; None if it may be."""
    if not subject.careful:
        return None
    return row.writers or (None if draft.required else _OPTIONAL)


def _path(draft: Draft) -> str:
    return join_path(draft.keys) if draft.keys else ""


def _probe(subject: Subject, row: ProbeRow, draft: Draft, name: str) -> Probe:
    return Probe(
        id=f"{subject.name}/{name}",
        row=row.name,
        tool=subject.name,
        arguments=draft.arguments,
        violates=draft.violates,
        keys=draft.keys,
        named=draft.named,
        expected=draft.expected,
        options=draft.options,
        may_be_ignored=row.may_be_ignored,
    )
