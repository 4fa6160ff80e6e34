"""JSON-RPC codes: one table for all that send or read them."""

import re
from pathlib import Path

import pytest

import failwell as fw
from failwell.phrases import rpc_codes
from failwell.phrases.rpc_codes import RPC_CODES, RpcCode

SOURCES = Path(fw.__file__).parent
# They must start quickly, or are being rewritten, and still have the number of an internal error to themselves.
WITH_NUMBERS_OF_THEIR_OWN = {"proxy/http/lines.py", "proxy/http/refusals.py", "proxy/stdio/restarts.py"}


def test_every_number_has_one_row_and_a_name() -> None:
    names = {name: value for name, value in vars(rpc_codes).items() if name.isupper() and isinstance(value, int)}

    assert sorted(names.values()) == sorted(row.number for row in RPC_CODES)
    assert len({row.number for row in RPC_CODES}) == len(RPC_CODES)


def test_no_other_module_writes_these_numbers() -> None:
    number = re.compile(r"(?<!\w)-32\d{3}\b")
    found = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if number.search(path.read_text("utf-8"))}

    assert found - WITH_NUMBERS_OF_THEIR_OWN == {"phrases/rpc_codes.py"}


@pytest.mark.parametrize("row", RPC_CODES, ids=lambda row: str(row.number))
def test_a_number_that_a_server_sends_is_read_by_its_row(row: RpcCode) -> None:
    found = fw.read({"jsonrpc": "2.0", "id": 1, "error": {"code": row.number, "message": "Oh dear."}})

    assert found is not None
    assert found.code == row.received


def test_what_a_client_answers_is_an_error_of_the_protocol() -> None:
    assert rpc_codes.CLIENT_ERRORS < rpc_codes.PROTOCOL_ERRORS
    assert not rpc_codes.CLIENT_ERRORS & rpc_codes.UNSPECIFIC
