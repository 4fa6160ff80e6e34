"""Every published example of the five contracts, written and read."""

import json
from typing import Any

import pytest

import failwell as fw
from tests.vectors import DIALECTS, cases, failure_of, load


def named(dialect: str) -> list[Any]:
    return [pytest.param(case, id=case.get("name", str(n))) for n, case in enumerate(cases(dialect))]


def text_of(result: dict[str, Any]) -> str:
    [block] = result["content"]
    assert block["type"] == "text"
    text: str = block["text"]
    return text


def assert_subset(part: Any, whole: Any) -> None:
    if isinstance(part, dict):
        for key, value in part.items():
            assert_subset(value, whole[key])
    else:
        assert part == whole


@pytest.mark.parametrize("case", named("compact"))
def test_compact_text_is_exact(case: dict[str, Any]) -> None:
    result = fw.encode(failure_of(case["given"]), "compact")

    assert text_of(result) == case["text"]
    assert result["isError"] is True


@pytest.mark.parametrize("case", named("envelope"))
def test_envelope_is_what_the_contract_shows(case: dict[str, Any]) -> None:
    given = case["given"]
    settings = {"clock": lambda: given["clock"]} if "clock" in given else {}
    settings |= {"version": given["version"]} if "version" in given else {}

    payload = json.loads(text_of(fw.encode(failure_of(given), "envelope", **settings)))

    assert payload == case["json"] if "json" in case else True
    assert_subset(case.get("json", case.get("json_subset")), payload)
    assert list(payload) == [key for key in load("envelope")["fields"] if key in payload]


@pytest.mark.parametrize("case", named("flat"))
def test_flat_is_what_the_contract_shows(case: dict[str, Any]) -> None:
    payload = json.loads(text_of(fw.encode(failure_of(case["given"]), "flat")))

    assert payload == case["json"] if "json" in case else True
    assert_subset(case.get("json", case.get("json_subset")), payload)


def test_flat_says_how_to_sign_in_again() -> None:
    [case] = [case for case in cases("flat") if "must" in case]

    payload = fw.encode(failure_of(case["given"]), "flat")

    assert case["given"]["suggestion"] in json.loads(text_of(payload))["details"].values()


@pytest.mark.parametrize("case", named("meta"))
def test_meta_result_is_exact_beside_our_own_key(case: dict[str, Any]) -> None:
    result = fw.encode(failure_of(case["given"]), "meta")
    del result["_meta"]["dev.failwell/failure"]

    assert result == case["result"]


@pytest.mark.parametrize("case", named("xml"))
def test_xml_text_is_exact_to_the_byte(case: dict[str, Any]) -> None:
    result = fw.encode(failure_of(case["given"]), "xml")

    assert text_of(result) == case["text"]
    assert result["isError"] is case["isError"]


def every_result() -> list[Any]:
    return [
        pytest.param(dialect, case["given"], id=f"{dialect}-{case.get('name', n)}")
        for dialect in DIALECTS
        for n, case in enumerate(cases(dialect))
    ]


@pytest.mark.parametrize(("dialect", "given"), every_result())
def test_what_was_written_reads_back_whole(dialect: str, given: dict[str, Any]) -> None:
    failure = failure_of(given)

    assert fw.read(fw.encode(failure, dialect)) == fw.dialects.canonical(failure)


@pytest.mark.parametrize(("dialect", "given"), every_result())
def test_the_text_alone_still_tells_the_decision(dialect: str, given: dict[str, Any]) -> None:
    failure = failure_of(given)
    result = fw.encode(failure, dialect)
    del result["_meta"]["dev.failwell/failure"]

    found = fw.read(result, unflagged=True)

    assert found is not None
    kept = ("type", "recoverable", "retryable", "outcome", "retry_after")
    if dialect == "meta":
        kept = ("type", "recoverable", "retryable", "outcome")
    assert {name: getattr(found, name) for name in kept} == {name: getattr(failure, name) for name in kept}


@pytest.mark.parametrize("code", load("envelope")["status_of_code"])
def test_envelope_sends_each_code_with_its_status(code: str) -> None:
    payload = json.loads(text_of(fw.encode(fw.Failure(code=code, message="m"), "envelope")))

    assert (payload["error_code"], payload["code"]) == (code, load("envelope")["status_of_code"][code])


