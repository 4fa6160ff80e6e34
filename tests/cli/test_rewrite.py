"""`failwell rewrite`: one answer in, the structured one out; what is not understood passes as it is."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import failwell as fw
from tests.cli.streams import output, run

TEXT = "429 Too Many Requests, retry after 30 s"
RESULT = {"content": [{"type": "text", "text": TEXT}], "isError": True}
SUCCESS = {"content": [{"type": "text", "text": "4 files"}], "isError": False}
REQUEST = {"method": "tools/call", "params": {"name": "search", "arguments": {"q": "x"}}}


def rewritten(payload: Any, *argv: str) -> Any:
    return json.loads(output("rewrite", *argv, stdin=json.dumps(payload)))


def test_a_bare_result_becomes_a_structured_result() -> None:
    result = rewritten(RESULT, "--tool", "search")

    failure = fw.read(result)
    assert failure is not None
    assert (failure.code, failure.retry_after, failure.tool) == ("RATE_LIMITED", 30, "search")
    assert result["isError"] is True
    assert TEXT in result["content"][0]["text"]


def test_a_json_rpc_response_keeps_its_envelope() -> None:
    error = {"jsonrpc": "2.0", "id": "a7", "error": {"code": -32000, "message": "database is locked"}}

    response = rewritten(error)

    assert (response["jsonrpc"], response["id"]) == ("2.0", "a7")
    failure = fw.read(response)
    assert failure is not None
    assert (failure.code, failure.tool) == ("LOCK_TIMEOUT", None)


@pytest.mark.parametrize("answer", [RESULT, {"jsonrpc": "2.0", "id": 1, "result": RESULT}], ids=["bare", "envelope"])
def test_a_pair_of_request_and_response_becomes_the_result(answer: Any) -> None:
    result = rewritten({"request": REQUEST, "response": answer})

    failure = fw.read(result)
    assert failure is not None
    assert (failure.code, failure.tool) == ("RATE_LIMITED", "search")


def test_nothing_is_written_for_a_pair_that_needs_no_change() -> None:
    assert output("rewrite", stdin=json.dumps({"request": REQUEST, "response": SUCCESS})) == ""


@pytest.mark.parametrize(
    "given",
    [
        json.dumps(SUCCESS, indent=3),
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": SUCCESS}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}),
        '{"a": 1}',
        "[1, 2]",
        "garbage",
        "",
        '{"content": [',
        "\ufeff",
        '{"result": 5, "content": []}',
        '{"isError": true, "content": null}',
        "[" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_failure_passes_as_it_is(given: str) -> None:
    assert output("rewrite", stdin=given) == given


@pytest.mark.parametrize("given", ["null", "null\n"])
def test_nothing_is_written_where_the_gateway_has_no_result(given: str) -> None:
    assert output("rewrite", stdin=given) == ""


def test_a_text_that_is_an_error_is_flagged_only_if_asked_for() -> None:
    unflagged = {"content": [{"type": "text", "text": "Error: connection refused"}]}

    assert rewritten(unflagged) == unflagged
    assert rewritten(unflagged, "--flip-unflagged", "--tool", "search")["isError"] is True


def test_the_dialect_can_be_chosen() -> None:
    assert rewritten(RESULT, "--dialect", "xml")["content"][0]["text"].startswith("<")


def test_wrong_options_are_refused_before_anything_is_read() -> None:
    ran = run("rewrite", "--dialect", "xlm", stdin=json.dumps(RESULT))

    assert (ran.code, ran.out) == (2, "")
    assert "unknown dialect 'xlm'" in ran.err


def test_it_runs_from_the_package_alone_and_passes_bytes_that_are_no_text() -> None:
    program = (
        "import sys; sys.modules |= dict.fromkeys(('typer', 'rich', 'jsonschema_rs', 'aiohttp', 'mcp'));"
        "from failwell.cli import main; main()"
    )

    def process(given: bytes) -> bytes:
        done = subprocess.run(
            [sys.executable, "-c", program, "rewrite"], input=given, capture_output=True, check=True, env=os.environ
        )
        assert done.stderr == b""
        return done.stdout

    assert process(b"\xff\x00{") == b"\xff\x00{"
    assert json.loads(process(json.dumps(RESULT).encode()))["_meta"]["errorCode"] == "RATE_LIMITED"


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("--dialcet", "compact"), "unknown option '--dialcet'; did you mean '--dialect'?"),
        (
            ("--dialect", "copmact"),
            "unknown dialect 'copmact': choose one of compact, envelope, flat, meta, xml; did you mean 'compact'?",
        ),
        (("surplus",), "unexpected argument 'surplus'; see failwell rewrite --help"),
    ],
    ids=" ".join,
)
def test_wrong_options_are_answered_with_what_to_type(argv: tuple[str, ...], line: str) -> None:
    command = [sys.executable, "-m", "failwell", "rewrite", *argv]
    done = subprocess.run(command, input="{}", capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"failwell: {line}\n")
