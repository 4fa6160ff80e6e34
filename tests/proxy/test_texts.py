"""What the model reads through the proxy: the server's own text, whole, then what it does not say."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.proxy.conversations import Ends, settings

TOOLS: tuple[dict[str, Any], ...] = (
    {"name": "query"},
    {"name": "list_tables"},
    {"name": "run_command"},
    {"name": "delete_record"},
)


def answered(
    answer: dict[str, Any],
    *,
    tool: str = "query",
    arguments: dict[str, Any] | None = None,
    tools: Sequence[dict[str, Any]] = TOOLS,
) -> dict[str, Any]:
    """Return what the client gets for a failing answer to a call."""
    ends = Ends(tools=tools)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments or {}},
    }
    assert ends.runner.from_client(json.dumps(call).encode() + b"\n") is None
    line = json.dumps({"jsonrpc": "2.0", "id": 1, **answer}).encode() + b"\n"
    found: dict[str, Any] = json.loads(ends.runner.from_server(line) or line)
    return found


def result_of(text: str, **how: Any) -> dict[str, Any]:
    answer = answered({"result": {"content": [{"type": "text", "text": text}], "isError": True}}, **how)
    result: dict[str, Any] = answer["result"]
    return result


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


LOG = "\n".join(f"tests/test_{at}.py::test_it PASSED" for at in range(600))
REASON = "FAILED tests/test_last.py::test_it - assert 1 == 2"


def test_a_long_log_is_read_whole_and_its_end_stands_in_meta_too() -> None:
    log = f"{LOG}\n{REASON}"

    result = result_of(log, tool="run_command")

    assert text_of(result) == log
    meta = result["_meta"]
    assert meta["dev.failwell/failure"]["message"].endswith(REASON)
    assert meta["dev.failwell/failure"]["message"].startswith("tests/test_0.py")
    assert meta["dev.failwell/original"]["text"].endswith(REASON)


@pytest.mark.parametrize("more", [{"code": -32602}, {"code": -32603, "data": {"code": "E_NOTES", "hint": "read on"}}])
def test_a_long_error_of_the_protocol_is_read_whole_too(more: dict[str, Any]) -> None:
    message = " ".join(f"note{number}" for number in range(600))

    result = answered({"error": {**more, "message": message}})["result"]

    assert text_of(result).startswith(message)


def test_of_an_endless_log_head_and_tail_are_read() -> None:
    log = "The build failed.\n" + "x y\n" * 100_000 + REASON

    text = text_of(result_of(log, tool="run_command"))

    assert len(text) <= 100_000
    assert text.startswith("The build failed.")
    assert text.endswith(REASON)


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    1/0\nZeroDivisionError: zero'


def test_the_traceback_of_a_program_stays_where_running_it_is_the_purpose() -> None:
    assert TRACEBACK in text_of(result_of(f"Exit code 1\n{TRACEBACK}", tool="run_command"))


def test_the_traceback_of_the_server_itself_does_not() -> None:
    text = text_of(result_of(TRACEBACK))

    assert "a.py" not in text
    assert "ZeroDivisionError: zero" in text


def test_what_was_not_understood_passes_unchanged() -> None:
    blocks = [
        {"type": "text", "text": "Hm. \n", "annotations": {"audience": ["user"]}},
        {"type": "text", "text": "Splines reticulated in vain."},
    ]

    result = answered({"result": {"content": blocks, "isError": True}})["result"]

    assert result["content"] == blocks
    assert result["_meta"]["dev.failwell/failure"]["confidence"] == 0.0


def test_nothing_of_a_json_body_is_lost() -> None:
    body = '{"error": {"id": "9a", "code": "RATE_LIMITED", "meta": {"plan": "Free"}}}'
    text = f"Error: API error: 429 Too Many Requests\n{body}"

    shown = text_of(result_of(text))

    assert shown.startswith(text)
    assert "Next: " in shown


def test_the_data_of_an_error_is_read() -> None:
    answer = answered({"error": {"code": -32603, "message": "It failed", "data": {"reason": "the disk is full"}}})

    assert "It failed" in text_of(answer["result"])
    assert "the disk is full" in text_of(answer["result"])


def test_a_secret_in_a_long_text_is_not() -> None:
    text = text_of(result_of(f"{LOG}\npassword=hunter2hunter2\n{LOG}\n{REASON}"))

    assert "hunter2" not in text
    assert text.endswith(REASON)


def test_the_tool_that_lists_what_is_missing_is_named() -> None:
    assert text_of(result_of("no such table: users")) == "no such table: users\nUse: list_tables"


def test_a_tool_that_does_not_exist_keeps_the_words_of_the_server() -> None:
    text = text_of(result_of("Unknown tool: list_table", tool="list_table"))

    assert text == "Unknown tool: list_table\nUse: list_tables"


def test_no_tool_is_offered_that_does_the_opposite() -> None:
    result = result_of("Unknown tool: create_record", tool="create_record")

    assert "Did you mean" not in result["_meta"]["dev.failwell/failure"]["message"]


def test_a_method_that_is_not_found_is_structured() -> None:
    error = {"code": -32601, "message": "Method not found: list_table"}

    failure = answered({"error": error}, tool="list_table")["result"]["_meta"]["dev.failwell/failure"]

    assert failure["code"] == "UNKNOWN_TOOL"
    assert failure["actions"] == ["list_tables"]
    assert failure["outcome"] == "not_executed"


def after_a_change(**wanted: Any) -> tuple[Ends, dict[str, Any]]:
    """Return the ends of a session whose tools changed, and the call of one that was listed before."""
    schema = {"type": "object", "properties": {"path": {"type": "integer"}}, "required": ["path"]}
    ends = Ends(settings(**wanted), tools=[{"name": "read", "inputSchema": schema, "outputSchema": {"type": "object"}}])
    ends.runner.from_server(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n')
    params = {"name": "read", "arguments": {"path": "/a", "depth": 1}}
    return ends, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_of_tools_that_changed_the_names_of_arguments_are_known_until_they_are_listed_again() -> None:
    ends, call = after_a_change()
    answer = {**result_with("path: no such file", structuredContent={"error": "x"}), "id": 1}
    ends.runner.from_client(json.dumps(call).encode() + b"\n")

    ends.runner.from_server(json.dumps(answer).encode() + b"\n")
    ends.pass_time()  # the tools are asked for
    ends.pass_time()  # and nobody waits for them any longer

    assert b"tools/list" in ends.to_server[-1]
    found = json.loads(ends.to_client[0])["result"]
    assert [problem["path"] for problem in found["_meta"]["dev.failwell/failure"]["fields"]] == ["path"]
    assert "structuredContent" not in found


def test_a_schema_that_may_have_changed_refuses_nothing() -> None:
    ends, call = after_a_change(validates=True)

    first = ends.runner.from_client(json.dumps(call).encode() + b"\n")
    ends.pass_time()  # nobody waits for the list any longer

    assert json.loads(first or b"{}")["method"] == "tools/list"
    assert [json.loads(line) for line in ends.to_server] == [call]
    assert ends.to_client == []


def result_with(text: str, **more: Any) -> dict[str, Any]:
    result = {"content": [{"type": "text", "text": text}], "isError": True, **more}
    return {"jsonrpc": "2.0", "result": result}


def test_a_refusal_sent_as_an_invalid_request_is_structured_if_it_blames_an_argument() -> None:
    error = {"code": -32600, "message": "Path not found: reports"}

    result = answered({"error": error}, tool="list_files", arguments={"path": "reports"})["result"]

    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Path not found: reports")
    assert result["_meta"]["dev.failwell/failure"]["code"] == "FILE_NOT_FOUND"


@pytest.mark.parametrize("message", ["Invalid Request", "Session not found", "Server not initialized"])
def test_an_invalid_request_that_blames_no_argument_stays_one(message: str) -> None:
    error = {"code": -32600, "message": message}

    assert answered({"error": error}, tool="list_files", arguments={"path": "reports"})["error"] == error


def test_an_invalid_request_is_structured_if_the_server_lists_no_such_tool() -> None:
    error = {"code": -32600, "message": "Unknown tool: kubectl_gett"}
    tools = [{"name": "kubectl_get", "inputSchema": {"type": "object"}}]

    result = answered({"error": error}, tool="kubectl_gett", tools=tools)["result"]

    assert result["content"][0]["text"] == "Unknown tool: kubectl_gett\nUse: kubectl_get"
    assert answered({"error": error}, tool="kubectl_get", tools=tools)["error"] == error


def test_a_tool_that_needs_what_is_missing_is_no_next_step() -> None:
    def takes(*names: str) -> dict[str, Any]:
        properties = {name: {"type": "string"} for name in names}
        return {"type": "object", "properties": properties, "required": list(names)}

    tools = [
        {"name": "read_output", "inputSchema": takes("outputId")},
        {"name": "grep_output", "inputSchema": takes("outputId", "pattern")},
    ]

    def text(*listed: dict[str, Any]) -> str:
        said = result_with("Output file with ID abc not found.")
        found = answered(said, tool="read_output", arguments={"outputId": "abc"}, tools=listed)
        return str(found["result"]["content"][0]["text"])

    assert text(*tools) == "Output file with ID abc not found."
    assert text(*tools, {"name": "list_outputs", "inputSchema": takes()}).endswith("\nUse: list_outputs")


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ("'Error getting database s...:1. Connection refused.'", "unknown"),
        ("'Failed to connect'", "unknown"),
        ('"Couldn\'t connect"', "unknown"),
        ("'TimeoutError: slow'", "unknown"),
        ("{'error': 'no such table'}", "unknown"),
        ("{'error': None, 'rows': []}", "executed"),
        ("'twelve'", "executed"),
    ],
)
def test_a_result_that_is_refused_by_its_schema_and_is_an_error_did_not_take_effect(value: str, outcome: str) -> None:
    text = (
        "Error executing tool dbsize: 1 validation error for dbsizeOutput\nresult\n"
        f"  Input should be a valid integer [type=int_parsing, input_value={value}, input_type=str]"
    )

    result = answered(result_with(text), tool="dbsize")["result"]

    assert result["_meta"]["dev.failwell/failure"]["outcome"] == outcome
    assert ("took effect" in result["content"][0]["text"]) is (outcome == "executed")


def test_a_tool_that_always_creates_the_same_does_not_create_what_is_missing() -> None:
    takes_path = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [
        {"name": "set_project_path", "inputSchema": takes_path},
        {"name": "create_temp_directory", "inputSchema": {"type": "object", "properties": {}}},
        {"name": "create_directory", "inputSchema": takes_path},
    ]

    def actions(*listed: dict[str, Any]) -> Any:
        said = result_with("Path does not exist: /none")
        found = answered(said, tool="set_project_path", arguments={"path": "/none"}, tools=listed)
        return found["result"]["_meta"]["dev.failwell/failure"].get("actions")

    assert actions(*tools[:2]) is None
    assert actions(*tools) == ["create_directory"]


def test_a_server_that_names_the_unknown_tool_itself_is_quoted() -> None:
    answer = {"error": {"code": -32601, "message": "MCP error -32601: Unknown tool: list_table"}}

    text = text_of(answered(answer, tool="list_table")["result"])

    assert text == "MCP error -32601: Unknown tool: list_table\nUse: list_tables"


def test_a_server_that_does_not_say_what_it_does_not_know_is_put_into_words() -> None:
    answer = {"error": {"code": -32601, "message": "Method not found"}}

    text = text_of(answered(answer, tool="list_table")["result"])

    assert text == "There is no tool 'list_table'. Did you mean 'list_tables'?\nUse: list_tables"
