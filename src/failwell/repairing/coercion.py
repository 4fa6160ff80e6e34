"""Turn a value into the type that is due, where nothing is lost and nothing is invented."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from failwell.arguments.wording import json_type
from failwell.dialects import json_text
from failwell.repairing.parts import Part
from failwell.suggest import closest, normalised

_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
_FLAGS = {"true": True, "false": False}
_LONGEST = 100_000
_SHORT_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")


class Candidate(NamedTuple):
    """A value that may have been meant, why, and how surely."""

    value: Any
    reason: str
    confidence: float


def coerced(value: Any, part: Part) -> Iterator[Candidate]:
    """Yield the forms of a value that the schema's types allow, the surest first."""
    for type_ in part.types:
        for rule in _COERCIONS.get((json_type(value), type_), ()):
            found = rule(value)
            if found is not None:
                yield found
    if "array" in part.types and not isinstance(value, list | dict) and value is not None:
        yield Candidate([value], "a list is due: put the value in one", 0.85)


def chosen(value: Any, options: tuple[Any, ...], meant: str | None = None) -> Candidate | None:
    """Return the option that a value is a slip of, if it can be only one."""
    texts = [option for option in options if isinstance(option, str)]
    others = [option for option in options if not isinstance(option, str) and str(option).lower() == str(value).lower()]
    if len(others) == 1 and not isinstance(value, dict | list):
        return Candidate(others[0], "the same value, in its own type", 0.92)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value)
    same = [option for option in texts if normalised(option) == normalised(text)]
    if len(same) == 1:
        return Candidate(same[0], "the same option in its own spelling", 0.95)
    near = closest(text, texts)
    if same or not near or (len(near) > 1 and likeness(text, near[1]) > 0.9 * likeness(text, near[0])):
        return None
    if meant is not None and meant in texts:
        near = [meant]
    return Candidate(near[0], "the only option that is spelt alike", 0.8) if likeness(text, near[0]) >= 0.75 else None


def likeness(one: str, two: str) -> float:
    """Return how alike two names are, from 0 to 1; case and separators do not count."""
    import difflib  # costs several ms: only when something was misspelt

    return difflib.SequenceMatcher(None, normalised(one), normalised(two)).ratio()


def respelt(value: Any) -> Iterator[Candidate]:
    """Yield a text without slips of the pen: blanks around it, a date without its zeros."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return
    if value.strip() != value:
        yield Candidate(value.strip(), "without the blanks around it", 0.85)
    if date := _SHORT_DATE.fullmatch(value.strip()):
        yield Candidate(f"{date[1]}-{int(date[2]):02}-{int(date[3]):02}", "the date with its zeros", 0.85)


def _whole_number(value: str) -> Candidate | None:
    if not _INTEGER.fullmatch(value.strip()):
        return None
    return Candidate(int(value), "the number itself, not its text", 0.95)


def _any_number(value: str) -> Candidate | None:
    if not _NUMBER.fullmatch(value.strip()) or not math.isfinite(float(value)):
        return None
    number = int(value) if _INTEGER.fullmatch(value.strip()) else float(value)
    return Candidate(number, "the number itself, not its text", 0.95)


def _flag(value: str) -> Candidate | None:
    found = _FLAGS.get(value.strip().lower())
    return None if found is None else Candidate(found, "the boolean itself, not its text", 0.95)


def _parsed(type_: type) -> Callable[[str], Candidate | None]:
    def parse(value: str) -> Candidate | None:
        if len(value) > _LONGEST or value.lstrip()[:1] not in ("{", "["):
            return None
        found = json_text.parse(value)
        return Candidate(found, "the value itself, not its JSON text", 0.93) if isinstance(found, type_) else None

    return parse


def _without_fraction(value: float) -> Candidate | None:
    return Candidate(int(value), "the same number without a fraction", 0.95) if value.is_integer() else None


def _number_text(value: Any) -> Candidate | None:
    return Candidate(str(value), "the text of the number", 0.85)


def _flag_text(value: bool) -> Candidate | None:  # noqa: FBT001 - the value to turn into text
    return Candidate("true" if value else "false", "the text of the boolean", 0.75)


def _only_item(value: list[Any]) -> Candidate | None:
    return Candidate(value[0], "one value is due: the only one in the list", 0.85) if len(value) == 1 else None


_COERCIONS: dict[tuple[str, str], tuple[Callable[[Any], Candidate | None], ...]] = {
    ("string", "integer"): (_whole_number,),
    ("string", "number"): (_any_number,),
    ("string", "boolean"): (_flag,),
    ("string", "object"): (_parsed(dict),),
    ("string", "array"): (_parsed(list),),
    ("number", "integer"): (_without_fraction,),
    ("integer", "string"): (_number_text,),
    ("number", "string"): (_number_text,),
    ("boolean", "string"): (_flag_text,),
    **{("array", type_): (_only_item,) for type_ in ("string", "integer", "number", "boolean", "object")},
}
"""From what was sent to what is due."""
