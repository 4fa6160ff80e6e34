"""The page of what `read` understands, from the tables that it reads with."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import failwell as fw
from failwell import codes
from failwell.phrases import texts
from failwell.phrases.http_codes import REASONS
from failwell.phrases.keys import ROLES
from failwell.phrases.language import Rule
from failwell.phrases.meanings import by_code
from failwell.phrases.rpc_codes import RPC_CODES
from failwell.phrases.translations import LANGUAGES, TRANSLATIONS
from failwell.phrases.vendor_codes import vendors
from failwell.reading.bodies import CATEGORIES, NESTED
from failwell.reading.roles import Role
from failwell.reading.unflagged import ENVELOPES
from failwell.reading.validators import FAMILIES

_INTRODUCTION = """\
# Errors that `read` understands

The error objects, keys, numbers, codes of services and wordings that [`read`](../howto/reading.md) recognizes, with the
code each of them becomes. `failwell read` shows which rule, key or schema each statement comes from.
"""

_OBJECTS = """
## Error objects

An error object can be a text, follow other words in a text, or be in `structuredContent` or the `data` of a JSON-RPC
error. What it states explicitly (a code, a delay, whether to retry) takes precedence over what its words suggest.

| an object such as | becomes | retryable | wait |
|---|---|---|---|"""

_ENVELOPE_EXAMPLES: tuple[dict[str, Any], ...] = (
    {"error": {"code": "RATE_LIMITED", "retry_after": 30}},
    {"error": "not_found", "message": "No such note."},
    {"error": True, "message": "Permission denied"},
    {"errors": [{"message": "Field 'title' is required"}]},
    {"ok": False, "error": "channel_not_found"},
    {"success": False, "message": "Request timed out", "retryable": False},
    {"status": "error", "message": "A note with this name already exists"},
    {"errors": [{"message": "Not signed in", "extensions": {"code": "UNAUTHENTICATED"}}], "data": None},
    {"errors": [{"status": "404", "title": "Not Found", "detail": "No order 7"}]},
    {"type": "about:blank", "title": "Too Many Requests", "status": 429, "detail": "Slow down."},
    {"errorCategory": "transient", "isRetryable": True, "customerMessage": "Please try again."},
    {"code": 503, "message": "The service is unavailable.", "retryDelay": "34s"},
)


_MOST_NAMES = 8

# Families of wordings that belong to no validator.
_WITHOUT_A_NAME = ("issues", "words")


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_sections()) + "\n"


def _sections() -> Iterator[str]:
    yield _OBJECTS
    for example in _ENVELOPE_EXAMPLES:
        yield _example_row(example)
    yield "\n### Keys\n\nCase, `_`, `-`, `.` and spaces are ignored.\n"
    yield "| about | names |\n|---|---|"
    for role, names in ROLES.items():
        yield f"| {role} | {_first_names(names.split())} |"
    yield f"| an error object inside | {_first_names(sorted(NESTED))} |"
    yield "\n### Categories\n\n| words | become |\n|---|---|"
    for words, meaning in CATEGORIES.items():
        yield f"| {_names(words.split())} | {_linked(meaning)} |"
    yield from _numbers()
    yield from _services()
    yield from _wordings()
    yield _CLASSIFIER
    yield from _languages()
    yield from _unflagged()


def _example_row(example: dict[str, Any]) -> str:
    failure = fw.read({"content": [{"type": "text", "text": json.dumps(example)}], "isError": True})
    if failure is None:
        raise ValueError(f"{example} is not read")
    retry = {True: "yes", False: "no", None: "unknown"}[failure.retryable]
    wait = "" if failure.retry_after is None else f"{failure.retry_after:g} s"
    return f"| `{json.dumps(example)}` | {_linked(failure.code or failure.type)} | {retry} | {wait} |"


def _numbers() -> Iterator[str]:
    yield "\n## Numbers\n\nA number is an HTTP status if a word before it says so, or if words such as these follow it:"
    yield f"{_first_names(sorted({words for _, words in REASONS}, key=str.lower))}.\n"
    yield "| JSON-RPC code | becomes |\n|---|---|"
    for row in RPC_CODES:
        meaning = _linked(row.received) if row.received else "depends on its text and `data`"
        words = ", unless the text is more specific" if row.is_unspecific else ""
        yield f"| `{row.number}` | {meaning}{words} |"


def _services() -> Iterator[str]:
    yield "\n## Codes of services\n"
    yield "A service is recognized by the shape of its error object. Codes with one meaning everywhere always count.\n"
    yield "The number of known codes, by service:\n"
    services = sorted(vendors(), key=lambda vendor: vendor.name.lower())
    yield f"{', '.join(f'`{vendor.name}` {len(by_code(vendor.rows))}' for vendor in services)}."


def _wordings() -> Iterator[str]:
    yield "\n## Wordings\n\nMessages of these validators are parsed, including the arguments they name:"
    yield f"{', '.join(family.name for family in FAMILIES if family.name not in _WITHOUT_A_NAME)}.\n"
    yield "Other texts are recognized by phrases. `(a|b)` is a choice, `(a)?` is optional, `~` stands for a few words,"
    yield "and `word*` for any ending. If several rules match, the first one decides.\n"
    by_meaning: dict[str, list[Rule]] = defaultdict(list)
    for rule in texts.RULES:
        if rule.code:
            by_meaning[rule.code].append(rule)
    yield "| code | for example |\n|---|---|"
    for code in sorted(by_meaning):
        phrases = (rule.phrases.replace("\n", ", ").strip(", ").partition(", ")[0] for rule in by_meaning[code])
        yield f"| {_linked(code)} | {', '.join(f'`{_cell(phrase.strip())}`' for phrase in phrases)} |"


_CLASSIFIER = """
## All words together

