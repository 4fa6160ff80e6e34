"""Structured errors of vendors as data, each in the places where a server may put it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import failwell as fw

DATA = Path(__file__).parents[1] / "data" / "vendor_errors.jsonl"
PLACES = ("text", "text with words", "structured", "rpc data")


class VendorError(NamedTuple):
    """An error object of a vendor, and what its documentation says that it means."""

    number: int
    vendor: str
    body: Any
    type: str
    also: tuple[str, ...]
    code: str
    retryable: bool | None
    retry_after: float | None
    fields: tuple[str, ...]
    outcome: str | None


def errors() -> Iterator[VendorError]:
    """Yield every error."""
    for number, line in enumerate(DATA.read_text("utf-8").splitlines(), 1):
        row = json.loads(line)
        yield VendorError(
            number,
            row["vendor"],
            row["body"],
            row["type"],
            tuple(row.get("also", ())),
            row["code"],
            row["retryable"],
            row.get("retry_after"),
            tuple(row.get("fields", ())),
            row.get("outcome"),
        )


def placed(body: Any, place: str) -> dict[str, Any]:
    """Return what a server sends that puts an error object into a place."""
    text = json.dumps(body)
    match place:
        case "text":
            return _result(text)
        case "text with words":
            return _result(f"Error executing tool fetch_record: upstream said: {text}")
        case "structured":
            structured = body if isinstance(body, dict) else {"result": body}
            return {**_result("Request failed"), "structuredContent": structured}
        case _:
            error = {"code": -32000, "message": "upstream error", "data": body}
            return {"jsonrpc": "2.0", "id": 1, "error": error}


def _result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def mistakes(error: VendorError, failure: fw.Failure | None) -> list[str]:
    """Return what `read` got wrong about an error: "type", "retryable", "code", "retry_after", "fields", "unsafe"."""
    if failure is None:
        return ["type", "retryable", "code"]
    found: list[str] = []
    if failure.type not in (error.type, *error.also):
        found.append("type")
    if failure.retryable is not error.retryable:
        found.append("retryable")
    if failure.code != error.code:
        found.append("code")
    if error.retry_after is not None and failure.retry_after != error.retry_after:
        found.append("retry_after")
    if error.fields and {problem.path for problem in failure.fields} != set(error.fields):
        found.append("fields")
    if is_unsafe(error, failure):
        found.append("unsafe")
    return found


def is_unsafe(error: VendorError, failure: fw.Failure) -> bool:
    """Tell whether a failure invites a repeat that no documentation calls safe."""
    promises_no_effect = failure.outcome == "not_executed" and error.outcome != "not_executed"
    return failure.retryable is True and (promises_no_effect or error.retryable is False)
