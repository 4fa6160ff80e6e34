"""What passes unread is known as well as if each line had been read at once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.proxy.conversation import Conversation, Settings
from failwell.proxy.messages import encode
from failwell.proxy.stdio import lazy_reader as lazy_readers
from failwell.proxy.stdio.lazy_reader import LazyReader
from tests.proxy.conversations import Ends


def lazy_reader(**options: Any) -> tuple[LazyReader, Conversation]:
    runner = Ends(Settings(**options)).runner
    return LazyReader(runner), runner.conversation


def is_rewritten(line: bytes | None) -> bool:
    return line is not None and b'"dev.failwell/failure"' in line


def call(id: Any, tool: str = "look") -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}) + b"\n"


def success(id: Any, *texts: str) -> bytes:
    content = [{"type": "text", "text": text} for text in texts]
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": content, "isError": False}}) + b"\n"


def failing(id: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": [], "isError": True}}) + b"\n"


def test_a_call_that_succeeds_is_counted_and_forgotten() -> None:
    one, eager = lazy_reader()
    one.note_sent(call(1))

    assert one.passes(success(1))
    assert eager.settings.calls == {}
    one.catch_up()
    assert (eager.settings.calls, eager.pending) == ({"look": 1}, {})


def test_a_failing_answer_finds_its_call_among_those_that_were_kept() -> None:
    one, _ = lazy_reader()
    one.note_sent(call(1, "a") + call(2, "b"))
    one.note_sent(call(3, "c"))

    assert one.passes(success(1))
    assert not one.passes(failing(2))
    answer = one.from_server(failing(2))
    assert is_rewritten(answer)
    assert answer is not None
    assert json.loads(answer)["result"]["_meta"]["dev.failwell/failure"]["tool"] == "b"


@pytest.mark.parametrize("is_read_between", [True, False])
def test_a_second_answer_is_dropped(is_read_between: bool) -> None:
    one, _ = lazy_reader()
    one.note_sent(call(1))
    one.passes(success(1))
    if is_read_between:
        one.catch_up()

    assert not one.passes(success(1))
    assert one.from_server(success(1)) == b""
    assert one.from_server(failing(1)) == b""


def test_answers_that_nobody_asked_for_pass_each_time() -> None:
    one, eager = lazy_reader()

    assert [one.from_server(success(7)) for _ in range(3)] == [None, None, None]
    one.catch_up()
    assert not eager.answered_ids


def test_answers_that_come_together_pass_together() -> None:
    one, eager = lazy_reader()
    one.note_sent(b"".join(call(id) for id in range(9)))

    assert one.passes(b"".join(success(id) for id in range(9)))
    one.catch_up()
    assert (eager.settings.calls, eager.pending) == ({"look": 9}, {})


@pytest.mark.parametrize(
    "lines",
    [
        success(1) + failing(2),
        success(1) + success(1),
        success(1) + b'{"jsonrpc":"2.0","method":"notifications/progress"}\n',
        success(1) + success(0),
        b"[" + success(1).strip() + b"]\n",
    ],
)
def test_lines_of_which_one_must_be_looked_at_do_not_pass_together(lines: bytes) -> None:
    one, eager = lazy_reader()
    one.note_sent(call(0) + call(1) + call(2))
    assert one.passes(success(0))

    assert not one.passes(lines)
    one.catch_up()
    assert list(eager.pending) == [1, 2]


def test_a_list_of_tools_is_learnt() -> None:
    one, eager = lazy_reader()
    one.note_sent(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

    assert one.from_server(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look"}]}}\n') is None
    assert eager.tools.names() == ("look",)


def test_a_handshake_is_remembered_though_its_answer_passed() -> None:
    one, eager = lazy_reader()
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    one.note_sent(hello)
    one.passes(success(1))
    one.catch_up()

    assert eager.handshake == [hello]


def test_successes_that_may_be_failures_are_looked_at() -> None:
    one, _ = lazy_reader(flip_unflagged=frozenset("*"))
    one.note_sent(call(1))

    assert is_rewritten(one.from_server(success(1, "Error: 404 Not Found")))


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_readers, "MAX_UNREAD_ANSWERS", 100)
    one, eager = lazy_reader()
    for id in range(1000):
        one.note_sent(call(id))
    assert len(eager.pending) > 1000 - lazy_readers.MAX_UNREAD_REQUESTS - 2
    for id in range(1000, 2000):
        one.from_server(success(id))

    assert len(one._unread) <= 101
    one.note_sent(call("long").replace(b"look", b"x" * lazy_readers.MAX_UNREAD_LENGTH))
    assert len(one._unread) == 0


def test_a_carriage_return_does_not_end_a_line() -> None:
    one, eager = lazy_reader()
    one.note_sent(b'{"id":1,\r"method":"tools/call",\r\n' + call(2))
    one.note_sent(call(3).replace(b",", b",\r") + call(4))
    one.catch_up()

    assert list(eager.pending) == [2, 3, 4]


LINES = st.tuples(st.sampled_from(["call", "ping", "odd", "success", "failing", "told"]), st.integers(1, 3))
MADE = {
    "call": call,
    "ping": lambda id: b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % id,
    "odd": lambda id: b'[{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"odd"}}]\n' % id,
    "success": success,
    "failing": failing,
    "told": lambda id: b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d}}\n' % id,
}
FROM_CLIENT = ("call", "ping", "odd")


@given(st.lists(st.lists(LINES, min_size=1, max_size=4), max_size=12))
def test_in_whatever_order_lines_come_the_same_is_known_and_said(batches: list[list[tuple[str, int]]]) -> None:
    ends, its_ends = Ends(), Ends()
    lazy, eager = LazyReader(its_ends.runner), ends.runner
    for batch in batches:
        for kind, id in batch:
            line = MADE[kind](id)
            if kind in FROM_CLIENT:
                eager.from_client(line)
                eager.note_all_sent()
                lazy.note_sent(line)
            else:
                assert lazy.from_server(line) == eager.from_server(line)
        together = b"".join(success(id) for kind, id in batch if kind == "success")
        if lazy.passes(together):
            assert {eager.from_server(line + b"\n") for line in together.splitlines()} == {None}
    lazy.catch_up()

    one, other = its_ends.runner.conversation, ends.runner.conversation
    assert (one.settings.calls, list(one.pending)) == (other.settings.calls, list(other.pending))
    assert [(event.kind, event.tool) for event in its_ends.events] == [
        (event.kind, event.tool) for event in ends.events
    ]
    assert one.answered_ids == other.answered_ids
