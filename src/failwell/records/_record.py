"""`Record`: one event of a tool call as it is stored, redacted and without argument values."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Struct, structs

from failwell import event as events
from failwell._json import is_array, is_mapping, is_object
from failwell._trace import CallTrace
from failwell.codes import Outcome, Type
from failwell.dialects._placement import read_whole, write_whole
from failwell.event import FAILED, SUCCEEDED, Kind, name_of
from failwell.failure import Failure
from failwell.redact.canonical import RedactedFailure, canonical, json_safe
from failwell.redact.scrubber import clean

VERSION = 1

Source = Literal["guard", "client", "proxy", "recorder"]
"""Who told an event, in the words of the first version: `guard` is any server, `client` also `call` and `acall`."""

SOURCES: dict[events.Source, Source] = {
    "server": "guard",
    "client": "client",
    "retry": "client",
    "proxy": "proxy",
    "recorder": "recorder",
}


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An `Event` as it is stored: redacted, without argument values, and with the version of the format.

    `call` joins the records of one call in a session of one source. `text` is what the agent got, without the values
    that it had sent; `decision` what it should do, and `advice` why; `reason` why the source did what it did. `names`
    are those of the arguments, and `arguments` is a digest: equal arguments have equal digests. `agent` is the program
    that called, as it names itself. `failure` is the whole failure; fields used for counting are repeated beside it.
    """

    time: float
    source: Source
    kind: Kind
    session: str = ""
    server: str = ""
    tool: str = ""
    call: str = ""
    agent: str = ""
    attempt: int = 1
    elapsed: float | None = None
    delay: float | None = None
    type: Type | None = None
    code: str | None = None
    outcome: Outcome | None = None
    retryable: bool | None = None
    message: str | None = None
    id: str | None = None
    text: str | None = None
    decision: str | None = None
    advice: str | None = None
    reason: str | None = None
    arguments: str | None = None
    names: tuple[str, ...] = ()
    failure: dict[str, Any] | None = None
    details: dict[str, Any] = {}
    v: int = VERSION

    @property
    def has_succeeded(self) -> bool:
        """Whether it ends a call that the agent got a result of."""
        return self.kind in SUCCEEDED

    @property
    def has_failed(self) -> bool:
        """Whether it ends a call for which the agent got an error."""
        return self.kind in FAILED


class TracedRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A record of a call that has a span. Collectors get that; stores keep the rest."""

    trace: CallTrace


def failure_fields(failure: Failure | None) -> dict[str, Any]:
    """Return the fields of a record that describe a failure, redacted and without the values that were sent."""
    return {} if failure is None else safe_failure_fields(without_values(failure))


def safe_failure_fields(safe: RedactedFailure) -> dict[str, Any]:
    """Return the fields of a record that describe a failure as `without_values` returns it."""
    return {
        "type": safe.type,
        "code": safe.code,
        "outcome": safe.outcome,
        "retryable": safe.retryable,
        "message": safe.message,
        "id": safe.id,
        "failure": write_whole(safe),
    }


_LONGEST_NAME, _LONGEST_SENTENCE, _LONGEST_TEXT = 200, 1000, 4000
_BOUNDS = {
    "code": _LONGEST_NAME,
    "message": _LONGEST_SENTENCE,
    "id": 100,
    "decision": 20,
    "advice": _LONGEST_SENTENCE,
    "text": _LONGEST_TEXT,
}
_DIGEST = re.compile("[0-9a-f]{1,64}")


def safe_texts(
    *,
    session: str,
    server: str,
    tool: str,
    call: str,
    agent: str,
    reason: str | None,
    names: Iterable[str],
    details: dict[str, Any],
) -> dict[str, Any]:
    """Return the fields of a record that describe no failure, redacted and cut."""
    return {
        "session": _safe_session(session),
        "server": _redact_name(server),
        "tool": _redact_name(tool),
        "call": _safe_id(call),
        "agent": _redact_name(agent),
        "reason": None if reason is None else clean(reason, _LONGEST_SENTENCE),
        "names": tuple(map(_redact_name, names)),
        "details": json_safe(details) if details else {},
    }


@lru_cache(maxsize=1024)
def _redact_name(text: str) -> str:
    """Return a redacted name. The same names come back with every call, so they are remembered."""
    return clean(text, _LONGEST_NAME)


def _safe_id(text: str) -> str:
    """Return an id as it is, or a digest of one that redaction would change: it still joins what belongs together."""
    return text if clean(text, _LONGEST_NAME) == text else name_of(text)


@lru_cache(maxsize=1024)
def _safe_session(text: str) -> str:
    return _safe_id(text)


def safe_trace(trace: CallTrace) -> CallTrace:
    """Return the span of a call with attributes that may leave the process: a client wrote some of them."""
    safe = {name: _safe_id(one) if isinstance(one, str) else one for name, one in trace.attributes.items()}
    return structs.replace(trace, attributes=safe)


def redact(record: Record) -> Record:
    """Return a record as a recorder would have written it: one that was made by hand, or by an earlier version.

    Doing it twice changes nothing.
    """
    failure = read_whole(record.failure)
    values = [] if failure is None else _sent_values(failure)
    changes = safe_texts(
        session=record.session,
        server=record.server,
        tool=record.tool,
        call=record.call,
        agent=record.agent,
        reason=record.reason,
        names=record.names,
        details=record.details,
    )
    changes |= {
        name: _remove(clean(text, longest), values)
        for name, longest in _BOUNDS.items()
        if (text := getattr(record, name)) is not None
    }
    if record.arguments is not None and not _DIGEST.fullmatch(record.arguments):
        changes["arguments"] = name_of(record.arguments)
    if record.failure is not None:
        whole = json_safe(record.failure) if failure is None else write_whole(without_values(failure))
        changes["failure"] = {key: value for key, value in whole.items() if key in record.failure}
        if failure is None and is_array(fields := whole.get("fields")):
            changes["failure"]["fields"] = list(map(_without_sent, fields))
    return structs.replace(record, **changes)


def _without_sent(problem: Any) -> Any:
    return {key: value for key, value in problem.items() if key != "sent"} if is_object(problem) else problem


_MARK = "…"
"""What stands in a text where a value that was sent has been removed."""
_MOST_VALUES = 100
_LONGEST_VALUE = 1000
_LONGEST_ECHO = 100
_WORD_LENGTH = 4
"""A value of this length is removed wherever it stands, a shorter one only where it is a word of its own."""
_PREFIX_LENGTH = 12
"""The first characters of a value are enough to recognise it, as the text may have cut off its end."""


def without_values(failure: Failure) -> RedactedFailure:
    """Return a failure as it may leave the process, without the values that were sent.

    Neither its fields nor its sentences tell them. It is redacted first: a value is cut out of what redaction left, so
    that redaction sees each secret in its surroundings.
    """
    safe, values = canonical(failure), _sent_values(failure)
    if not values:
        return safe
    fields = tuple(
        structs.replace(problem, sent=UNSET, message=_remove(problem.message, values)) for problem in safe.fields
    )
    suggestion = safe.suggestion and _remove(safe.suggestion, values)
    message = _remove(safe.message, values)
    return cast(RedactedFailure, safe.replace(message=message, suggestion=suggestion, fields=fields))


def cut_text(text: str) -> str:
    """Return a text made of a redacted failure, cut where it is too long."""
    # A cut can make a secret of what was none.
    return text if len(text) <= _LONGEST_TEXT else clean(text, _LONGEST_TEXT)


def text_without_values(text: str, failure: Failure) -> str:
    """Return the text that the agent got for a failure, redacted, cut, without the values that the agent had sent."""
    return _remove(clean(text, _LONGEST_TEXT), _sent_values(failure))


def _sent_values(failure: Failure) -> list[str]:
    """Return the values that were sent, in each spelling that a text may use, the longest first."""
    if not failure.fields:
        return []
    found: dict[str, None] = {}
    for problem in failure.fields:
        for value in _leaves(problem.sent):
            found.update(dict.fromkeys(_spellings(value)))
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
        except Exception:  # an object whose `str` raises cannot stand in a text either
            return


def _spellings(value: str) -> Iterator[str]:
    for text in (value, clean(value, _LONGEST_ECHO).rstrip(_MARK)):
        for line in (text.strip(), " ".join(text.split())):
            yield line
            yield line.replace("'", "\\'")
            yield line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            for is_ascii in (False, True):
                yield json.dumps(line, ensure_ascii=is_ascii)[1:-1]


def _remove(text: str, values: list[str]) -> str:
    if not values:
        return text
    for value in values:
        if len(value) >= _WORD_LENGTH:
            text = text.replace(value, _MARK)
        elif value != _MARK:
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", _MARK, text)
    for value in values:
        if len(value) >= _PREFIX_LENGTH:
            text = _remove_by_prefix(text, value)
    return text or _MARK


def _remove_by_prefix(text: str, value: str) -> str:
    prefix, at = value[:_PREFIX_LENGTH], 0
    while (at := text.find(prefix, at)) >= 0:
        end = at + len(prefix)
        while end < len(text) and end - at < len(value) and text[end] == value[end - at]:
            end += 1
        text = text[:at] + _MARK + text[end:]
        at += 1
    return text


_decoder = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder()


def encode_line(record: Record) -> bytes:
    """Return a record as one line of JSON, without the newline; it always says its version."""
    return _encoder.encode({"v": record.v, **msgspec.to_builtins(record)})


def decode_line(line: bytes) -> Record | None:
    """Return the record in a line, or None if it is cut off or no record. Fields of later versions are dropped."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