People word errors in more ways than a table can list, so a matching phrase is not the only evidence: a classifier,
trained on thousands of labelled English texts, looks at all the words. If they contradict the phrase, or if no phrase
matches, the classifier decides, provided that it is at least 70 % sure; otherwise `read` claims nothing. The classifier
only determines the type, and never says that waiting helps or that the call had no effect. It is not used for plain
text that isn't flagged as an error, nor where a validator, a status, a code, the arguments or an unmistakable phrase
decides."""


def _languages() -> Iterator[str]:
    yield "\n## Languages\n\nIn addition to English, the common wordings of these languages are recognized:\n"
    yield "| language | rules | for example |\n|---|---|---|"
    for language, name in LANGUAGES.items():
        rows = [row for row in TRANSLATIONS if row.language == language]
        shown = ", ".join(f"`{_cell(row.phrases.split(', ')[0])}`" for row in rows[:2])
        yield f"| {name} | {len(rows)} | {shown} |"


def _unflagged() -> Iterator[str]:
    yield "\n## Errors sent as successes\n"
    yield "With `unflagged=True`, a result whose `isError` is false counts as an error if it is certain to be one."
    yield "The proof depends on what the tool does, judging by its name and arguments:\n"
    yield "| kind of tool | required proof |\n|---|---|"
    for role in Role:
        yield f"| {role.meaning} | {role.proof} |"
    yield "\nAn object counts as an error if it has\n"
    for rule, _ in ENVELOPES:
        yield f"- {rule}"
    yield "\nand contains nothing else except what the caller sent. A batch counts as an error if every item failed,"
    yield "and the output of a command if its exit code says so.\n"
    yield "Without the option, a result counts as an error if the input schema proves that the call was wrong, and the"
    yield 'text names the argument, is a validator\'s message or a bare "Error".'


def _first_names(names: list[str]) -> str:
    """Return the most common names, and how many there are besides."""
    more = len(names) - _MOST_NAMES
    return _names(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _names(names: list[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _linked(meaning: str) -> str:
    row = codes.get(meaning)
    return f"[`{meaning}`](codes.md#{meaning.lower()})" if row and row.code == meaning else f"`{meaning}`"
