"""What passes unread is known as well as if each line had been looked at."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.proxy.messages import encode
from failwell.proxy.stdio import backlog as backlogs
from failwell.proxy.stdio.backlog import Backlog
from failwell.proxy.stdio.tracker import Tracker


class Noting:
    """Stands where a settler stands, and only notes what it is asked."""

    def __init__(self) -> None:
        self.answered: list[Any] = []

    def answer(self, asked: Any, line: bytes) -> bytes | None:
        self.answered.append((asked.id, asked.tool, asked.is_sent))
        return b"upgraded %d\n" % len(self.answered)

    def progressed(self, _: bytes) -> bytes | None:
        return None


def backlog(**options: bool) -> tuple[Backlog, Tracker, Noting]:
    settler = Noting()
    watch = Tracker(lambda _: settler, lambda _: None, **options)  # type: ignore[arg-type, return-value]
    return Backlog(watch), watch, settler


def call(id: Any, tool: str = "look") -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}) + b"\n"


def success(id: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": [], "isError": False}}) + b"\n"


def failing(id: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": [], "isError": True}}) + b"\n"


def test_a_call_that_succeeds_is_counted_and_forgotten() -> None:
    one, watch, _ = backlog()
    one.up(call(1))

    assert one.passes(success(1))
    assert watch.calls == {}
    one.catch_up()
    assert (watch.calls, watch.pending) == ({"look": 1}, {})


def test_a_failing_answer_finds_its_call_among_those_that_were_kept() -> None:
    one, _, settler = backlog()
    one.up(call(1, "a") + call(2, "b"))
    one.up(call(3, "c"))

    assert one.passes(success(1))
    assert not one.passes(failing(2))
    assert one.down(failing(2)) == b"upgraded 1\n"
    assert settler.answered == [(2, "b", True)]


@pytest.mark.parametrize("is_read_between", [True, False])
def test_a_second_answer_is_dropped(is_read_between: bool) -> None:
    one, _, _ = backlog()
    one.up(call(1))
    one.passes(success(1))
    if is_read_between:
        one.catch_up()

    assert not one.passes(success(1))
    assert one.down(success(1)) == b""
    assert one.down(failing(1)) == b""


def test_answers_that_nobody_asked_for_pass_each_time() -> None:
    one, watch, _ = backlog()

    assert [one.down(success(7)) for _ in range(3)] == [None, None, None]
    one.catch_up()
    assert not watch.answered_ids


def test_answers_that_come_together_pass_together() -> None:
    one, watch, _ = backlog()
    one.up(b"".join(call(id) for id in range(9)))

    assert one.passes(b"".join(success(id) for id in range(9)))
    one.catch_up()
    assert (watch.calls, watch.pending) == ({"look": 9}, {})


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
    one, watch, _ = backlog()
    one.up(call(0) + call(1) + call(2))
    assert one.passes(success(0))

    assert not one.passes(lines)
    one.catch_up()
    assert list(watch.pending) == [1, 2]


def test_a_list_of_tools_is_learnt() -> None:
    one, watch, _ = backlog()
    one.up(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

    assert one.down(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look"}]}}\n') is None
    assert watch.tools.names() == ("look",)


def test_a_handshake_is_remembered_though_its_answer_passed() -> None:
    one, watch, _ = backlog()
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    one.up(hello)
    one.passes(success(1))
    one.catch_up()

    assert watch.handshake == [hello]


def test_successes_that_may_be_failures_are_looked_at() -> None:
    one, _, settler = backlog(looks_at_successes=True)
    one.up(call(1))

    assert one.down(success(1)) == b"upgraded 1\n"
    assert settler.answered == [(1, "look", True)]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlogs, "_MOST_ANSWERS", 100)
    one, watch, _ = backlog()
    for id in range(1000):
        one.up(call(id))
    assert len(watch.pending) > 1000 - backlogs._MOST - 2
    for id in range(1000, 2000):
        one.down(success(id))

    assert len(one._kept) <= 101
    one.up(call("long").replace(b"look", b"x" * backlogs._LONGEST))
    assert len(one._kept) == 0


def test_a_carriage_return_does_not_end_a_line() -> None:
    one, watch, _ = backlog()
    one.up(b'{"id":1,\r"method":"tools/call",\r\n' + call(2))
    one.up(call(3).replace(b",", b",\r") + call(4))
    one.catch_up()

    assert list(watch.pending) == [2, 3, 4]


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
    lazy, its_watch, its_settler = backlog()
    _, watch, settler = backlog()
    for batch in batches:
        for kind, id in batch:
            line = MADE[kind](id)
            if kind in FROM_CLIENT:
                watch.from_client(line)
                watch.sent()
                lazy.up(line)
            else:
                assert lazy.down(line) == watch.from_server(line)
        together = b"".join(success(id) for kind, id in batch if kind == "success")
        if lazy.passes(together):
            assert {watch.from_server(line + b"\n") for line in together.splitlines()} == {None}
    lazy.catch_up()

    assert (its_watch.calls, list(its_watch.pending)) == (watch.calls, list(watch.pending))
    assert its_settler.answered == settler.answered
    assert its_watch.answered_ids == watch.answered_ids
