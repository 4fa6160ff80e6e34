"""Classes of wording that servers nobody had seen before were misread by: each in words of our own."""

import json
from typing import Any

import pytest

import failwell as fw
from failwell.advice import advised
from tests.reading.corpus import CERTAIN


def read(text: str, **known: Any) -> fw.Failure:
    found = fw.read({"content": [{"type": "text", "text": text}], "isError": True}, **known)
    assert found is not None
    return found


def read_unflagged(text: str, **known: Any) -> fw.Failure | None:
    return fw.read({"content": [{"type": "text", "text": text}], "isError": False}, **known, unflagged=True)


def paths(failure: fw.Failure | None) -> list[str]:
    return [problem.path for problem in failure.fields] if failure else []


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("Your consent was revoked, so nothing can be read any more.", "PERMISSION"),
        ("The OAuth handshake was cancelled in the browser", "PERMISSION"),
        ("No cached refresh token", "PERMISSION"),
        ("Login refused: INVALID_APP_KEY", "PERMISSION"),
        ("Container 'cache' is not allowed. Pick one of: app, jobs", "PERMISSION"),
        ("You may only write files inside the workspace", "PERMISSION"),
        ("Visits not allowed according to robots.txt", "PERMISSION"),
        ("The script deploy.sh is not executable", "PERMISSION"),
        ("Directory not allowed: /opt. It must be within one of the shared folders", "PERMISSION"),
        ("HttpError 403 while the sheet was changed", "PERMISSION"),
        ("You may not reply to this thread", "PERMISSION"),
        ("There is no mailbox under the alias 'ops'.", "NOT_FOUND"),
        ("The label is not attached to that ticket", "NOT_FOUND"),
        ("No member has 'zoe' as a nickname", "NOT_FOUND"),
        ("Unknown mailbox", "NOT_FOUND"),
        ("The recipient is unknown", "NOT_FOUND"),
        ("Preview not available for item 77", "NOT_FOUND"),
        ("Model tiny-9 not found. Pull it first, then call again", "NOT_FOUND"),
        ("无结果", "NOT_FOUND"),
        ("A validation exception was raised", "VALIDATION"),
        ("Error validating the draft", "VALIDATION"),
        ("This command only supports plain text", "VALIDATION"),
        ("Got 4 columns but the sheet only has 3", "VALIDATION"),
        ("That is not a video file", "VALIDATION"),
        ("Label contains illegal characters", "VALIDATION"),
        ("The record was kept because 3 invoices are still linked to it", "CONFLICT"),
        ("Somebody else is changing this page", "CONFLICT"),
        ("No active shell here", "CONFLICT"),
        ("An invoice cannot be paid in its present state", "CONFLICT"),
        ("Stamps may only be added after the form was opened", "CONFLICT"),
        ("Insufficient stock", "CONFLICT"),
        ("Request to the forge failed after 5 attempts", "TRANSIENT"),
        ("A pause of 12 seconds is needed", "TRANSIENT"),
        ("Failed to list the nearby pumps: 429", "TRANSIENT"),
        ("The job queue is full", "TRANSIENT"),
        ("Too many sign-ups from here, try again later", "TRANSIENT"),
        ("Make sure that `figlet` is installed", "INTERNAL"),
        ("The reply lacks its envelope", "INTERNAL"),
        ("No mailboxes defined in mail.toml", "INTERNAL"),
        ("name 'make_client' is not defined", "INTERNAL"),
        ("Connection aborted: no such file or directory (/run/engine.sock)", "INTERNAL"),
    ],
)
def test_a_wording_has_its_type(text: str, type_: str) -> None:
    known = {"arguments": {"depth": 2}, "input_schema": {"properties": {"depth": {"type": "integer"}}}}

    failure = read(text, tool="collect", **known)

    assert failure.type == type_
    assert (failure.confidence or 0) >= CERTAIN


@pytest.mark.parametrize("text", ["Page content is empty", "Envelope missing", "The feed was blank"])
def test_what_is_missing_is_an_argument_only_if_one_is_meant(text: str) -> None:
    known: dict[str, Any] = {"arguments": {"depth": ""}, "input_schema": {"properties": {"depth": {"type": "string"}}}}

    assert read(text, **known).confidence == 0
    assert read("Depth is empty", **known).code == "MISSING_REQUIRED_FIELD"
    assert paths(read("Depth is empty", **known)) == ["depth"]


