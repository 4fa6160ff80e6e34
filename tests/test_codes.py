"""The catalog holds every code of every contract, and users' own beside them."""

from typing import Any

import pytest

import failwell as fw
from failwell import codes
from failwell.codes import TYPES
from tests.vectors import load

ALL_CODES = [
    *(code for group in load("envelope")["codes"].values() for code in group),
    *load("xml")["canonical_codes"],
    *(literal.upper() for literal in load("flat")["codes"]),
    "MISSING_DISCRIMINATOR",
    "UNKNOWN_ACTION",
    "TOOL_ERROR",
]


@pytest.mark.parametrize("code", dict.fromkeys(ALL_CODES))
def test_every_code_of_every_contract_is_a_row(code: str) -> None:
    assert codes.get(code) is not None


def test_every_literal_has_a_row_of_its_own() -> None:
    assert sorted(row.flat for row in codes.rows() if row.flat) == sorted(load("flat")["codes"])


def test_names_are_unique_across_codes_and_aliases() -> None:
    names = [name for row in codes.rows() for name in (row.code, *row.aliases)]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", list(codes.rows()), ids=lambda row: row.code)
def test_every_row_is_whole(row: codes.Row) -> None:
    assert row.type in TYPES
    assert 400 <= row.http_status <= 599
    assert not row.title.endswith(".")
    assert row.suggestion is not None
    assert row.suggestion.endswith(".")
    assert row.code == codes.screaming(row.code)


@pytest.mark.parametrize("type_", TYPES)
def test_the_row_that_stands_for_a_type_is_of_that_type(type_: str) -> None:
    row = codes.get(TYPES[type_].code)  # type: ignore[index]  # a parameter is a str

    assert row is not None
    assert row.type == type_


@pytest.mark.parametrize("type_", TYPES)
def test_every_type_explains_itself_as_a_code(type_: str) -> None:
    row = codes.get(type_)

    assert row is not None
    assert row.type == type_


@pytest.mark.parametrize(
    "spelling", ["RATE_LIMITED", "rate_limited", "RateLimited", "TOO_MANY_REQUESTS", "rate-limited"]
)
def test_a_row_is_found_in_every_spelling(spelling: str) -> None:
    assert codes.explain(spelling).code == "RATE_LIMITED"


def test_a_dialects_name_explains_itself() -> None:
    assert codes.explain("auth_required").code == "UNAUTHORIZED"
    assert codes.explain("mcp_unavailable").code == "SERVICE_UNAVAILABLE"


def test_an_unknown_code_names_the_nearest() -> None:
    with pytest.raises(LookupError, match="did you mean 'RATE_LIMITED'"):
        codes.explain("RATE_LIMITTED")


def test_users_add_rows_for_their_domain() -> None:
    assert codes.title_of("INVOICE_PAID", "CONFLICT") != "The invoice is paid"
    row = codes.add("INVOICE_PAID", type="CONFLICT", title="The invoice is paid", retryable=False, aliases=("PAID",))

    assert fw.Failure(code="INVOICE_PAID", message="m").type == "CONFLICT"
    assert codes.get("PAID") == row
    assert codes.canonical_code("PAID") == "INVOICE_PAID"
    assert row.http_status == 409
    assert codes.title_of("INVOICE_PAID", "CONFLICT") == "The invoice is paid"


@pytest.mark.parametrize("taken", ["RATE_LIMITED", "RESOURCE_NOT_FOUND"])
def test_a_row_is_never_redefined(taken: str) -> None:
    before = codes.get(taken)

    with pytest.raises(ValueError, match="never redefined"):
        codes.add(taken, type="INTERNAL", title="Mine")
    with pytest.raises(ValueError, match="never redefined"):
        codes.add("BRAND_NEW", type="INTERNAL", title="Mine", aliases=(taken,))

    assert codes.get(taken) is before
    assert codes.get("BRAND_NEW") is None


def test_a_row_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'CONFLICT'"):
        codes.add("X_Y", type="CONFLCT", title="t")  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"code": "BAD CODE"}, ValueError),
        ({"http_status": 99}, ValueError),
        ({"http_status": "x"}, TypeError),
        ({"retryable": "yes"}, TypeError),
        ({"aliases": "XYZ"}, TypeError),
        ({"title": " "}, ValueError),
        ({"flat": "weird"}, ValueError),
    ],
    ids=str,
)
def test_a_row_that_makes_no_sense_is_refused(row: dict[str, Any], error: type[Exception]) -> None:
    values = {"code": "NEW_CODE", "type": "CONFLICT", "title": "t", **row}

    with pytest.raises(error):
        codes.add(values.pop("code"), **values)

    assert codes.get("NEW_CODE") is None


def test_an_envelope_name_of_ones_own_is_read_back() -> None:
    codes.add("ODD_ONE", type="CONFLICT", title="t", envelope="ODD_ENVELOPE_NAME")
    result = fw.encode(fw.Failure(code="ODD_ONE", message="m"), "envelope")

    found = fw.read(result["content"][0]["text"])

    assert found is not None
    assert found.code == "ODD_ONE"


@pytest.mark.parametrize(
    ("code", "tool", "canonical"),
    [
        ("RESOURCE_NOT_FOUND", None, "NOT_FOUND"),
        ("CLAIM_TASK_ALREADY_CLAIMED", "claim_task", "ALREADY_CLAIMED"),
        ("CLAIM_TASK_ALREADY_CLAIMED", "claimTask", "ALREADY_CLAIMED"),
        ("CLAIM_TASK_ALREADY_CLAIMED", None, "CLAIM_TASK_ALREADY_CLAIMED"),
        ("CLAIM_TASK_ALREADY_CLAIMED", "other", "CLAIM_TASK_ALREADY_CLAIMED"),
        ("CLAIM_TASK_RESOURCE_NOT_FOUND", "claim_task", "NOT_FOUND"),
        ("FILE_NOT_FOUND", "file", "FILE_NOT_FOUND"),
        ("CLAIM_TASK", "claim_task", "CLAIM_TASK"),
    ],
)
def test_a_prefix_comes_off_only_if_the_tool_is_known_and_the_code_is_no_row(
    code: str, tool: str | None, canonical: str
) -> None:
    assert codes.canonical_code(code, tool) == canonical
