"""Nothing that a peer sends makes `read` raise, and nothing that a failure holds makes `encode` fail."""

import json
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.dialects import DIALECTS, _compact, _envelope, _flat
from tests.strategies import json_values, results

DEEP = 50_000
LONG = 10_000_000

hostile_texts: dict[str, str] = {
    "deep JSON": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "deep objects in a known shape": '{"type":"INTERNAL","message":"m","data":'
    + '{"a":' * DEEP
    + "1"
    + "}" * (DEEP + 1),
    "deep XML": "<tool_error>" * DEEP + "x" + "</tool_error>" * DEEP,
    "entities": '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><tool_error><message>&d;</message></tool_error>',
    "external entity": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><tool_error><message>&x;</message></tool_error>',
    "10 MB string": "a" * LONG,
    "10 MB message": '{"type":"INTERNAL","message":"' + "a" * LONG + '","recoverable":false}',
    "10 MB XML": "<tool_error><message>" + "a" * LONG + "</message></tool_error>",
    "open tags": "<tool_error" * 100_000,
    "open attributes": "<tool_error " + 'a="' * 100_000 + "></tool_error>",
    "white space in a tag": "<tool_error" + " " * 500_000,
    "lone surrogates": '{"type":"INTERNAL","message":"\\ud800","recoverable":false}',
    "raw lone surrogates": "\ud800\udfff" * 10,
    "NaN": '{"type":"TRANSIENT","message":"m","recoverable":true,"data":{"retry_after":NaN}}',
    "infinity": '{"type":"TRANSIENT","message":"m","recoverable":true,"data":{"retry_after":1e400}}',
    "huge number": '{"type":"TRANSIENT","message":"m","recoverable":true,"data":{"retry_after":' + "9" * 5000 + "}}",
    "byte-order mark": '\ufeff{"type":"INTERNAL","message":"m","recoverable":false}',
    "NUL": "\0" * 100,
    "bad references": "<tool_error><message>&#0;&#xD800;&#1114112;&bogus;&amp;</message></tool_error>",
    "field lines": "m\n" + "- a: b\n" * 50_000,
}


@pytest.mark.parametrize("name", hostile_texts)
@pytest.mark.parametrize("how", [{}, {"unflagged": True}, {"dialect": "flat"}, {"dialect": "xml"}], ids=str)
def test_hostile_text_never_raises_and_never_passes_for_a_success(name: str, how: dict[str, Any]) -> None:
    text = hostile_texts[name]
    flagged = {"content": [{"type": "text", "text": text}], "isError": True, "_meta": {"errorType": text[:50]}}

    found = fw.read(flagged, **how)

    assert isinstance(found, fw.Failure)
    assert len(found.message) <= 1_000_000
    fw.read(text, **how)
    fw.read({**flagged, "isError": False}, **how)


def test_entities_are_never_resolved() -> None:
    found = fw.read(hostile_texts["entities"])

    assert found is not None
    assert found.origin == "inferred"


@given(payload=st.binary(max_size=200))
def test_arbitrary_bytes_never_raise(payload: bytes) -> None:
    assert isinstance(fw.read(payload), fw.Failure | None)


@given(text=st.text(max_size=200))
def test_arbitrary_text_never_raises(text: str) -> None:
    flagged = {"content": [{"type": "text", "text": text}], "isError": True}

    assert isinstance(fw.read(flagged), fw.Failure)


@given(text=st.text(alphabet="<>&;/='\" \n!?[]{}tool_errmsagvdiforypk#0x,:", max_size=120))
def test_arbitrary_markup_never_raises(text: str) -> None:
    for wrapped in (text, f"<tool_error{text}</tool_error>", f"<tool_error><message>{text}</message></tool_error>"):
        assert isinstance(fw.read({"content": [{"text": wrapped}], "isError": True}), fw.Failure)


@given(value=json_values)
def test_arbitrary_json_never_raises(value: Any) -> None:
    assert isinstance(fw.read(value), fw.Failure | None)


@given(result=results)
def test_arbitrary_results_never_raise(result: dict[str, Any]) -> None:
    for how in ({}, {"unflagged": True}, {"dialect": "flat"}):
        assert isinstance(fw.read(result, **how), fw.Failure | None)


@given(
    key=st.sampled_from(["dev.failwell/failure", "io.modelcontextprotocol/toolFailure", "errorType"]), value=json_values
)
def test_arbitrary_meta_never_raises(key: str, value: Any) -> None:
    assert isinstance(fw.read({"content": [], "isError": True, "_meta": {key: value}}), fw.Failure)


