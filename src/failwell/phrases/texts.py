"""Rules for texts: every table of wordings in the order in which they are tried, most specific first."""

from collections.abc import Iterator
from functools import cache

from msgspec.structs import replace

from failwell.phrases import (
    crashes,
    databases,
    inputs,
    limits,
    lookups,
    networks,
    programs,
    refusals,
    results,
    services,
    settings,
    states,
    systems,
    vague,
)
from failwell.phrases.index import stored_index
from failwell.phrases.language import Rule, Table
from failwell.phrases.translations import TRANSLATIONS

_TABLES = (
    results,
    settings,
    programs,
    limits,
    networks,
    systems,
    databases,
    services,
    crashes,
    states,
    inputs,
    lookups,
    refusals,
    vague,
)


def _translated() -> Iterator[Rule]:
    translations: dict[str, list[str]] = {}
    for row in TRANSLATIONS:
        translations.setdefault(row.rule, []).append(row.phrases)
    for module in _TABLES:
        for rule in module.RULES:
            others = translations.get(rule.name)
            yield replace(rule, phrases="\n".join((rule.phrases.strip(), *others))) if others else rule


RULES: tuple[Rule, ...] = tuple(_translated())
"""Every rule for texts; where several fit, the first decides."""


@cache
def table() -> Table:
    """Return all the rules, indexed."""
    return Table(RULES, stored_index("texts"))
