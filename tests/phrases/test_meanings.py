"""The tables of codes: every row means something, and no code stands in two of them."""

from typing import Any

import pytest

import failwell as fw
from failwell.phrases import http_codes, rpc_codes, sql_codes, system_codes, vendor_codes
from failwell.phrases.language import snake
from failwell.phrases.meanings import Rows, by_code, failure_from, known_everywhere
from failwell.phrases.vendor_codes import vendors
from failwell.phrases.vendors import cloud, commerce, content, data, messages, models, work

VENDOR_MODULES = (cloud, commerce, content, data, messages, models, work)
MODULES = (http_codes, rpc_codes, sql_codes, system_codes, vendor_codes, *VENDOR_MODULES)
ROWS: dict[str, Rows] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if name.endswith("_ROWS")
}
DICTS: dict[str, dict[Any, Any]] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, dict) and name.isupper() and "code" not in value
}


def test_the_tables_are_found() -> None:
    assert len(ROWS) >= 70
    assert len(DICTS) >= 20
    assert all(len(sql_codes.__dict__[name]) > 50 for name in ("SQLSTATES", "MYSQL", "ORACLE", "SQL_SERVER"))


@pytest.mark.parametrize("name", ROWS)
def test_a_code_has_one_meaning(name: str) -> None:
    codes = [code.removeprefix("*") for _, listed in ROWS[name] for code in listed.split()]

    assert len(codes) == len(set(codes)) > 0


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_a_failure_of_the_catalog(name: str) -> None:
    for meaning, listed in ROWS[name]:
        assert fw.codes.get(failure_from(meaning).code) is not None, listed


def test_every_table_of_a_vendor_is_in_use() -> None:
    listed = {id(row) for vendor in vendors() for row in vendor.rows}
    tables = [
        (name, rows)
        for name, rows in ROWS.items()
        if name.startswith(tuple(f"{module.__name__.rpartition('.')[2]}." for module in VENDOR_MODULES))
    ]

    assert [name for name, rows in tables if not {id(row) for row in rows} <= listed] == []
    assert len(vendors()) == len({vendor.name for vendor in vendors()}) >= 36


def test_a_vendor_uses_a_code_once() -> None:
    for vendor in vendors():
        codes = [code.removeprefix("*") for _, listed in vendor.rows for code in listed.split()]
        assert sorted(code for code in set(codes) if codes.count(code) > 1) == [], vendor.name


def test_no_row_calls_a_payment_that_was_declined_retryable() -> None:
    declined = [failure_from(meaning) for rows in ROWS.values() for meaning, _ in rows]

    assert not any(
        failure.retryable for failure in declined if failure.code in ("PAYMENT_DECLINED", "PAYMENT_REQUIRED")
    )


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
            found.setdefault(snake(code), set()).add(str(failure_from(meaning).code))

    assert {code: codes for code, codes in found.items() if len(codes) > 1} == {}
    assert len(found) > 90


def test_a_code_of_one_service_means_nothing_from_another() -> None:
    assert fw.from_http(400, body={"error": {"code": "ExpiredToken"}}).code == "UNAUTHORIZED"
    assert fw.from_http(400, body={"error": {"code": "AccountProblem"}}).code == "INVALID_ARGUMENT"