@given(
    shape=st.sampled_from(
        [
            {"type": "CONFLICT", "message": "m", "recoverable": True},
            {"success": False, "error_code": "X", "message": "m"},
            {"error": "not_found", "message": "m"},
            {"title": "t", "status": 404},
        ]
    ),
    key=st.sampled_from(["data", "details", "code", "hint", "required_fields", "message", "error", "status", "type"]),
    value=json_values,
)
def test_a_known_shape_with_a_wrong_part_never_raises(shape: dict[str, Any], key: str, value: Any) -> None:
    result = {"content": [{"text": json.dumps({**shape, key: value})}], "isError": True}

    assert isinstance(fw.read(result), fw.Failure)


class Unprintable:
    """Raises whatever one asks of it."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def endless() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    return loop


hostile_details: dict[str, Any] = {
    "an object": object(),
    "one that cannot be printed": Unprintable(),
    "a loop": endless(),
    "deep": json.loads("[" * 500 + "]" * 500),
    "wide": {str(n): list(range(100)) for n in range(1000)},
    "keys that are no texts": {1: "a", None: "b", (1, 2): "c"},
    "bytes": b"\xff\x00",
    "a set": {1, 2},
    "NaN": float("nan"),
    "a huge number": 10**6000,
    "lone surrogates": "\ud800",
    "an exception": ValueError("x"),
    "a class": int,
    "10 MB": "x" * LONG,
}

SCHEMAS = {module.name: jsonschema_rs.validator_for(module.json_schema()) for module in (_compact, _envelope, _flat)}


@pytest.mark.parametrize("name", hostile_details)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_encode_never_fails_for_what_details_hold(dialect: str, name: str) -> None:
    failure = fw.Failure(code="NOT_FOUND", message="m", details={"it": hostile_details[name]})

    result = fw.encode(failure, dialect)

    assert fw.read(json.loads(json.dumps(result))) == fw.dialects.canonical(failure)
    assert len(json.dumps(result)) < 50_000
    if dialect in SCHEMAS:
        SCHEMAS[dialect].validate(json.loads(result["content"][0]["text"]))


def test_what_cannot_be_serialised_becomes_readable_text() -> None:
    failure = fw.Failure(message="m", details={"when": Unprintable(), "what": ValueError("bad thing"), "raw": b"abc"})

    assert fw.dialects.canonical(failure).details == {"when": "<Unprintable>", "what": "bad thing", "raw": "<3 bytes>"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_broken_error_goes_out_as_a_minimal_one(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    class Lying(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("no items")

    result = fw.encode(fw.Failure(code="NOT_FOUND", message="It is gone.", details=Lying(a=1)), dialect)

    found = fw.read(result)
    assert found is not None
    assert (found.code, found.type, found.message, found.details) == ("NOT_FOUND", "NOT_FOUND", "It is gone.", {})
    assert "could not be encoded" in caplog.text


SHAPES = ["text", "compact", "xml", "meta lines", "quotes", "objects", "keys", "batch", "braces", "literals", "delays",
          "tags"]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_time_grows_with_size_and_no_faster(shape: str) -> None:
    makers = {
        "text": lambda n: "error " * (n // 6),
        "compact": lambda n: '{"type":"INTERNAL","message":"' + "a\\n" * (n // 3) + '","recoverable":false}',
        "xml": lambda n: "<tool_error>" + "<detail key='a'>&amp;</detail>" * (n // 30) + "</tool_error>",
        "meta lines": lambda n: "m\n" + "- a: b\n" * (n // 7),
        "quotes": lambda n: "<tool_error " + "a='" * (n // 3) + ">x</tool_error>",
        "objects": lambda n: '{"errors":[' + '{"code":"x","message":"m"},' * (n // 27) + "1]}",
        "keys": lambda n: '{"error":{' + "".join(f'"k{at}":"v",' for at in range(n // 12)) + '"code":1}}',
        "batch": lambda n: '{"results":[' + '{"id":1,"ok":false},{"ok":true},' * (n // 32) + "{}]}",
        "braces": lambda n: "x {" * (n // 3),
        "literals": lambda n: "x {'a': " * (n // 8) + "}",
        "delays": lambda n: '{"error":{"message":"' + "retry after wait 1 h " * (n // 21) + '","retryable":true}}',
        "tags": lambda n: "<Code>" * (n // 6) + "</",
    }

    def cost(size: int) -> float:
        result = {
            "content": [{"type": "text", "text": makers[shape](size)}],
            "isError": True,
            "_meta": {"errorType": "E"} if shape == "meta lines" else {},
        }
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            fw.read(result)
            best = min(best, time.process_time() - start)
        return best

    assert cost(800_000) < 40 * (cost(100_000) + 0.001)
