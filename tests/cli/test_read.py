"""`failwell read` and `failwell convert`: what they take, and what they refuse."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

import failwell as fw
from failwell.dialects._placement import META_KEY, write_whole
from failwell.records import Record, failure_fields
from tests.cli.streams import refusal, run

LIMITED = fw.Failure(code="RATE_LIMITED", message="Slow down.", tool="send_mail")
FAILED = '{"content":[{"type":"text","text":"No such file"}],"isError":true}'


def recorded(kind: Any = "failure", failure: fw.Failure | None = LIMITED, **more: Any) -> str:
    record = Record(time=1.0, source="proxy", kind=kind, tool="send_mail", **failure_fields(failure), **more)
    return msgspec.json.encode(record).decode()


def test_what_may_be_tried_does_not_contradict_the_advice() -> None:
    shown = run("read", stdin='{"error":"not_found","message":"Task t-9 does not exist."}').out

    assert "may this goal be met    no\n" in shown
    assert "other input" not in shown
    assert "call again with one of them" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("confidence", "said"), [(0.88, "guessed by the sender (88% sure)"), (0.0, "none fits (0% sure)")]
)
def test_a_guess_of_a_proxy_is_not_called_a_rule_of_ours(confidence: float, said: str) -> None:
    guessed = LIMITED.replace(origin="inferred", confidence=confidence)
    result = {"content": [], "isError": True, "_meta": {META_KEY: write_whole(guessed)}}

    assert said in run("read", stdin=json.dumps(result)).out


def test_records_of_our_own_are_shown_as_what_they_are() -> None:
    lines = (recorded(decision="escalate"), recorded("success", None), recorded("retry", delay=4.0, decision="retry"))

    shown = [line.split() for line in run("read", stdin="\n".join(lines)).out.splitlines()]

    assert shown[1:4] == [
        ["1", "send_mail", "TRANSIENT", "RATE_LIMITED", "escalate"],
        ["2", "send_mail", "success"],
        ["3", "send_mail", "TRANSIENT", "RATE_LIMITED", "retry", "in", "1", "s"],
    ]


def test_a_single_record_is_read_and_converted_too() -> None:
    assert "RATE_LIMITED\nSlow down.\n" in run("read", stdin=recorded()).out
    assert run("convert", "--to", "flat", "--text", stdin=recorded()).out.startswith('{"error":"rate_limited"')
    assert run("read", stdin=recorded("died", None))[:2] == (1, "Not a failure: a record of died.\n")


@pytest.mark.parametrize(
    ("lines", "number"),
    [((FAILED, FAILED, "oops"), 3), (("oops", FAILED, FAILED), 1), ((FAILED, "", FAILED[:-9]), 3)],
    ids=["the last", "the first", "cut off"],
)
@pytest.mark.parametrize("command", [("read",), ("convert", "--to", "xml")], ids=["read", "convert"])
def test_a_line_that_is_no_json_among_recorded_ones_is_named(
    command: tuple[str, ...], lines: tuple[str, ...], number: int
) -> None:
    assert refusal(*command, stdin="\n".join(lines)) == (
        f"line {number} of the payload is no JSON object, which a recorded line is"
    )


def test_a_sentence_with_an_object_below_it_is_one_text() -> None:
    ran = run("read", "--json", stdin=f"No such file:\n{FAILED}\n")

    assert json.loads(ran.out)["failure"]["type"] == "NOT_FOUND"


def test_more_lines_than_are_read_are_refused() -> None:
    assert refusal("read", stdin="{}\n" * 10_001) == "the payload has 10,001 lines: at most 10,000 are read"


def test_convert_refuses_many_failures_at_once() -> None:
    assert refusal("convert", "--to", "xml", stdin=f"{FAILED}\n{FAILED}") == (
        "convert takes one failure, and the payload holds 2 recorded lines: give one of them"
    )


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ('{"content":[{"type":"text"', "begins like JSON and is none: Expecting ',' delimiter: line 1 column 27"),
        ('[{"type":"text"', "begins like JSON and is none: Expecting ',' delimiter"),
        ("[" * 50_000, "is JSON that is nested too deep"),
        ('{"error":' * 20_000, "is JSON that is nested too deep"),
        ("[]", "is JSON that holds no answer of a tool"),
        ("null", "is JSON that holds no answer of a tool"),
        ("42", "is JSON that holds no answer of a tool"),
    ],
    ids=["an object cut off", "an array cut off", "deep arrays", "deep objects", "empty", "null", "a number"],
)
@pytest.mark.parametrize("command", [("read",), ("convert", "--to", "xml")], ids=["read", "convert"])
def test_json_that_cannot_be_worked_with_is_refused(command: tuple[str, ...], payload: str, why: str) -> None:
    assert refusal(*command, stdin=payload).startswith(f"the payload {why}")


@pytest.mark.parametrize("text", ["[ERROR] No such file", '{"a": 1} does not exist: No such file', '"No such file"'])
def test_a_text_that_begins_as_json_may_is_a_text(text: str) -> None:
    assert json.loads(run("read", "--json", stdin=text).out)["failure"]["type"] == "NOT_FOUND"


def test_a_server_that_dies_behind_a_proxy_is_quoted_as_well() -> None:
    dying = (sys.executable, "-c", "import sys; sys.exit('no database')")

    said = refusal("read", "--tool", "x", "--", sys.executable, "-m", "failwell", "proxy", "--", *dying)

    assert said == (
        "the server refused to start a session: The server ended with exit code 1 before it answered: no database"
    )


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = {"initialize": {"protocolVersion": "2025-06-18"}, "tools/list": {"tools": [{"name": "look"}]}}
        result = answers.get(asked["method"], json.loads(FAILED))
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_server_can_be_called_by_its_url() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            ran = run("read", "--json", "--tool", "look", f"http://127.0.0.1:{server.server_port}/mcp")
        finally:
            server.shutdown()
            thread.join()

    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["failure"]["type"] == "NOT_FOUND"


def test_a_url_of_something_else_is_refused() -> None:
    assert refusal("read", "--tool", "x", "ftp://example.com/mcp") == (
        "ftp://example.com/mcp is no address of an MCP server: it begins with http:// or https://"
    )
