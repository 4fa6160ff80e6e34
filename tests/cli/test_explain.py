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
    assert refusal("explain", "RATE_LIMTED") == "unknown code or exception 'RATE_LIMTED'; did you mean 'RATE_LIMITED'?"


@pytest.mark.parametrize(
    ("asked", "code", "sentence"),
    [
        ("429", "RATE_LIMITED", "HTTP status 429 becomes RATE_LIMITED."),
        ("-32601", "METHOD_NOT_FOUND", "JSON-RPC code -32601 becomes METHOD_NOT_FOUND."),
        ("ConnectionRefusedError", "CONNECTION_REFUSED", "ConnectionRefusedError becomes CONNECTION_REFUSED."),
        ("httpx.ConnectTimeout", "CONNECT_TIMEOUT", "httpx.ConnectTimeout becomes CONNECT_TIMEOUT."),
        ("timeouterror", "TIMEOUT", "TimeoutError becomes TIMEOUT."),
        ("valueerror", "INTERNAL_ERROR", "ValueError has no rule, so it becomes INTERNAL_ERROR."),
    ],
)
def test_statuses_numbers_and_exceptions_are_explained_by_their_code(asked: str, code: str, sentence: str) -> None:
    shown = output("explain", asked)

    assert shown.startswith(sentence)
    assert f"\n{code}\n" in shown
    assert json.loads(output("explain", asked, "--json"))["code"] == code


def test_what_has_no_fixed_meaning_is_said_to_depend() -> None:
    assert output("explain", "-32050").startswith("JSON-RPC code -32050 is defined by each server.")
    assert "Depends on" in output("explain", "redis.TimeoutError")
