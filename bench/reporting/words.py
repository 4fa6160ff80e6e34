"""Figures as people read them."""

from bench.judging import Verdict, bound


def number(value: float) -> str:
    """Return a value with as many digits as mean something."""
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def with_unit(value: float, unit: str) -> str:
    """Return a value with its unit."""
    return f"{number(value)} {unit}".strip()


def seen(verdict: Verdict) -> str:
    """Return the worst that was seen, and the best where they differ; without a goal, the least and the most."""
    if verdict.seen is None or verdict.best is None:
        return "not measured yet"
    worst, best = number(verdict.seen), number(verdict.best)
    if verdict.is_met is False and worst == number(bound(verdict.row.goal or "")[1]):
        worst = f"{verdict.seen:.4g}"  # a miss that rounding would hide
    if worst == best:
        return _with(worst, verdict)
    return f"{_with(worst, verdict)} (best {best})" if verdict.row.goal else _with(f"{best}–{worst}", verdict)


def _with(text: str, verdict: Verdict) -> str:
    return f"{text} {verdict.row.unit}".strip()


def goal(verdict: Verdict) -> str:
    """Return the goal with its unit."""
    return f"{verdict.row.goal} {verdict.row.unit}".strip() if verdict.row.goal else ""


def floor(verdict: Verdict) -> str:
    """Return the floor with its unit."""
    return "not measured yet" if verdict.floor is None else with_unit(verdict.floor, verdict.row.unit)


def above_floor(verdict: Verdict) -> str:
    """Return how many times its floor the worst that was seen is."""
    if verdict.seen is None or not verdict.floor:
        return ""
    is_inverse = (verdict.row.goal or "").startswith("≥")
    return with_unit(verdict.floor / verdict.seen if is_inverse else verdict.seen / verdict.floor, "×")


def why(verdict: Verdict) -> str:
    """Return what the floor of a missed goal is, and what we do beyond it."""
    said = [f"Floor: {verdict.row.floor}." if verdict.row.floor else "", verdict.row.missed or ""]
    if verdict.is_floor_beyond:
        said.insert(0, "**The floor alone misses the goal.**")
    return " ".join(filter(None, said))


def mark(verdict: Verdict) -> str:
    """Return whether the goal was met, in a word."""
    return {True: "met", False: "missed", None: ""}[verdict.is_met]
