"""`read` finds the failure in whatever a tool call ends with, and nothing where there is none."""

import json
from typing import Any

import fastmcp.exceptions
import mcp.types
import pytest
from fastmcp.client.client import CallToolResult as FastmcpResult
from mcp import MCPError

import failwell as fw

RATE_LIMIT = fw.Failure(code="RATE_LIMITED", message="Slow down.", retry_after=7)


def flagged(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True, **more}


def unflagged(text: str, **more: Any) -> dict[str, Any]:
    return {**flagged(text, **more), "isError": False}


def seen(what: Any, **how: Any) -> fw.Failure:
    found = fw.read(what, **how)
    assert found is not None
    return found


def wire() -> dict[str, Any]:
    return fw.encode(RATE_LIMIT)


WRAPPINGS: dict[str, Any] = {
    "dict": lambda: wire(),
    "dict of Python names": lambda: {
        "content": wire()["content"],
        "is_error": True,
        "meta": wire()["_meta"],
    },
    "mcp result object": lambda: mcp.types.CallToolResult.model_validate(wire()),
    "fastmcp result object": lambda: FastmcpResult(
        content=[mcp.types.TextContent(type="text", text=wire()["content"][0]["text"])],
        structured_content=None,
        meta=wire()["_meta"],
        is_error=True,
    ),
    "JSON-RPC response": lambda: {"jsonrpc": "2.0", "id": 3, "result": wire()},
    "JSON-RPC response as text": lambda: json.dumps({"jsonrpc": "2.0", "id": 3, "result": wire()}),
    "JSON-RPC response as bytes": lambda: json.dumps({"jsonrpc": "2.0", "id": 3, "result": wire()}).encode(),
    "result as text": lambda: json.dumps(wire()),
    "exception": lambda: fw.RateLimited(RATE_LIMIT),
    "group of one exception": lambda: ExceptionGroup("g", [ExceptionGroup("h", [fw.RateLimited(RATE_LIMIT)])]),
    "the failure itself": lambda: RATE_LIMIT,
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_the_whole_failure_is_found_in_every_wrapping(wrapping: str) -> None:
    assert fw.read(WRAPPINGS[wrapping]()) == RATE_LIMIT


@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
def test_an_exception_that_only_kept_the_text_is_read_by_its_text(dialect: str) -> None:
    text = fw.encode(RATE_LIMIT, dialect)["content"][0]["text"]

    found = seen(fastmcp.exceptions.ToolError(text))

    assert (found.message, found.code, found.retry_after) == ("Slow down.", "RATE_LIMITED", 7)


@pytest.mark.parametrize("prefix", ["Error executing tool mail: ", "Error calling tool 'mail': ", "MCP error -32603: "])
def test_the_words_an_sdk_puts_before_an_error_do_not_hide_it(prefix: str) -> None:
    found = seen(flagged(prefix + fw.encode(RATE_LIMIT)["content"][0]["text"]))

    assert (found.code, found.retry_after) == ("RATE_LIMITED", 7)


@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
def test_a_stored_error_document_is_an_honest_result(dialect: str) -> None:
    text = fw.encode(RATE_LIMIT, dialect)["content"][0]["text"]

    assert fw.read(unflagged(text)) is None


@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat", "xml"])
def test_who_knows_what_a_server_speaks_finds_its_unflagged_failures(dialect: str) -> None:
    text = fw.encode(RATE_LIMIT, dialect)["content"][0]["text"]

    assert seen(unflagged(text), dialect=dialect).code == "RATE_LIMITED"


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"NOT_FOUND","message":"m"}',
        '{"type":"NOT_FOUND","message":"m","recoverable":false,"owner":"domain data"}',
        '{"type":"CONFLICT","name":"domain data"}',
        '{"error":"not_found","message":"m","rows":[1]}',
        '{"error":null,"message":"m"}',
        '{"error_code":"X","message":"m"}',
        '{"success":true,"error_code":"NONE","message":"m"}',
        "{}",
        "[]",
        "null",
        "Error: rate limited",
        "",
    ],
)
@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat", "xml", "meta"])
def test_only_exact_shapes_count_where_nothing_is_flagged(text: str, dialect: str) -> None:
    assert fw.read(unflagged(text), dialect=dialect) is None


