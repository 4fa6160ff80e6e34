"""All rules of wording in the order in which they are tried: the most telling first."""

from functools import cache

from failwell.phrases import (
    crashes,
    databases,
    inputs,
    limits,
    lookups,
    networks,
    programs,
    refusals,
    services,
    states,
    systems,
    vague,
)
from failwell.phrases.language import Rule, Table

_TABLES = (
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
RULES: tuple[Rule, ...] = tuple(rule for module in _TABLES for rule in module.RULES)
"""Every rule of wording; where several fit, the first decides."""


@cache
def table() -> Table:
    """Return all the rules, indexed. Made when first needed."""
    return Table(RULES)
