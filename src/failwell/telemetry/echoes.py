"""Failures, and texts about them, without the values of arguments that they echo."""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, structs

from failwell.failure import Failure
from failwell.json_types import is_array, is_mapping
from failwell.redact import clean

_MARK = "…"
_MOST_VALUES = 100
_LONGEST_VALUE = 1000
_MOST_OF_AN_ECHO = 100
_WORD = 4
"""A value this long is taken out wherever it stands, a shorter one only where it is a word of its own."""
_BEGINNING = 12
"""So much of a value tells that it stands there, even if its end was cut off."""


def without_values(failure: Failure) -> Failure:
    """Return a failure that does not tell what was sent, neither in its fields nor in its sentences about them."""
    hidden = _hidden(failure)
    if not hidden:
        return failure
    fields = tuple(
        structs.replace(problem, sent=UNSET, message=_without(problem.message, hidden)) for problem in failure.fields
    )
    suggestion = failure.suggestion and _without(failure.suggestion, hidden)
    return failure.replace(message=_without(failure.message, hidden), suggestion=suggestion, fields=fields)


def text_without_values(text: str | None, failure: Failure | None) -> str | None:
    """Return a text that an agent was sent of a failure, without what the agent had sent."""
    return text if text is None or failure is None else _without(text, _hidden(failure))


def _hidden(failure: Failure) -> list[str]:
    """Return what was sent in each form in which it may stand in a text, the longest first."""
    if not failure.fields:
        return []
    found: dict[str, None] = {}
    for problem in failure.fields:
        for value in _leaves(problem.sent):
            found.update(dict.fromkeys(_forms(value)))
            if len(found) >= _MOST_VALUES * 4:
                break
    return sorted(filter(None, found), key=len, reverse=True)


def _leaves(value: Any, depth: int = 0) -> Iterator[str]:
    if value is UNSET or value is None or isinstance(value, bool) or depth > 8:
        return
    if is_mapping(value):
        for item in list(value.values())[:_MOST_VALUES]:
            yield from _leaves(item, depth + 1)
    elif is_array(value):
        for item in value[:_MOST_VALUES]:
            yield from _leaves(item, depth + 1)
    else:
        try:
            yield str(value)[:_LONGEST_VALUE]
        except Exception:  # an object that does not like to be looked at cannot stand in a text either
            return


def _forms(value: str) -> Iterator[str]:
    for text in (value, clean(value, _MOST_OF_AN_ECHO).rstrip(_MARK)):
        for line in (text.strip(), " ".join(text.split())):
            yield line
            yield line.replace("'", "\\'")
            yield line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            for is_ascii in (False, True):
                yield json.dumps(line, ensure_ascii=is_ascii)[1:-1]


def _without(text: str, hidden: list[str]) -> str:
    for form in hidden:
        if len(form) >= _BEGINNING:
            text = _cut_out(text, form)
        elif len(form) >= _WORD:
            text = text.replace(form, _MARK)
        elif form != _MARK:
            text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", _MARK, text)
    return text or _MARK


def _cut_out(text: str, form: str) -> str:
    beginning, at = form[:_BEGINNING], 0
    while (at := text.find(beginning, at)) >= 0:
        end = at + len(beginning)
        while end < len(text) and end - at < len(form) and text[end] == form[end - at]:
            end += 1
        text = text[:at] + _MARK + text[end:]
        at += 1
    return text
