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
from failwell.phrases.meanings import by_code, fields_of
from failwell.phrases.rpc_codes import RPC_CODES
from failwell.phrases.translations import LANGUAGES, TRANSLATIONS
from failwell.phrases.vendor_codes import VENDORS
from failwell.reading.bodies import CATEGORIES, NESTED
from failwell.reading.roles import Role
from failwell.reading.unflagged import ENVELOPES
from failwell.reading.validators import FAMILIES

_INTRODUCTION = """\
# What `read` understands

Generated from the tables that [`read`](reading.md) uses: shapes of error objects, names of their keys, codes of
services, wordings of texts. To make it understand more, add a row.

`failwell read` shows for every claim which of these it rests on: the rule and its words, the key, or the schema.
"""

_OBJECTS = """
## Error objects

An error object is read in a text, behind the words of a text, in `structuredContent` and in the `data` of a JSON-RPC
error. What it states by itself, a code, a delay or whether to retry, beats what its words seem to say.

| an object such as | becomes | worth a retry | wait |
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


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_sections()) + "\n"


def _sections() -> Iterator[str]:
    yield _OBJECTS
    for example in _ENVELOPE_EXAMPLES:
        yield _example_row(example)
    yield "\n### Keys\n\nUpper and lower case, `_`, `-`, `.` and blanks make no difference.\n"
    yield "| about | names |\n|---|---|"
    for role, names in ROLES.items():
        yield f"| {role} | {_names(names.split())} |"
    yield f"| an error object inside | {_names(sorted(NESTED))} |"
    yield "\n### Categories\n\n| words | become |\n|---|---|"
    for words, meaning in CATEGORIES.items():
        yield f"| {_names(words.split())} | {_linked(meaning)} |"
    yield from _numbers()
    yield from _services()
    yield from _wordings()
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
    yield "\n## Numbers\n\nA number is an HTTP status where a word before it says so, or the reason behind it:"
    yield f"{_names(sorted({words for _, words in REASONS}, key=str.lower))}.\n"
    yield "| JSON-RPC code | becomes |\n|---|---|"
    for row in RPC_CODES:
        meaning = _linked(row.received) if row.received else "what its text and `data` say"
        words = ", unless the text is clearer" if row.is_unspecific else ""
        yield f"| `{row.number}` | {meaning}{words} |"


def _services() -> Iterator[str]:
    yield "\n## Codes of services\n"
    yield "A service is known by the shape of its error object; codes that mean the same everywhere count anyway.\n"
    yield "| service | known by | codes | such as |\n|---|---|---|---|"
    for vendor in sorted(VENDORS, key=lambda vendor: vendor.name.lower()):
        found = by_code(vendor.rows)
        examples = [f"`{code}` → {_linked(fields_of(meaning)['code'])}" for code, meaning in list(found.items())[:2]]
        shapes = "<br>".join(f"`{shape}`" for shape in vendor.shapes[:2])
        yield f"| `{vendor.name}` | {shapes} | {len(found)} | {', '.join(examples)} |"


def _wordings() -> Iterator[str]:
    yield "\n## Wordings\n\nTexts of validators are taken apart, with the arguments they name: "
    yield f"{', '.join(family.name for family in FAMILIES)}.\n"
    yield "Other texts are known by phrases. `(a|b)` is a choice, `(a)?` may be absent, `~` stands for a few words, and"
    yield "`word*` for a beginning. Where several fit, the first rule decides.\n"
    by_meaning: dict[str, list[Rule]] = defaultdict(list)
    for rule in texts.RULES:
        if rule.code:
            by_meaning[rule.code].append(rule)
    yield "| code | rule | sure | phrases such as | said by |\n|---|---|---|---|---|"
    for code in sorted(by_meaning):
        for rule in by_meaning[code]:
            phrases = [phrase.strip() for phrase in rule.phrases.replace("\n", ", ").split(", ") if phrase.strip()]
            shown = ", ".join(f"`{_cell(phrase)}`" for phrase in phrases[:3])
            yield f"| {_linked(code)} | {rule.name} | {rule.confidence:.0%} | {shown} | {_cell(rule.evidence)} |"


def _languages() -> Iterator[str]:
    yield "\n## Languages\n\nBeside English, the common wordings of these languages are read:\n"
    yield "| language | rules | such as |\n|---|---|---|"
    for language, name in LANGUAGES.items():
        rows = [row for row in TRANSLATIONS if row.language == language]
        shown = ", ".join(f"`{_cell(row.phrases.split(', ')[0])}`" for row in rows[:4])
        yield f"| {name} | {len(rows)} | {shown} |"


def _unflagged() -> Iterator[str]:
    yield "\n## Results that nobody flagged\n"
    yield "With `unflagged=True`, a result whose `isError` is false is an error if it surely is one and nothing else."
    yield "What counts depends on what the tool is for, as its name and its arguments tell:\n"
    yield "| a tool for which | what an error must show |\n|---|---|"
    for role in Role:
        yield f"| {role.meaning} | {role.proof} |"
    yield "\nAn object is an error if it has\n"
    for rule, _ in ENVELOPES:
        yield f"- {rule}"
    yield "\nand holds nothing else but what the caller sent. A batch is an error if every item of it failed; the"
    yield "output of a command, if the exit code beside it says so.\n"
    yield "Without the option, a result is an error where the input schema proves that the call was wrong, and the"
    yield 'text names the argument, is a validator\'s message or a bare "Error".'


def _names(names: list[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _linked(meaning: str) -> str:
    row = codes.get(meaning)
    return f"[`{meaning}`](codes.md#{meaning.lower()})" if row and row.code == meaning else f"`{meaning}`"
