"""Messages under another id, as they were written otherwise."""

from typing import Any

import pytest

from failwell.proxy.messages import answered_id, encode, with_id


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":1,"params":{"id":7}}', b'{"jsonrpc":"2.0","id":"new","params":{"id":7}}'),
        (b'{"id":1,"x":NaN}', b'{"id":"new","x":NaN}'),
        (b' { "x" : NaN , "id" : "old" , "y":"\xff" } \n', b' { "x" : NaN , "id" : "new" , "y":"\xff" } \n'),
        (rb'{"id":1,"x":"\ud83d","y":1e999}', rb'{"id":"new","x":"\ud83d","y":1e999}'),
        (b'{"x":{"id":NaN},"id":[1]}', b'{"x":{"id":NaN},"id":"new"}'),
        (b'\xef\xbb\xbf{"id":1}', b'\xef\xbb\xbf{"id":"new"}'),
    ],
    ids=["strict", "no number", "space and a wrong byte", "half a character", "an id within", "a byte-order mark"],
)
def test_only_the_id_of_a_message_changes(data: bytes, expected: bytes) -> None:
    assert with_id(data, "new") == expected


@pytest.mark.parametrize("data", [b"", b"NaN", b"[NaN]", b'{"x":NaN}', b'{"x":NaN', b"{"])
def test_what_is_no_message_with_an_id_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - some sentences are those of the standard library
        with_id(data, "new")

    assert str(refused.value)


@pytest.mark.parametrize("odd", [{"results": {}}, {"method": "ping"}, {}])
def test_a_message_without_a_result_or_an_error_answers_nothing(odd: dict[str, Any]) -> None:
    assert answered_id(encode({"jsonrpc": "2.0", "id": 1, **odd})) is None
    assert answered_id(encode([{"jsonrpc": "2.0", "id": 1, **odd}])) is None
    assert answered_id(encode({"jsonrpc": "2.0", "id": 1, "result": None})) == 1
