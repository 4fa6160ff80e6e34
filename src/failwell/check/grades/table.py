"""The table of grades, and the grades of one provoked call."""

from collections.abc import Callable
from typing import NamedTuple

from failwell.check.evidence import Evidence
from failwell.check.grades import calls, machines, texts
from failwell.check.report import Channel, Graded

Judge = Callable[[Evidence], bool | str | None]


class Grade(NamedTuple):
    """A grade: its name, where it looks, how much it counts, what holds if it is reached, and who judges it."""

    name: str
    channel: Channel
    weight: int
    title: str
    judge: Judge


GRADES: tuple[Grade, ...] = (
    Grade("flagged", "call", 15, "the failure is flagged as an error", calls.flagged),
    Grade("tool_error", "call", 5, "a tool error, which models see, and not a protocol error", calls.tool_error),
    Grade("alive", "call", 6, "the server still answers", calls.alive),
    Grade("speed", "call", 3, f"refused within {calls.SLOWEST:g} s", calls.quick),
    Grade("repairable", "call", 14, "an agent that knows only the error can mend the call", calls.repairable),
    Grade("names_field", "text", 10, "the text names what is wrong", texts.names_field),
    Grade("says_expected", "text", 8, "the text says what was expected", texts.says_expected),
    Grade("lists_options", "text", 6, "the text lists what can be chosen", texts.lists_options),
    Grade("safe", "text", 12, "no traceback, path, secret or library address in the text", texts.is_safe),
    Grade("next_step", "text", 8, "the text says what to do next", texts.next_step),
    Grade("says_retry", "text", 5, "the text says whether to try again", texts.says_retry),
    Grade("size", "text", 3, f"at most {texts.MOST_CHARACTERS:,} characters", texts.is_short),
    Grade("typed", "machine", 10, "type and code can be read by a program", machines.is_typed),
    Grade("field_path", "machine", 4, "the wrong field can be read by a program", machines.points_to_field),
    Grade("retry_flag", "machine", 4, "whether to try again can be read by a program", machines.tells_retry),
    Grade("stable_code", "machine", 4, "the same call fails with the same code", machines.is_stable),
)
"""The text that a model sees and what programs read are graded apart."""


def graded(seen: Evidence) -> tuple[Graded, ...]:
    """Return the grades of one call; none for a call that servers may well tolerate, and this one did."""
    if seen.is_tolerated:
        return ()
    found: list[Graded] = []
    for grade in GRADES:
        verdict = grade.judge(seen)
        if verdict is not None:
            reason = grade.title if verdict is True else str(verdict)
            found.append(
                Graded(
                    grade=grade.name, channel=grade.channel, passed=verdict is True, weight=grade.weight, reason=reason
                )
            )
    return tuple(found)
