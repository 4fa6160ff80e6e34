"""`failwell explain`."""

import json

import pytest

from failwell.codes import TYPES
from tests.cli.streams import output, refusal


@pytest.mark.parametrize(
    ("spelling", "code"),
    [
        ("NOT_FOUND", "NOT_FOUND"),
        ("not-found", "NOT_FOUND"),
        ("RESOURCE_NOT_FOUND", "NOT_FOUND"),
        ("auth_required", "UNAUTHORIZED"),
        ("mcp_unavailable", "SERVICE_UNAVAILABLE"),
        ("NotFound", "NOT_FOUND"),
    ],
)
def test_explain_knows_a_code_in_every_spelling(spelling: str, code: str) -> None:
    assert json.loads(output("explain", spelling, "--json"))["code"] == code


def test_explain_says_what_a_code_means_and_what_it_is_called() -> None:
    words = output("explain", "UNAUTHORIZED")

    for expected in ("Authentication is required", "PERMISSION", "401", "auth_required", "AUTH_REQUIRED", "sign in"):
        assert expected in words


def test_explain_knows_the_types_that_are_no_codes() -> None:
    found = json.loads(output("explain", "transient", "--json"))

    assert found["meaning"] == TYPES["TRANSIENT"].meaning
    assert "TIMEOUT" in found["codes"]
    assert TYPES["TRANSIENT"].meaning in " ".join(output("explain", "TRANSIENT").split())


def test_explain_names_the_nearest_code_to_an_unknown_one() -> None:
    assert refusal("explain", "RATE_LIMTED") == "unknown code 'RATE_LIMTED'; did you mean 'RATE_LIMITED'?"
