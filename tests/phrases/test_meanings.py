"""The tables of codes: every row means something, and no code stands in two of them."""

from typing import Any

import pytest

import failwell as fw
from failwell.phrases import http_codes, rpc_codes, sql_codes, system_codes, vendor_codes
from failwell.phrases.meanings import Rows, by_code, failure_from, known_everywhere

MODULES = (http_codes, rpc_codes, sql_codes, system_codes, vendor_codes)
ROWS: dict[str, Rows] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if name.endswith("_ROWS") and name != "_ALL_ROWS"
}
DICTS: dict[str, dict[Any, Any]] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, dict) and name.isupper() and "code" not in value
}


def test_the_tables_are_found() -> None:
    assert len(ROWS) >= 15
    assert len(DICTS) >= 20
    assert all(len(sql_codes.__dict__[name]) > 50 for name in ("SQLSTATES", "MYSQL", "ORACLE", "SQL_SERVER"))


@pytest.mark.parametrize("name", ROWS)
def test_a_code_has_one_meaning(name: str) -> None:
    codes = [code.removeprefix("*") for _, listed in ROWS[name] for code in listed.split()]

    assert len(codes) == len(set(codes)) > 0


@pytest.mark.parametrize("name", DICTS)
def test_every_meaning_is_a_failure_of_the_catalog(name: str) -> None:
    for code, meaning in DICTS[name].items():
        assert fw.codes.get(failure_from(meaning).code) is not None, code


def test_a_star_marks_the_codes_that_are_known_everywhere() -> None:
    rows: Rows = (("NOT_FOUND", "*missing gone"), ({"code": "LOCKED", "retryable": True}, "*held"))

    assert by_code(rows) == {
        "missing": "NOT_FOUND",
        "gone": "NOT_FOUND",
        "held": {"code": "LOCKED", "retryable": True},
    }
    assert known_everywhere(rows).keys() == {"missing", "held"}


def test_services_agree_on_codes_that_are_known_everywhere() -> None:
    found: dict[str, set[str]] = {}
    for rows in ROWS.values():
        for code, meaning in known_everywhere(rows).items():
            found.setdefault(vendor_codes.snake(code), set()).add(str(failure_from(meaning).code))

    assert {code: codes for code, codes in found.items() if len(codes) > 1} == {}
    assert len(found) > 90


def test_a_code_of_one_service_means_nothing_from_another() -> None:
    assert fw.from_http(400, body={"error": {"code": "ExpiredToken"}}).code == "UNAUTHORIZED"
    assert fw.from_http(400, body={"error": {"code": "AccountProblem"}}).code == "INVALID_ARGUMENT"
