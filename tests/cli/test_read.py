"""`failwell read`: what it takes, what it shows, and what it refuses."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

import failwell as fw
from failwell.dialects import DIALECTS
from failwell.records import Record, failure_fields
from tests.cli.streams import RATE_LIMITED, SUCCESS, output, refusal, run

LIMITED = fw.Failure(code="RATE_LIMITED", message="Slow down.", tool="send_mail")
FAILED = '{"content":[{"type":"text","text":"No such file"}],"isError":true}'


def recorded(kind: Any = "failure", failure: fw.Failure | None = LIMITED, **more: Any) -> str:
    record = Record(time=1.0, source="proxy", kind=kind, tool="send_mail", **failure_fields(failure), **more)
    return msgspec.json.encode(record).decode()


def test_what_may_be_tried_does_not_contradict_the_advice() -> None:
    shown = run("read", stdin='{"error":"not_found","message":"Task t-9 does not exist."}').out

    assert "worth another call?  no\n" in shown
    assert shown.partition("evidence")[0].count("NOT_FOUND") == 1
    assert "call again" not in shown
    assert "Do not repeat this call. Look up what exists, or continue without it." in " ".join(shown.split())


def test_nothing_is_claimed_of_a_text_that_was_not_understood() -> None:
    shown = run("read", stdin='{"content":[{"type":"text","text":"Error executing tool find"}],"isError":true}').out

    assert "worth another call?  unknown\n" in shown
    assert "same call later?     unknown\n" in shown
    assert "side effects         unknown\n" in shown
    assert "guessed from text" not in shown


@pytest.mark.parametrize(("confidence", "said"), [(0.88, "guessed by the sender (88% sure)"), (0.0, "none (0% sure)")])
def test_a_guess_of_a_proxy_is_not_called_a_rule_of_ours(confidence: float, said: str) -> None:
    guessed = LIMITED.replace(origin="inferred", confidence=confidence)
    result = {**fw.encode(guessed), "content": []}

    assert said in run("read", stdin=json.dumps(result)).out


def test_records_of_our_own_are_shown_as_what_they_are() -> None:
    lines = (recorded(decision="escalate"), recorded("success", None), recorded("retry", delay=4.0, decision="retry"))

    shown = [line.split() for line in run("read", stdin="\n".join(lines)).out.splitlines()]

    assert shown[1:4] == [
        ["1", "TRANSIENT", "escalate", "send_mail", "RATE_LIMITED"],
        ["2", "success", "send_mail"],
        ["3", "TRANSIENT", "retry", "in", "1", "s", "send_mail", "RATE_LIMITED"],
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
        f"line {number} of the payload is not a JSON object, as a recorded line must be"
    )


def test_a_sentence_is_taken_for_the_text_of_an_error_and_not_for_a_program() -> None:
    assert "SERVICE_UNAVAILABLE" in output("read", "503 Service Unavailable")


def test_one_word_is_taken_for_the_text_of_an_error_unless_it_may_be_a_program() -> None:
    assert "NOT_FOUND" in output("read", "NOT_FOUND")

    assert refusal("read", "--tool", "search", "nosuchserver").startswith("cannot start 'nosuchserver'")
    for name in ("./server", "server.py", "no-such-server"):
        assert refusal("read", name).startswith(f"cannot start '{name}'")


def test_a_sentence_with_an_object_below_it_is_one_text() -> None:
    ran = run("read", "--json", stdin=f"No such file:\n{FAILED}\n")

    assert json.loads(ran.out)["failure"]["type"] == "NOT_FOUND"


def test_more_lines_than_are_read_are_refused() -> None:
    assert refusal("read", stdin="{}\n" * 10_001) == "the payload has 10,001 lines: at most 10,000 are read"


def test_convert_refuses_many_failures_at_once() -> None:
    assert refusal("convert", "--to", "xml", stdin=f"{FAILED}\n{FAILED}") == (
        "convert takes one failure, but the input has 2 recorded lines: give one of them"
    )


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ('{"content":[{"type":"text"', "looks like JSON but is invalid: Expecting ',' delimiter: line 1 column 27"),
        ('[{"type":"text"', "looks like JSON but is invalid: Expecting ',' delimiter"),
        ("[" * 50_000, "is nested too deeply"),
        ('{"error":' * 20_000, "is nested too deeply"),
        ("[]", "is JSON but not the result of a tool"),
        ("null", "is JSON but not the result of a tool"),
        ("42", "is JSON but not the result of a tool"),
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
        "ftp://example.com/mcp is not the address of an MCP server: use http:// or https://"
    )


def test_read_shows_the_failure_and_the_decision_with_its_reason() -> None:
    shown = output("read", "--tool", "search", stdin=RATE_LIMITED)

    for expected in ("RATE_LIMITED", "Slow down", "60 s", "search", "retry in 60 s", "The server asked to wait"):
        assert expected in shown


def test_read_shows_every_field_and_detail() -> None:
    problems = fw.Validation(tool="create_user").add("email", "ann", "Not an address")
    failure = problems.failure
    assert failure is not None

    shown = output("read", stdin=json.dumps(fw.encode(failure.replace(details={"form": {"step": 2}}))))

    for expected in ("field email", "Not an address", "detail form", '{"step":2}', "create_user", "fix input"):
        assert expected in shown


def test_read_as_json_gives_failure_and_decision() -> None:
    found = json.loads(output("read", "--json", stdin=RATE_LIMITED))

    assert (found["failure"]["code"], found["failure"]["retry_after"]) == ("RATE_LIMITED", 60)
    assert (found["decision"]["action"], found["decision"]["delay"]) == ("retry", 60)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_read_shows_what_a_server_wrote_in_any_dialect(dialect: str) -> None:
    failure = fw.Locked("It is locked by ann.", details={"by": "ann"}, retry_after=5).failure

    found = json.loads(output("read", "--json", stdin=json.dumps(fw.encode(failure, dialect))))

    assert fw.read({"_meta": {"dev.failwell/failure": found["failure"]}, "content": []}) == failure


@pytest.mark.parametrize(
    ("hint", "action"), [((), "verify"), (("--idempotent",), "retry"), (("--read-only",), "retry")]
)
def test_the_decision_depends_on_what_is_known_of_the_tool(hint: tuple[str, ...], action: str) -> None:
    text = '<tool_error code="TIMEOUT"><message>No answer.</message></tool_error>'

    assert json.loads(output("read", "--json", *hint, stdin=text))["decision"]["action"] == action


def test_read_of_a_success_says_so_and_exits_with_1() -> None:
    assert run("read", stdin=SUCCESS) == (1, "Not a failure.\n\nhello\n", "")
    code, out, _ = run("read", "--json", stdin=SUCCESS)
    assert (code, json.loads(out)) == (
        1,
        {"result": "hello", "failure": None, "rule": None, "evidence": [], "decision": None, "repair": None},
    )


def test_read_finds_an_unflagged_failure_only_if_told_where_to_look() -> None:
    unflagged = json.dumps({"content": [{"type": "text", "text": RATE_LIMITED}], "isError": False})

    assert run("read", stdin=unflagged)[0] == 1
    assert "RATE_LIMITED" in output("read", "--dialect", "flat", stdin=unflagged)
    assert "RATE_LIMITED" in output("read", "--unflagged", stdin=unflagged)


def test_read_takes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(RATE_LIMITED)

    assert "RATE_LIMITED" in output("read", "--file", str(path))


def test_read_names_the_rule_and_mends_the_call(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"properties": {"level": {"type": "integer"}}}')
    told = ("--arguments", '{"level": "5"}', "--schema", str(schema))
    text = "Input validation error: '5' is not of type 'integer'"

    shown = output("read", *told, stdin=text)
    found = json.loads(output("read", "--json", *told, stdin=text))

    for expected in ("jsonschema text (95% sure)", "repair  95% sure", '{"level":5}', "level: the number itself"):
        assert expected in shown
    assert (found["rule"], found["repair"]["arguments"]) == ("jsonschema text", {"level": 5})


def shown_evidence(result: Any, *options: str) -> dict[str, dict[str, Any]]:
    found = json.loads(output("read", "--json", *options, stdin=json.dumps(result)))["evidence"]
    return {row["claim"]: row for row in found}


def flagged(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def test_read_shows_the_rule_and_the_words_that_it_knows() -> None:
    text = "Error executing tool x: Note n-17 does not exist"

    found = shown_evidence(flagged(text), "--tool", "x", "--arguments", '{"note": "n-17"}')
    start, end = found["code"]["span"]

    assert (found["code"]["proof"], found["code"]["rule"]) == ("rule", "does not exist")
    assert text[start:end] == found["code"]["words"] == "does not exist"
    assert (found["field note"]["proof"], text[slice(*found["field note"]["span"])]) == ("text", "n-17")
    assert found["failure"]["reason"] == "`isError` says so"
    assert found["retryable"] == {
        "claim": "retryable", "value": False, "proof": "catalog", "rule": None, "words": "NOT_FOUND", "where": None,
        "span": None, "reason": "follows from NOT_FOUND",
    }  # fmt: skip


def test_read_shows_the_keys_that_state_something() -> None:
    body = {"error": {"code": "RATE_LIMITED", "retry_after": 30, "retryable": True}}

    found = shown_evidence(flagged(json.dumps(body)))

    assert {claim: (row["proof"], row["where"], row["words"]) for claim, row in found.items() if row["words"]} == {
        "code": ("key", "content[0].text.error.code", "RATE_LIMITED"),
        "retryable": ("key", "content[0].text.error.retryable", "true"),
        "retry_after": ("key", "content[0].text.error.retry_after", "30"),
        "outcome": ("catalog", None, "RATE_LIMITED"),
    }


def test_the_words_that_read_shows_are_those_that_decided_and_not_what_the_caller_sent() -> None:
    text = "Error executing tool x: Nothing was found. The note 'not found' does not exist"

    found = shown_evidence(flagged(text), "--tool", "x", "--arguments", '{"note": "not found"}')

    start, end = found["code"]["span"]
    assert text[start:end] == found["code"]["words"]
    assert "'not found'" not in text[:start] or start > text.index("'not found'") + 10


@pytest.mark.parametrize("first", [True, False])
def test_of_two_places_that_contradict_each_other_read_shows_the_one_that_is_believed(first: bool) -> None:
    body = {"code": "E_UPSTREAM", "retryable": first, "retry_after": 5 if first else 9}
    other = {"code": "E_UPSTREAM", "retryable": not first, "retry_after": 9 if first else 5}
    result = {**flagged(json.dumps(body)), "structuredContent": other}

    found = shown_evidence(result)

    no, longer = ("structuredContent", "structuredContent") if first else ("content[0].text", "content[0].text")
    assert (found["retryable"]["value"], found["retryable"]["where"]) == (False, f"{no}.retryable")
    assert (found["retry_after"]["value"], found["retry_after"]["where"]) == (9, f"{longer}.retry_after")


def test_read_shows_the_code_as_the_service_wrote_it() -> None:
    body = {"error": {"type": "invalid_request_error", "code": "resource_missing", "message": "No such customer"}}

    found = shown_evidence(flagged(f"Error executing tool x: {json.dumps(body)}"))["code"]

    assert (found["value"], found["proof"], found["where"], found["words"]) == (
        "NOT_FOUND", "key", "content[0].text.error.code", "resource_missing",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "claim", "words"),
    [
        ("Do not retry: account permanently suspended", "retryable", "Do not retry"),
        ("Created issue 42, but could not add the label: label not found", "outcome", "Created issue 42, but"),
        ("Rate limited, try again in 1 hour 20 minutes.", "retry_after", "try again in 1 hour 20 minutes"),
        ("Moved 3 of 5 files: permission denied", "code", "3 of 5"),
        ("request failed with status 404", "code", "status 404"),
    ],
)
def test_read_quotes_what_a_claim_rests_on(text: str, claim: str, words: str) -> None:
    found = shown_evidence(flagged(text))[claim]

    assert (found["words"], text[slice(*found["span"])]) == (words, words)


def test_read_shows_what_the_schema_proves(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"level": {"type": "integer"}}}')
    told = ("--arguments", '{"level": "high"}', "--schema", str(schema))

    found = shown_evidence({**flagged("level must be a number"), "isError": False}, *told)

    assert (found["failure"]["proof"], found["failure"]["words"]) == ("sign", "level")
    assert found["field level"]["reason"] == "the input schema: Expected integer, received string"


def test_read_says_what_nothing_tells() -> None:
    found = shown_evidence(flagged("something odd"))

    assert [(row["claim"], row["reason"]) for row in found.values()][1:] == [
        (claim, "the answer does not say") for claim in ("code", "retryable", "outcome")
    ]


def test_read_shows_the_evidence_in_plain_english() -> None:
    shown = " ".join(output("read", stdin=json.dumps(flagged("Note n-17 does not exist"))).split())

    assert "evidence it failed `isError` says so" in shown
    assert "code NOT_FOUND rule “does not exist” by the words “does not exist” (characters 10 to 24" in shown


def test_read_calls_a_type_that_has_no_code_a_type() -> None:
    shown = " ".join(output("read", stdin=json.dumps(flagged("Nobody by that name works here"))).split())

    assert "type NOT_FOUND rule “all words together” by the words “nobody that here”" in shown
    assert "outcome unknown the answer does not say" in shown


def test_no_secret_is_shown_as_evidence() -> None:
    secret = "ghp_" + "a1B2" * 9
    text = f"Invalid token {secret} does not exist"

    shown = output(
        "read", "--json", "--tool", "x", "--arguments", json.dumps({"token": secret}), stdin=json.dumps(flagged(text))
    )

    assert secret not in shown


@pytest.mark.parametrize("option", ["--arguments", "--schema"])
def test_read_refuses_arguments_and_schemas_that_are_no_json_object(option: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text("[1]")

    code, _, err = run("read", option, "[1]" if option == "--arguments" else str(path), stdin="boom")

    assert code == 2
    assert "must be a JSON object" in err


def test_read_takes_a_file_of_recorded_lines(tmp_path: Path) -> None:
    failed = {"content": [{"type": "text", "text": "ENOENT: no such file"}], "isError": True}
    recorded = {"raw": json.dumps(failed), "tool": "read_file", "arguments": {"path": "a.txt"}}
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join((json.dumps(failed), json.dumps(recorded), SUCCESS)))

    shown = output("read", "--file", str(path))
    found = json.loads(output("read", "--json", "--file", str(path)))

    assert shown.endswith("2 NOT_FOUND, 1 not a failure\n")
    assert [one["failure"] and one["failure"].get("tool") for one in found] == [None, "read_file", None]


def test_read_of_recorded_successes_exits_with_1(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(f"{SUCCESS}\n{SUCCESS}\n")

    assert run("read", "--file", str(path))[0] == 1


@pytest.mark.parametrize("payload", ["{}", '{{"error":"not_found","message":"{}"}}'], ids=["text", "structure"])
def test_what_a_payload_holds_cannot_drive_the_terminal(payload: str) -> None:
    hostile = "boom \x1b[31mred\x07 \u202egnp"
    shown = output("read", stdin=payload.format(hostile if payload == "{}" else json.dumps(hostile)[1:-1]))

    assert "boom" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_the_result_of_a_success_is_redacted_cut_and_cannot_drive_the_terminal() -> None:
    hostile = "3 orders, password=hunter2 \x1b[31mred" + "x" * 10_000
    shown = run("read", stdin=json.dumps({"content": [{"type": "text", "text": hostile}]})).out

    assert shown.startswith("Not a failure.\n\n3 orders, ")
    assert "hunter2" not in shown
    assert "\x1b" not in shown
    assert len(shown) < 3000


@pytest.mark.parametrize("payload", ["<tool_error>" * 20_000, '{"message":"\\ud800"}'])
def test_a_strange_payload_is_answered_without_a_traceback(payload: str) -> None:
    code, out, err = run("read", "--json", stdin=payload)

    assert code in (0, 1)
    assert json.loads(out).keys() == {"result", "failure", "rule", "evidence", "decision", "repair"}
    assert err == ""


SERVER = """
import json, sys
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [{"name": "add", "inputSchema": SCHEMA}]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"initialize": {"protocolVersion": "2025-06-18"}, "tools/list": {"tools": TOOLS}}.get(message["method"])
    if answer is None:
        n = message["params"]["arguments"].get("n")
        text = "fine" if isinstance(n, int) else "Invalid arguments: n must be an integer"
        answer = {"content": [{"type": "text", "text": text}], "isError": text != "fine"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
"""


def test_a_live_call_is_made_read_and_mended(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    command = ("--tool", "add", "--json", "--", sys.executable, str(tmp_path / "server.py"))

    code, out, _ = run("read", "--arguments", '{"n": "5"}', *command)

    found = json.loads(out)
    assert (code, found["failure"]["type"]) == (0, "VALIDATION")
    assert found["repair"]["arguments"] == {"n": 5}
    assert run("read", "--arguments", '{"n": 5}', *command)[0] == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--", sys.executable, "-c", "pass"), "server ended"),
        (("--tool", "x", "--", "no-such-program-anywhere"), "no-such-program-anywhere"),
    ],
)
def test_a_server_that_cannot_be_called_is_told_in_one_line(argv: tuple[str, ...], words: str) -> None:
    assert words in refusal("read", *argv)


def test_a_payload_may_be_an_argument() -> None:
    assert run("read", FAILED) == run("read", stdin=FAILED)
    assert run("read", f"[{FAILED}]") == run("read", stdin=f"[{FAILED}]")


def test_a_payload_that_is_an_argument_is_the_only_input(tmp_path: Path) -> None:
    file = tmp_path / "failure.json"
    file.write_text(FAILED)

    assert "both a payload and --file are given" in refusal("read", "--file", str(file), FAILED)
    assert "more than one payload is given" in refusal("read", FAILED, FAILED)
    assert "looks like JSON but is invalid" in refusal("read", FAILED[:-1])


def test_what_the_payload_states_is_not_called_a_guess_from_text() -> None:
    shown = run("read", stdin='{"error":{"code":"RATE_LIMITED","message":"Slow down.","retry_after":30}}').out

    assert "guessed from text" not in shown
    assert "side effects         not executed (inferred from the payload)\n" in shown
    assert "wait at least        30 s\n" in shown


def test_the_number_of_a_json_rpc_error_is_shown_as_the_evidence_for_its_code() -> None:
    shown = run(
        "read", stdin='{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"limit must be at most 100"}}'
    ).out

    assert "code INVALID_ARGUMENT  error.code is “-32602”\n" in shown
