"""JSON-RPC messages: a glance that tells whether to decode them in full, the full decoding, and another id."""

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from failwell._json import is_array, is_object
from failwell.proxy.bounds import MAX_DECODED

Id = int | str
T = TypeVar("T")

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises if a message is not what it should be."""


class Params(Struct, gc=False):
    """The parameters that a proxy needs."""

    name: str | None = None
    request_id: Id | None = msgspec.field(name="requestId", default=None)
    cursor: msgspec.Raw | UnsetType = UNSET

    @property
    def has_cursor(self) -> bool:
        """Whether a page is asked for that is not the first."""
        return self.cursor is not UNSET and bytes(self.cursor) != b"null"


class ClientGlance(Struct, gc=False):
    """A message from a client."""

    id: Id | None = None
    method: str | None = None
    params: Params | None = None


class ResultGlance(Struct, gc=False):
    """Whether a result is flagged as an error, and where its words are, not decoded."""

    content: msgspec.Raw | UnsetType = UNSET
    is_error: bool | None = msgspec.field(name="isError", default=False)
    structured: msgspec.Raw | UnsetType = msgspec.field(name="structuredContent", default=UNSET)
    meta: msgspec.Raw | UnsetType = msgspec.field(name="_meta", default=UNSET)


class ServerGlance(Struct, gc=False):
    """A message from a server."""

    id: Id | None = None
    method: str | None = None
    error: msgspec.Raw | UnsetType = UNSET
    result: ResultGlance | UnsetType | None = UNSET

    @property
    def is_failed(self) -> bool:
        """Whether it is an error, or a result that is flagged as one."""
        return self.error is not UNSET or (isinstance(self.result, ResultGlance) and self.result.is_error is True)

    @property
    def is_answer(self) -> bool:
        """Whether it has a result or an error: all else answers nothing."""
        return self.result is not UNSET or self.error is not UNSET


class PlainResult(ResultGlance, gc=False):
    """A result that lists no tools, and tells of no task."""

    tools: None = None
    task_id: None = msgspec.field(name="taskId", default=None)
    tasks: None = None


class Success(Struct, gc=False):
    """An answer that need not be decoded further, unless its result is flagged as an error. No other message fits."""

    id: Id
    result: PlainResult
    method: None = None
    error: None = None


_client_decoder = msgspec.json.Decoder(ClientGlance)
_success = msgspec.json.Decoder(Success)
decode_sent, decode_all_sent = _client_decoder.decode, _client_decoder.decode_lines
decode_success, decode_successes = _success.decode, _success.decode_lines
_server_decode = msgspec.json.Decoder(ServerGlance).decode
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def glance_at_client(data: bytes) -> ClientGlance | None:
    """Return what a client's message is about; None if its parts are not what they should be, as in a batch."""
    try:
        return decode_sent(data)
    except UNREADABLE:
        return None


def glance_loosely(data: bytes) -> ClientGlance | None:
    """Return what a client's message is about if only a lenient server can read it."""
    return _converted(data, ClientGlance)


def glance_at_server(data: bytes, *, is_lenient: bool = True) -> ServerGlance | None:
    """Return what a server's message is about; None if its parts are not what they should be, as in a batch.

    What only a lenient client can read must be decoded in full for that, unless *is_lenient* is false.
    """
    try:
        return _server_decode(data)
    except UNREADABLE:
        return _converted(data, ServerGlance) if is_lenient else None


MAX_COMPLAINT = 2048
"""Successes with more bytes are not looked through for words before they pass: that would cost more than passing."""

_MAX_GLANCED = 1 << 14  # a longer text is never called an error
# Letters without case that errors and few other texts have. A success without any of them is not read for a report.
_SIGNS = (
    *("rror", "err_", "errno", "fail", "nvalid", "not ", "n't", "must", "require", "missing", "nknown", "nable"),
    *("denied", "forbid", "xceed", "xception", "timeout", "timed out", "unsupport", "refused", "reject", "traceback"),
    *("false", "exit", "return", "unauth", "fatal", "wrong", "unavail", "please ", "sorry", "oops", "no such"),
    *("violat", "insuff", "unproc", "bad ", "out of", "gone", "conflict", "fehler", "erro", "fallo"),
)


def complains(result: ResultGlance) -> bool:
    """Return whether a success has a word of an error, so that it may be one that is not flagged."""
    content = result.content
    if content is UNSET or result.structured is not UNSET or result.meta is not UNSET:
        text = _words_of(result)
    else:
        text = str(content, "latin-1")  # as it is for most calls, without a step between
    return (
        "rror" in text
        or "nvalid" in text
        or "equired" in text
        or "must be" in text
        or "issing" in text
        or "ailed" in text
        or "ot found" in text
    )


def may_have_failed(result: ResultGlance) -> bool:
    """Return whether a success may be an error that is not flagged, for a report: more words count than before."""
    text = _words_of(result)
    if len(text) > _MAX_GLANCED:
        return False
    low = text.lower()
    return not text.isascii() or "\\u" in text or any(map(low.__contains__, _SIGNS))


