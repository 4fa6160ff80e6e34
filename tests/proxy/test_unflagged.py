"""Failures that a server calls a success, through the proxy."""

import json
from typing import Any

import pytest

import failwell as fw
from failwell.proxy import rewriter
from tests.golden import inputs
from tests.proxy.clients import Client
from tests.proxy.conversations import Ends, settings

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOL = {"name": "forecast", "inputSchema": SCHEMA}


def through(text: str, arguments: dict[str, Any], **wanted: Any) -> dict[str, Any]:
    """Return the result that the client gets for a success with this text."""
    return answered({"content": [{"type": "text", "text": text}], "isError": False}, TOOL, arguments, **wanted)


def answered(result: dict[str, Any], tool: dict[str, Any], arguments: Any, **wanted: Any) -> dict[str, Any]:
    ends = Ends(settings(marks_unflagged=True, **wanted), tools=(tool,))
    params = {"name": tool["name"], "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    assert ends.runner.from_client(json.dumps(call).encode() + b"\n") is None
    answer = {"jsonrpc": "2.0", "id": 1, "result": result}
    line = json.dumps(answer).encode() + b"\n"
    found: dict[str, Any] = json.loads(ends.runner.from_server(line) or line)["result"]
    return found


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Error: city is required", {}),
        ("Error", {"city": "Rome", "days": "many"}),
        ("Invalid input: days must be an integer", {"city": "Rome", "days": "many"}),
    ],
)
def test_a_call_that_the_schema_proves_wrong_has_failed_if_its_text_complains(
    text: str, arguments: dict[str, Any]
) -> None:
    result = through(text, arguments)

    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(text)
    failure = result["_meta"]["dev.failwell/failure"]
    assert (failure["type"], failure["outcome"]) == ("VALIDATION", "unknown")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Errors in the weather of Rome: none", {"city": "Rome", "days": "many"}),
        ("Sunny", {}),
        ("Error" + "." * 5000, {}),
    ],
)
def test_what_does_not_complain_passes_as_it_is(text: str, arguments: dict[str, Any]) -> None:
    assert through(text, arguments) == {"content": [{"type": "text", "text": text}], "isError": False}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Error: city is required", {"city": "Rome"}),  # the call is right
        ("Error: the service is down", {}),  # it complains of something else
    ],
)
def test_what_is_not_proven_stays_a_success_and_says_what_it_may_be_in_meta(
    text: str, arguments: dict[str, Any]
) -> None:
    result = through(text, arguments)

    meta = result.pop("_meta")
    assert result == {"content": [{"type": "text", "text": text}], "isError": False}
    assert meta.keys() == {"dev.failwell/unflagged"}
    assert meta["dev.failwell/unflagged"]["outcome"] == "unknown"
    marked = {**result, "_meta": meta}
    assert fw.read(marked) is None
    assert fw.read(marked, unflagged=True) is not None


@pytest.mark.parametrize(
    ("text", "times"), [("Error: no such city", 1), ('{"error": "no such city"}', 2), ("Sunny", 0)]
)
def test_only_json_is_read_again_without_its_secrets(text: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    explain = rewriter.explain
    monkeypatch.setattr(rewriter, "explain", lambda *args, **more: read.append(args) or explain(*args, **more))
    result = through(text, {"city": "Rome"})

    assert ("_meta" in result, len(read)) == (times > 0, times)


def test_secrets_of_a_success_that_is_marked_stay_out_of_its_mark() -> None:
    text = json.dumps({"error": "login failed", "password": "hunter2-is-my-secret"})

    result = through(text, {"city": "Rome"})

    assert result["content"][0]["text"] == text
    assert "hunter2" not in json.dumps(result["_meta"])


def test_no_recorded_success_is_flagged() -> None:
    flagged, marked, rows = [], [], list(inputs.successes())
    for name, row in rows:
        schema = row.get("inputSchema") or {"type": "object"}
        tool = {"name": row["tool"], "inputSchema": schema, "annotations": row.get("annotations")}
        raw = row["raw"].get("result", row["raw"])
        found = answered({"isError": False, **raw}, tool, row["arguments"])
        flagged += [name] if found["isError"] else []
        marked += [name] if "dev.failwell/unflagged" in found.get("_meta", {}) else []

    assert len(rows) > 1300
    assert flagged == []
    assert len(marked) <= 0.01 * len(rows), marked


def test_observing_changes_nothing() -> None:
    assert through("Error: city is required", {}, dry_run=True)["isError"] is False


def test_a_bare_error_of_a_tool_that_the_operator_named_is_one() -> None:
    with Client("--flip-unflagged", "look") as client:
        named, other = client.call("look", n=1, do="say:Error"), client.call("act", n=1, do="say:Error")

    assert named["result"]["isError"] is True
    assert other["result"]["isError"] is False


@pytest.mark.parametrize("options", [(), ("--validate", "--flip-unflagged", "act")], ids=["one thread", "two threads"])
def test_a_proven_failure_is_flagged_in_a_session(options: tuple[str, ...]) -> None:
    with Client(*options[1:]) as client:
        answer = client.call("look", n="many", do="say:Error: n must be an integer")
        fine = client.call("look", n=1, do="say:Error: n must be an integer")

    assert answer["result"]["isError"] is True
    assert fine["result"]["isError"] is False


def test_a_list_that_may_have_changed_is_asked_for_again_before_a_call_is_proven_wrong() -> None:
    with Client() as client:
        client.ask_call("look", n=1, do="changed")
        assert client.receive()["method"] == "notifications/tools/list_changed"
        client.receive()

        answer = client.call("look", n="many", do="say:Error: n must be an integer")
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert answer["result"]["isError"] is True
    assert [method for method, *_ in seen].count("tools/list") == 2


@pytest.mark.parametrize(
    "text", ["Error: Unknown tool: forecast", "Error calling tool forecast: Unknown tool: forecast"]
)
def test_a_tool_that_is_not_listed_is_unknown_even_if_the_server_calls_that_a_success(text: str) -> None:
    ends = Ends(settings(marks_unflagged=True), tools=[{"name": "forecasts"}])
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "forecast", "arguments": {}}}
    ends.runner.from_client(json.dumps(call).encode() + b"\n")
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}}).encode()

    answer = json.loads(ends.runner.from_server(line + b"\n") or line)

    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"].startswith(text)
    found = fw.read(answer)
    assert found is not None
    assert (found.code, found.actions, found.outcome) == ("UNKNOWN_TOOL", ("forecasts",), "unknown")