@pytest.mark.parametrize(("parts", "code"), load("envelope")["tool_prefixed_codes"].items())
def test_a_tool_prefixes_its_codes_and_the_prefix_comes_off_when_the_tool_is_known(parts: str, code: str) -> None:
    tool, _, short = parts.partition(" + ")

    assert fw.codes.prefixed(tool, short) == code
    payload = {"success": False, "error_code": code, "message": "m", "error": "e"}
    read = fw.read({"content": [{"type": "text", "text": json.dumps(payload)}], "isError": True}, tool=tool)
    assert read is not None
    assert (read.code, read.tool) == (short, tool)


@pytest.mark.parametrize("literal", load("flat")["codes"])
def test_flat_literals_survive_reading_and_writing(literal: str) -> None:
    read = fw.read(json.dumps({"error": literal, "message": "m"}), dialect="flat")

    assert read is not None
    assert json.loads(text_of(fw.encode(read, "flat"))) == {"error": literal, "message": "m"}


@pytest.mark.parametrize("type_", load("compact")["default_recoverable"])
def test_flat_names_a_literal_for_each_type(type_: Any) -> None:
    payload = json.loads(text_of(fw.encode(fw.Failure(type=type_, message="m"), "flat")))

    assert payload["error"] == load("flat")["literal_of"][type_]


@pytest.mark.parametrize("trap", load("flat")["read_traps"], ids=lambda trap: trap["text"][:30])
def test_flat_reading_falls_into_no_trap(trap: dict[str, Any]) -> None:
    result = {"content": [{"type": "text", "text": trap["text"]}], "isError": trap["isError"]}

    found = fw.read(result, **trap["read_with"])

    expected = {
        "a failure with code HITL_REQUIRED kept": "HITL_REQUIRED",
        "a failure with code SEND_FAILED": "SEND_FAILED",
    }
    code = next((code for start, code in expected.items() if trap["expect"].startswith(start)), None)
    assert (found and found.code) == code


def test_a_timeout_without_a_retry_flag_may_be_retried() -> None:
    [also] = load("meta")["read_also"]

    found = fw.read(also["result"])

    assert found is not None
    assert (found.type, found.retryable, found.code) == ("TRANSIENT", True, "TIMEOUT")


@pytest.mark.parametrize("kind", ["ValidationError", "TimeoutError", "NetworkError", "UnknownError"])
def test_terminal_is_what_the_retry_guidelines_call_so(kind: str) -> None:
    guideline = load("meta")["retry_guidelines"]["unknown" if kind == "UnknownError" else kind]

    found = fw.read({"content": [{"type": "text", "text": "m"}], "isError": True, "_meta": {"errorType": kind}})

    assert found is not None
    assert fw.is_terminal(found) is guideline["terminal"]


def test_legacy_text_is_an_inferred_failure() -> None:
    [legacy] = load("compact")["legacy"]

    found = fw.read({"content": [{"type": "text", "text": legacy["text"]}], "isError": True})

    assert found is not None
    assert (found.origin, found.retryable, found.message) == ("inferred", None, legacy["text"])


def test_an_envelope_of_the_old_kind_is_read() -> None:
    [text] = [entry for entry in load("envelope")["read_also"] if entry.startswith("{")]

    found = fw.read(text)

    assert found is not None
    assert (found.code, found.message, found.retryable) == (
        "MISSING_REQUIRED_FIELD", "task_id is required", False,
    )  # fmt: skip


@pytest.mark.parametrize("code", load("xml")["canonical_codes"])
def test_xml_keeps_its_canonical_codes(code: str) -> None:
    text = text_of(fw.encode(fw.tool_error(code, message="m"), "xml"))

    assert f'code="{code}"' in text
    found = fw.read(text)
    assert found is not None
    assert found.code == code


@pytest.mark.parametrize("shown", ["30 seconds", "30", "30.0 seconds", " 30 s "])
def test_xml_delays_are_read_in_every_spelling(shown: str) -> None:
    found = fw.read(f"<tool_error><message>m</message><retry_after>{shown}</retry_after></tool_error>")

    assert found is not None
    assert found.retry_after == 30


def test_compact_publishes_the_schema_of_its_contract() -> None:
    compact: Any = fw.dialects.get("compact")

    schema = compact.json_schema()
    for property_ in schema["properties"].values():
        assert property_.pop("description")

    assert schema == load("compact")["json_schema"]
