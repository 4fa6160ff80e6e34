"""A line that is longer than a line may be costs its call and nothing else."""

import json
import sys
from typing import Any

import pytest

from failwell.proxy.bounds import MAX_DECODED
from failwell.proxy.long_messages import find_id
from failwell.proxy.stdio import pump
from failwell.proxy.stdio.pump import Pump
from tests.proxy.clients import Client

LIMIT = 1 << 20
# Answers a call with as many bytes as it says, the long member at the place that it says; and tells what it got.
SERVER = [
    sys.executable,
    "-I",
    "-c",
    """
import json, os, sys
def write(data):
    while data:
        data = data[os.write(1, data):]
for line in sys.stdin.buffer:
    asked = json.loads(line)
    id, do = json.dumps(asked.get("id")).encode(), asked.get("params", {}).get("arguments", asked.get("params", {}))
    if "size" in do:
        long = b'"result":{"content":[{"type":"text","text":"%s"}],"isError":%s}' % (
            b"x" * do["size"], json.dumps(do.get("failing", False)).encode())
        parts = {"first": b'{"jsonrpc":"2.0","id":%s,%s}' % (id, long),
                 "last": b'{%s,"jsonrpc":"2.0","id":%s}' % (long, id),
                 "hidden": b'{%s,"id":%s,"more":{"id":0}}' % (long, id),
                 "notified": b'{"jsonrpc":"2.0","method":"notifications/message","id":%s,%s}' % (id, long)}
        write(parts[do["place"]] + (b"" if do.get("endless") else b"\\n"))
        if do["place"] == "notified":
            write(b'{"jsonrpc":"2.0","id":%s,"result":{"after":true}}\\n' % id)
    elif "id" in asked:
        write(b'{"jsonrpc":"2.0","id":%s,"result":{"length":%d}}\\n' % (id, len(line)))
""",
]
MODES = pytest.mark.parametrize("options", [(), ("--retry",), ("--observe",)], ids=["together", "apart", "dry run"])


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "MAX_LINE", LIMIT)


def failure(answer: Any) -> Any:
    assert answer["result"]["isError"] is True
    return answer["result"]["_meta"]["dev.failwell/failure"]


class TestFromTheServer:
    @pytest.mark.parametrize("place", ["first", "last", "hidden"])
    @MODES
    def test_the_call_gets_one_failure_and_others_go_on(self, place: str, options: tuple[str, ...]) -> None:
        with Client(*options, command=SERVER) as client:
            id = client.ask_call("work", size=3 * LIMIT, place=place)
            answer = client.receive()
            after = client.call("work")
            left = client.ask_call("work")
            client.hang_up()
            rest = client.rest()

        assert answer["id"] == id
        assert (failure(answer)["code"], failure(answer)["outcome"]) == ("BAD_UPSTREAM_RESPONSE", "unknown")
        assert "length" in after["result"]
        assert [one["id"] for one in rest] == [left]

    @MODES
    def test_it_has_its_failure_even_if_the_line_never_ends(self, options: tuple[str, ...]) -> None:
        with Client(*options, command=SERVER) as client:
            id = client.ask_call("work", size=3 * LIMIT, place="first", endless=True)
            answer = client.receive()

        assert answer["id"] == id
        assert failure(answer)["code"] == "BAD_UPSTREAM_RESPONSE"

    def test_another_request_gets_an_error(self) -> None:
        with Client(command=SERVER) as client:
            answer = client.request("resources/read", {"size": 3 * LIMIT, "place": "first"})

        assert answer["error"]["code"] == -32603
        assert "longer than" in answer["error"]["message"]

    @MODES
    def test_a_message_of_its_own_answers_nothing(self, options: tuple[str, ...]) -> None:
        with Client(*options, command=SERVER) as client:
            answer = client.call("work", size=3 * LIMIT, place="notified")

        assert answer["result"] == {"after": True}

    @pytest.mark.parametrize("options", [(), ("--retry",)], ids=["together", "apart"])
    @pytest.mark.parametrize("place", ["first", "last"])
    def test_one_that_is_only_too_long_to_decode_passes_if_it_is_a_success(
        self, place: str, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pump, "MAX_LINE", 4 * MAX_DECODED)
        with Client(*options, command=SERVER) as client:
            fine = client.call("work", size=2 * MAX_DECODED, place=place)
            failed = client.call("work", size=2 * MAX_DECODED, place=place, failing=True)

        assert len(fine["result"]["content"][0]["text"]) == 2 * MAX_DECODED
        assert failed["result"]["isError"] is True
        assert len(json.dumps(failed)) < 10_000


