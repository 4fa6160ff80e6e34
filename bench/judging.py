"""From what was measured to what is said of it: the value in the unit of a row, and whether it keeps the goal."""

import operator
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from bench.measure import Amount, Figure
from bench.promises import ROWS, Row

Measured = dict[str, Any]

_SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
_KEPT: dict[str, Callable[[float, float], bool]] = {
    "≤": operator.le,
    "≥": operator.ge,
    "about": lambda seen, goal: seen <= goal * 1.1,
}


class Verdict(Struct, frozen=True):
    """What a row came to: the worst of the figures it covers, with its floor, or None where there are none."""

    id: str
    suite: str
    row: Row
    seen: float | None
    best: float | None = None
    floor: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is kept; None if there is none, or nothing was measured."""
        if self.row.goal is None or self.seen is None:
            return None
        kept, goal = bound(self.row.goal)
        return kept(self.seen, goal)

    @property
    def is_floor_beyond(self) -> bool:
        """Whether the floor alone misses the goal, so that no solution could keep it."""
        if self.row.goal is None or self.floor is None:
            return False
        kept, goal = bound(self.row.goal)
        return not kept(self.floor, goal)


def bound(goal: str) -> tuple[Callable[[float, float], bool], float]:
    """Return the comparison and the number of a goal such as `≤ 2`."""
    sign, _, number = goal.rpartition(" ")
    return _KEPT[sign], float(number)


def as_measured(found: Figure | Amount) -> Measured:
    """Return a figure or an amount as it is kept in the file of results."""
    if isinstance(found, Amount):
        value = {"value": _rounded(found.value), "unit": found.unit}
        return {"group": found.group, "what": found.what, "beside": found.beside, **value, **_floor(found.floor)}
    return {
        "group": found.group,
        "what": found.what,
        "beside": found.beside,
        "value": _rounded(found.microseconds),
        "unit": "µs",
        "beside_value": _rounded(found.beside_microseconds),
        "ratio": _rounded(found.ratio),
        **({} if found.spread is None else {"spread": round(found.spread, 3)}),
        **_floor(found.floor_microseconds),
    }


def _floor(value: float | None) -> Measured:
    return {} if value is None else {"floor": _rounded(value)}


def value_in(measured: Measured, unit: str) -> float:
    """Return what was measured in the unit of a row."""
    return _value_in(measured, "value", unit)


def floor_in(measured: Measured, unit: str) -> float | None:
    """Return the floor of what was measured in the unit of a row, if there is one."""
    return _value_in(measured, "floor", unit) if "floor" in measured else None


def _value_in(measured: Measured, key: str, unit: str) -> float:
    value = float(measured[key])
    if unit == "×":
        return float(measured["ratio"]) if key == "value" else value / measured["beside_value"]
    if unit == "× less":
        return 1 / _value_in(measured, key, "×")
    if unit in _SECONDS and measured["unit"] in _SECONDS:
        return float(value * _SECONDS[measured["unit"]] / _SECONDS[unit])
    return value


def verdicts(suite: str, found: Iterable[Measured]) -> list[Verdict]:
    """Return what each row of a suite came to."""
    found = list(found)
    return [_verdict(suite, id, row, found) for id, row in ROWS.get(suite, {}).items()]


def unspoken(suite: str, found: Iterable[Measured]) -> list[str]:
    """Return the figures that no row speaks of."""
    rows = ROWS.get(suite, {}).values()
    return [
        f"{one['what']} | {one['beside']}"
        for one in found
        if not any(row.covers(one["what"], one["beside"]) for row in rows)
    ]


def _verdict(suite: str, id: str, row: Row, found: list[Measured]) -> Verdict:
    covered = sorted(
        (one for one in found if row.covers(one["what"], one["beside"])), key=lambda one: value_in(one, row.unit)
    )
    if not covered:
        return Verdict(id, suite, row, None)
    if (row.goal or "").startswith("≥"):
        covered.reverse()
    worst, best = covered[-1], covered[0]
    return Verdict(id, suite, row, value_in(worst, row.unit), value_in(best, row.unit), floor_in(worst, row.unit))


def _rounded(value: float) -> float:
    """Return counts as they are, and of all else four digits: more would be noise."""
    return value if float(value).is_integer() else float(f"{value:.4g}")
