"""`Record`: one thing that happened to a tool call, without the values that it was called with."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, structs

from failwell._json import is_array, is_mapping, is_object
from failwell.codes import Outcome, Type
from failwell.dialects._placement import write_whole
from failwell.failure import Failure
from failwell.redact.canonical import canonical, json_safe
from failwell.redact.scrubber import clean

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


VERSION = 1

Source = Literal["guard", "client", "proxy", "recorder"]
Kind = Literal[
    "success",
    "recovered",
    "failure",
    "refused",
    "unflagged",
    "flipped",
    "retry",
    "repaired",
    "fallback",
    "breaker",
    "died",
    "restarted",
    "dropped",
    "lost",
]

SUCCEEDED = frozenset(("success", "recovered", "unflagged"))
FAILED = frozenset(("failure", "refused", "flipped"))
ENDS = SUCCEEDED | FAILED
"""Kinds that end a call, each call once. A fallback, or a correction of the arguments, may follow its end."""

_NAME, _SENTENCE, _TEXT = 200, 1000, 4000


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened, redacted, with the version of this form.

    Kinds that end a call: `success`; `recovered`, after retries; `failure`; `refused`, it was not made; `flipped`, an
    error text called a success, made an error; `unflagged`, the same, passed as it is. On the way: `retry`, a try
    failed and the next follows after `delay` seconds. After the end: `repaired`, a call with corrected arguments was
    made, and failed if there is a `type`; `fallback`, something else answered. Of a tool: `breaker`, `reason` says
    whether it opened or closed. Of a server: `died`, `restarted`, `dropped` (a line nobody could have used). Of the
    recorder: `lost`, `details` says how many records found no room.

    `time` is in seconds since 1970, `elapsed` in seconds since the call began. `call` joins the records of one call in
    a session of one source. `text` is what the agent was sent, but for the values that it had sent; `decision` what it
    should do, `reason` why nothing else was tried. Of the arguments there are the names, and a digest that tells equal
    ones. `failure` is its whole form.
    """

    time: float
    source: Source
    kind: Kind
    session: str = ""
    server: str = ""
    tool: str = ""
    call: str = ""
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
        """Whether it ends a call that the agent got an error of."""
        return self.kind in FAILED


def described(failure: Failure | None) -> dict[str, Any]:
    """Return what a record says of a failure; it is redacted here, and does not tell what was sent."""
    if failure is None:
        return {}
    safe = canonical(without_values(failure))
    return {
        "type": safe.type,
        "code": safe.code,
        "outcome": safe.outcome,
        "retryable": safe.retryable,
        "message": safe.message,
        "id": safe.id,
        "failure": write_whole(safe),
    }


def cleaned(record: Record) -> Record:
    """Return a record whose other texts are redacted and cut as well. Doing it twice changes nothing."""
    return msgspec.structs.replace(
        record,
        session=_name(record.session),
        server=_name(record.server),
        tool=_name(record.tool),
        call=clean(record.call, _NAME),
        text=None if record.text is None else clean(record.text, _TEXT),
        reason=None if record.reason is None else clean(record.reason, _SENTENCE),
        names=tuple(map(_name, record.names)),
        details=json_safe(record.details) if record.details else {},
    )


@lru_cache(maxsize=1024)
def _name(text: str) -> str:
    """Return a name that comes back from call to call."""
    return clean(text, _NAME)


_BOUNDS = {"code": _NAME, "message": _SENTENCE, "id": 100, "decision": 20, "arguments": 64}


def distrusted(record: Record) -> Record:
    """Return a record that somebody made by hand, with what `described` would have made safe made safe."""
    texts = {name: clean(text, most) for name, most in _BOUNDS.items() if (text := getattr(record, name)) is not None}
    return msgspec.structs.replace(record, failure=_without_sent(record.failure), **texts)


def _without_sent(failure: dict[str, Any] | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    safe: dict[str, Any] = json_safe(failure)
    fields = safe.get("fields")
    if is_array(fields):
        safe["fields"] = [
            {key: value for key, value in problem.items() if key != "sent"} if is_object(problem) else problem
            for problem in fields
        ]
    return safe


_decoder = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder()


def encode(record: Record) -> bytes:
    """Return a record as one line of JSON, without its end; the version always stands in it."""
    return _encoder.encode({"v": record.v, **msgspec.to_builtins(record)})


def decode(line: bytes) -> Record | None:
    """Return the record in a line, or None for one that was cut off or is none. What a later version added is lost."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
