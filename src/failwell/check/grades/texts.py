"""Judges of the text that a model sees.

A judge returns True, or the reason why not, or None where the question does not arise.
"""

import json
import re

from failwell.advice import decide
from failwell.check.evidence import Evidence
from failwell.redact.scrubber import scrub

MOST_CHARACTERS = 2_000
"""So long may the text of one failure be."""

_NOTHING = "there is no failure to read"
_RETRY = re.compile(
    r"\b(?:retry|retries|retried|retryable|retrying|(?:try|call|send|use|run)(?: \w+){0,3} again|once more"
    r"|do not repeat|(?:re|un)recoverable|wait \w+)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:please|try|use|provide|choose|check|add|remove|fix|correct|pass|specify|set|supply|did you mean|call|send"
    r"|include|available|valid (?:values|options))\b",
    re.IGNORECASE,
)
_INTERNALS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a traceback", re.compile(
        r"Traceback \(most recent call last\)|^\s+at .{1,200}[:(]\d+:\d+\)?\s*$|File \"[^\"\n]+\", line \d",
        re.MULTILINE)),
    ("a path of the server's own", re.compile(
        r"(?<![\w:/.])/(?:home|usr|root|opt|var|app|srv|Users|workspace)/[\w.@+-]+/[^\s\"'`,;)]+"
        r"|\bsite-packages\b|\bnode_modules\b|(?<!\w)[A-Z]:\\[\w.]+\\[^\s\"'`,;)]+")),
    ("the address of a library's manual", re.compile(
        r"https?://(?:errors\.pydantic\.dev|docs\.pydantic\.dev|zod\.dev|json-schema\.org|docs\.python\.org"
        r"|nodejs\.org|developer\.mozilla\.org)\S*")),
)  # fmt: skip
_STEPS = {"VALIDATION": ("fix_input", "use"), "NOT_FOUND": ("use", "fix_input", "stop")}
_DELAY_IS_DUE = ("RATE_LIMITED",)


def names_field(seen: Evidence) -> bool | str | None:
    """Judge whether the text names what is wrong."""
    if not seen.probe.named:
        return None
    if seen.failure is None:
        return _NOTHING
    lost = [name for name in seen.probe.named if not seen.says(name)]
    return True if not lost else f"the text does not name {', '.join(lost)}"


def says_expected(seen: Evidence) -> bool | str | None:
    """Judge whether the text says what was expected."""
    if not seen.probe.expected:
        return None
    if seen.failure is None:
        return _NOTHING
    if seen.says_one_of(seen.probe.expected):
        return True
    return f"the text does not say what is expected, such as {seen.probe.expected[0]!r}"


def lists_options(seen: Evidence) -> bool | str | None:
    """Judge whether the text lists what could be chosen."""
    if seen.tools:
        known = any(seen.says(name) for name in seen.tools)
        return _NOTHING if seen.failure is None else known or "the text names no tool that exists"
    if not seen.probe.options:
        return None
    if seen.failure is None:
        return _NOTHING
    lost = [option for option in seen.probe.options if not seen.says(option)]
    return True if not lost else f"the text does not list {', '.join(lost)}"


def is_safe(seen: Evidence) -> bool | str | None:
    """Judge whether the text keeps the server's inside to itself."""
    if seen.failure is None:
        return None
    sent = json.dumps(seen.probe.arguments)
    for what, pattern in _INTERNALS:
        if any(found[0] not in sent for found in pattern.finditer(seen.text)):
            return f"the text holds {what}"
    return True if scrub(seen.text) == seen.text else "the text holds something that looks like a secret"


def next_step(seen: Evidence) -> bool | str | None:
    """Judge whether an agent that reads the text alone takes the right next step."""
    found = seen.from_text
    if found is None:
        return _NOTHING
    if found.suggestion or found.actions:
        return True
    fitting = {step for type_ in seen.probe.types for step in _STEPS.get(type_, ())}
    action = decide(found).action
    if fitting and action not in fitting:
        return f"an agent that reads it would {action.replace('_', ' ')}, and not mend the call"
    points = bool(found.fields) or (names_field(seen) is True and says_expected(seen) is True)
    if seen.text_is_structured or points or _ADVICE.search(seen.text):
        return True
    return "the text does not say what to do next"


def says_retry(seen: Evidence) -> bool | str | None:
    """Judge whether the text says if the same call may be made again."""
    found = seen.from_text
    if found is None:
        return _NOTHING
    if found.code in _DELAY_IS_DUE and found.retry_after is None:
        return "the text does not say how long to wait"
    if (seen.text_is_structured and found.retryable is not None) or _RETRY.search(seen.text):
        return True
    return "the text does not say whether to try again"


def is_short(seen: Evidence) -> bool | str | None:
    """Judge whether the text is short enough to be read by a model."""
    if seen.failure is None:
        return None
    length = len(seen.text)
    return True if length <= MOST_CHARACTERS else f"{length:,} characters, more than {MOST_CHARACTERS:,}"
