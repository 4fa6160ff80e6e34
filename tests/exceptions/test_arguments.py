"""A parser in a tool's body blames the caller only if what it could not read is one of the arguments."""

import base64
import binascii
import csv
import ipaddress
import json
import pickle
import plistlib
import struct
import tomllib
import urllib.request
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from typing import Any

import httpx
import jsonschema
import msgspec
import pytest
import requests
import yaml
from pydantic import BaseModel

from failwell import from_exception
from tests.exceptions.caught import UNMAPPED, caught


class Order(BaseModel):
    n: int


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader([text], strict=True))


DOCUMENTS: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (json.loads, '{"a": ', "<html>"),
    (json.loads, b'{"a": ', b"<html>"),
    (tomllib.loads, "a = ", "b = "),
    (yaml.safe_load, "a: [", "b: ["),
    (ET.fromstring, "<a", "<b"),
    (base64.b64decode, "abc", "abcde"),
    (ipaddress.IPv4Address, "1.2.3.x", "9.9.9.x"),
    (httpx.get, "nothing://somewhere", "nothing://elsewhere"),
    (requests.get, "nothing", "nothing else"),
    (urllib.request.urlopen, "nothing://somewhere", "nothing://elsewhere"),
    (bytes.decode, b"\xff\xfe\xfd\xfc", b"\xff\xff\xff\xff"),
    (lambda value: zipfile.ZipFile(BytesIO(value)), b"no archive", b"another one"),
]
UNSEEN: list[Callable[[], Any]] = [
    lambda: json.loads(""),
    lambda: binascii.unhexlify("zz"),
    lambda: struct.unpack("<I", b"a"),
    lambda: pickle.loads(b"nothing"),
    lambda: zlib.decompress(b"nothing"),
    lambda: plistlib.loads(b"nothing"),
    lambda: _rows('"a'),
    lambda: msgspec.json.decode(b"nothing"),
    lambda: httpx.get("nothing://example.invalid"),
    lambda: int("x"),
    lambda: Decimal("x"),
    lambda: {}["x"],
]


def test_a_document_that_is_an_argument_is_the_callers() -> None:
    for parse, sent, _ in DOCUMENTS:
        failure = from_exception(caught(parse, sent), arguments={"n": 1, "inside": [{"text": sent}]})
        assert failure.type == "VALIDATION", parse


def test_another_document_is_not_the_callers() -> None:
    for parse, sent, other in DOCUMENTS:
        exc = caught(parse, other)
        assert from_exception(exc, arguments={"text": sent}) == UNMAPPED, parse
        assert from_exception(exc, arguments={}) == UNMAPPED, parse


def test_without_evidence_nobody_is_blamed() -> None:
    for fail in UNSEEN:
        failure = from_exception(caught(fail), arguments={"text": "another", "separator": ",", "encoding": "utf-8"})
        assert (failure.type, failure.outcome, failure.fields) == ("INTERNAL", "unknown", ())


def test_a_part_of_an_argument_is_the_callers_too() -> None:
    text = 'first\n{"a": \nlast'

    failure = from_exception(caught(json.loads, text.splitlines()[1]), arguments={"text": text})

    assert failure.code == "PARSE_ERROR"


def test_a_value_that_an_exception_quotes_is_the_callers() -> None:
    exc = caught(ipaddress.IPv4Address, "1.2.3.x".replace("3", "4"))

    assert from_exception(exc, arguments={"host": "1.2.4.x"}).code == "INVALID_ARGUMENT"


def test_without_arguments_nothing_is_known_of_them() -> None:
    assert from_exception(caught(json.loads, "{")).code == "PARSE_ERROR"


@pytest.mark.parametrize(
    ("refuse", "value"),
    [
        (Order.model_validate, {"n": "many"}),
        (lambda value: Order(n=value), "many"),
        (lambda value: jsonschema.validate(value, {"required": ["n"]}), {"m": 1}),
    ],
    ids=["a model", "a field", "a schema"],
)
def test_what_a_validator_refuses_is_the_callers_only_if_it_is_the_argument_itself(refuse: Any, value: Any) -> None:
    exc = caught(refuse, value)

    assert from_exception(exc, arguments={"order": value}).code == "VALIDATION_FAILED"
    assert from_exception(exc, arguments={"order": "x"}).type == "INTERNAL"
    assert from_exception(exc, arguments={}).type == "INTERNAL"


def test_a_text_that_a_service_echoes_is_not_the_argument() -> None:
    exc = caught(Order.model_validate, json.loads('{"n": "task-99"}'))

    assert from_exception(exc, arguments={"task": "task-99"}).type == "INTERNAL"


def test_an_answer_of_a_service_that_refuses_the_request_stays_what_it_is() -> None:
    response = httpx.Response(422, request=httpx.Request("POST", "http://localhost"))

    failure = from_exception(caught(response.raise_for_status), arguments={})

    assert failure.type == "VALIDATION"
