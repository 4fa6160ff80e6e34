"""The tools of the server that every stack talks to: how each answers, and how often it may be called."""

import json
from typing import Any, NamedTuple

RATE_LIMITED = {
    "type": "TRANSIENT",
    "message": "Only 10 searches a minute are allowed.",
    "recoverable": True,
    "data": {"code": "RATE_LIMITED", "retry_after": 0.05},
}
INVALID = {
    "type": "VALIDATION",
    "message": "priority must be one of: low, normal, urgent.",
    "recoverable": True,
    "data": {"code": "INVALID_ARGUMENT", "field": "priority"},
}
TIMED_OUT = {
    "type": "TRANSIENT",
    "message": "The mail server did not answer within 5 s.",
    "recoverable": True,
    "data": {"code": "TIMEOUT"},
}
CRASHED = "Error executing tool export: 'NoneType' object has no attribute 'rows'"


class Case(NamedTuple):
    """A tool: what it is called with, its answers in order (the last one again and again), and its annotations.

    `calls` is how often the server may be called with us, `sees` what the model must see then, and `failure` what the
    application must get, if there is anything left.
    """

    title: str
    arguments: dict[str, str]
    answers: tuple[dict[str, Any], ...]
    calls: int
    sees: str
    failure: str | None = None
    annotations: dict[str, bool] | None = None


def said(text: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": False}}


def failed(what: str | dict[str, Any]) -> dict[str, Any]:
    text = what if isinstance(what, str) else json.dumps(what)
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}


CASES = {
    "count_tickets": Case("a success", {"state": "open"}, (said("12 open tickets"),), 1, "12 open tickets"),
    "search": Case(
        "a rate limit", {"text": "printer"}, (failed(RATE_LIMITED), said("3 tickets found")), 2, "3 tickets found"
    ),
    "create_ticket": Case(
        "a validation error",
        {"priority": "urgnt"},
        (failed(INVALID),),
        1,
        "Correct the value, then call again.",
        "INVALID_ARGUMENT",
    ),
    "read_ticket": Case(
        "a JSON-RPC error",
        {"ticket": "7"},
        ({"error": {"code": -32602, "message": "ticket must start with T-"}},),
        1,
        "Correct the value, then call again.",
        "INVALID_ARGUMENT",
    ),
    "close_ticket": Case(
        "an empty error",
        {"ticket": "T-7"},
        ({"result": {"content": [], "isError": True}},),
        1,
        "The tool reported an error without",
        "INTERNAL",
    ),
    "send_mail": Case(
        "a timeout of a tool that acts",
        {"to": "ada"},
        (failed(TIMED_OUT), said("Sent.")),
        1,
        "The call may have taken effect. If this tool changes anything, check before calling it again.",
        "TIMEOUT",
    ),
    "read_mail": Case(
        "a timeout of a tool that reads",
        {"of": "ada"},
        (failed(TIMED_OUT), said("1 new mail")),
        2,
        "1 new mail",
        annotations={"readOnlyHint": True},
    ),
    "export": Case(
        "a crash",
        {"format": "csv"},
        (failed(CRASHED),),
        1,
        "Do not repeat this call. It may have taken effect.",
        "INTERNAL_ERROR",
    ),
}
