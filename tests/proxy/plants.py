"""Made-up secrets, and every place of a failing answer that one may stand in.

They are made at run time, so that no scanner takes this file for a leak.
"""

import base64
import hashlib
import json
from typing import Any

_ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_HEX = "0123456789abcdef"


def _body(seed: str, length: int, alphabet: str = _ALNUM) -> str:
    stream = b"".join(hashlib.sha256(f"{seed}/{at}".encode()).digest() for at in range(length // 32 + 1))
    return "".join(alphabet[byte % len(alphabet)] for byte in stream[:length])


def _known(prefix: str, length: int, alphabet: str = _ALNUM) -> tuple[str, str]:
    core = _body(prefix, length, alphabet)
    return prefix + core, core


# What a text says, and the part that nobody may see.
SECRETS: dict[str, tuple[str, str]] = {
    "aws": _known("AK" + "IA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "github": _known("gh" + "p_", 36),
    "gitlab": _known("glp" + "at-", 20),
    "slack": _known("xo" + "xb-1234567890-", 24),
    "stripe": _known("sk_" + "live_", 24),
    "openai": _known("sk-" + "proj-0", 48),
    "anthropic": _known("sk-" + "ant-api03-", 90),
    "google": _known("AI" + "za", 35),
    "huggingface": _known("h" + "f_", 34),
    "npm": _known("np" + "m_", 36),
    "sendgrid": _known("S" + "G.", 22),
    "digitalocean": _known("dop_" + "v1_", 64, _HEX),
    "shopify": _known("shp" + "at_", 32, _HEX),
    "databricks": _known("da" + "pi", 32, _HEX),
    "linear": _known("lin_" + "api_", 40),
    "postman": _known("PM" + "AK-", 24, _HEX),
    "vault": _known("hv" + "s.", 24),
    "sentry": _known("sntr" + "ys_", 40),
    "docker": _known("dckr_" + "pat_", 27),
    "groq": _known("gs" + "k_", 52),
    "jwt": (f"ey{'J'}{_body('head', 20)}.ey{'J'}{_body('claims', 40)}.{_body('sign', 43)}", _body("claims", 40)),
    "database": (f"postgresql://app:{_body('db', 12)}@db.example/x", _body("db", 12)),
    "password": (f"password={_body('pw', 14)}", _body("pw", 14)),
    "bearer": (f"Authorization: Bearer {_body('bearer', 32)}", _body("bearer", 32)),
    "quoted": (f'{{"client_secret": "{_body("quoted", 24)}"}}', _body("quoted", 24)),
    "key": (f"-----BEGIN {'PRIVATE'} KEY-----\n{_body('pem', 64)}\n-----END {'PRIVATE'} KEY-----", _body("pem", 64)),
}
TEXT = "Cannot go on. " + " and then ".join(text for text, _ in SECRETS.values())
_NESTED = {
    "by name": {"password": _body("named", 9), "list": [TEXT], "pair": {"name": "api_key", "value": "n0t-seen-1"}}
}
HIDDEN = [*(core for _, core in SECRETS.values()), _body("named", 9), "n0t-seen-1"]


def _failing(*blocks: Any, **more: Any) -> dict[str, Any]:
    text = {"type": "text", "text": "It does not work at all."}
    return {"result": {"content": [text, *blocks], "isError": True, **more}}


def _error(code: int, message: str, data: Any = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **({} if data is None else {"data": data})}}


CHANNELS: dict[str, dict[str, Any]] = {
    "text": {"result": {"content": [{"type": "text", "text": TEXT}], "isError": True}},
    "another text": _failing({"type": "text", "text": TEXT}),
    "JSON in a text": {"result": {"content": [{"type": "text", "text": json.dumps(_NESTED)}], "isError": True}},
    "JSON in JSON in a text": _failing({"type": "text", "text": json.dumps({"body": json.dumps(_NESTED)})}),
    "a note on a text": _failing({"type": "text", "text": "x", "annotations": {"audience": [TEXT]}, "_meta": _NESTED}),
    "structured content": _failing(structuredContent={"error": TEXT, "more": [_NESTED]}),
    "JSON in structured content": _failing(structuredContent={"body": json.dumps(_NESTED)}),
    "a name in structured content": _failing(structuredContent={TEXT: 1, "deep": [{TEXT: {}}]}),
    "_meta": _failing(_meta={"example.com/trace": TEXT, "more": _NESTED, "io.modelcontextprotocol/toolFailure": TEXT}),
    "our own _meta": _failing(
        _meta={"dev.failwell/failure": {"v": 1, "message": TEXT}, "dev.failwell/original": {"text": TEXT}}
    ),
    "an embedded text": _failing({"type": "resource", "resource": {"uri": "file:///log", "text": TEXT, "more": TEXT}}),
    "an embedded text in base64": _failing(
        {"type": "resource", "resource": {"uri": "file:///l", "blob": base64.b64encode(TEXT.encode()).decode()}}
    ),
    "the address of a resource": _failing(
        {"type": "resource", "resource": {"uri": f"https://x/?q={TEXT}", "text": ""}}
    ),
    "a link": _failing({"type": "resource_link", "uri": TEXT, "name": TEXT, "description": TEXT, "title": TEXT}),
    "what should be an image": _failing({"type": "image", "data": TEXT, "mimeType": TEXT}),
    "the kind of a block": _failing({"type": TEXT}, {"type": {"more": [TEXT]}}, resultType=TEXT),
    "where others pass": {
        **_failing(task={"taskId": [TEXT]}, _meta={"progressToken": {"x": TEXT}}),
        "jsonrpc": "2.0",
    },
    "an unknown block": _failing({"type": "strange", "payload": [{"more": TEXT}]}, TEXT, [TEXT], 5),
    "another key of the result": _failing(debug={"env": _NESTED, "args": [TEXT]}, trace=TEXT),
    "another key of the message": {**_failing(), "debug": TEXT, "more": _NESTED},
    "content that is no list": {"result": {"content": TEXT, "isError": True}},
    "content that is an object": {"result": {"content": {"text": TEXT}, "isError": True}},
    "an error": _error(-32000, TEXT, {"more": TEXT}),
    "an error without a code": {"error": {"message": TEXT, "cause": _NESTED}},
    "an error that is a text": {"error": TEXT},
    "the code of an error": {"error": {"code": TEXT, "message": "x"}},
    "wrong parameters": _error(-32602, TEXT, {"schema": [TEXT], "sent": _NESTED}),
    "a protocol error": _error(-32600, TEXT),
    "the data of a protocol error": _error(-32600, "Invalid request", {"schema": [TEXT], "sent": _NESTED}),
    "an unknown method": _error(-32601, f"No such method: {TEXT}", TEXT),
    "an error beside a result": {**_failing(structuredContent={"x": TEXT}), **_error(-32600, TEXT)},
}

# What became of a task, as later requests and notifications tell it.
TASKS: dict[str, dict[str, Any]] = {
    "failed": {"taskId": "t-1", "status": "failed", "statusMessage": TEXT},
    "failed with an error": {"taskId": "t-1", "status": "failed", "error": {"code": -32603, "message": TEXT}},
    "completed with a failure": {"taskId": "t-1", "status": "completed", **_failing({"type": "text", "text": TEXT})},
    "one of several": {"tasks": [{"taskId": "t-0"}, {"taskId": "t-1", "status": "failed", "statusMessage": TEXT}]},
}


def found_in(data: bytes | str) -> list[str]:
    """Return what nobody may see and is there all the same, in the clear or in base64."""
    text = data.decode() if isinstance(data, bytes) else data
    seen = [core for core in HIDDEN if core in text]
    for word in text.replace("\\", '"').split('"'):
        try:
            inner = base64.b64decode(word, validate=True).decode()
        except ValueError:
            continue
        seen += [core for core in HIDDEN if len(word) > 100 and core in inner]
    return seen