def test_looser_shapes_are_found_when_asked_for() -> None:
    assert seen(unflagged('{"type":"NOT_FOUND","message":"m"}'), unflagged=True).type == "NOT_FOUND"


@pytest.mark.parametrize("text", ['{"rows": []}', "all good", '{"id":1,"error":null}', "{}", '{"type":"NOT_FOUND"}'])
def test_a_success_stays_one_even_when_looked_at_closely(text: str) -> None:
    assert fw.read(unflagged(text), unflagged=True) is None


def test_a_warning_is_found_although_it_is_not_flagged() -> None:
    result = fw.encode(fw.tool_error("DEPRECATED", message="Use v2.", severity="warning"), "xml")

    assert result["isError"] is False
    assert seen(result).severity == "warning"


@pytest.mark.parametrize(
    "nothing", [None, {}, [], 5, object(), {"content": []}, {"jsonrpc": "2.0", "id": 1, "result": {}}]
)
def test_what_is_no_failure_gives_none(nothing: Any) -> None:
    assert fw.read(nothing) is None


def test_an_empty_error_is_still_a_failure() -> None:
    found = seen({"content": [], "isError": True})

    assert (found.origin, found.type, found.retryable) == ("inferred", "INTERNAL", None)


@pytest.mark.parametrize(
    ("number", "code", "type_"),
    [
        (-32602, "INVALID_ARGUMENT", "VALIDATION"),
        (-32601, "METHOD_NOT_FOUND", "NOT_FOUND"),
        (-32001, None, "INTERNAL"),
        (-32603, "INTERNAL_ERROR", "INTERNAL"),
        (-32023, "RATE_LIMITED", "TRANSIENT"),
        (-31999, None, "INTERNAL"),
    ],
)
def test_json_rpc_errors_are_failures_in_every_form(number: int, code: str | None, type_: str) -> None:
    error = {"code": number, "message": "m"}

    forms = [error, {"jsonrpc": "2.0", "id": 1, "error": error}, json.dumps({"id": 1, "error": error})]
    found = [seen(form) for form in forms] + [seen(MCPError(number, "m"))]

    assert {(one.code, one.type, one.message) for one in found} == {(code, type_, "m")}
    assert found[0].details == {"jsonrpc_code": number}


def test_what_the_data_of_a_json_rpc_error_states_beats_its_number() -> None:
    found = seen(MCPError(-32000, "custom", {"code": "RATE_LIMITED", "retry_after": 30, "zone": "eu"}))

    assert (found.code, found.retry_after) == ("RATE_LIMITED", 30)
    assert found.details == {"zone": "eu", "jsonrpc_code": -32000}


def test_the_proposed_tool_failure_key_is_read() -> None:
    meta = {
        "io.modelcontextprotocol/toolFailure": {
            "class": "reliability",
            "code": "UPSTREAM_DOWN",
            "retryable": True,
            "retryNotBefore": "2026-11-15T12:00:30Z",
            "correlationId": "c-1",
            "agentGuidance": "Wait.",
        }
    }

    found = seen(flagged("The upstream is down.", _meta=meta), now=1794744000.0)

    assert found == fw.Failure(
        type="TRANSIENT",
        code="UPSTREAM_DOWN",
        message="The upstream is down.",
        retryable=True,
        retry_after=30,
        id="c-1",
        suggestion="Wait.",
        origin="read",
    )


def test_a_time_of_retry_that_has_passed_means_now() -> None:
    meta = {"io.modelcontextprotocol/toolFailure": {"class": "reliability", "retryNotBefore": "2020-01-01T00:00:00Z"}}

    assert seen(flagged("m", _meta=meta)).retry_after == 0


