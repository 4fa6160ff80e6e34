"""Both ways in one thread: nobody waits for anybody who waits for the proxy."""

import json
import os
import pty
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from failwell.advice import Policy
from failwell.proxy import conversation as conversations
from failwell.proxy.conversation import PendingRequest
from failwell.proxy.options import parse
from failwell.proxy.stdio import pump, session
from failwell.proxy.stdio.effects import EffectRunner
from failwell.proxy.stdio.loader import ConversationLoader
from failwell.proxy.stdio.process import Child
from failwell.proxy.stdio.pump import Duplex, Outlet, Pump, client_outlet, server_outlet, write_all
from failwell.proxy.stdio.runner import StdioProxy
from tests.proxy.clients import HELLO, SERVER, Client
from tests.proxy.conversations import Ends, conversation, settings

# Says three megabytes before it reads anything, and then how much it has read.
TALKATIVE = """
import os, sys
os.write(1, b'{"jsonrpc":"2.0","method":"first"}\\n')
said = (b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"' + b"x" * 99_900 + b'"}}\\n') * 30
while said:
    said = said[os.write(1, said):]
print('{"jsonrpc":"2.0","method":"read","params":%d}' % len(sys.stdin.buffer.readline()), flush=True)
"""

# Fails, says three megabytes, and never tells its tools.
UNLISTED = """
import os, sys
sys.stdin.buffer.readline()
said = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"404 Not Found"}],"isError":true}}\\n'
said += b'{"jsonrpc":"2.0","id":2,"result":"' + b"x" * 3_000_000 + b'"}\\n'
while said:
    said = said[os.write(1, said):]
sys.stdin.buffer.read()
"""


@pytest.mark.parametrize(
    "options",
    [(), ("--restart",), ("--retry",), ("--validate",)],
    ids=["plain", "restart", "retry", "two threads"],
)
def test_a_client_that_reads_late_can_still_write(options: tuple[str, ...]) -> None:
    with Client(*options) as client:
        large = client.ask_call("look", n=1, do="size:3000000")
        other = client.ask_call("look", n=2, more="y" * 3_000_000)
        answers = [client.receive() for _ in range(2)]
        after = client.call("act", n=1, do="fail:404 Not Found")

    assert [answer["id"] for answer in answers] == [large, other]
    assert len(answers[0]["result"]["content"][0]["text"]) == 3_000_000
    assert after["result"]["_meta"]["dev.failwell/failure"]["type"] == "NOT_FOUND"


def test_what_comes_later_is_written_after_the_line_that_a_late_reader_has_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = threading.Event()

    class HastyTimer(threading.Timer):
        """Does at once what is due first."""

        def start(self) -> None:
            if begun.is_set():
                super().start()
            else:
                begun.set()
                self.function()

    monkeypatch.setattr(session, "Timer", HastyTimer)
    for bound in ("MIN_TOOL_LIST_WAIT", "MAX_TOOL_LIST_WAIT"):
        monkeypatch.setattr(conversations, bound, 600.0)
    (source, to), (come, target) = os.pipe(), os.pipe()
    options = parse(["--quiet", "--", sys.executable, "-I", "-c", UNLISTED])
    proxy = StdioProxy(options, Child(options.command), None, source=source, target=target)
    thread = threading.Thread(target=proxy.session.run)
    thread.start()
    os.write(to, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}\n')
    begun.wait()
    with open(come, "rb") as lines:
        answers = [json.loads(lines.readline()) for _ in range(2)]
        os.close(to)
        thread.join()
    os.close(source)
    os.close(target)

    assert [answer["id"] for answer in answers] == [2, 1]


def test_a_server_that_reads_late_can_still_write() -> None:
    client = Client(command=[sys.executable, "-I", "-c", TALKATIVE])
    first = client.receive()
    client.send(b'{"jsonrpc":"2.0","method":"x","params":"' + b"y" * 3_000_000 + b'"}\n')
    lines = [client.receive() for _ in range(31)]
    client.close()

    assert first["method"] == "first"
    assert lines[-1] == {"jsonrpc": "2.0", "method": "read", "params": 3_000_043}


