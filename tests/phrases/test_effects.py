"""An error text that tells of an effect never counts as a call without one."""

import json
from typing import Any

import pytest

import failwell as fw

TELLS_OF_AN_EFFECT = [
    "The charge may or may not have been applied.",
    "Rate limit exceeded; your message might already have been sent. Rate limit exceeded",
    "Permission denied, and we could not tell whether the transfer was submitted",
    "Message sent, but the thread was not updated: 404 Not Found",
    "Created issue #42 but could not add label 'bug': label not found",
    "The record was deleted; however the index rejected it: permission denied",
    "Commit succeeded, push failed: authentication required",
    "Successfully posted 2 messages; the third failed: rate limit exceeded",
    "Upload complete, but the result is invalid: missing field 'id'",
    "The status of the payment is unknown: invalid reference",
    "2 of 5 rows inserted before the lock was lost: database is locked",
    "Access denied: it failed after the order had been placed",
    "The batch was partially applied: resource busy, try again in 3 s",
    "Moved 3 of 5 files. Failed: b.txt (permission denied), c.txt (not found)",
    "4 of the 9 invoices were sent: 401 Unauthorized",
    "7 of 10 rows imported; rows 3, 5 and 9 failed: missing e-mail",
    "The invite was created; we couldn't find the user's phone to text it to: not found",
    "Transfer submitted; permission denied for its status",
    "created 12 tickets before the input turned out to be invalid at row 13",
    "Uploaded 2 files, 1 failed: c.txt (too large)",
    "The first half of your order was placed, the second is sold out",
    "Your post went out, but its image was rejected: permission denied",
]

TELLS_OF_NONE = [
    "File not found. It may have been moved or deleted.",
    "Access denied. Your token may have been revoked.",
    "The message was not sent, but rejected: permission denied",
    "Nothing was created: the name already exists, but not in this folder",
    "0 succeeded, 3 failed: not found",
    "Field 'created' must be a date, but is not",
    "Cannot cancel the order after it has been shipped: permission denied",
    "Rate limit exceeded, but not for long. Try again in 3 s",
    "The file was not saved, permission denied",
    "No message sent, the channel does not exist",
    "The order has been cancelled. It cannot be changed: conflict",
    "Rate limit exceeded: you have sent 100 messages",
]


def read(text: str) -> fw.Failure:
    found = fw.read({"content": [{"type": "text", "text": text}], "isError": True})
    assert found is not None
    return found


@pytest.mark.parametrize("text", TELLS_OF_AN_EFFECT)
def test_an_error_that_tells_of_an_effect_is_not_read_as_a_refused_call(text: str) -> None:
    failure = read(text)

    assert failure.outcome == "unknown"
    trusting = fw.Policy(trust_inferred=True)
    assert fw.decide(failure, policy=trusting).action in ("stop", "verify", "escalate", "fix_input")
    assert fw.decide(failure, policy=trusting).suggestion not in ("Correct the input, then call again.", None)


@pytest.mark.parametrize("text", TELLS_OF_NONE)
def test_an_error_that_tells_of_no_effect_keeps_the_outcome_of_its_code(text: str) -> None:
    assert read(text).outcome in ("rejected", "not_executed")


def test_some_of_many_items_is_a_partial_failure_and_the_third_of_five_attempts_is_none() -> None:
    partial = read("Moved 3 of 5 files. Failed: b.txt (permission denied)")
    attempt = read("Attempt 3 of 5 failed: connection refused")

    assert (partial.code, partial.retryable, partial.outcome) == ("PARTIAL_FAILURE", False, "unknown")
    assert attempt.code == "CONNECTION_REFUSED"


@pytest.mark.parametrize(
    "payload",
    [
        {"error": {"code": "NOT_FOUND", "message": TELLS_OF_AN_EFFECT[3]}},
        {"error": {"code": "RATE_LIMITED", "message": TELLS_OF_AN_EFFECT[7], "retry_after": 3}},
        {"ok": False, "error": {"type": "validation", "detail": TELLS_OF_AN_EFFECT[8]}},
    ],
)
def test_a_structured_error_is_no_exception(payload: dict[str, Any]) -> None:
    assert read(json.dumps(payload)).outcome == "unknown"


def test_nor_is_a_protocol_error() -> None:
    found = fw.read({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": TELLS_OF_AN_EFFECT[4]}})

    assert found is not None
    assert found.outcome == "unknown"


def test_what_a_payload_of_ours_states_stands() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message=TELLS_OF_AN_EFFECT[7], outcome="not_executed")

    assert fw.read(fw.encode(failure)) == fw.dialects.canonical(failure)
