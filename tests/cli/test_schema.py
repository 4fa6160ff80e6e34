"""`failwell schema`."""

import json

import jsonschema_rs
import pytest

import failwell as fw
from tests.cli.streams import output, refusal


def test_schema_is_the_one_of_the_dialect() -> None:
    assert json.loads(output("schema", "compact")) == fw.dialects.get("compact").json_schema()


@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat", "meta"])
@pytest.mark.parametrize("failure", [fw.NotFound.of("task", 1).failure, fw.required("id"), fw.error("Boom.")])
def test_what_is_encoded_fits_the_schema(dialect: str, failure: fw.Failure) -> None:
    result = fw.encode(failure, dialect)
    instance = result["_meta"] if dialect == "meta" else json.loads(result["content"][0]["text"])

    assert jsonschema_rs.is_valid(json.loads(output("schema", dialect)), instance, offline=True)


def test_a_dialect_without_a_schema_is_not_offered() -> None:
    assert refusal("schema", "zzz") == "zzz is not a format: choose one of compact, envelope, flat, meta"


def test_xml_has_no_json_schema() -> None:
    assert (
        refusal("schema", "xml")
        == "xml is not JSON, so it has no JSON Schema: choose one of compact, envelope, flat, meta"
    )