@pytest.mark.parametrize(
    ("text", "arguments", "blamed"),
    [
        ("Sheet 'Q1' has no charts.", {"sheet": "Q1", "name": "Sales"}, []),
        ("Project 'apollo' does not have a task 'ship'", {"project": "apollo", "task": "ship"}, ["task"]),
        ("Sheet 'Q1' not found", {"sheet": "Q1", "name": "Sales"}, ["sheet"]),
    ],
)
def test_what_lacks_something_is_not_what_is_missing(text: str, arguments: dict[str, Any], blamed: list[str]) -> None:
    failure = read(text, tool="delete", arguments=arguments)

    assert failure.type == "NOT_FOUND"
    assert paths(failure) == blamed


def test_an_argument_that_was_sent_is_not_called_missing() -> None:
    failure = read("email: an @ is required", tool="invite", arguments={"email": "bob"})

    assert failure.code == "INVALID_ARGUMENT"
    assert [(field.path, field.kind, field.required) for field in failure.fields] == [("email", None, None)]


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("channel_id and text are required", ["channel_id", "text"]),
        ("text, title and channel_id are required", ["channel_id", "text", "title"]),
        ("Missing title and text", ["text", "title"]),
        ("title is required and text must be short", ["title"]),
    ],
)
def test_all_arguments_in_a_list_of_missing_ones_are_named(text: str, missing: list[str]) -> None:
    properties = {name: {"type": "string"} for name in ("channel_id", "text", "title", "mode")}
    schema = {"type": "object", "properties": properties}
    failure = read(text, tool="send", arguments={"mode": "x"}, input_schema=schema)

    assert failure.code == "MISSING_REQUIRED_FIELD"
    assert sorted(paths(failure)) == missing


def test_an_argument_beside_which_another_is_missing_is_not_blamed() -> None:
    text = "find_text parameter is required for find_replace operation"
    failure = read(text, tool="edit", arguments={"operation": "find_replace", "content": "x"})

    assert failure.code == "MISSING_REQUIRED_FIELD"
    assert failure.fields == ()


def test_a_quota_that_is_renewed_by_itself_is_waited_for() -> None:
    limited = {"code": -32000, "message": "Quota exceeded", "data": {"retryDelay": "34s"}}
    told = fw.read({"jsonrpc": "2.0", "id": 1, "error": limited})
    daily = read("Daily quota reached, resets in 3 hours")

    assert told is not None
    assert (told.code, told.retryable, told.retry_after) == ("RATE_LIMITED", True, 34)
    assert (daily.code, daily.retryable, daily.retry_after) == ("RATE_LIMITED", True, 10_800)
    assert read("Daily quota reached").code == "QUOTA_EXHAUSTED"


def test_what_only_systems_write_counts_more_than_all_the_words_around_it() -> None:
    failure = read(
        "Failed to delete resource: Command failed: kubectl delete pod x -n default\n"
        'E1118 "Unhandled Error" err="could not get current server API group list: '
        'Get http://localhost:8080/api?timeout=32s: dial tcp 127.0.0.1:8080: connect: connection refused"'
    )

    assert failure.code == "CONNECTION_REFUSED"


def test_a_limit_on_how_many_there_may_be_is_not_waited_out() -> None:
    failure = read("429 Too Many Requests: maximum number of webhooks reached (50)")

    assert (failure.code, failure.retryable) == ("QUOTA_EXHAUSTED", False)


