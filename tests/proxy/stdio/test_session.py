"""The proxy in front of a real process: what passes, what fails, what dies."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.proxy.stdio import restarts
from tests.proxy.clients import SERVER, Client


def failure(answer: Any) -> fw.Failure:
    assert answer["result"]["isError"] is True
    found = fw.read(answer)
    assert found is not None
    return found


def test_what_does_not_fail_passes_byte_for_byte() -> None:
    with Client() as client:
        client.send(
            b'{"jsonrpc" :"2.0","params":{"name":"look","arguments":{"n":1}},\t"method":"tools/call","id":"7"}\r\n'
        )

        assert client.line() == (
            b'{"jsonrpc": "2.0", "id": "7", "result": {"content": [{"type": "text", "text": "{\\"n\\": 1}"}]}}\n'
        )


def test_a_failing_result_becomes_a_structured_one_and_keeps_the_rest() -> None:
    with Client() as client:
        answer = client.call("look", n=1, do="fail:429 Too Many Requests, retry after 30 seconds")

    assert answer.keys() == {"jsonrpc", "id", "result"}
    assert answer["id"] == 3
    assert answer["result"]["content"][0]["text"].startswith("429 Too Many Requests, retry after 30 seconds\n")
    assert answer["result"]["_meta"]["dev.failwell/original"] == {
        "text": "429 Too Many Requests, retry after 30 seconds"
    }
    assert failure(answer).retry_after == 30


def test_the_operator_chooses_the_dialect() -> None:
    with Client("--dialect", "xml") as client:
        answer = client.call("look", n=1, do="fail:404 Not Found")

    assert answer["result"]["content"][0]["text"].startswith("<tool_error ")


def test_a_json_rpc_error_of_a_call_becomes_a_result_with_the_wrong_fields() -> None:
    with Client() as client:
        answer = client.call("look", n="many", do="error:-32602")

    found = failure(answer)
    assert (found.type, [problem.path for problem in found.fields]) == ("VALIDATION", ["n"])
    assert answer["result"]["_meta"]["dev.failwell/original"]["error"]["code"] == -32602


@pytest.mark.parametrize("code", [-32700, -32600, -32020, -32021, -32022, -32042])
def test_errors_of_the_protocol_stay_what_they_are(code: int) -> None:
    with Client() as client:
        assert client.call("look", n=1, do=f"error:{code}")["error"] == {"code": code, "message": "Invalid params"}


def test_errors_of_other_requests_stay_what_they_are() -> None:
    with Client() as client:
        answer = client.request("ping")

    assert answer["result"] == {}


def test_results_of_the_newer_protocol_keep_their_type() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    with Client() as client:
        answer = client.call("look", meta, n=1, do="error:-32603")

    assert answer["result"]["resultType"] == "complete"


def test_structured_content_that_a_client_would_choke_on_moves_to_the_original() -> None:
    with Client() as client:
        typed = client.call("typed", n=1, do="structured")["result"]
        untyped = client.call("look", n=1, do="structured")["result"]

    assert "structuredContent" not in typed
    assert typed["_meta"]["dev.failwell/original"] == {"text": "404 Not Found", "structuredContent": {"error": "x"}}
    assert untyped["structuredContent"] == {"error": "x"}
    assert (typed["other"], untyped["other"]) == (1, 1)


def test_a_tool_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with Client() as client:
        found = failure(client.call("lok", n=1, do="fail:Unknown tool: lok"))

    assert found.message == "There is no tool 'lok'. Did you mean 'look'?"
    assert (found.code, found.actions) == ("UNKNOWN_TOOL", ("look",))


def test_a_tool_that_is_listed_and_yet_unknown_is_left_as_the_server_says() -> None:
    with Client() as client:
        found = failure(client.call("look", n=1, do="fail:Unknown tool: look"))

    assert (found.message, found.actions) == ("Unknown tool: look", ())


def test_schemas_are_known_from_every_page_of_the_list() -> None:
    with Client("--validate", server=["--pages"]) as client:
        client.request("tools/list", {"cursor": "2"})

        refused = [client.call(tool, n="x") for tool in ("look", "act")]

    assert [failure(answer).outcome for answer in refused] == ["not_executed", "not_executed"]


def test_wrong_arguments_do_not_reach_the_server() -> None:
    with Client("--validate") as client:
        refused = client.call("act", n="x")
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert failure(refused).fields[0].path == "n"
    assert ["tools/call", refused["id"], None] not in seen
    assert len(seen) == 4


def test_a_schema_that_may_have_changed_is_asked_for_again_before_it_refuses_a_call() -> None:
    with Client("--validate") as client:
        client.ask_call("look", n=1, do="changed")
        assert client.receive()["method"] == "notifications/tools/list_changed"
        client.receive()

        refused = client.call("look", n="x")
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert failure(refused).fields[0].path == "n"
    assert [method for method, *_ in seen].count("tools/list") == 2


def test_error_text_called_a_success_is_flipped_where_the_operator_says_so() -> None:
    with Client("--flip-unflagged", "act") as client:
        flipped = client.call("act", n=1, do="say:Error: connection refused")
        left = client.call("look", n=1, do="say:Error: connection refused")

    assert failure(flipped).type == "TRANSIENT"
    assert left["result"]["isError"] is False


def test_answers_in_a_batch_are_upgraded_too() -> None:
    with Client() as client:
        client.send(
            b'[{"jsonrpc":"2.0","id":50,"method":"tools/call","params":{"name":"look","arguments":{"n":1,"do":"batch"}}}]\n'
        )
        [answer] = client.receive()

    assert failure(answer).type == "PERMISSION"


def test_a_second_answer_to_the_same_call_is_dropped() -> None:
    with Client() as client:
        first = client.call("look", n=1, do="twice")
        second = client.call("look", n=2)

    assert first["result"]["content"] == []
    assert second["id"] == first["id"] + 1


def test_lines_that_are_no_answers_pass() -> None:
    with Client() as client:
        client.ask_call("look", n=1, do="garbage")
        lines = [client.line() for _ in range(3)]
        strange = client.call("look", n=1, do="strange")

    assert lines[:2] == [b"not json at all\n", b"{broken\n"]
    assert strange["id"] == 987654


def test_long_lines_pass_both_ways() -> None:
    with Client() as client:
        answer = client.call("look", n=1, do="size:3000000", more="y" * 2_000_000)

    assert answer["result"]["content"][0]["text"] == "x" * 3_000_000


@pytest.mark.parametrize(("end", "code"), [("exit:3", 3), ("kill", 137)])
def test_a_dying_server_answers_what_it_took_along(end: str, code: int) -> None:
    client = Client()
    with client:
        taken = client.ask_call("act", n=1, do="silence")
        other = client.ask("ping")
        client.receive()
        client.ask_call("act", n=1, do=end)
        answers = client.rest()

    assert client.code == code
    assert other == taken + 1
    assert [failure(answer).outcome for answer in answers] == ["unknown", "unknown"]
    assert {failure(answer).code for answer in answers} == {"CONNECTION_LOST"}
    assert answers[0]["id"] == taken


def test_half_a_line_is_dropped_and_its_call_answered() -> None:
    with Client() as client:
        client.ask_call("act", n=1, do="half")
        answers = client.rest()

    assert [failure(answer).code for answer in answers] == ["CONNECTION_LOST"]


def test_other_requests_of_a_dead_server_get_an_error() -> None:
    client = Client(server=["--die"])
    client.ask("initialize", {})
    [answer] = client.rest()
    client.close()

    assert client.code == 7
    assert answer["error"]["message"] == "The server ended with exit code 7 before it answered."


def test_a_restarted_server_has_shaken_hands() -> None:
    with Client("--restart") as client:
        died = client.call("act", n=1, do="exit:1")
        after = client.call("look", n=1, do="seen")["result"]

    assert failure(died).outcome == "unknown"
    assert after["initialized"] is True
    assert [method for method, *_ in after["seen"]] == ["initialize", "notifications/initialized", "tools/call"]


def test_a_restarted_server_learns_the_level_of_the_log_and_the_subscriptions() -> None:
    with Client("--restart") as client:
        client.request("logging/setLevel", {"level": "error"})
        client.request("logging/setLevel", {"level": "debug"})
        for uri in ("a", "b"):
            client.request("resources/subscribe", {"uri": uri})
        client.request("resources/unsubscribe", {"uri": "a"})
        client.call("act", n=1, do="exit:1")
        after = client.call("look", n=1, do="seen")

    told = [[method, id] for method, id, _ in after["result"]["seen"]]
    assert told[2:] == [
        ["logging/setLevel", "failwell-again-1-0"],
        ["resources/subscribe", "failwell-again-1-1"],
        ["tools/call", after["id"]],
    ]


def test_a_server_that_keeps_dying_is_not_started_for_ever() -> None:
    client = Client("--restart", server=["--die"])
    client.ask("initialize", {})
    answers = client.rest()
    client.close()

    assert client.code == 7
    assert len(answers) == 1


def test_a_safe_call_is_made_again_under_a_new_id_and_answered_once() -> None:
    with Client("--retry") as client:
        id = client.ask_call("look", {"progressToken": "t"}, n=1, do="fail until:2")
        got = [client.receive() for _ in range(3)]
        after = client.call("look", n=2)

    assert [message.get("method") for message in got] == ["notifications/progress", "notifications/progress", None]
    assert got[2]["id"] == id
    assert got[2]["result"]["content"][0]["text"] == "call 2 as failwell-retry-1"
    assert after["id"] == id + 1


def test_a_tool_that_is_not_safe_is_never_run_twice() -> None:
    with Client("--retry") as client:
        answer = client.call("act", n=1, do="fail until:2")
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert failure(answer).type == "TRANSIENT"
    assert sum(method == "tools/call" for method, *_ in seen) == 2


def test_the_operator_may_call_a_tool_safe() -> None:
    with Client("--retry", "--retry-safe", "act") as client:
        assert "call 2" in client.call("act", n=1, do="fail until:2")["result"]["content"][0]["text"]


def test_a_call_that_fails_every_time_says_how_often_it_was_tried() -> None:
    with Client("--retry") as client:
        answer = client.call("look", n=1, do="fail:503 Service Unavailable")

    assert answer["result"]["_meta"]["dev.failwell/retry"] == {"attempts": 3}
    assert failure(answer).type == "TRANSIENT"


def test_an_effect_that_an_earlier_try_may_have_had_is_not_denied_by_the_last() -> None:
    with Client("--retry", "--retry-safe", "act") as client:
        answer = client.call("act", n=1, do="fail with:503 Service Unavailable; 400 Bad Request")

    assert answer["result"]["_meta"]["dev.failwell/retry"] == {"attempts": 2}
    assert (failure(answer).type, failure(answer).outcome) == ("VALIDATION", "unknown")


def test_the_operator_s_word_that_a_tool_is_safe_is_in_the_advice() -> None:
    with Client("--retry-safe", "act") as client:
        safe = client.call("act", n=1, do="fail:503 Service Unavailable")
    with Client() as client:
        unknown = client.call("act", n=1, do="fail:503 Service Unavailable")

    assert failure(safe).suggestion == "This call is safe to repeat. Wait, then call again."
    check = "The call may have taken effect. If this tool changes anything, check before calling it again."
    assert failure(unknown).suggestion == check


def test_a_call_that_waits_for_another_try_is_cancelled_without_the_server() -> None:
    with Client("--retry", "--deadline", "100") as client:
        id = client.ask_call("look", n=1, do="fail:503 Service Unavailable, retry after 60 seconds")
        client.request("ping")
        client.notify("notifications/cancelled", {"requestId": id})
        seen = client.call("look", n=1, do="seen")["result"]["seen"]

    assert seen[-3:] == [["tools/call", id, None], ["ping", id + 1, None], ["tools/call", id + 2, None]]


def test_a_retried_call_is_cancelled_under_the_id_the_server_knows() -> None:
    with Client("--retry") as client:
        id = client.ask_call("look", n=1, do="fail once")
        while ["tools/call", "failwell-retry-1", None] not in client.call("act", n=1, do="seen")["result"]["seen"]:
            continue
        client.notify("notifications/cancelled", {"requestId": id})
        seen = client.call("act", n=1, do="seen")["result"]["seen"]

    assert seen[-2] == ["notifications/cancelled", None, "failwell-retry-1"]


@pytest.mark.parametrize("options", [("--retry",), ("--retry", "--restart")], ids=["for good", "restarted"])
def test_what_a_dying_server_did_with_the_second_try_nobody_knows(options: tuple[str, ...]) -> None:
    with Client(*options) as client:
        answer = client.call("act", n=1, do="limit, then die")

    found = failure(answer)
    assert (answer["id"], found.code, found.outcome) == (3, "CONNECTION_LOST", "unknown")
    assert answer["result"]["_meta"]["dev.failwell/retry"] == {"attempts": 2}


def test_a_server_that_cannot_be_started_again_leaves_no_call_unanswered(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text(f"#!{SERVER[0]} -I\n" + Path(SERVER[-1]).read_text())
    program.chmod(0o700)
    with Client("--restart", command=[str(program)]) as client:
        program.unlink()
        answer = client.call("act", n=1, do="exit:1")

        assert client.rest() == []

    assert (answer["id"], failure(answer).outcome) == (3, "unknown")


LENIENT = {"say:cut \ud83d": b'"text": "cut \\ud83d"}], "isError": false}}\n', "not a number": b'{"n": NaN}}}\n'}


@pytest.mark.parametrize("do", LENIENT, ids=["half a character", "no number"])
def test_what_only_lenient_programs_read_passes_and_is_the_one_answer(do: str) -> None:
    with Client() as client:
        client.ask_call("look", n=1, do=do)
        line = client.line()
        client.hang_up()

        assert client.rest() == []

    assert line.endswith(LENIENT[do])


def test_a_call_that_could_not_be_written_again_as_it_was_is_made_once() -> None:
    with Client("--retry") as client:
        answer = client.call("look", n=1, do="fail until:2", text="\ud83d")

    assert (answer["id"], failure(answer).code) == (3, "SERVICE_UNAVAILABLE")


def test_a_safe_call_survives_the_death_of_the_server() -> None:
    with Client("--retry", "--restart") as client:
        taken = client.ask_call("look", n=1, do="silence")
        client.call("act", n=1, do="exit:1")
        looks = (client.call("look", n=1, do="seen")["result"]["seen"] for _ in range(5000))
        again = any(["tools/call", "failwell-retry-1", None] in seen for seen in looks)  # it waits for a moment first

    assert (taken, again) == (3, True)


def test_events_tell_what_happened_without_secrets(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    with Client("--events", str(log), "--retry") as client:
        client.call("look", n=1, do="fail until:2")
        client.call("act", n=1, do="fail:cannot log in with password=hunter2")
        client.call("act", n=1, do="say:Error: connection refused")
    lines = [json.loads(line) for line in log.read_text().splitlines()]

    assert [line["kind"] for line in lines] == ["retry", "recovered", "failure", "unflagged"]
    assert [line["tool"] for line in lines] == ["look", "look", "act", "act"]
    assert lines[1]["attempt"] == 2
    assert lines[0]["failure"]["type"] == "TRANSIENT"
    assert "hunter2" not in log.read_text()


def test_a_dry_run_reports_and_changes_nothing(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    with Client("--events", str(log), "--observe", "--validate", "--retry", "--flip-unflagged", "*") as client:
        failed = client.call("look", n=1, do="fail:503 Service Unavailable")
        wrong = client.call("look", n="x")
        said = client.call("look", n=1, do="say:Error: connection refused")
    lines = [json.loads(line) for line in log.read_text().splitlines()]

    assert failed["result"]["content"][0]["text"] == "503 Service Unavailable"
    assert "isError" not in wrong["result"]
    assert said["result"]["isError"] is False
    assert [line["kind"] for line in lines] == ["retry", "failure", "success", "retry", "flipped"]
    assert lines[2]["details"]["refused"] == "VALIDATION_FAILED"
    assert all(line["details"]["dry_run"] for line in lines)


@pytest.mark.parametrize(
    "options", [[], ["--observe"], ["--observe", "--retry", "--validate"], ["--retry"], ["--validate"]], ids="".join
)
def test_a_failing_call_that_is_the_last_line_of_the_input_is_answered(options: list[str]) -> None:
    params = {"name": "look", "arguments": {"n": 1, "do": "fail:File not found: /a"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    command = [sys.executable, "-m", "failwell", "proxy", *options, "--", *SERVER]

    done = subprocess.run(command, input=json.dumps(call).encode() + b"\n", capture_output=True, timeout=60, check=True)

    (answer,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (answer["id"], answer["result"]["isError"]) == (2, True)
    assert answer["result"]["content"][0]["text"].startswith("File not found: /a")


def test_the_summary_counts_per_tool() -> None:
    with Client() as client:
        client.call("look", n=1)
        client.call("act", n=1, do="fail:404 Not Found")
    lines = list(client.proxy.summary.lines(client.proxy.loader.runner.conversation.settings.calls))

    assert lines == ["2 calls, 1 failed", "  act: 1 call, 1 failed (NOT_FOUND 1)"]


def test_a_server_that_does_not_end_with_its_client_is_ended() -> None:
    client = Client("--grace", "0.1", server=["--stubborn"])
    with client:
        client.call("look", n=1)

    assert client.code == 128 + signal.SIGKILL


def test_a_server_that_closes_its_output_is_ended() -> None:
    client = Client("--grace", "0.1")
    with client:
        client.ask_call("act", n=1, do="close output")
        answers = client.rest()

    assert [failure(answer).code for answer in answers] == ["CONNECTION_LOST"]
    assert client.code == 128 + signal.SIGTERM


def test_a_signal_is_passed_on() -> None:
    client = Client()
    with client:
        client.call("look", n=1)
        client.proxy.session.send_signal(signal.SIGTERM)
        assert client.rest() == []

    assert client.code == -signal.SIGTERM  # the proxy ends by this signal too


def test_a_client_that_stops_reading_ends_the_server() -> None:
    client = Client("--grace", "0.1", server=["--stubborn"])
    with client:
        client.stop_reading()
        client.ask_call("look", n=1)
        client.wait()

    assert client.code == 128 + signal.SIGKILL


@pytest.mark.parametrize("options", [(), ("--retry",)], ids=["one thread", "two threads"])
@pytest.mark.parametrize("is_signal", [True, False], ids=["signal", "end of input"])
def test_a_client_that_does_not_read_its_last_answers_is_not_waited_for(
    options: tuple[str, ...], is_signal: bool
) -> None:
    client = Client(*options)
    with client:
        client.ask_call("look", n=1, do="size:5000000")
        client.see()
        if is_signal:
            client.proxy.session.send_signal(signal.SIGTERM)
        else:
            client.hang_up()
        client.wait()
        client.stop_reading()

    assert client.code == (-signal.SIGTERM if is_signal else 0)


def test_a_last_message_without_an_end_keeps_its_line_to_itself() -> None:
    with Client() as client:
        client.ask_call("look", n=1, do="silence")
        client.ask_call("look", n=1, do="no end")
        ended, lost = client.rest()

    assert ended["result"] == {"content": []}
    assert failure(lost).code == "CONNECTION_LOST"


def test_a_successor_that_dies_at_once_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "HANDSHAKE_TIMEOUT", 600.0)
    died = tmp_path / "died"
    with Client("--restart", server=["--die-after", str(died)]) as client:
        answer = client.call("act", n=1, do="exit:3")
        rest = client.rest()

    assert (failure(answer).outcome, rest, client.code) == ("unknown", [], 7)


@pytest.mark.parametrize("with_notice", [False, True])
@pytest.mark.parametrize(
    ("annotations", "is_retried"),
    [
        ([{}, {"readOnlyHint": True}], False),
        ([{"readOnlyHint": True}, {}], False),
        ([{"readOnlyHint": True}, {"readOnlyHint": 1}, {"readOnlyHint": True}], False),
        ([{"readOnlyHint": True}] * 2, True),
    ],
    ids=["widened", "narrowed", "narrowed and widened again", "the same"],
)
def test_a_tool_that_is_listed_anew_never_gains_the_right_to_run_twice(
    annotations: list[Any], is_retried: bool, with_notice: bool
) -> None:
    with Client("--retry", server=("--annotations", json.dumps(annotations))) as client:
        for _ in annotations[1:]:
            if with_notice:
                client.call("act", n=1, do="changed")
                client.receive()
            client.request("tools/list")
        calls = len(annotations) - 1 if with_notice else 0
        answer = client.call("act", n=1, do=f"fail until:{calls + 2}")

    assert ("isError" not in answer["result"]) is is_retried


def test_a_call_on_its_way_loses_the_right_to_run_twice_with_its_tool() -> None:
    with Client("--retry", server=("--annotations", json.dumps([{"readOnlyHint": True}, {}]))) as client:
        id = client.ask_call("act", n=1, do="fail once, after the next list")
        client.request("tools/list")
        answer = client.receive()

    assert (answer["id"], answer["result"]["isError"]) == (id, True)


@pytest.mark.parametrize("options", [(), ("--retry",), ("--flip-unflagged", "act")])
def test_a_cancelled_call_gets_one_answer_at_most_though_the_server_sends_two(options: tuple[str, ...]) -> None:
    with Client(*options, server=("--answers-cancelled",)) as client:
        id = client.ask_call("act", n=1, do="silence")
        client.notify("notifications/cancelled", {"requestId": id})
        answers = [client.receive()]
        last = client.ask("ping")
        answers.append(client.receive())

    assert [answer["id"] for answer in answers] == [id, last]
    assert answers[0]["result"]["_meta"]["dev.failwell/failure"]["code"] == "NOT_FOUND"


def test_a_cancelled_call_is_not_answered_when_the_server_ends() -> None:
    with Client() as client:
        id = client.ask_call("act", n=1, do="silence")
        client.notify("notifications/cancelled", {"requestId": id})
        client.request("ping")
        client.hang_up()

        assert client.rest() == []
