"""What servers answer to a call: every kind of success and failure, well-formed or not."""

import base64
import json
from typing import Any

from tests.proxy.plants import CHANNELS, SECRETS
from tests.proxy.sessions.stage import Answer

Message = dict[str, Any]


def flagged(text: str, *blocks: Any, **more: Any) -> Message:
    return {"result": {"content": [{"type": "text", "text": text}, *blocks], "isError": True, **more}}


def success(text: str = "done", *blocks: Any, **more: Any) -> Message:
    return {"result": {"content": [{"type": "text", "text": text}, *blocks], **more}}


def error(code: Any, message: Any, **more: Any) -> Message:
    return {"error": {"code": code, "message": message, **more}}


def raw(result: str) -> str:
    """Return an answer with a result as it is written."""
    return '{"jsonrpc":"2.0","id":"<id>","result":' + result + "}"


BUSY = flagged("503 Service Unavailable")
LIMITED = flagged("429 Too Many Requests")
REFUSED = flagged("connect ECONNREFUSED 127.0.0.1:5432")
SHORT = flagged("Rate limit exceeded, retry in 3 seconds")
PAUSE = flagged("Rate limit exceeded, retry in 20 seconds")
LATER = flagged("Rate limit exceeded, retry in 90 seconds")
MISSING = flagged("404 Not Found: no such thing")
_PASSWORD = f"login failed: {SECRETS['password'][0]}"
_IMAGE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(64))).decode()
_DEEP = "[" * 3000 + "]" * 3000

NAMES = ("compact", "envelope", "flat", "xml")
"""Dialects other than the usual one."""

# Failures that every option is tried with.
COMMON: dict[str, Answer] = {
    "success": success(),
    "not found": MISSING,
    "busy": BUSY,
    "limited": LATER,
    "invalid": flagged("Invalid arguments: n must be a positive integer"),
    "unflagged": success("Error: no such file or directory: a.txt", isError=False),
    "secret": flagged(_PASSWORD),
    "internal error": error(-32603, "Internal error: database is locked"),
    "unknown tool": error(-32602, "Unknown tool: look"),
}

TEXTS: dict[str, Answer] = {
    "forbidden": flagged("403 Forbidden"),
    "unauthorized": flagged("401 Unauthorized: token expired"),
    "timeout": flagged("Request timed out after 30 s"),
    "refused": REFUSED,
    "too many": LIMITED,
    "conflict": flagged("409 Conflict: the row was changed meanwhile"),
    "server error": flagged("500 Internal Server Error"),
    "traceback": flagged("Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'name'"),
    "no text": {"result": {"content": [], "isError": True}},
    "empty text": flagged(""),
    "no content": {"result": {"isError": True}},
    "unknown words": flagged("Der Vorgang ist fehlgeschlagen"),
    "unknown tool in a text": flagged("Unknown tool: look"),
    "missing argument": flagged("Missing required argument: n"),
    "two texts": flagged("first line", {"type": "text", "text": "404 Not Found"}),
    "image": flagged("404 Not Found", {"type": "image", "data": _IMAGE, "mimeType": "image/png"}),
    "resource": flagged("404 Not Found", {"type": "resource", "resource": {"uri": "file:///a", "text": "part"}}),
    "meta": flagged("404 Not Found", _meta={"trace": "abc", "progressToken": 5}),
    "unflagged success": success("Processed 3 errors without a problem", isError=False),
    "unflagged JSON": success(json.dumps({"error": "not_found", "message": "Note not found"})),
    "flag that is null": success("fine", isError=None),
}

DIALECTS: dict[str, Answer] = {
    "compact": flagged('{"type":"NOT_FOUND","message":"agent \\"a\\" not registered","recoverable":false}'),
    "compact, transient": flagged(
        '{"type":"TRANSIENT","message":"Busy.","recoverable":true,"data":{"code":"RATE_LIMITED","retry_after":90}}'
    ),
    "flat": flagged('{"error":"rate_limited","message":"Rate limit hit","details":{"retry_after":60}}'),
    "xml": flagged('<tool_error code="MISSING_REQUIRED_FIELD">\n  <message>Required "a".</message>\n</tool_error>'),
    "envelope": flagged(
        '{"success":false,"error_code":"VALIDATION_ERROR","error":"task_id is required","message":"Validation failed"}'
    ),
    "meta keys": flagged(
        "Port must be 0-65535",
        _meta={"errorType": "ValidationError", "errorCode": "INVALID_PORT", "retryable": False},
    ),
    "structured": flagged("it failed", structuredContent={"code": "NOT_FOUND", "message": "no such user"}),
    "structured only": {
        "result": {"content": [], "structuredContent": {"error": {"code": 404, "message": "gone"}}, "isError": True}
    },
    "own": flagged(
        "503 Service Unavailable",
        _meta={"dev.failwell/failure": {"v": 1, "message": "Busy.", "type": "TRANSIENT", "code": "SERVER_BUSY"}},
    ),
    "own, retried below": flagged(
        "503 Service Unavailable",
        _meta={
            "dev.failwell/failure": {"v": 1, "message": "Busy.", "type": "TRANSIENT", "retryable": True},
            "dev.failwell/retry": {"attempts": 3},
        },
    ),
}

