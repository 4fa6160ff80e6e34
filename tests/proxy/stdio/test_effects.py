"""What lines mean, without any process."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import failwell as fw
from failwell.proxy import conversation as conversations
from failwell.proxy import rewriter as rewriters
from failwell.proxy.bounds import MAX_PENDING, MIN_TOOL_LIST_INTERVAL
from failwell.proxy.conversation import Settings
from failwell.proxy.messages import encode
from failwell.proxy.stdio.effects import EffectRunner
from failwell.proxy.stdio.loader import ConversationLoader
from failwell.proxy.stdio.pump import Pump, write_all
from tests.proxy.conversations import Ends


def runner() -> EffectRunner:
    return Ends().runner


def is_rewritten(line: bytes | None) -> bool:
    return line is not None and b'"dev.failwell/failure"' in line


def call(id: Any, tool: str = "look") -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}) + b"\n"


def failing(id: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": [], "isError": True}}) + b"\n"


@pytest.mark.parametrize("id", [1, -1, "1", "", 1.5, 2**70])
def test_every_kind_of_id_finds_its_call(id: Any) -> None:
    one = runner()
    one.from_client(call(id))

    assert is_rewritten(one.from_server(failing(id)))


def test_a_number_and_a_text_are_different_ids() -> None:
    one = runner()
    one.from_client(call(1))

    assert one.from_server(failing("1")) == failing("1")
    assert is_rewritten(one.from_server(failing(1)))


def test_requests_of_the_server_do_not_answer_those_of_the_client() -> None:
    one = runner()
    one.from_client(call(1))

    assert one.from_server(b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n') is None
    assert one.from_client(b'{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}\n') is None
    assert 1 in one.conversation.pending


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]\n",
        b"[[1]]\n",
        b"null\n",
        b'{"id":1}\n',
        b'{"id":null,"method":"tools/call"}\n',
        b'{"id":true,"method":"tools/call","params":{"name":"x"}}\n',
        b'{"id":[1],"method":"tools/call","params":[1]}\n',
        b'{"method":"notifications/cancelled","params":{"requestId":{}}}\n',
        b'{"method":5}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"jsonrpc":"2.0","method":"notifications/progress"}\n',
        b'{"jsonrpc":"2.0","id":1,"result":[]}\n',
    ],
)
def test_lines_that_make_no_sense_pass_both_ways(line: bytes) -> None:
    one = runner()

    assert one.from_client(line) is None
    assert one.from_server(line) is None


def test_a_call_without_a_name_is_not_a_tool_s() -> None:
    one = runner()
    one.from_client(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}\n')
    one.from_client(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[1]}\n')

    assert one.from_server(failing(1)) == failing(1)
    assert one.from_server(failing(2)) == failing(2)


def test_a_cancelled_call_is_not_pending_and_one_answer_to_it_is_structured() -> None:
    one = runner()
    one.from_client(call(1))
    one.from_client(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')

    assert one.conversation.pending == {}
    assert is_rewritten(one.from_server(failing(1)))
    assert one.from_server(failing(1)) == b""


def test_cancelled_calls_do_not_pile_up() -> None:
    one = runner()
    for id in range(2 * MAX_PENDING):
        one.from_client(call(id))
        one.from_client(
            encode({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}) + b"\n"
        )
        one.note_all_sent()

    assert one.from_server(failing(0)) == failing(0)
    assert is_rewritten(one.from_server(failing(2 * MAX_PENDING - 1)))


def test_calls_that_nobody_answers_do_not_pile_up() -> None:
    one = runner()
    for id in range(2 * MAX_PENDING):
        one.from_client(call(id))
        one.note_all_sent()

    assert len(one.conversation.pending) == MAX_PENDING
    assert 2 * MAX_PENDING - 1 in one.conversation.pending


def test_answers_to_a_batch_are_told_apart() -> None:
    one = runner()
    one.from_client(b"[" + call(1).strip() + b"," + call(2).strip() + b"]\n")

    answer = one.from_server(b"[" + failing(2).strip() + b',{"id":1,"result":{}}]\n')
    assert answer is not None
    first, second = json.loads(answer)
    assert "dev.failwell/failure" in first["result"]["_meta"]
    assert second == {"id": 1, "result": {}}
    assert one.conversation.settings.calls == {"look": 2}


def test_an_id_that_is_used_again_is_a_new_request() -> None:
    one = runner()
    for _ in range(2):
        one.from_client(call(1))
        assert is_rewritten(one.from_server(failing(1)))

    assert one.from_server(failing(1)) == b""


def test_lines_that_the_server_took_nothing_of_count_as_not_sent() -> None:
    one = runner()
    for id in (1, 2, 3):
        one.from_client(call(id))
    one.note_all_sent()
    one.note_not_sent(b"[" + call(2).strip() + b"]\n" + call(3))

    assert [request.is_sent for request in one.conversation.pending.values()] == [True, False, False]


def test_what_passed_before_the_conversation_was_loaded_is_read_then() -> None:
    one = runner()
    loader = ConversationLoader(lambda: one)
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'

    assert loader.from_client(hello) is None
    assert one.conversation.handshake == []
    assert loader.from_client(call(2)) is None
    assert one.conversation.handshake == [hello]
    assert [request.is_sent for request in one.conversation.pending.values()] == [True, False]


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_lines_are_the_same_however_they_are_cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"one\nkeep\r\n\ndrop\nchange\nlast"
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    monkeypatch.setattr("os.read", lambda *_: parts.pop(0) if parts else b"")
    changes = {b"drop\n": b"", b"change\n": b"changed\n"}
    written: list[bytes] = []

    rest = Pump(0, changes.get, written.append).run()

    assert b"".join(written) == b"one\nkeep\r\n\nchanged\n"
    assert rest == b"last"


def test_what_a_closed_end_does_not_take_is_told() -> None:
    assert write_all(b"abc", -1) == 0


@pytest.mark.parametrize("params", ["[1]", '{"uri":[1]}', "[" * 100_000 + "]" * 100_000])
def test_what_is_to_last_and_makes_no_sense_does_no_harm(params: str) -> None:
    one = runner()
    line = b'{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":' + params.encode() + b"}\n"

    assert one.from_client(line) is None
    assert one.from_client(call(2)) is None
    assert 2 in one.conversation.pending


def test_answers_are_remembered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.proxy.conversation.MAX_ANSWERED_IDS", 10)
    one = runner()
    for id in range(25):
        one.from_client(call(id))
        one.from_server(failing(id))

    assert one.from_server(failing(24)) == b""
    assert one.from_server(failing(11)) == b""
    assert one.from_server(failing(1)) == failing(1)
    assert len(one.conversation.answered_ids) <= 20


@pytest.mark.parametrize(
    ("said", "times"),
    [("Task t-9 not found", 2), (fw.encode(fw.Failure(message="No task t-9.", code="NOT_FOUND"), "envelope"), 1)],
)
def test_tools_that_come_late_have_only_a_text_read_again(
    said: Any, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()
    for module, name in ((conversations, "decode_line"), (rewriters, "explain")):
        monkeypatch.setattr(module, name, counted(getattr(module, name), counts))
    ends = Ends(tools=())
    content = [{"type": "text", "text": said}] if isinstance(said, str) else said["content"]
    answer = encode({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": True}}) + b"\n"
    ends.runner.from_client(call(1))
    assert ends.runner.from_server(answer) == b""
    ends.waiting.pop(0)()  # the request for the tools, and not the end of the wait for them
    listing = json.loads(ends.to_server[0])
    ends.runner.from_server(encode({"jsonrpc": "2.0", "id": listing["id"], "result": {"tools": [{"name": "look"}]}}))
    ends.pass_time()

    assert is_rewritten(ends.to_client[0])
    assert counts == {"decode_line": 1, "explain": times}


def counted(function: Callable[..., Any], counts: Counter[str]) -> Callable[..., Any]:
    def call(*args: Any, **more: Any) -> Any:
        counts[function.__name__] += 1
        return function(*args, **more)

    return call


LIST = b'{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"client":"a"}}}\n'
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\r\n'


def listed(id: Any, *names: str) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"tools": [{"name": name} for name in names]}}) + b"\n"


def listing_client() -> Ends:
    """The ends of a session whose client has listed the tools."""
    ends = Ends(tools=())
    ends.runner.from_client(LIST)
    ends.runner.from_server(listed(0, "look"))
    return ends


def test_tools_that_changed_are_listed_again_at_once_in_the_name_of_the_client() -> None:
    ends = listing_client()

    passed = ends.runner.from_server(CHANGED)
    ends.pass_time()
    [asked] = ends.to_server
    answered = ends.runner.from_server(listed(json.loads(asked)["id"], "seek"))

    assert passed == CHANGED
    assert json.loads(asked) == {**json.loads(LIST), "id": "failwell-tools-1"}
    assert answered == b""  # the client asked for nothing
    assert ends.runner.conversation.tools.names() == ("seek",)
    assert ends.to_client == []


def test_a_failure_after_the_new_list_waits_for_nothing() -> None:
    ends = listing_client()
    ends.runner.from_server(CHANGED)
    ends.pass_time()
    ends.runner.from_server(listed("failwell-tools-1", "look"))

    ends.runner.from_client(call(1))

    assert is_rewritten(ends.runner.from_server(failing(1)))
    assert len(ends.to_server) == 1


def test_a_server_that_says_each_time_that_its_tools_changed_is_not_asked_without_end() -> None:
    ends = listing_client()

    for _ in range(10):
        ends.runner.from_server(CHANGED)
        ends.pass_time()
    at_once = len(ends.to_server)
    ends.now += MIN_TOOL_LIST_INTERVAL
    ends.runner.from_server(CHANGED)
    ends.pass_time()

    assert (at_once, len(ends.to_server)) == (1, 2)


def test_tools_that_were_asked_for_in_vain_are_asked_for_again_when_they_are_needed() -> None:
    ends = listing_client()
    ends.runner.from_server(CHANGED)
    ends.pass_time()
    ends.runner.from_server(b'{"jsonrpc":"2.0","id":"failwell-tools-1","error":{"code":-32603,"message":"busy"}}\n')

    ends.runner.from_client(call(1))
    ends.runner.from_server(failing(1))
    ends.pass_time()

    assert [json.loads(line)["id"] for line in ends.to_server] == ["failwell-tools-1", "failwell-tools-2"]


def test_the_tools_of_a_client_that_never_listed_them_are_not_listed_for_a_change() -> None:
    ends = Ends()

    passed = ends.runner.from_server(CHANGED)
    ends.pass_time()

    assert (passed, ends.to_server) == (None, [])


def test_a_call_whose_arguments_are_right_is_decoded_once_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    monkeypatch.setattr(conversations, "decode", counted(conversations.decode, counts))
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    ends = Ends(Settings(validates=True), tools=({"name": "look", "inputSchema": schema},))

    assert ends.runner.from_client(called(1, path="/srv/a.txt")) is None
    assert (counts, ends.to_client) == ({"decode": 1}, [])
    assert ends.runner.conversation.pending[1].call.arguments == {"path": "/srv/a.txt"}
    assert counts == {"decode": 1}
    assert ends.runner.from_client(called(2, path=7)) == b""
    assert is_rewritten(ends.to_client[0])
    assert 2 not in ends.runner.conversation.pending


def called(id: int, **arguments: Any) -> bytes:
    params = {"name": "look", "arguments": arguments}
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}) + b"\n"
