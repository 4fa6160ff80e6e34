"""`flat`: a JSON object with one of eight literals under `error`.

    {"error":"rate_limited","message":"Gmail API rate limit hit","details":{"retry_after":60}}

Servers of this contract never set `isError`; who reads them says `dialect="flat"`.
"""

from typing import Any, Literal, get_args

from msgspec import structs

from failwell import codes
from failwell._json import parse_object, write_json
from failwell.codes import Type
from failwell.dialects._open_part import KEYS, read_open_part, split_extra, with_extra, write_open_part
from failwell.dialects._wire import Wire, is_error
from failwell.failure import Failure, valid_code
from failwell.redact.canonical import RedactedFailure

name = "flat"

ErrorLiteral = Literal[
    "auth_required",
    "not_found",
    "rate_limited",
    "send_failed",
    "permission_denied",
    "parse_error",
    "mcp_unavailable",
    "internal_error",
]
LITERALS: tuple[str, ...] = get_args(ErrorLiteral)
_SIGN_IN = "auth_required"

_OWN = frozenset(("error", "message", "details"))
_WRITTEN = frozenset(("extra",))
_NO_ERROR = frozenset(("none", "null", "false", "0", "no", "ok", "success"))
_KEYS = KEYS - {"message"}
_CODE_OF: dict[str, str] = {row.flat: row.code for row in codes.rows() if row.flat}
_TYPE_OF: dict[str, Type] = {row.flat: row.type for row in codes.rows() if row.flat}


def encode(failure: RedactedFailure) -> Wire:
    """Return a canonical failure as flat JSON."""
    literal = codes.flat_literal(failure.code, failure.type)
    # The contract promises that it says how to sign in again; what another server wrote is passed on as it is.
    if literal == _SIGN_IN and not failure.suggestion and failure.origin in ("declared", "mapped"):
        failure = structs.replace(failure, suggestion=codes.explain(_CODE_OF[_SIGN_IN]).suggestion)
    code, written = failure.code, _WRITTEN
    if code in (None, _CODE_OF.get(literal)) and failure.type == _TYPE_OF.get(literal):
        code, written = _CODE_OF[literal], _WRITTEN | {"code"}
    extra, nested = with_extra(failure.extra, _OWN)
    details = write_open_part(failure, code, _type_read(code, literal), written=written, also=nested, keys=_KEYS)
    payload: dict[str, Any] = {"error": literal, "message": failure.message}
    if details:
        payload["details"] = details
    return Wire(write_json({**payload, **extra}), is_error(failure))


def _type_read(code: str | None, literal: str) -> Type | None:
    row = codes.get(code)
    return row.type if row else _TYPE_OF.get(literal)


def decode(wire: Wire) -> Failure | None:
    """Return the failure in a flat JSON text, or None."""
    payload = parse_object(wire.text)
    return None if payload is None else from_payload(payload, exact=not wire.is_error)


def from_payload(payload: dict[str, Any], *, exact: bool = False) -> Failure | None:
    """Return the failure in a flat object, or None. Exact means error and message and no other but details."""
    error: str = payload.get("error", "")
    message: str | None = payload.get("message")
    if not isinstance(message, str) or not isinstance(error, str):
        return None
    if error not in _CODE_OF and (valid_code(error) is not error or error.lower() in _NO_ERROR):
        return None
    if exact and not payload.keys() <= _OWN:
        return None
    values = read_open_part(payload.get("details"), keys=_KEYS)
    stated: Type | None = values.get("type")
    if "code" not in values and stated in (None, _TYPE_OF.get(error, stated)):
        values["code"] = _CODE_OF.get(error, error)
    if stated is None:
        values["type"] = _type_read(codes.canonical_code(values["code"], values.get("tool")), error)
    return split_extra(payload, values, message=message, own=_OWN)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the text."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["error", "message"],
        "properties": {
            "error": {
                "type": "string",
                "enum": list(LITERALS),
                "description": "Which of the eight ways to fail it was; a result without this key is a success",
            },
            "message": {"type": "string", "description": "What went wrong, in one sentence"},
            "details": {
                "type": ["object", "null"],
                "additionalProperties": True,
                "description": "The specifics, such as `retry_after` in seconds or how to sign in again",
            },
        },
    }
