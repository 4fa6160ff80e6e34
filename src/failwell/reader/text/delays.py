"""How long a text asks to wait: `retry in 30s`, `try again in 2 minutes`, `Retry-After: 5`."""

import re

from failwell.failure import seconds

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "s": 1.0, "": 1.0}
_WORDS = ("retry", "again", "wait", "available", "reset")  # one of them is in every text that asks
_UNIT = r"(ms|milliseconds?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)"
_AMOUNT = rf"(\d{{1,9}}(?:\.\d{{1,6}})?) ?{_UNIT}?(?![a-z])"
_ASKED = re.compile(
    r"(?:retry(?:ing)?[ _-]?(?:after|in)[\"']?[\s:=]{1,3}(?:about |at least |approximately )?"
    r"|(?:try|retry) again (?:in|after) (?:about |at least |approximately )?"
    r"|wait(?:ing)? (?:for )?(?:about |at least |another |approximately )?"
    r"|(?:available|resets?|reset) (?:again )?in (?:about )?)"
    + _AMOUNT
    + r"(?:(?: and)? ?(\d{1,4}) ?s(?:ec(?:ond)?s?)?\b)?",
    re.IGNORECASE,
)


def find(text: str) -> float | None:
    """Return the seconds that a text asks to wait, or None if it asks for none."""
    match = _ASKED.search(text) if _may_ask(text.lower()) else None
    if match is None:
        return None
    unit = (match[2] or "").lower()
    if not unit and not match[0].lower().startswith("retry"):
        return None
    factor = 0.001 if unit.startswith(("ms", "mil")) else _UNITS[unit[:1]]
    extra = float(match[3]) if match[3] else 0.0
    return seconds(round(float(match[1]) * factor + extra, 3))


def _may_ask(low: str) -> bool:
    for word in _WORDS:  # noqa: SIM110 - a generator would take twice as long
        if word in low:
            return True
    return False
