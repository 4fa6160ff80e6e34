"""Flat text: what can be said of a failure that carries no structure, how surely, and by which rule."""

import re
from typing import Any

from msgspec import UNSET, Struct

from failwell import catalog
from failwell.failure import Failure
from failwell.reader.text import evidence, unflagged
from failwell.reader.text.context import Context
from failwell.reader.text.finding import Finding
from failwell.redact import clean_once

CERTAIN = 0.7
"""Below this confidence the answer is: don't know."""

_LONGEST_MESSAGE = 1000
# pydantic repeats the address of its manual under each problem.
_ADVERT = "For further information visit https://"
_ADVERTS = re.compile(rf"\n? {{0,8}}{_ADVERT}\S{{1,200}}")
# The frames of a traceback tell about the inside of a server; its last line says what happened.
_TRACEBACK = "Traceback (most recent call last):"
_FRAMES = re.compile(re.escape(_TRACEBACK) + r"(?:\n[ \t][^\n]*+)*+\n?")
_NOTHING_SAID = "The tool reported an error without saying which."


class Reading(Struct, frozen=True):
    """A failure, and the rule that found it; the rule is None where the failure carried structure."""

    failure: Failure
    rule: str | None = None


def classify(
    text: str, *, tool: str | None = None, arguments: Any = None, input_schema: Any = None, annotations: Any = None
) -> Failure:
    """Return the failure that an error text tells of, with a confidence."""
    return verdict(text, Context(tool, arguments, input_schema, annotations)).failure


def find(
    text: str, *, tool: str | None = None, arguments: Any = None, input_schema: Any = None, annotations: Any = None
) -> Failure | None:
    """Return the failure that a text nobody flagged tells of; None unless it is surely an error."""
    reading = search(text, Context(tool, arguments, input_schema, annotations))
    return reading.failure if reading else None


def verdict(text: str, context: Context) -> Reading:
    """Return the failure that an error text tells of, and the rule that says so."""
    context.safe_text = _safe(text)
    return _reading(context, evidence.weigh(text, context))


def search(text: str, context: Context) -> Reading | None:
    """Return the failure that a text nobody flagged tells of, and the rule that says so."""
    found = unflagged.find(text, context)
    if found is None:
        return None
    context.safe_text = _safe(text)
    return _reading(context, found)


def _safe(text: str) -> str:
    if _ADVERT in text:
        text = _ADVERTS.sub("", text)
    if _TRACEBACK in text:
        text = _FRAMES.sub("", text)
    return clean_once(text, _LONGEST_MESSAGE).strip()


def _reading(context: Context, found: Finding | None) -> Reading:
    message = context.safe_text or _NOTHING_SAID
    if found is None or found.confidence < CERTAIN:
        return Reading(_unknown(message, context, found), found.rule if found else None)
    return Reading(_failure(message, context, found), found.rule)


def _failure(message: str, context: Context, found: Finding) -> Failure:
    return Failure(
        message=message,
        code=found.code,
        outcome="unknown",  # a guess is not the server's word
        retryable=found.retryable if found.retryable is not UNSET else catalog.derive(found.code, None).retryable,
        fields=found.fields,
        retry_after=found.retry_after,
        http_status=found.http_status,
        tool=context.tool,
        origin="inferred",
        confidence=found.confidence,
    )


def _unknown(message: str, context: Context, found: Finding | None) -> Failure:
    confidence = found.confidence if found else 0.0
    return Failure(message=message, tool=context.tool, origin="inferred", confidence=confidence)