def test_calls_that_a_server_did_not_read_before_it_died_were_not_made() -> None:
    dying = "import os, time; os.read(0, 200_000); os.write(1, b'{}\\n'); os.read(0, 1); os._exit(3)"
    client = Client(command=[sys.executable, "-I", "-c", dying])
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look","arguments":{"x":"%s"}}}\n'
    client.send(call % (1, b"x") + call % (2, b"y" * 3_000_000) + call % (3, b"z"))
    answers = {answer["id"]: answer for answer in client.rest() if answer}
    client.close()

    told = {id: answer["result"]["_meta"]["dev.failwell/failure"]["outcome"] for id, answer in answers.items()}
    assert told == {1: "unknown", 2: "not_executed", 3: "not_executed"}


@contextmanager
def over_sockets(*options: str) -> Iterator[socket.socket]:
    """Yield the client's end, as a host written for Node has it."""
    ours, its = socket.socketpair()
    parsed = parse([*options, "--", *SERVER])
    proxy = StdioProxy(parsed, Child(parsed.command), None, source=its.fileno(), target=its.fileno())
    thread = threading.Thread(target=proxy.session.run)
    thread.start()
    with ours, its:
        yield ours
        ours.shutdown(socket.SHUT_WR)
        thread.join(30)
        assert not thread.is_alive()


def test_sockets_are_served_as_pipes_are() -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look","arguments":{"n":1,"do":"%s"}}}\n'
    with over_sockets() as client, client.makefile("rb") as lines:
        client.sendall(hello + b"\n" + call % (2, b"fail:404 Not Found") + call % (3, b"size:2000000"))
        answers = [json.loads(lines.readline()) for _ in range(3)]

    by_id = {answer["id"]: answer["result"] for answer in answers}
    assert sorted(by_id) == [1, 2, 3]
    assert "dev.failwell/failure" in by_id[2]["_meta"]
    assert len(by_id[3]["content"][0]["text"]) == 2_000_000


def test_a_file_is_written_to_as_well(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    source, to = os.pipe()
    with path.open("wb") as file:
        assert client_outlet(file.fileno()) is None
        parsed = parse(["--", *SERVER])
        proxy = StdioProxy(parsed, Child(parsed.command), None, source=source, target=file.fileno())
        thread = threading.Thread(target=proxy.session.run)
        thread.start()
        os.write(to, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode() + b"\n")
        os.close(to)
        thread.join(30)

    assert json.loads(path.read_text())["id"] == 1


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    source, target = os.pipe()
    yield source, target
    for end in (source, target):
        try:
            os.close(end)
        except OSError:
            continue  # the test has closed it


def test_an_outlet_to_a_client_leaves_the_pipe_as_it_is(pipe: tuple[int, int]) -> None:
    source, target = pipe
    outlet = client_outlet(target)
    assert outlet is not None

    assert outlet.write_rest(b"hello", 0) == 5
    assert os.get_blocking(target)
    outlet.close()
    assert os.write(target, b"!") == 1
    assert os.read(source, 10) == b"hello!"


def test_an_outlet_takes_what_fits_and_tells_how_much(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "WRITE_TIMEOUT", 0.0)
    source, target = pipe
    outlet = server_outlet(target)
    data = os.urandom(1 << 20)

    taken = outlet.write_rest(data, 10)
    assert 10 < taken < len(data)
    assert outlet.write_rest(data, taken) == taken
    assert os.read(source, 1 << 20) == data[10:taken]
    outlet.close()
    assert os.get_blocking(target)


def test_an_outlet_waits_a_moment_for_a_reader(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "WRITE_TIMEOUT", 30.0)
    source, target = pipe
    outlet = server_outlet(target)
    data = os.urandom(1 << 20)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.extend(iter(lambda: os.read(source, 1 << 16), b"")))
    reader.start()

    assert outlet.write_rest(data, 0) == len(data)
    os.close(target)
    reader.join()
    assert b"".join(got) == data


