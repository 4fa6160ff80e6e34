"""What the attributes of an exception say, whatever library it comes from: a status, an SQLSTATE, a code, a delay.

Only attributes that the exception has, or that its classes define, are looked at. A status, an SQLSTATE and an errno
say something about the effect; words leave the outcome unknown.
"""

import os
import re
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

from failwell import codes
from failwell._lazy import lazy_pattern
from failwell.exceptions.http import guessed_code, verdict_for_status
from failwell.exceptions.rules import Verdict, all_rules, peek, plan_of
from failwell.phrases import names
from failwell.phrases.delays import delay_in_number
from failwell.phrases.http_codes import BEFORE_STATUS, REASONS, STATUSES
from failwell.phrases.language import plain
from failwell.phrases.meanings import fields_of
from failwell.phrases.sql_codes import SQLITE_NAMES, meaning_of_sqlstate
from failwell.phrases.vendor_codes import known_code

_STATUS_NAMES = (
    "status_code", "status", "http_status", "http_status_code", "http_code", "response_code", "statusCode",
    "error_code", "code",
)  # fmt: skip
_RESPONSE_NAMES = ("response", "resp", "http_response", "raw_response", "req")
_SQLSTATE_NAMES = ("sqlstate", "pgcode", "sql_state")
_CODE_NAMES = (
    "code", "error_code", "errcode", "error", "error_type", "error_name", "errorCode", "type", "status", "reason",
)  # fmt: skip
_DELAY_NAMES = ("retry_after", "retry_after_seconds", "retry_after_s", "retry_in", "retry_delay", "backoff")
_BODY_NAMES = ("body", "json_body", "json_data", "error_data", "response_body", "content")
_HEADER_NAMES = ("headers", "response_headers")
_RETRY_NAMES = ("retryable", "retriable", "is_retryable", "is_transient")
_TELLING = frozenset(
    (
        "errno", *_STATUS_NAMES, *_RESPONSE_NAMES, *_SQLSTATE_NAMES, *_CODE_NAMES, *_DELAY_NAMES, *_BODY_NAMES,
        *_HEADER_NAMES, *_RETRY_NAMES,
    )
)  # fmt: skip
_OF_RESPONSES = frozenset((*_RESPONSE_NAMES, "status_code", "http_status", "response_code"))  # only clients have these
_BODY_TYPES = (str, bytes, dict, list)
_OTHER_NUMBERS = ("smtp", "ftp", "imap", "nntp", "pop3", "sip")  # protocols whose reply codes look like HTTP statuses
_HTTP_WORDS = ("http", "api", "status", "response")
_MOST_ARGUMENTS = 4
_LONGEST_TEXT = 300
_LONGEST_CODE = 80
_MOST_WORDS = 4  # of a code; more are a sentence
_STATED = lazy_pattern(rf"{BEFORE_STATUS}([45]\d\d)\b(?![\d.,%-]?\d)", re.IGNORECASE)
_WAITING_TYPES = ("TRANSIENT", "CONFLICT")
_REFUSING_TYPES = ("VALIDATION", "NOT_FOUND", "CONFLICT", "PERMISSION")

_OF_SERVICES = ("TRANSIENT", "NOT_FOUND", "CONFLICT", "PERMISSION")
_SURE = 0.8

Read = Callable[[str], Any]


def by_attributes(exc: BaseException) -> Verdict:
    """Return what the attributes of an exception, or of the response it carries, say; None if nothing."""
    present = _present(exc)
    held = {name: value for name in present if (value := peek(exc, name)) is not None}
    found = (_stated(exc, held) if held else None) or _by_argument(exc)
    if found is None:
        return "BAD_UPSTREAM_RESPONSE" if _is_about_answer(exc, held, present) else None
    said = [held[name] for name in _RETRY_NAMES if type(held.get(name)) is bool]
    return {"retryable": said[0], **found} if said else found


