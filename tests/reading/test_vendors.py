"""Errors of vendors are understood wherever a server puts them, by tables of their published codes."""

from typing import Any

import pytest

import failwell as fw
from failwell.phrases.vendor_codes import vendors
from failwell.phrases.vendor_shapes import parse_shape
from tests.reading.vendors import PLACES, VendorError, errors, mistakes, placed

LEAST_RIGHT = 0.97
ERRORS = tuple(errors())


def read(body: Any, place: str = "text") -> fw.Failure:
    found = fw.read(placed(body, place))
    assert found is not None
    return found


@pytest.fixture(scope="module", params=PLACES)
def checked(request: pytest.FixtureRequest) -> list[tuple[VendorError, list[str]]]:
    """Every error with what `read` gets wrong about it in one place."""
    return [(error, mistakes(error, fw.read(placed(error.body, request.param)))) for error in ERRORS]


def test_the_data_speaks_of_many_vendors() -> None:
    assert len(ERRORS) >= 420
    assert len({error.vendor for error in ERRORS}) >= 36
    assert len({str(error.body) for error in ERRORS}) == len(ERRORS)


def test_the_type_and_whether_to_retry_are_right(checked: list[tuple[VendorError, list[str]]]) -> None:
    wrong = [
        f"{error.number} {error.vendor}: {error.code}" for error, found in checked if {"type", "retryable"} & set(found)
    ]

    assert len(wrong) <= (1 - LEAST_RIGHT) * len(ERRORS), wrong


@pytest.mark.parametrize("mistake", ["unsafe", "retry_after", "fields"])
def test_nothing_unsafe_is_said_and_no_delay_or_field_is_lost(
    checked: list[tuple[VendorError, list[str]]], mistake: str
) -> None:
    assert [f"{error.number} {error.vendor}" for error, found in checked if mistake in found] == []


def test_the_code_is_mostly_the_finest_that_is_documented(checked: list[tuple[VendorError, list[str]]]) -> None:
    wrong = [error for error, found in checked if "code" in found]

    assert len(wrong) <= 0.08 * len(ERRORS)


def test_the_code_of_a_vendor_is_kept() -> None:
    found = read({"ok": False, "error": "is_archived"})

    assert (found.code, found.details["code"]) == ("PRECONDITION_FAILED", "is_archived")


@pytest.mark.parametrize(
    "body",
    [
        {"error": "is_archived"},
        {"code": 1001, "message": "Ledger closed"},
        {"code": 50001, "message": "Ledger closed"},
        {"errors": [{"code": 88, "message": "Ledger closed"}]},
        {"error": {"code": 2100, "message": "Ledger closed"}},
    ],
)
def test_a_code_says_nothing_in_the_object_of_somebody_else(body: dict[str, Any]) -> None:
    found = read(body)

    assert (found.type, found.retryable, found.outcome) == ("INTERNAL", None, "unknown")


def test_a_number_that_looks_like_a_status_is_a_code_where_the_vendor_puts_one() -> None:
    found = read({"error": {"message": "(#506) Refused", "type": "OAuthException", "code": 506, "fbtrace_id": "A"}})

    assert found.code == "ALREADY_EXISTS"


def test_the_last_of_several_codes_counts() -> None:
    body = {"error_summary": "path/lookup/not_found/..", "error": {".tag": "path", "path": {".tag": "not_found"}}}

    assert read(body).code == "NOT_FOUND"


def test_the_path_of_a_graphql_error_is_no_field() -> None:
    error = {"message": "Name is not valid", "path": ["issueCreate"], "extensions": {"code": "BAD_USER_INPUT"}}

    assert read({"errors": [error]}).fields == ()


@pytest.mark.parametrize("place", ["structured", "rpc data"])
def test_the_words_in_an_object_count_before_those_around_it(place: str) -> None:
    assert read({"message": "Domain not found: mg.acme.test"}, place).type == "NOT_FOUND"


@pytest.mark.parametrize("place", ["structured", "rpc data"])
def test_words_around_an_object_that_nobody_understands_promise_nothing(place: str) -> None:
    assert read({"message": "The flux is off."}, place).retryable is None


def test_a_payment_that_was_declined_is_not_made_again() -> None:
    declined = [error for error in ERRORS if error.code == "PAYMENT_DECLINED"]

    assert len(declined) >= 14
    assert not any(read(error.body, place).retryable for error in declined for place in PLACES)


@pytest.mark.table
def test_every_shape_of_a_vendor_can_be_read() -> None:
    for vendor in vendors():
        assert all(parse_shape(shape) for shape in vendor.shapes), vendor.name
        assert vendor.shapes or vendor.name == "Redis", vendor.name
