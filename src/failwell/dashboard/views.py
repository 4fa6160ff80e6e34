"""`View`: what the page shows, read from the query of its address."""

from collections.abc import Iterable
from typing import get_args

from msgspec import Struct

from failwell._spelling import did_you_mean
from failwell.codes import TYPES
from failwell.event import FAILED
from failwell.records._record import Source

RANGES: dict[str, int | None] = {"24h": 24, "7d": 7 * 24, "30d": 30 * 24, "90d": 90 * 24, "all": None}
"""How many hours back, by the name in the address."""
GROUPINGS = ("tool", "server", "type", "code")
SORTS = ("stuck", "failed", "rate", "troubles", "recovery", "wasted", "calls", "name")
SHOWN: dict[str, frozenset[str]] = {
    "failures": FAILED,
    "retries": frozenset(("retry", "recovered", "repaired", "fallback")),
    "servers": frozenset(("breaker", "died", "restarted", "dropped", "lost")),
    "all": frozenset(),
}
"""Kinds of records in the feed, by the name in the address; all of them where there are none."""

_LONGEST = 200
_GREATEST = 2**63 - 1
_CHOICES: dict[str, Iterable[str]] = {
    "range": RANGES,
    "by": GROUPINGS,
    "sort": SORTS,
    "show": SHOWN,
    "type": TYPES,
    "source": get_args(Source),
}
_NAMES = ("server", "tool", "code", "session")
_NUMBERS = ("before", "after", "failure")


class BadView(Exception):
    """The address asks for something that does not exist; the text says why in one line."""


class View(Struct, frozen=True, kw_only=True):
    """What to look at: how far back, of which server, tool, type, code, source and session, and how it is laid out.

    `before` and `after` are numbers of records in the feed, `failure` that of the record whose details are shown.
    """

    range: str = "7d"
    server: str = ""
    tool: str = ""
    type: str = ""
    code: str = ""
    source: str = ""
    session: str = ""
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
            raise BadView(f"there is nothing called {_shown(name)} to choose by{did_you_mean(name, _all_names())}")
        if name in values:
            raise BadView(f"{name} stands in the address twice")
        if value:
            values[name] = _checked(name, value)
    return View(**values)  # type: ignore[arg-type]  # numbers where there should be


def _checked(name: str, value: str) -> str | int:
    if name in _NUMBERS:
        if not (value.isascii() and value.isdecimal() and len(value) < 20 and int(value) <= _GREATEST):
            raise BadView(f"{name} must be the number of a record, not {_shown(value)}")
        return int(value)
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise BadView(f"{name} must be one of {', '.join(_CHOICES[name])}, not {_shown(value)}")
        return value
    if len(value) > _LONGEST or not value.isprintable():
        raise BadView(f"{name} must be a name of at most {_LONGEST} characters that can be seen")
    return value


def _shown(text: str) -> str:
    return ascii(text[:40])


def _all_names() -> tuple[str, ...]:
    return View.__struct_fields__