def by_words(exc: BaseException) -> Verdict:
    """Return what the words of an unknown library say of its service; words about an input may be about its own."""
    from failwell.phrases import texts  # only now: few exceptions come this far

    match = texts.table().first(plain(str(exc)[:_LONGEST_TEXT]))
    if match is None or match.rule.confidence < _SURE or codes.type_of(match.rule.code) not in _OF_SERVICES:
        return None
    return {"code": match.rule.code, "outcome": "unknown"}


def wrapped_in(exc: BaseException) -> BaseException | None:
    """Return the exception that another one holds, as an attribute or an argument; None if there is none."""
    attributes: dict[str, Any] = peek(exc, "__dict__") or {}
    arguments: tuple[Any, ...] = peek(exc, "args") or ()
    for values in (attributes.values(), arguments[:_MOST_ARGUMENTS]):
        for value in values:
            if isinstance(value, BaseException) and value is not exc:
                return value
    return None


def _present(exc: BaseException) -> frozenset[str]:
    defined = plan_of(type(exc)).attributes
    if "__getattr__" in defined:
        return _TELLING
    return _TELLING.intersection(peek(exc, "__dict__") or ()) | _TELLING.intersection(defined)


def _stated(exc: BaseException, held: dict[str, Any]) -> dict[str, Any] | None:
    readers = _readers(held)
    status = next((found for read in readers if (found := _status(read)) is not None), None)
    if status is not None and not _speaks_another_protocol(type(exc)):
        verdict = verdict_for_status(status, _headers(readers), _body(held) or _codes_beside_status(exc, held))
        verdict.pop("details", None)  # whose code this is, nobody knows: it decides, and stays home
        verdict.setdefault("retry_after", _delay(held))
        return verdict
    # PostgREST names a SQLSTATE as it does its own codes, with PostgreSQL's hint beside it.
    for name in (*_SQLSTATE_NAMES, "code") if hasattr(exc, "hint") else _SQLSTATE_NAMES:
        if (meaning := meaning_of_sqlstate(held.get(name))) is not None:
            return fields_of(meaning)
    return _by_errno(exc, held) or _by_code(held) or _by_delay(exc, held) or _by_word(exc, held)


def _by_errno(exc: BaseException, held: dict[str, Any]) -> dict[str, Any] | None:
    """Return what an errno means that has the system's own words for it beside it, as zmq's errors do."""
    number = held.get("errno")
    if not isinstance(number, int) or peek(exc, "strerror") != os.strerror(number):
        return None
    rule: Any = all_rules()["builtins", "OSError"]
    found: dict[str, Any] | None = rule(exc)
    return found


def _readers(held: dict[str, Any]) -> list[Read]:
    """Return how to read the exception, then each response that it carries."""
    responses = (held[name] for name in _RESPONSE_NAMES if name in held)
    return [held.get, *((lambda name, of=response: peek(of, name)) for response in responses)]


def _status(read: Read) -> int | None:
    for name in _STATUS_NAMES:
        value = read(name)
        if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            return int(value)
    return None


def _headers(readers: list[Read]) -> Any:
    found = (read(name) for read in readers for name in _HEADER_NAMES)
    return next((headers for headers in found if headers), None)


def _body(held: dict[str, Any]) -> object:
    found: list[object] = [held[name] for name in _BODY_NAMES if name in held]
    return next((body for body in found if type(body) in _BODY_TYPES and body), None)


def _codes(held: dict[str, Any]) -> dict[str, str]:
    found = {name: _word(held[name]) for name in _CODE_NAMES if name in held}
    return {name: value for name, value in found.items() if isinstance(value, str) and _is_code(value)}


def _is_code(value: str) -> bool:
    return 2 < len(value) <= _LONGEST_CODE and len(value.split()) <= _MOST_WORDS


def _codes_beside_status(exc: BaseException, held: dict[str, Any]) -> dict[str, str]:
    """Return the codes, and the name of the class if it says what was refused: with 400, services refuse anything."""
    name = type(exc).__name__
    code = names.code_of(name)
    is_telling = code == "RATE_LIMITED" or (code and codes.type_of(code) in _REFUSING_TYPES)
    return {**_codes(held), **({"errorType": name} if is_telling else {})}


