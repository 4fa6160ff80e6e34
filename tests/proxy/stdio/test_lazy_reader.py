"""What passes unread is known as well as if each line had been read at once."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from failwell.advice import Policy
from failwell.proxy import conversation as conversations
from failwell.proxy import messages
from failwell.proxy.bounds import MAX_UNREAD_LENGTH, MAX_UNREPORTED
from failwell.proxy.conversation import Conversation, Settings
from failwell.proxy.messages import encode
from failwell.proxy.stdio import lazy_reader as lazy_readers
from failwell.proxy.stdio.effects import EffectRunner
from failwell.proxy.stdio.lazy_reader import LazyReader
from tests.proxy.conversations import Ends, settings


def lazy_reader(**options: Any) -> tuple[LazyReader, Conversation]:
    runner = Ends(Settings(**options)).runner
    return LazyReader(runner), runner.conversation


def is_rewritten(line: bytes | None) -> bool:
    return line is not None and b'"dev.failwell/failure"' in line


def call(id: Any, tool: str = "look", **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}) + b"\n"


def success(id: Any, *texts: str) -> bytes:
    content = [{"type": "text", "text": text} for text in texts]
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": content, "isError": False}}) + b"\n"


def failing(id: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": {"content": [], "isError": True}}) + b"\n"


def busy(id: Any) -> bytes:
    return failing(id).replace(b"[]", b'[{"type":"text","text":"503 Service Unavailable, retry in 1 second"}]')


def written(line: bytes, found: bytes | None) -> bytes:
    return line if found is None else found


def test_a_call_that_succeeds_is_counted_and_forgotten() -> None:
    one, eager = lazy_reader()
    one.note_sent(call(1))

    assert one.from_server(success(1)) is None
    assert eager.settings.calls == {}
    one.catch_up()
    assert (eager.settings.calls, eager.pending) == ({"look": 1}, {})


def test_a_failing_answer_finds_its_call_among_those_that_were_kept() -> None:
    one, _ = lazy_reader()
    one.note_sent(call(1, "a") + call(2, "b"))
    one.note_sent(call(3, "c"))

    assert one.from_server(success(1)) is None
    answer = one.from_server(failing(2))
    assert is_rewritten(answer)
    assert answer is not None
    assert json.loads(answer)["result"]["_meta"]["dev.failwell/failure"]["tool"] == "b"


@pytest.mark.parametrize("is_read_between", [True, False])
def test_a_second_answer_is_dropped(is_read_between: bool) -> None:
    one, _ = lazy_reader()
    one.note_sent(call(1))
    one.from_server(success(1))
    if is_read_between:
        one.catch_up()

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

    assert one.from_server(b"".join(success(id) for id in range(9))) is None
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
def test_lines_of_which_one_must_be_looked_at_are_read_one_by_one(lines: bytes) -> None:
    one, eager = lazy_reader(), Ends().runner
    one[0].note_sent(call(0) + call(1) + call(2))
    for id in range(3):
        eager.from_client(call(id))
    one[0].from_server(success(0))
    eager.from_server(success(0))

    found = one[0].from_server(lines)
    assert written(lines, found) == b"".join(written(line, eager.from_server(line)) for line in lines.splitlines(True))
    assert list(one[1].pending) == list(eager.conversation.pending)


def has_failures(ends: Ends) -> bool:
    rules = ends.runner.conversation.settings.known_retries
    return rules is not None and rules.has_failures


def test_successes_count_once_something_failed() -> None:
    ends = Ends(settings(retries=Policy(attempts=1)))
    one = LazyReader(ends.runner)
    for line in (busy(1), success(2)):
        one.note_sent(call(json.loads(line)["id"]))
        one.from_server(line)
        assert has_failures(ends) is (line == busy(1))


def test_a_call_with_right_arguments_is_checked_and_then_kept_unread_until_it_fails() -> None:
    ends = Ends(settings(validates=True), tools=[LOOK])
    one, known = LazyReader(ends.runner), ends.runner.conversation
    right, wrong, pair = call(1, n=1), call(2, n="one"), call(3, n=1) + call(4, n=1)

    assert [one.must_read(lines) for lines in (right, wrong, pair)] == [False, True, True]
    one.note_sent(right)
    assert list(known.pending) == []
    assert is_rewritten(one.from_server(failing(1)))
    assert ends.runner.from_client(wrong) == b""
    assert is_rewritten(ends.to_client[-1])


def test_a_success_that_no_call_waits_for_counts_after_the_client_has_it() -> None:
    ends = Ends(settings(retries=Policy(attempts=1)))
    one = LazyReader(ends.runner)
    one.note_sent(call(1))
    assert is_rewritten(one.from_server(failing(1)))
    one.note_sent(call(2) + call(3))

    assert one.from_server(success(2)) is None
    assert one.from_server(success(3)) is None
    assert (list(one.passed), has_failures(ends)) == ([2, 3], True)
    one.catch_up()
    assert (list(one.passed), has_failures(ends)) == ([], False)


def test_a_list_of_tools_is_learnt() -> None:
    one, eager = lazy_reader()
    one.note_sent(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

    assert one.from_server(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look"}]}}\n') is None
    assert eager.tools.names() == ("look",)


def test_a_handshake_is_remembered_though_its_answer_passed() -> None:
    one, eager = lazy_reader()
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    one.note_sent(hello)
    one.from_server(success(1))
    one.catch_up()

    assert eager.handshake == [hello]


def test_successes_that_may_be_failures_are_looked_at() -> None:
    one, _ = lazy_reader(flip_unflagged=frozenset("*"))
    one.note_sent(call(1))

    assert is_rewritten(one.from_server(success(1, "Error: 404 Not Found")))


def test_a_success_that_is_reported_passes_before_it_is_read() -> None:
    ends = Ends(Settings(reports_all=True, reads_unflagged=True))
    one = LazyReader(ends.runner)
    one.note_sent(call(1) + call(2))
    ends.now = 2.0

    assert one.from_server(success(1, "fine") + success(2, "Error: 404 Not Found")) is None
    assert (ends.events, len(one.passed)) == ([], 2)
    ends.now = 3.0
    one.catch_up()
    assert [(event.kind, event.call, event.elapsed) for event in ends.events] == [
        ("success", 1, 2.0),
        ("unflagged", 2, 2.0),
    ]
    assert (ends.to_client, one.passed) == ([], {})


@pytest.mark.parametrize(
    "wanted",
    [
        Settings(marks_unflagged=True),
        Settings(marks_unflagged=True, reports_all=True, reads_unflagged=True),
        settings(retries=Policy(), marks_unflagged=True),
        settings(retries=Policy(), marks_unflagged=True, reports_all=True, reads_unflagged=True),
    ],
    ids=["plain", "events", "retry", "both"],
)
@pytest.mark.parametrize("is_lazy", [True, False], ids=["lazy", "each line"])
def test_a_success_that_passes_is_never_decoded(
    wanted: Settings, is_lazy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []
    decode = messages._decode
    monkeypatch.setattr(messages, "_decode", lambda data: decoded.append(data) or decode(data))
    ends = Ends(wanted)
    one = LazyReader(ends.runner)
    answers = [success(id, "fine, all 12 rows were written") for id in range(5)] + [success(5, "x" * 5000)]
    for id, answer in enumerate(answers):
        if is_lazy:
            one.note_sent(call(id))
        else:
            ends.runner.from_client(call(id))
        found = one.from_server(answer) if is_lazy else ends.runner.from_server(answer)
        assert found in (None, answer)
    one.catch_up()

    assert [event.kind for event in ends.events] == ["success"] * (6 if wanted.reports_all else 0)
    assert not set(decoded) & set(answers)  # requests are: reports tell calls apart by their arguments


@pytest.mark.parametrize(
    "answers",
    [
        [success(id) for id in range(MAX_UNREPORTED + 1)],
        [b"".join(success(id) for id in range(MAX_UNREPORTED + 1))],
        [success(1, "x" * MAX_UNREAD_LENGTH)],
    ],
    ids=["one by one", "together", "long"],
)
def test_only_a_few_short_successes_wait_to_be_reported(answers: list[bytes]) -> None:
    one, _ = lazy_reader(reports_all=True, reads_unflagged=True)
    for answer in answers:
        assert not one.is_behind
        assert one.from_server(answer) is None

    assert one.is_behind
    one.catch_up()
    assert (one.is_behind, one.passed) == (False, {})


def test_the_answer_to_a_request_of_the_proxy_itself_does_not_pass() -> None:
    ends = Ends(tools=())
    one = LazyReader(ends.runner)
    one.note_sent(call(1))
    one.from_server(failing(1))
    ends.pass_time()
    listing = json.loads(ends.to_server[0])

    assert listing["method"] == "tools/list"
    assert one.from_server(success(listing["id"])) == b""


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_readers, "MAX_UNREAD_ANSWERS", 100)
    one, eager = lazy_reader()
    for id in range(1000):
        one.note_sent(call(id))
    assert len(eager.pending) > 1000 - lazy_readers.MAX_UNREAD_REQUESTS - 2
    for id in range(1000, 2000):
        one.from_server(success(id))

    assert len(one._unread) <= 101
    one.note_sent(call("long").replace(b"look", b"x" * MAX_UNREAD_LENGTH))
    assert len(one._unread) == 0


def test_a_carriage_return_does_not_end_a_line() -> None:
    one, eager = lazy_reader()
    one.note_sent(b'{"id":1,\r"method":"tools/call",\r\n' + call(2))
    one.note_sent(call(3).replace(b",", b",\r") + call(4))
    one.catch_up()

    assert list(eager.pending) == [2, 3, 4]


LINES = st.tuples(
    st.sampled_from(["call", "wrong", "ping", "odd", "success", "again", "failing", "busy", "cancel", "told", "time"]),
    st.integers(1, 3),
)
MADE = {
    "busy": busy,
    "again": lambda id: success(f"failwell-retry-{id}"),
    "cancel": lambda id: b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n' % id,
    "call": call,
    "wrong": lambda id: call(id, n="one"),
    "ping": lambda id: b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % id,
    "odd": lambda id: b'[{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"odd"}}]\n' % id,
    "success": success,
    "failing": failing,
    "told": lambda id: b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d}}\n' % id,
}
FROM_CLIENT = ("call", "wrong", "ping", "odd", "cancel")
MODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "retrying": {"retries": Policy()},
    "reporting": {"reports_all": True, "reads_unflagged": True},
    "both": {"retries": Policy(), "reports_all": True, "reads_unflagged": True},
    "validating": {"validates": True},
    "all": {"retries": Policy(), "reports_all": True, "reads_unflagged": True, "validates": True},
}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
LOOK = {"name": "look", "annotations": {"readOnlyHint": True}, "inputSchema": SCHEMA}


def known_failures(known: Settings) -> list[Any] | None:
    rules = known.known_retries
    return None if rules is None else [str(one) for one in rules.limits.failure_state]


def send_lazily(lazy: LazyReader, runner: EffectRunner, line: bytes) -> bytes | None:
    """Return what the server gets in place of a line that passes as `Duplex` has it pass."""
    if not (lazy.may_change_requests and lazy.must_read(line)):
        lazy.note_sent(line)
        return None
    lazy.catch_up()
    changed = runner.from_client(line)
    runner.note_all_sent()
    return changed


@pytest.mark.parametrize("mode", MODES)
@given(batches=st.lists(st.lists(LINES, min_size=1, max_size=4), max_size=12))
@example(batches=[[("call", 1), ("success", 1), ("call", 1), ("cancel", 1)]])  # the second call of this id is meant
def test_in_whatever_order_lines_come_the_same_is_known_and_said(
    mode: str, batches: list[list[tuple[str, int]]]
) -> None:
    ends, its_ends = (Ends(settings(**MODES[mode]), tools=[LOOK]) for _ in range(2))
    lazy, eager = LazyReader(its_ends.runner), ends.runner
    for batch in batches:
        for kind, id in batch:
            if kind == "time":
                lazy.catch_up()
                ends.pass_time()
                its_ends.pass_time()
                continue
            line = MADE[kind](id)
            if kind in FROM_CLIENT:
                expected = eager.from_client(line)
                eager.note_all_sent()
                assert send_lazily(lazy, its_ends.runner, line) == expected
            else:
                assert written(line, lazy.from_server(line)) == written(line, eager.from_server(line))
        together = b"".join(success(id) for kind, id in batch if kind == "success")
        if together:
            expected = b"".join(written(line, eager.from_server(line)) for line in together.splitlines(True))
            assert written(together, lazy.from_server(together)) == expected
    lazy.catch_up()

    one, other = its_ends.runner.conversation, ends.runner.conversation
    assert (one.settings.calls, list(one.pending)) == (other.settings.calls, list(other.pending))
    assert [(event.kind, event.tool) for event in its_ends.events] == [
        (event.kind, event.tool) for event in ends.events
    ]
    assert one.answered_ids == other.answered_ids
    assert (its_ends.to_server, its_ends.to_client) == (ends.to_server, ends.to_client)
    assert known_failures(one.settings) == known_failures(other.settings)


def test_ids_of_tries_that_were_cancelled_are_forgotten_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MAX_PENDING", 2)
    ends = Ends(settings(retries=Policy()))
    for id in range(4):
        ends.runner.from_client(call(id, at=id))
        ends.runner.from_server(busy(id))
        ends.pass_time()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
        ends.runner.from_client(encode(cancelled) + b"\n")

    assert len(ends.to_server) == 4
    assert ends.runner.conversation.own_ids == {"failwell-retry-3", "failwell-retry-4"}