ERRORS: dict[str, Answer] = {
    "-32700": error(-32700, "Parse error"),
    "-32600": error(-32600, "Invalid request"),
    "-32601": error(-32601, "Method not found"),
    "-32602": error(-32602, "Invalid params: n is required"),
    "-32000": error(-32000, "Connection closed"),
    "-32001": error(-32001, "Request timed out"),
    "-32002": error(-32002, "Resource not found: file:///a"),
    "-32021": error(-32021, "Missing capability"),
    "-32023": error(-32023, "Rate limited", data={"retry_after": 90}),
    "-32042": error(-32042, "Log in first", data={"elicitations": [{"url": "https://x.example/a?b=c", "mode": "url"}]}),
    "-32800": error(-32800, "Request cancelled"),
    "429": error(429, "Too many requests"),
    "503": error(503, "Service unavailable", data={"status": 503}),
    "text as code": error("ENOENT", "no such file"),
    "error that is null": {"error": None},
    "error that is a text": {"error": "it failed"},
    "secret in a protocol error": error(-32600, _PASSWORD, data={"password": SECRETS["password"][1]}),
    "error and result": {**error(-32603, "both"), **success()},
}

ODD: dict[str, Answer] = {
    "spaces": '{ "jsonrpc" : "2.0" , "id" : "<id>" , "result" : { "content" : [ ] , "isError" : true } }',
    "NaN": raw('{"content":[],"structuredContent":{"n":NaN}}'),
    "NaN in a failure": raw('{"content":[{"type":"text","text":"404 Not Found"}],"isError":true,"score":NaN}'),
    "half a character": raw('{"content":[{"type":"text","text":"half \\ud83d"}]}'),
    "half a character in a failure": raw('{"content":[{"type":"text","text":"404 \\ud83d Not Found"}],"isError":true}'),
    "wrong byte": raw('{"content":[{"type":"text","text":"\udcff"}]}'),
    "wrong byte in a failure": raw('{"content":[{"type":"text","text":"404 Not Found \udcff"}],"isError":true}'),
    "deep": raw('{"content":[],"structuredContent":' + _DEEP + "}"),
    "deep failure": raw('{"content":[],"isError":true,"structuredContent":' + _DEEP + "}"),
    "large number": raw('{"content":[],"structuredContent":{"n":' + "1" * 400 + "}}"),
    "twice the same key": raw('{"content":[],"isError":false,"isError":true}'),
    "flag that is a text": raw('{"content":[{"type":"text","text":"404 Not Found"}],"isError":"true"}'),
    "result that is null": raw("null"),
    "result that is a list": raw("[1]"),
    "neither result nor error": '{"jsonrpc":"2.0","id":"<id>"}',
    "more keys": {**flagged("404 Not Found"), "trace": "abc"},
    "no version": '{"id":"<id>","error":{"code":-32603,"message":"Internal error"}}',
    "content that is a text": raw('{"content":"404 Not Found","isError":true}'),
    "blocks that are none": raw('{"content":[null,5,"text",{"type":7}],"isError":true}'),
    "long text": flagged("404 Not Found " + "x" * 300_000),
    "long text, unflagged": success("Error: " + "x" * 300_000),
    "very long failure": flagged("404 Not Found " + "x" * 4_300_000),
    "very long success": success("x" * 4_300_000),
    "line separators": success("a\u2028b\u2029c\x85d"),
    "control characters": flagged("404\x00 Not \x1b[31mFound\u202e"),
}

TYPED: dict[str, Answer] = {
    "typed success": success("fine", structuredContent={"n": 1}),
    "typed failure": flagged("404 Not Found", structuredContent={"error": "gone"}),
    "typed without content": flagged("404 Not Found"),
    "typed unflagged": success("Error: no such file", structuredContent={"n": 1}),
    "typed error": error(-32603, "Internal error"),
}

SECRET: dict[str, Answer] = {f"secret, {name}": answer for name, answer in CHANNELS.items()}