def _word(value: Any) -> object:
    if isinstance(value, MethodType) and value.__name__ == "code":  # as gRPC has it
        value = value()
    return value if isinstance(value, str) else peek(value, "name")  # of a member of an enumeration


def _by_code(held: dict[str, Any]) -> dict[str, Any] | None:
    for value in _codes(held).values():
        if (meaning := next((meaning for name, meaning in SQLITE_NAMES if value.startswith(name)), None)) is not None:
            return {**fields_of(meaning), "outcome": "unknown"}
        if (code := known_code(value) or guessed_code(value)) is not None:
            return {"code": code, "outcome": "unknown", "retry_after": _delay(held)}
    return None


def _by_delay(exc: BaseException, held: dict[str, Any]) -> dict[str, Any] | None:
    delay = _delay(held)
    if delay is None:
        return None
    waiting = (code for code in _guesses(exc) if codes.type_of(code) in _WAITING_TYPES)
    return {"code": next(waiting, "RATE_LIMITED"), "outcome": "unknown", "retry_after": delay}


def _by_word(exc: BaseException, held: dict[str, Any]) -> dict[str, Any] | None:
    """Return what follows where a class says that another try helps, and its name does not say why."""
    if not any(held.get(name) is True for name in _RETRY_NAMES) or next(_guesses(exc), None) is not None:
        return None
    return {"code": "SERVICE_UNAVAILABLE", "outcome": "unknown"}


def _guesses(exc: BaseException) -> Iterator[str]:
    return (code for cls in type(exc).__mro__ if (code := names.code_of(cls.__name__)))


def _delay(held: dict[str, Any]) -> float | None:
    return next(_delays(held), None)


def _delays(held: dict[str, Any]) -> Iterator[float]:
    for name in _DELAY_NAMES:
        if name not in held:
            continue
        value = held[name]
        total = peek(value, "total_seconds")
        delay = delay_in_number(value.total_seconds() if callable(total) else value)
        if delay is not None:
            yield delay


def _by_argument(exc: BaseException) -> dict[str, Any] | None:
    """Return what a status among the arguments means, if the class is about HTTP or words say that it is a status."""
    arguments: tuple[Any, ...] = (peek(exc, "args") or ())[:_MOST_ARGUMENTS]
    if not arguments or _speaks_another_protocol(type(exc)):
        return None
    words = [value[:_LONGEST_TEXT] for value in arguments if isinstance(value, str)]
    status = next((value for value in arguments if type(value) is int and value in STATUSES), None)
    if status is None:
        stated = next((found for said in words if (found := _STATED.search(said))), None)
        return None if stated is None else {**verdict_for_status(int(stated[1])), "outcome": "unknown"}
    is_reasoned = any(said.lower().startswith(reason) for of, reason in REASONS if of == status for said in words)
    is_about_http = any(word in type(exc).__name__.lower() for word in _HTTP_WORDS)
    return verdict_for_status(status) if is_reasoned or is_about_http else None


def _is_about_answer(exc: BaseException, held: dict[str, Any], present: frozenset[str]) -> bool:
    """Tell whether it is a service's answer that could not be used: one that is no error, or that was to be parsed."""
    guesses = list(_guesses(exc))
    guess = guesses[0] if guesses else None
    is_answered = bool(present & _OF_RESPONSES)
    if guess in ("PARSE_ERROR", "ENCODING_ERROR"):
        return is_answered or "UPSTREAM_ERROR" in guesses
    if not is_answered or guess is None or codes.type_of(guess) != "VALIDATION":
        return False
    statuses = (read(name) for read in _readers(held) for name in ("status_code", "status"))
    return any(isinstance(status, int) and 200 <= status < 400 for status in statuses)


def _speaks_another_protocol(cls: type) -> bool:
    name = f"{cls.__module__}.{cls.__name__}".lower()
    return any(protocol in name for protocol in _OTHER_NUMBERS)