@pytest.mark.parametrize(
    ("text", "arguments", "blamed"),
    [
        ("End page must be after start page", {"end_page": 2, "start_page": 5}, ["end_page", "start_page"]),
        ("Unsupported target encoding", {"encoding": "x9", "text": "a"}, ["encoding"]),
        ("404: Board Not Found", {"board_id": 7, "card_id": 9}, ["board_id"]),
        ("No such invoice", {"invoiceNumber": 12, "currency": "EUR"}, ["invoiceNumber"]),
        ("Either query or file_ref must be given", {}, ["file_ref", "query"]),
        ("Missing 'owner_id' or 'repo_id'", {"owner_id": 1}, ["repo_id"]),
        ("Start page cannot exceed end page", {"start_page": 2, "end_page": 1}, ["start_page", "end_page"]),
        ("Wanted a positive number for depth, which is invalid", {"depth": 0, "text": "a"}, ["depth"]),
        ('Anchor "Q" not found in book.md', {"anchor": "Q", "file": "book.md"}, ["anchor"]),
        ("Passage not found in book.md", {"file": "book.md", "old": "x y"}, []),
        ("lane is required when cardId is given", {"cardId": 1}, ["lane"]),
        ("lane is required unless cardId is given", {}, ["lane"]),
        ("lane is required for this board (except when cardId='5')", {}, ["lane"]),
        ("Folder /a/b does not exist. Pass makeParents: true to create it", {"folder": "/a/b"}, ["folder"]),
    ],
)
def test_the_argument_that_is_spoken_of_is_blamed(text: str, arguments: dict[str, Any], blamed: list[str]) -> None:
    names: dict[str, Any] = {name: {} for name in (*arguments, *blamed, "makeParents", "cardId")}

    assert paths(read(text, arguments=arguments, input_schema={"properties": names})) == blamed


def test_two_arguments_that_may_be_meant_are_not_blamed_for_a_thing_that_is_not_there() -> None:
    assert paths(read("Board not found", arguments={"board_id": 1, "board_name": "x"})) == []


def test_a_word_in_an_address_is_not_a_value_that_was_sent() -> None:
    text = "404 Not Found: https://api.example.com/v1/player/pause"

    assert paths(read(text, arguments={"action": "pause"})) == []


def test_a_name_that_is_not_defined_is_the_callers_if_the_caller_sent_it() -> None:
    text = "name 'frame' is not defined"

    assert read(text, arguments={"script": "print(frame)"}).type == "VALIDATION"
    assert paths(read(text, arguments={"script": "print(frame)"})) == ["script"]
    assert read(text, arguments={"host": "db"}).type == "INTERNAL"


def test_a_code_names_the_thing_that_is_not_there() -> None:
    body = {"ok": False, "error": "channel_not_found"}

    assert paths(read(json.dumps(body), arguments={"channel_id": "C1", "text": "hi"})) == ["channel_id"]


@pytest.mark.parametrize(
    "text",
    [
        "MCP error -32001: Session not found",
        "MCP error 32600: Session terminated",
        "Error POSTing to endpoint (HTTP 404): Session not found",
        'Error POSTing to endpoint: {"jsonrpc": "2.0", "error": {"code": -32001, "message": "Session not found"}}',
    ],
)
def test_what_a_client_says_of_a_lost_session_is_known_as_text(text: str) -> None:
    failure = read(text)

    assert (failure.code or "", failure.type, failure.outcome) == ("SESSION_LOST", "TRANSIENT", "unknown")


def test_a_session_of_the_tools_own_is_not_that_of_the_protocol() -> None:
    assert read("Session not found", arguments={"session": "s-1"}).code == "NOT_FOUND"


