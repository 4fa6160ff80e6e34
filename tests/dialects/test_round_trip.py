"""Whatever a failure holds, every dialect carries it across."""

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import failwell as fw
from failwell.advice import is_guess
from failwell.dialects import DIALECTS
from tests.dialects.limits import as_read_without_meta
from tests.strategies import failures

each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def stripped(result: dict[str, Any]) -> dict[str, Any]:
    del result["_meta"]["dev.failwell/failure"]
    return result


@each_dialect
@given(failure=failures)
def test_a_whole_result_reads_back_as_the_canonical_failure(dialect: str, failure: fw.Failure) -> None:
    result = json.loads(json.dumps(fw.encode(failure, dialect)))

    assert fw.read(result) == fw.dialects.canonical(failure)


@given(failure=failures)
@example(
    fw.Failure(
        message="m", fields=tuple(fw.FieldProblem(path="a" * 300 + end, message=f"{end} " * 200) for end in "xyz")
    )
)
def test_canonical_twice_changes_nothing(failure: fw.Failure) -> None:
    once = fw.dialects.canonical(failure)

    assert fw.dialects.canonical(once) == once


@each_dialect
@given(failure=failures)
def test_without_our_meta_everything_survives_but_what_the_table_says(dialect: str, failure: fw.Failure) -> None:
    assume(not is_guess(failure))
    result = stripped(fw.encode(failure, dialect))

    assert fw.read(result, unflagged=True) == as_read_without_meta(dialect, fw.dialects.canonical(failure))


@each_dialect
def test_what_was_not_understood_is_sent_in_the_words_of_the_server(dialect: str) -> None:
    text = "Blorp: Maria zorked the wibble."
    failure = fw.read({"content": [{"type": "text", "text": text}], "isError": True})
    assert failure is not None
    assert failure.confidence == 0

    result = fw.encode(failure, dialect, structured=True)

    assert result["content"] == [{"type": "text", "text": text}]
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert fw.read(result) == failure


@given(failure=failures, first=st.sampled_from(list(DIALECTS)), second=st.sampled_from(list(DIALECTS)))
def test_converting_between_any_two_dialects_loses_nothing(failure: fw.Failure, first: str, second: str) -> None:
    converted = fw.convert(fw.encode(failure, first), to=second, unflagged=True)

    assert converted["content"] == fw.encode(fw.dialects.canonical(failure), second, **_dated(second))[
        "content"
    ] or _undated(converted, fw.encode(failure, second))
    assert fw.read(converted) == fw.dialects.canonical(failure)


def _dated(dialect: str) -> dict[str, Any]:
    return {"clock": lambda: "now"} if dialect == "envelope" else {}


def _undated(one: dict[str, Any], two: dict[str, Any]) -> bool:
    texts = [json.loads(result["content"][0]["text"]) for result in (one, two)]
    for text in texts:
        del text["timestamp"]
    return bool(texts[0] == texts[1])


@each_dialect
@given(failure=failures)
def test_reading_what_was_read_from_text_changes_nothing_more(dialect: str, failure: fw.Failure) -> None:
    assume(not is_guess(failure))
    once = fw.read(stripped(fw.encode(failure, dialect)), unflagged=True)
    assert once is not None
    again = fw.read(stripped(fw.encode(once, dialect)), unflagged=True)

    assert again == fw.dialects.canonical(once)


@each_dialect
@given(code=st.text(min_size=1, max_size=20).filter(fw.failure.is_code))
@example(code="SOMETHING_NOBODY_KNOWS")
@example(code="RateLimitError")
def test_a_code_that_is_not_in_the_catalog_survives_in_the_text(dialect: str, code: str) -> None:
    failure = fw.dialects.canonical(fw.Failure(code=code, message="m"))
    result = stripped(fw.encode(failure, dialect))

    found = fw.read(result)

    assert found is not None
    # A code that a vendor publishes is read as the catalog's, and stands in the details as it was sent.
    survivors = (found.code, found.details.get("code"))
    assert failure.code in survivors or (failure.code is None and dialect in ("flat", "envelope"))


@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat"])
def test_unknown_keys_stand_again_where_they_stood(dialect: str) -> None:
    payload = json.loads(fw.encode(fw.Failure(code="NOT_FOUND", message="m"), dialect)["content"][0]["text"])
    payload["trace_id"] = {"deep": [1]}

    found = fw.read(json.dumps(payload))

    assert found is not None
    assert found.extra == {"trace_id": {"deep": [1]}}
    assert json.loads(fw.encode(found, dialect)["content"][0]["text"])["trace_id"] == {"deep": [1]}
