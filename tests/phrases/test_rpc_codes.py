"""JSON-RPC codes: one table for all that send or read them."""

import re
from pathlib import Path

import pytest

import failwell as fw
from failwell.phrases import rpc_codes
from failwell.phrases.rpc_codes import RPC_CODES

pytestmark = pytest.mark.table

SOURCES = Path(fw.__file__).parent


def test_every_number_has_one_row_and_a_name() -> None:
    names = {name: value for name, value in vars(rpc_codes).items() if name.isupper() and isinstance(value, int)}

    assert sorted(names.values()) == sorted(row.number for row in RPC_CODES)
    assert len({row.number for row in RPC_CODES}) == len(RPC_CODES)


def test_no_other_module_writes_these_numbers() -> None:
    number = re.compile(r"(?<!\w)-32\d{3}\b")
    example = re.compile(r"^ *Example: failwell .*$", re.MULTILINE)
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if number.search(example.sub("", path.read_text("utf-8")))
    }

    assert found == {"phrases/rpc_codes.py"}


READ = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_ARGUMENT",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_ARGUMENT",
    -32603: "INTERNAL_ERROR",
    -32000: None,
    -32001: None,
    -32002: None,
    -32020: "INVALID_ARGUMENT",
    -32021: "CONFIG_ERROR",
    -32022: "CONFIG_ERROR",
    -32023: "RATE_LIMITED",
    -32042: "UNAUTHORIZED",
    -32800: None,
    -32999: None,
}


@pytest.mark.parametrize(("number", "code"), READ.items())
def test_a_number_that_a_server_sends_is_read_by_its_row(number: int, code: str | None) -> None:
    found = fw.read({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": "Oh dear."}})

    assert found is not None
    assert found.code == code


def test_every_number_that_is_known_is_among_them() -> None:
    assert {row.number for row in RPC_CODES} == READ.keys() - {-32999}


def test_what_a_client_answers_is_an_error_of_the_protocol() -> None:
    assert {-32020, -32021, -32022, -32042} == rpc_codes.CLIENT_ERRORS
    assert rpc_codes.CLIENT_ERRORS | {-32700, -32600, -32601, -32800} == rpc_codes.PROTOCOL_ERRORS