def test_metadata_of_a_servers_own_is_read_with_the_text() -> None:
    result = {
        "content": [{"type": "text", "text": "Error: the ticket is not there"}],
        "metadata": {"errorType": "UPSTREAM", "statusCode": 404},
    }

    failure = fw.read(result, tool="ticket_get", unflagged=True)

    assert failure is not None
    assert (failure.type, failure.http_status) == ("NOT_FOUND", 404)
    assert fw.read({**result, "metadata": {"page": 1}, "content": [{"text": "fine"}]}, unflagged=True) is None


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("set_option", {"option": "a.b"}, '{"error": "no such option: a.b", "available_options": ["x", "y"]}'),
        ("rotate_video", {"angle": 7}, "Rotation failed\nError: angle must be a multiple of 90"),
        ("inspect_book", {"isbn": "1"}, "(book not found)"),
        ("get_comments", {"post_ref": "x"}, '{"error": "Invalid post"}'),
        ("get_history", {"every": "7m"}, "Error: every=7m cannot be had"),
        ("get_job_status", {"job_id": "j-1"}, "Error: Job ID not found"),
        ("ingest_text", {"body": ""}, "Error: the body must not be empty."),
        ("edit_files", {"paths": ["/a/b"]}, '{"/a/b": {"result": "error", "reason": "File not found"}}'),
        ("draw_map", {"zoom": 3}, "Internal error has occurred."),
        ("read_file", {"path": "/x/y"}, "Access denied: can only read files below the home directory"),
        ("compare_sheets", {"left": "/a.csv"}, '{"success": false, "error": "File not found: /a.csv", "took": 0.1}'),
    ],
)
def test_an_unflagged_failure_is_found(tool: str, arguments: dict[str, Any], text: str) -> None:
    assert read_unflagged(text, tool=tool, arguments=arguments) is not None


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("read_file", {"path": "a.txt"}, "Access denied: read failed"),
        ("file_exists", {"path": "/a"}, '{"success": false, "error": "File not found: /a"}'),
        ("validate_json", {"text": "{"}, '{"success": false, "error": "unexpected end of input", "line": 1}'),
        ("get_message", {"id": "m-1"}, '{"error": "the subject line of the mail"}'),
        ("list_settings", {}, '{"available_modes": ["a"], "error_mode": "strict"}'),
        ("draw_map", {"zoom": 3}, "No error has occurred."),
        ("summarize", {"text": "x"}, "(the author does not say who was not found)"),
        ("build_site", {}, "Optional checks failed\nAll pages were written."),
    ],
)
def test_an_answer_that_sounds_like_a_failure_is_none(tool: str, arguments: dict[str, Any], text: str) -> None:
    assert read_unflagged(text, tool=tool, arguments=arguments) is None


def test_a_name_in_use_is_taken_and_a_port_in_use_is_busy() -> None:
    assert read('The container name "/web" is already in use by container "1f"').code == "ALREADY_EXISTS"
    assert read("The email address is already in use").code == "ALREADY_EXISTS"
    assert read("Port 8080 is already in use").code == "RESOURCE_BUSY"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (
            {"name": "RESOURCE_CONFLICT", "debug_id": "d", "details": [{"issue": "PREVIOUS_REQUEST_IN_PROGRESS"}]},
            "RESOURCE_BUSY",
        ),
        ({"error": {"message": "(#3) Refused", "type": "OAuthException", "code": 3, "fbtrace_id": "A"}}, "FORBIDDEN"),
        ({"Fault": {"Error": [{"Message": "Refused", "code": "120"}], "type": "AuthorizationFault"}}, "FORBIDDEN"),
        ({"Fault": {"Error": [{"Message": "Refused", "code": "6190"}], "type": "ValidationFault"}}, "PAYMENT_REQUIRED"),
        (
            {"Fault": {"Error": [{"Message": "Refused", "code": "6210"}], "type": "ValidationFault"}},
            "PRECONDITION_FAILED",
        ),
    ],
)
def test_a_vendors_code_is_what_its_documentation_says(body: dict[str, Any], code: str) -> None:
    assert read(json.dumps(body)).code == code


PROGRAMS = [
    ("execute_command", {"command": "./pay.sh; curl http://x"}, "curl: (7) Failed to connect: Connection refused"),
    ("shell_exec", {"cmd": "./pay.sh && psql"}, "psql: error: connection to server failed: Connection refused"),
    ("bash", {"command": "./pay.sh; cat /none"}, "cat: /none: No such file or directory"),
    ("run_python", {"code": "pay()\nopen('/none')"}, "FileNotFoundError: [Errno 2] No such file or directory: '/none'"),
    ("run-code", {"code": "pay()\nimport foo"}, "ModuleNotFoundError: No module named 'foo'"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "text"), PROGRAMS, ids=[tool for tool, _, _ in PROGRAMS])
def test_what_a_program_did_before_it_failed_is_unknown(tool: str, arguments: dict[str, Any], text: str) -> None:
    failure = read(text, tool=tool, arguments=arguments)

    assert failure.outcome == "unknown"
    assert "repeat" not in (advised(failure).suggestion or "")
    assert read(text, tool="send_mail", arguments={"to": "ann"}).outcome in ("not_executed", "rejected")


def test_a_call_that_a_runner_of_programs_refused_was_not_run() -> None:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    refused = read("Missing required argument: command", tool="bash", arguments={}, input_schema=schema)

    assert (refused.type, paths(refused), refused.outcome) == ("VALIDATION", ["command"], "not_executed")