def _words_of(result: ResultGlance) -> str:
    """Return where a result may have words, as it is written; nothing if it has no content: then it is not read."""
    content = result.content
    if content is UNSET:
        return ""
    if result.structured is UNSET and result.meta is UNSET:
        return str(content, "latin-1")  # looking for words in bytes takes twice as long
    more = [bytes(part) for part in (result.structured, result.meta) if part is not UNSET]
    return b"\n".join((content, *more)).decode("latin-1")


def answered_id(data: bytes) -> Id | None:
    """Return the id of the request that a server's message answers, whatever else is wrong with it; None: of none."""
    glance = glance_at_server(data, is_lenient=False)
    if glance is not None:
        return glance.id if glance.method is None and glance.is_answer else None
    message = decode(data)
    if is_array(message) and len(message) == 1:
        message = message[0]
    if not is_object(message) or message.get("method") is not None or not ("result" in message or "error" in message):
        return None
    id = message.get("id")
    return id if isinstance(id, int | str) and not isinstance(id, bool) else None


def decode_or_raise(data: bytes) -> Any:
    """Return a message as lenient programs read it, or None if it is not JSON.

    Half of a character that was cut in two, NaN or a wrong byte do no harm: they are no failure of a call.

    Raises:
        RecursionError: it is too deep to be decoded here, which says nothing about the client and the server.
    """
    try:
        return _decode(data)
    except UNREADABLE:
        return _decode_leniently(data)


def decode(data: bytes) -> Any:
    """Return a message, or None if it is not JSON or too deep."""
    try:
        return _decode(data)
    except UNREADABLE:
        pass
    try:
        return _decode_leniently(data)
    except RecursionError:
        return None


def _decode_leniently(data: bytes) -> Any:
    import json  # only now: it is seldom needed

    try:
        return json.loads(data.decode("utf-8-sig", "replace"), strict=False)
    except ValueError:
        return None


def decode_line(line: bytes) -> Any:
    """Return a message, or None if it is not JSON, too deep, or too long to be decoded in full."""
    return decode(line) if len(line) <= MAX_DECODED else None


def is_message(line: bytes) -> bool:
    """Return whether a line without its end is a whole message."""
    return decode_line(line) is not None or glance_at_server(line) is not None


def encode(message: Any) -> bytes:
    """Return a message as it is written."""
    try:
        return _encode(message)
    except UnicodeEncodeError:  # half a character, which only an escape can write
        import json  # only now: it is seldom needed

        return json.dumps(message, separators=(",", ":")).encode()


def _converted(data: bytes, shape: type[T]) -> T | None:
    try:
        return msgspec.convert(_with_raw_parts(decode_line(data)), shape)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
        return None


_WORDS = ("content", "structuredContent", "_meta")


def _with_raw_parts(message: Any) -> Any:
    """Return a message whose parts that nobody looks into are as a decoder leaves them."""
    if not is_object(message):
        return message
    raw = {**message, "error": msgspec.Raw(b"{}")} if "error" in message else message
    result = raw.get("result")
    if is_object(result):
        written = {key: msgspec.Raw(encode(result[key])) for key in _WORDS if key in result}
        raw = {**raw, "result": {**result, **written}}
    params = raw.get("params")
    if not is_object(params) or "cursor" not in params:
        return raw
    return {**raw, "params": {**params, "cursor": msgspec.Raw(encode(params["cursor"]))}}


_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def read_meta(data: bytes, key: str) -> Any:
    """Return an entry of the `_meta` of a request; None if there is none, or the request cannot be read."""
    try:
        return _decode(_meta_parts(data)[key])
    except (KeyError, *UNREADABLE):
        return None


def with_meta(data: bytes, key: str, value: str) -> bytes:
    """Return a request with an entry in its `_meta`; what cannot be read stays as it is."""
    try:
        message = _parts(data)
        params = _parts(message["params"])
        meta = {**_meta_parts(data), key: value}
        return _encode({**message, "params": {**params, "_meta": meta}})
    except (KeyError, *UNREADABLE):
        return data


def _meta_parts(data: bytes) -> dict[str, msgspec.Raw]:
    found = _parts(_parts(data)["params"]).get("_meta")
    return {} if found is None or bytes(found) == b"null" else _parts(found)


def with_id(data: bytes, id: Id) -> bytes:
    """Return a message with this id; numbers and texts that only lenient programs read stay what they are.

    Raises:
        ValueError: it is not a message with an id.
        RecursionError: it is too deep to be decoded here.
    """
    try:
        return encode({**_parts(data), "id": id})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = data.decode("utf-8", "surrogateescape")
    start, end = _find_id(text)
    return text[:start].encode("utf-8", "surrogateescape") + encode(id) + text[end:].encode("utf-8", "surrogateescape")


def _find_id(text: str) -> tuple[int, int]:
    import json  # only now: it is seldom needed

    read = json.JSONDecoder(strict=False).raw_decode
    found: tuple[int, int] | None = None
    at = text.index("{")
    while text[at : at + 1] not in ("}", ""):
        name, at = read(text, _skip_space(text, at + 1))
        start = _skip_space(text, text.index(":", at) + 1)
        _, at = read(text, start)
        if name == "id":
            found = start, at
        at = _skip_space(text, at)
    if found is None:
        raise ValueError("the message has no id")
    return found


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at
