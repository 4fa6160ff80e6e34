"""The table of probes, and the calls that it gives for a tool."""

from failwell import paths
from failwell.check.probes import discriminators, kinds, limits, presence
from failwell.check.probes.probe import Draft, Probe, Row, Subject
from failwell.check.probes.proving import is_proven
from failwell.check.report import NotProbed

_MISSING = frozenset(("required", "dependentRequired", "dependencies"))
_STRANGE = frozenset(("additionalProperties", "unevaluatedProperties", "propertyNames", "falseSchema"))
_LISTED = frozenset(("enum", "const"))
_SHAPE = frozenset(("format", "pattern", "minLength", "maxLength"))
_RUNS = "a server that drops what it does not know would run the tool"

ROWS: tuple[Row, ...] = (
    Row("empty", "an empty object", presence.empty, _MISSING, also=frozenset(("minProperties",))),
    Row("missing_field", "a required field left out", presence.missing, _MISSING, also=frozenset(("minProperties",))),
    Row("misspelt_field", "a field with a slip in its name", presence.misspelt, _MISSING, also=_STRANGE),
    Row("wrong_type", "a value of another type", kinds.wrong_type, frozenset(("type",)), also=_LISTED),
    Row("nested_wrong_type", "a wrong value deep inside", kinds.nested, frozenset(("type",)), also=_LISTED),
    Row("null", "null where something is due", kinds.null, frozenset(("type", "enum", "const"))),
    Row("not_listed", "a value outside the list", limits.outside_list, _LISTED, also=_SHAPE),
    Row("misspelt_option", "a listed value with a slip in it", limits.misspelt_option, _LISTED, also=_SHAPE),
    Row("out_of_range", "a number out of its range", limits.out_of_range, frozenset(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))),
    Row("wrong_length", "too long or too short", limits.wrong_length, frozenset(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties")), also=frozenset(("pattern", "format"))),
    Row("wrong_pattern", "a text that does not match its pattern", limits.wrong_pattern, frozenset(("pattern",)),
        also=frozenset(("minLength", "maxLength", "format"))),
    Row("wrong_format", "a text that is not in its format", limits.wrong_format, frozenset(("format",)),
        also=frozenset(("pattern", "minLength", "maxLength")),
        writers="many servers do not check formats, and would run the tool", may_be_ignored=True),
    Row("discriminator", "the field that chooses what to do", discriminators.discriminator, _MISSING | _LISTED,
        also=_STRANGE),
    Row("unknown_field", "a field nobody knows", presence.unknown, _STRANGE, writers=_RUNS, may_be_ignored=True),
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


def _reason_against(subject: Subject, row: Row, draft: Draft) -> str | None:
    """Return why a call is not made to a tool that may change something; None if it may be."""
    if not subject.careful:
        return None
    return row.writers or (None if draft.required else _OPTIONAL)


def _path(draft: Draft) -> str:
    return paths.join(draft.keys) if draft.keys else ""


def _probe(subject: Subject, row: Row, draft: Draft, name: str) -> Probe:
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
