"""`View`: what the page shows, parsed from the query of its address."""

from collections.abc import Iterable
from typing import get_args

from msgspec import Struct

from failwell._spelling import did_you_mean
from failwell.codes import TYPES
from failwell.records._reader import SHOWN
from failwell.records._record import Source
from failwell.records._recovery import BELOW, RECOVERED, STUCK, VERDICTS, RecoveryVerdict


class TimeRange(Struct, frozen=True):
    """How far back: so many buckets of so many seconds, of which a bar shows so many. None: all there is."""

    unit: int
    buckets: int | None = None
    step: int = 1


RANGES: dict[str, TimeRange] = {
    "15m": TimeRange(60, 15),
    "1h": TimeRange(60, 60, 2),
    "6h": TimeRange(60, 360, 10),
    "24h": TimeRange(3600, 24),
    "7d": TimeRange(3600, 7 * 24, 6),
    "30d": TimeRange(3600, 30 * 24, 24),
    "90d": TimeRange(3600, 90 * 24, 72),
    "all": TimeRange(3600),
}
"""How far back, by the name in the address."""
GROUPINGS = ("tool", "server", "type", "code", "agent")
VERDICT_GROUPS: dict[str, frozenset[RecoveryVerdict]] = {
    "recovered": RECOVERED,
    "stuck": STUCK,
    "moved_on": frozenset(("moved_on",)),
    "saved": BELOW,
    "duplicates_avoided": frozenset(VERDICTS),
    **{verdict: frozenset((verdict,)) for verdict in VERDICTS},
}
"""Verdicts, by the name of the figure that counts them."""
SORTS = ("stuck", "failed", "rate", "failures", "recovery", "wasted", "time", "p95", "calls", "name")
_LONGEST = 200
_GREATEST = 2**63 - 1
_CHOICES: dict[str, Iterable[str]] = {
    "range": RANGES,
    "by": GROUPINGS,
    "sort": SORTS,
    "show": SHOWN,
    "type": TYPES,
    "source": get_args(Source),
    "verdict": VERDICT_GROUPS,
}
_NUMBERS = ("before", "after", "failure")


class BadView(Exception):
    """The address asks for something that does not exist; the text says why in one line."""


class View(Struct, frozen=True, kw_only=True):
    """What to look at: how far back, of which server, tool, type, code, source, agent and session, and in which order.

    `verdict` lists the failures that a figure counts. `before` and `after` are numbers of records in the feed,
    `failure` that of the record whose details are shown.
    """

    range: str = "7d"
    server: str = ""
    tool: str = ""
    type: str = ""
    code: str = ""
    source: str = ""
    agent: str = ""
    session: str = ""
    verdict: str = ""
    by: str = "tool"
    sort: str = "stuck"
    show: str = "failures"
    before: int = 0
    after: int = 0
    failure: int = 0


def parse_view(pairs: Iterable[tuple[str, str]]) -> View:
    """Return what the names and values of a query ask for; an empty value is none.

    Raises:
        BadView: a name or a value makes no sense.
    """
    values: dict[str, str | int] = {}
    for name, value in pairs:
        if name not in View.__struct_fields__:
            raise BadView(f"unknown parameter {_shown(name)}{did_you_mean(name, _all_names())}")
        if name in values:
            raise BadView(f"{name} appears twice in the address")
        if value:
            values[name] = _checked(name, value)
    return View(**values)  # type: ignore[arg-type]  # numbers where there should be


def _checked(name: str, value: str) -> str | int:
    if name in _NUMBERS:
        if not (value.isascii() and value.isdecimal() and len(value) < 20 and int(value) <= _GREATEST):
            raise BadView(f"{name} must be the number of an event, not {_shown(value)}")
        return int(value)
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise BadView(f"{name} must be one of {', '.join(_CHOICES[name])}, not {_shown(value)}")
        return value
    if len(value) > _LONGEST or not value.isprintable():
        raise BadView(f"{name} must be at most {_LONGEST} printable characters")
    return value


def _shown(text: str) -> str:
    return ascii(text[:40])


def _all_names() -> tuple[str, ...]:
    return View.__struct_fields__