def test_an_outlet_without_a_reader_takes_nothing(pipe: tuple[int, int]) -> None:
    source, target = pipe
    outlet: Outlet = server_outlet(target)
    os.close(source)

    assert outlet.write_rest(b"hello", 2) == 2


def line_of(request: PendingRequest) -> bytes:
    return json.dumps({"id": request.id}).encode() + b"\n"


def send_all(duplex: Duplex, requests: list[PendingRequest]) -> bytes:
    for request in requests:
        assert duplex.send(line_of(request), request)
    return b""


def test_there_is_no_outlet_where_there_is_no_poll(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("select.poll")

    assert client_outlet(pipe[1]) is None


def test_what_a_server_took_in_part_is_told_line_by_line(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "WRITE_TIMEOUT", 0.0)
    runner = Ends().runner
    loader = ConversationLoader(lambda: runner, is_lazy=True)
    (source, to), (stdout, its_stdout), (come, target) = os.pipe(), os.pipe(), os.pipe()
    up, down = Pump(source, loader.from_client, print), Pump(stdout, loader.from_server, print)
    loader.up, loader.down = up, down
    client = client_outlet(target)
    assert client is not None
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look"}}'
    lines = b"".join((call % id).rjust(999) + b"\n" for id in range(14))
    os.write(pipe[1], b"x" * 56_000)
    os.write(to, lines)

    duplex = Duplex(up, down, server=server_outlet(pipe[1]), client=client, loader=loader)
    duplex.run()
    duplex.stop()
    rest, taken = duplex.take_unsent()

    sent = [request.id for request in runner.conversation.pending.values() if request.is_sent]
    assert 0 < len(sent) < 14
    assert (list(runner.conversation.pending), sent) == (list(range(14)), list(range(len(sent))))
    assert rest == lines[1000 * len(sent) :]
    assert os.read(pipe[0], 1 << 17)[56_000:] == lines[: 1000 * len(sent) + taken]
    assert (duplex.take_unsent(), duplex.take_unwritten()) == ((b"", 0), b"")
    for end in (source, to, stdout, its_stdout, come, target):
        os.close(end)


def test_a_call_is_made_again_by_the_thread_that_passes_lines() -> None:
    (source, to), (its_stdin, stdin), (stdout, its_stdout), (come, target) = (os.pipe() for _ in range(4))
    runner = EffectRunner(
        conversation(settings(retries=Policy(base=0.0, throttled_base=0.0))),
        to_client=lambda data: duplex.write(data),
        to_server=lambda data, request: duplex.send(data, request),
        schedule=lambda delay, action: duplex.schedule(delay, action),
        report=lambda _: None,
    )
    loader = ConversationLoader(lambda: runner, is_lazy=True)
    loader.up, loader.down = Pump(source, loader.from_client, print), Pump(stdout, loader.from_server, print)
    client = client_outlet(target)
    assert client is not None
    duplex = Duplex(loader.up, loader.down, server=server_outlet(stdin), client=client, loader=loader)
    thread = threading.Thread(target=duplex.run)
    thread.start()

    def exchange(write: int, message: dict[str, object], read: int) -> dict[str, object]:
        os.write(write, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        return dict(json.loads(os.read(read, 1 << 16)))

    tools = [{"name": "look", "annotations": {"readOnlyHint": True}}]
    exchange(to, {"id": 1, "method": "tools/list"}, its_stdin)
    exchange(its_stdout, {"id": 1, "result": {"tools": tools}}, come)
    exchange(to, {"id": 2, "method": "tools/call", "params": {"name": "look"}}, its_stdin)
    busy = {"content": [{"type": "text", "text": "503 Service Unavailable, retry in 0 seconds"}], "isError": True}
    again = exchange(its_stdout, {"id": 2, "result": busy}, its_stdin)
    # The server gets no cancellation of a call that it does not know by this id.
    cancelled = exchange(to, {"method": "notifications/cancelled", "params": {"requestId": 2}}, its_stdin)
    last = exchange(to, {"id": 3, "method": "ping"}, its_stdin)
    duplex.stop()
    thread.join()
    for end in (source, to, its_stdin, stdin, stdout, its_stdout, come, target):
        os.close(end)

    assert again == {"jsonrpc": "2.0", "id": "failwell-retry-1", "method": "tools/call", "params": {"name": "look"}}
    assert cancelled["params"] == {"requestId": "failwell-retry-1"}
    assert last["id"] == 3
    assert (duplex.take_unsent(), duplex.take_unwritten(), duplex.take_due()) == ((b"", 0), b"", [])


def test_the_thread_that_passes_lines_sends_no_request_that_was_cancelled_or_has_ended(pipe: tuple[int, int]) -> None:
    (source, to), (stdout, its_stdout), (come, target) = os.pipe(), os.pipe(), os.pipe()
    requests = [
        PendingRequest("cancelled", "", is_cancelled=True),
        PendingRequest("ended", "", is_ended=True),
        PendingRequest("wanted", ""),
    ]
    loader = ConversationLoader(lambda: Ends().runner, is_lazy=True)
    down = Pump(stdout, lambda _: send_all(duplex, requests), print)
    client = client_outlet(target)
    assert client is not None
    up = Pump(source, loader.from_client, print)
    duplex = Duplex(up, down, server=server_outlet(pipe[1]), client=client, loader=loader)
    thread = threading.Thread(target=duplex.run)
    thread.start()
    os.write(its_stdout, b"{}\n")
    sent = os.read(pipe[0], 1 << 16)
    duplex.stop()
    thread.join()
    for end in (source, to, stdout, its_stdout, come, target):
        os.close(end)

    assert sent == line_of(requests[2])
    assert [one.is_sent for one in requests] == [False, False, True]


def test_requests_that_the_server_does_not_take_now_are_left_to_other_threads(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "WRITE_TIMEOUT", 0.0)
    (source, to), (stdout, its_stdout), (come, target) = os.pipe(), os.pipe(), os.pipe()
    runner, requests = Ends().runner, [PendingRequest("first", ""), PendingRequest("second", "")]
    for one in requests:
        runner.conversation.add(one)
    loader = ConversationLoader(lambda: runner, is_lazy=True)
    down = Pump(stdout, lambda _: send_all(duplex, requests), print)
    client = client_outlet(target)
    assert client is not None
    up = Pump(source, loader.from_client, print)
    duplex = Duplex(up, down, server=server_outlet(pipe[1]), client=client, loader=loader)
    os.write(pipe[1], b"x" * (1 << 16))  # it is full now
    os.write(its_stdout, b"{}\n")
    duplex.run()
    duplex.stop()
    for end in (source, to, stdout, its_stdout, come, target):
        os.close(end)

    assert duplex.take_unsent() == (line_of(requests[0]), 0)
    assert duplex.take_unsent_requests() == [(line_of(requests[1]), requests[1])]
    assert [one.is_sent for one in requests] == [False, False]


def test_an_end_that_somebody_told_not_to_block_is_waited_for(pipe: tuple[int, int]) -> None:
    source, target = pipe
    for end in pipe:
        os.set_blocking(end, False)
    line = b"x" * 3_000_000 + b"\n"
    came: list[bytes] = []
    reader = threading.Thread(target=Pump(source, lambda _: None, came.append).run)
    reader.start()

    assert write_all(line, target) == len(line)
    os.close(target)
    reader.join(30)
    assert came == [line]


def test_an_end_that_cannot_be_waited_for_is_tried_again() -> None:
    pump._wait_for(-1, is_read=True)

    assert write_all(b"hello", -1) == 0


def test_a_terminal_has_to_be_told_only_once_that_nothing_more_comes() -> None:
    terminal, its = pty.openpty()
    come, target = os.pipe()
    parsed = parse(["--", *SERVER])
    proxy = StdioProxy(parsed, Child(parsed.command), None, source=its, target=target)
    thread = threading.Thread(target=proxy.session.run, daemon=True)
    thread.start()
    with os.fdopen(come, "rb") as lines:
        os.write(terminal, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        answer = json.loads(lines.readline())
        os.write(terminal, b"\x04")
        thread.join(30)

    assert (answer["id"], thread.is_alive()) == (1, False)
    for end in (terminal, its, target):
        os.close(end)
