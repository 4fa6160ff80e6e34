"""What passes unread is known as well as if each line had been read at once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.proxy.messages import encode
from failwell.proxy.stdio import tracker
from failwell.proxy.stdio.tracker import LazyTracker, Tracker


class Noting:
    """A handler that only notes what it gets."""

    def __init__(self) -> None:
        self.answered: list[Any] = []

    def answer(self, request: Any, line: bytes) -> bytes | None:
        self.answered.append((request.id, request.tool, request.is_sent))
        return b"upgraded %d\n" % len(self.answered)

    def filter_progress(self, _: bytes) -> bytes | None:
        return None

    def redacted(self, id: Any, line: bytes) -> bytes | None:
        return None


def lazy_tracker(**options: bool) -> tuple[LazyTracker, Tracker, Noting]:
    handler = Noting()
    eager = Tracker(lambda _: handler, lambda _: None, **options)  # type: ignore[arg-type, return-value]
    return LazyTracker(eager), eager, handler


def call(id: Any, tool: str = "look") -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}) + b"\n"


def success(id: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": [], "isError": False}}) + b"\n"


def failing(id: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": [], "isError": True}}) + b"\n"


def test_a_call_that_succeeds_is_counted_and_forgotten() -> None:
    one, eager, _ = lazy_tracker()
    one.note_sent(call(1))

    assert one.passes(success(1))
    assert eager.calls == {}
    one.catch_up()
    assert (eager.calls, eager.pending) == ({"look": 1}, {})


def test_a_failing_answer_finds_its_call_among_those_that_were_kept() -> None:
    one, _, handler = lazy_tracker()
    one.note_sent(call(1, "a") + call(2, "b"))
    one.note_sent(call(3, "c"))

    assert one.passes(success(1))
    assert not one.passes(failing(2))
    assert one.from_server(failing(2)) == b"upgraded 1\n"
    assert handler.answered == [(2, "b", True)]


@pytest.mark.parametrize("is_read_between", [True, False])
def test_a_second_answer_is_dropped(is_read_between: bool) -> None:
    one, _, _ = lazy_tracker()
    one.note_sent(call(1))
    one.passes(success(1))
    if is_read_between:
        one.catch_up()

    assert not one.passes(success(1))
    assert one.from_server(success(1)) == b""
    assert one.from_server(failing(1)) == b""


def test_answers_that_nobody_asked_for_pass_each_time() -> None:
    one, eager, _ = lazy_tracker()

    assert [one.from_server(success(7)) for _ in range(3)] == [None, None, None]
    one.catch_up()
    assert not eager.answered_ids


def test_answers_that_come_together_pass_together() -> None:
    one, eager, _ = lazy_tracker()
    one.note_sent(b"".join(call(id) for id in range(9)))

    assert one.passes(b"".join(success(id) for id in range(9)))
    one.catch_up()
    assert (eager.calls, eager.pending) == ({"look": 9}, {})


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
    one, eager, _ = lazy_tracker()
    one.note_sent(call(0) + call(1) + call(2))
    assert one.passes(success(0))

    assert not one.passes(lines)
    one.catch_up()
    assert list(eager.pending) == [1, 2]


def test_a_list_of_tools_is_learnt() -> None:
    one, eager, _ = lazy_tracker()
    one.note_sent(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

    assert one.from_server(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look"}]}}\n') is None
    assert eager.tools.names() == ("look",)


def test_a_handshake_is_remembered_though_its_answer_passed() -> None:
    one, eager, _ = lazy_tracker()
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    one.note_sent(hello)
    one.passes(success(1))
    one.catch_up()

    assert eager.handshake == [hello]


def test_successes_that_may_be_failures_are_looked_at() -> None:
    one, _, handler = lazy_tracker(reads_successes=True)
    one.note_sent(call(1))

    assert one.from_server(success(1)) == b"upgraded 1\n"
    assert handler.answered == [(1, "look", True)]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "MAX_UNREAD_ANSWERS", 100)
    one, eager, _ = lazy_tracker()
    for id in range(1000):
        one.note_sent(call(id))
    assert len(eager.pending) > 1000 - tracker.MAX_UNREAD_REQUESTS - 2
    for id in range(1000, 2000):
        one.from_server(success(id))

    assert len(one._unread) <= 101
    one.note_sent(call("long").replace(b"look", b"x" * tracker.MAX_UNREAD_LENGTH))
    assert len(one._unread) == 0


def test_a_carriage_return_does_not_end_a_line() -> None:
    one, eager, _ = lazy_tracker()
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
    lazy, its_tracker, its_handler = lazy_tracker()
    _, eager, handler = lazy_tracker()
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

    assert (its_tracker.calls, list(its_tracker.pending)) == (eager.calls, list(eager.pending))
    assert its_handler.answered == handler.answered
    assert its_tracker.answered_ids == eager.answered_ids