@pytest.mark.parametrize(
    ("recovery", "type_", "retryable"),
    [("transient", "TRANSIENT", True), ("correctable", "VALIDATION", False), ("terminal", "INTERNAL", False)],
)
def test_adcp_errors_are_read_from_structured_content_and_from_text(recovery: str, type_: str, retryable: bool) -> None:
    payload = {"adcp_error": {"code": "X_ACME_SPENT", "message": "m", "recovery": recovery, "field": "budget"}}

    found = [seen(flagged("m", structuredContent=payload)), seen(flagged(json.dumps(payload)))]

    assert found[0] == found[1]
    assert (found[0].type, found[0].retryable, found[0].code) == (type_, retryable, "X_ACME_SPENT")
    assert [problem.path for problem in found[0].fields] == ["budget"]


def test_problem_details_are_read() -> None:
    problem = {
        "type": "https://example.com/probs/out-of-credit",
        "title": "You do not have enough credit.",
        "status": 403,
        "detail": "Your balance is 30, but that costs 50.",
        "instance": "/account/12345/msgs/abc",
        "balance": 30,
    }

    assert seen(flagged(json.dumps(problem))) == fw.Failure(
        code="FORBIDDEN",
        message="Your balance is 30, but that costs 50.",
        http_status=403,
        docs_url="https://example.com/probs/out-of-credit",
        id="/account/12345/msgs/abc",
        details={"balance": 30},
        origin="read",
        confidence=0.95,
    )


def test_problem_details_need_no_status() -> None:
    text = json.dumps(
        {
            "type": "https://example.net/validation-error",
            "title": "Your request is not valid.",
            "errors": [{"detail": "must be a positive integer", "pointer": "#/items/0/age"}],
        }
    )

    found = fw.read(flagged(text))

    assert found is not None
    assert (found.origin, found.message) == ("read", "Your request is not valid.")
    assert found.fields == (fw.FieldProblem(path="items[0].age", message="must be a positive integer"),)


def test_a_tool_that_is_known_is_named_in_the_failure() -> None:
    assert seen(flagged("it broke"), tool="mail").tool == "mail"


def test_a_code_that_is_a_row_is_not_taken_for_a_prefixed_one() -> None:
    payload = {"success": False, "error_code": "RATE_LIMITED", "message": "m"}

    assert seen(json.dumps(payload), tool="rate").code == "RATE_LIMITED"


@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
def test_a_guess_about_the_outcome_never_becomes_the_servers_word(dialect: str) -> None:
    guessed = fw.read(flagged("Error: connection refused"))
    assert guessed is not None
    passed_on = fw.encode(guessed, dialect)
    del passed_on["_meta"]["dev.failwell/failure"]

    again = fw.read(passed_on)

    assert again is not None
    assert fw.decide(again).action != "retry"


def test_our_meta_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    meta = {"dev.failwell/failure": {"v": 9, "message": "m", "type": "CONFLICT", "urgency": 3, "retry_after": "soon"}}

    found = seen(flagged("x", _meta=meta))

    assert (found.type, found.message, found.extra, found.retry_after) == ("CONFLICT", "m", {"urgency": 3}, None)


def test_an_unknown_dialect_is_misuse() -> None:
    with pytest.raises(ValueError, match="did you mean 'compact'"):
        fw.read("x", dialect="compct")


def test_converting_a_success_is_misuse() -> None:
    with pytest.raises(ValueError, match="not a failure"):
        fw.convert({"content": [], "isError": False})


class Liar:
    @property
    def __class__(self) -> type:  # type: ignore[override]  # it raises instead
        raise RuntimeError("nobody knows what this is")


def test_an_object_that_does_not_say_what_it_is_makes_it_raise_neither() -> None:
    assert fw.read(Liar()) is None


def test_a_tool_that_is_no_text_makes_it_raise_neither() -> None:
    result = {"isError": True, "content": [{"type": "text", "text": "Error: boom 5 happened"}]}

    found = fw.read(result, tool=5)  # type: ignore[arg-type]  # on purpose

    assert found is not None
    assert found.tool is None


def test_a_payload_that_fights_back_does_not_make_read_raise() -> None:
    class Fighting(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            raise ZeroDivisionError

    assert isinstance(fw.read(Fighting(isError=True, content=[])), fw.Failure)
