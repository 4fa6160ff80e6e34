"""What a glance sees of a message; and messages under another id, as they were written otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.proxy.messages import (
    ResultGlance,
    answered_id,
    complains,
    decode_success,
    encode,
    glance_at_server,
    may_have_failed,
    with_id,
)


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


def results() -> list[dict[str, Any]]:
    """Return what tools answered: errors and successes, none of them flagged."""
    lines = (Path(__file__).parents[1] / "data" / "unflagged.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("is_ascii", [True, False])
def test_whatever_is_read_as_an_unflagged_error_looks_like_one_at_a_glance(is_ascii: bool) -> None:
    missed: list[str] = []
    for row in results():
        text = row["text"] if isinstance(row["text"], str) else json.dumps(row["text"])
        result = {"content": [{"type": "text", "text": text}], "isError": False}
        message = {"jsonrpc": "2.0", "id": 1, "result": result}
        glance = decode_success(json.dumps(message, ensure_ascii=is_ascii).encode()).result
        found = fw.read(result, tool=row.get("tool"), arguments=row.get("arguments"), unflagged=True)
        if found is not None and not may_have_failed(glance):
            missed.append(text)
        assert may_have_failed(glance) or not complains(glance)

    assert missed == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, False),
        ({"structuredContent": {"error": "no such task"}}, True),
        ({"_meta": {"errorType": "NOT_FOUND"}}, True),
        ({"structuredContent": {"rows": 3}, "_meta": {"took": 4}}, False),
    ],
)
def test_a_glance_sees_the_words_beside_the_content(more: dict[str, Any], expected: bool) -> None:
    result = {"content": [{"type": "text", "text": "fine"}], "isError": False, **more}
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    strict, lenient = glance_at_server(data), glance_at_server(data.replace(b"fine", b"fine \\ud800"))

    assert complains(decode_success(data).result) is expected
    for glance in (strict, lenient):
        assert glance is not None
        assert isinstance(glance.result, ResultGlance)
        assert complains(glance.result) is expected
