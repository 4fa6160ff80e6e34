"""What exceptions of unknown libraries say through their attributes: a status, an SQLSTATE, a code, a delay."""

from collections.abc import Iterator
from typing import Any

from failwell.mapping import retry_after, words
from failwell.mapping.http import verdict_for_code, verdict_for_status
from failwell.mapping.rules import peek
from failwell.mapping.sqlstates import verdict_for_sqlstate

_STATUS_NAMES = (
    "status_code", "status", "http_status", "http_status_code", "http_code", "response_code", "statusCode",
    "error_code", "code",
)  # fmt: skip
_RESPONSE_NAMES = ("response", "resp", "http_response", "raw_response")
_SQLSTATE_NAMES = ("sqlstate", "pgcode", "sql_state")
_CODE_NAMES = ("code", "error_code", "errcode", "error", "error_type", "type", "status", "reason")
_DELAY_NAMES = ("retry_after", "retry_after_seconds", "retry_in", "backoff")
_BODY_NAMES = ("body", "json_body", "json_data", "error_data")
_BODY_TYPES = (str, bytes, dict, list)
_OTHER_NUMBERS = ("smtp", "ftp", "imap", "nntp", "pop3", "sip")  # protocols whose reply codes look like HTTP statuses


def by_attributes(exc: BaseException) -> dict[str, Any] | None:
    """Return what the attributes of an exception, or of the response it carries, say; None if nothing."""
    holders = [exc, *(found for name in _RESPONSE_NAMES if (found := peek(exc, name)) is not None)]
    status = _status(holders)
    if status is not None and not _speaks_another_protocol(type(exc)):
        verdict = verdict_for_status(status, _headers(holders), _body(exc) or _codes(exc))
        verdict.pop("details", None)  # whose code this is, nobody knows: it decides, and stays home
        verdict.setdefault("retry_after", _delay(exc))
        return verdict
    for name in _SQLSTATE_NAMES:
        if (meaning := verdict_for_sqlstate(peek(exc, name))) is not None:
            return {"code": meaning} if isinstance(meaning, str) else dict(meaning)
    return _by_code(exc) or _by_delay(exc)


def _status(holders: list[Any]) -> int | None:
    for holder in holders:
        for name in _STATUS_NAMES:
            value = peek(holder, name)
            if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
                value = int(value)
            if isinstance(value, int) and 400 <= value <= 599:
                return int(value)
    return None


def _headers(holders: list[Any]) -> Any:
    found = (peek(holder, name) for holder in holders for name in ("headers", "response_headers"))
    return next((headers for headers in found if headers), None)


def _body(exc: BaseException) -> object:
    found: list[object] = [peek(exc, name) for name in _BODY_NAMES]
    return next((body for body in found if type(body) in _BODY_TYPES), None)


def _codes(exc: BaseException) -> dict[str, str]:
    found = {name: peek(exc, name) for name in _CODE_NAMES}
    return {name: value for name, value in found.items() if isinstance(value, str) and 2 < len(value) <= 80}


def _by_code(exc: BaseException) -> dict[str, Any] | None:
    for value in _codes(exc).values():
        if (verdict := verdict_for_code(value)) is not None:
            return {"code": verdict["code"], "outcome": "unknown", "retry_after": _delay(exc)}
    return None


def _by_delay(exc: BaseException) -> dict[str, Any] | None:
    delay = _delay(exc)
    if delay is None:
        return None
    guesses = (words.code_of(cls.__name__) for cls in type(exc).__mro__)
    code = next((code for code in guesses if code), "RATE_LIMITED")
    return {"code": code, "outcome": "unknown", "retry_after": delay}


def _delay(exc: BaseException) -> float | None:
    return next(_delays(exc), None)


def _delays(exc: BaseException) -> Iterator[float]:
    for name in _DELAY_NAMES:
        value = peek(exc, name)
        total = peek(value, "total_seconds")
        delay = retry_after.from_number(value.total_seconds() if callable(total) else value)
        if delay is not None:
            yield delay


def _speaks_another_protocol(cls: type) -> bool:
    name = f"{cls.__module__}.{cls.__name__}".lower()
    return any(protocol in name for protocol in _OTHER_NUMBERS)