class TestFromTheClient:
    @MODES
    def test_the_call_gets_a_failure_and_is_not_made(self, options: tuple[str, ...]) -> None:
        with Client(*options, command=SERVER) as client:
            id = client.ask_call("work", text="x" * 3 * LIMIT)
            answer = client.receive()
            after = client.call("work", text="y")

        assert answer["id"] == id
        assert (failure(answer)["code"], failure(answer)["outcome"]) == ("PAYLOAD_TOO_LARGE", "not_executed")
        assert failure(answer)["tool"] == "work"
        assert after["result"]["length"] < 1000

    def test_the_id_may_stand_at_the_end(self) -> None:
        with Client(command=SERVER) as client:
            client.send(b'{"params":{"name":"work","arguments":{"x":"' + b"x" * 2 * LIMIT)
            client.send(b'"}},"jsonrpc":"2.0","id":"end","method":"tools/call"}\n')
            answer = client.receive()

        assert (answer["id"], failure(answer)["code"]) == ("end", "PAYLOAD_TOO_LARGE")

    def test_one_that_never_ends_has_its_failure_too(self) -> None:
        with Client(command=SERVER) as client:
            client.send(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"work","arguments":{"x":"')
            client.send(b"x" * 3 * LIMIT)
            answer = client.receive()
            client.send(b"x" * 3 * LIMIT)

        assert (answer["id"], failure(answer)["code"]) == (7, "PAYLOAD_TOO_LARGE")

    @pytest.mark.parametrize(
        ("line", "id"),
        [
            (b'{"jsonrpc":"2.0","id":9,"method":"resources/read","params":"%s"}\n', 9),
            (b"%s\n", None),
        ],
        ids=["another request", "no message"],
    )
    def test_anything_else_gets_an_error(self, line: bytes, id: Any) -> None:
        with Client(command=SERVER) as client:
            client.send(line % (b"x" * 2 * LIMIT))
            answer = client.receive()

        assert (answer["id"], answer["error"]["code"]) == (id, -32600)

    def test_an_answer_to_the_server_is_dropped(self) -> None:
        with Client(command=SERVER) as client:
            client.send(b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 2 * LIMIT + b'"}\n')
            answer = client.call("work")

        assert "length" in answer["result"]

    def test_one_too_long_to_be_kept_is_not_taken_for_one_without_arguments(self) -> None:
        from tests.proxy.clients import SERVER as REAL

        with Client("--validate", command=REAL) as client:
            answer = client.call("look", n=1, more="x" * 500_000)

        assert answer["result"].get("isError") is not True


def test_little_is_held_of_a_line_without_an_end() -> None:
    one = Pump(0, lambda _: None, lambda _: None)
    chunk = b"x" * (LIMIT // 4)

    for _ in range(100):
        assert one.cut(chunk) == b""
        held = sum(map(len, one._held)) + (0 if one.long is None else len(one.long.head + one.long.tail))
        assert held <= LIMIT + len(chunk)

    assert one.cut(b"y\nnext\nhalf") == b"next\n"
    assert one.cut(b" done\n") == b"half done\n"


def test_a_line_that_comes_byte_by_byte_takes_no_more_than_its_length() -> None:
    one = Pump(0, lambda _: None, lambda _: None)

    for _ in range(100_000):
        one.cut(b"x")

    assert len(one._held) == 1
    assert one.cut(b"\n") == b"x" * 100_000 + b"\n"


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","id":5,"result":[', 5),
        (b' { "id" : "a\\"b" , "result" : {', 'a"b'),
        (b'[[]],"jsonrpc":"2.0","id":5}\n', 5),
        (b'[[]],"id":"x","jsonrpc":"2.0"}\r\n', "x"),
        (b'{"result":{"x":[],"id":7}}', None),
        (b'{"result":{"id":5}', None),
        (b'{"jsonrpc":"2.0","id":null,"result":[', None),
        (b"", None),
        (b'"id":5}', None),
    ],
)
def test_an_id_is_read_from_the_ends(line: bytes, id: Any) -> None:
    assert find_id(line, ()) == id
