"""What the error responses of an application mean, whatever framework wrote them."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from failwell import catalog
from failwell.collect import invalid
from failwell.failure import Failure
from failwell.json_types import is_object
from failwell.mapping import from_http
from failwell.reader import read

_SENTENCES = ("detail", "message", "error", "title", "description")
_LONGEST_SENTENCE = 500
_PHRASES = {int(status): status.phrase.lower() for status in HTTPStatus}


def failure_in(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Failure:
    """Return the failure that an error response of this application stands for.

    Structured errors are read as they are. Of others, the status says what kind of failure it is, and below 500 the
    sentence in the body is kept: the author wrote it for the caller. From 500 on it may be a traceback.
    """
    text = text_of(body)
    found = read({"content": [{"type": "text", "text": text}], "isError": True}) if text.strip() else None
    if found is not None and found.origin != "inferred":
        return found.replace(http_status=status)
    if status in (400, 422) and found is not None and found.fields:
        return invalid(found.fields).replace(http_status=status)
    failure = _by_status(status, headers)
    sentence = _sentence(text) if status < 500 else None
    return failure.replace(message=sentence) if sentence and not _is_phrase(sentence, status) else failure


def text_of(body: bytes) -> str:
    """Return a body as text, what is no text in it replaced."""
    return body.decode("utf-8", "replace")


def _by_status(status: int, headers: Iterable[tuple[bytes, bytes]]) -> Failure:
    failure = from_http(status, headers={name.decode("latin-1"): value.decode("latin-1") for name, value in headers})
    if status != 500:
        return failure
    row = catalog.explain("INTERNAL_ERROR")  # not the service behind this one, which a client would blame
    return Failure(
        code=row.code, message=f"{row.title}.", suggestion=row.suggestion, retryable=None, http_status=status
    )


def _sentence(text: str) -> str | None:
    try:
        payload: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        payload = text
    if is_object(payload):
        payload = next((payload[key] for key in _SENTENCES if isinstance(payload.get(key), str)), None)
    if not isinstance(payload, str) or "<" in payload[:1]:  # a page
        return None
    sentence = payload.strip()
    return sentence if sentence and len(sentence) <= _LONGEST_SENTENCE and "\n" not in sentence else None


def _is_phrase(sentence: str, status: int) -> bool:
    """Return whether a sentence is what HTTP itself calls a status, which the catalog says better."""
    return sentence.lower() == _PHRASES.get(status)
