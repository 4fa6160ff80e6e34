"""`failwell codes`."""

import json

import pytest

from failwell.codes import ROWS, TYPES
from tests.cli.streams import Terminal, output, refusal, run


def test_codes_lists_every_code_with_its_title() -> None:
    lines = output("codes").splitlines()

    for row in ROWS:
        [line] = [line for line in lines if line.split()[0] == row.code]
        assert line.endswith(row.title)


def test_codes_of_one_type_are_those_of_that_type_in_any_case() -> None:
    found = json.loads(output("codes", "--type", "transient", "--json"))

    assert {entry["type"] for entry in found} == {"TRANSIENT"}
    assert {row.code for row in ROWS if row.type == "TRANSIENT"} <= {entry["code"] for entry in found}


def test_codes_as_json_spell_out_what_follows_from_the_type() -> None:
    found = {entry["code"]: entry for entry in json.loads(output("codes", "--json"))}

    assert found["RATE_LIMITED"] == {
        "code": "RATE_LIMITED",
        "title": "Too many requests",
        "type": "TRANSIENT",
        "http_status": 429,
        "recoverable": True,
        "retryable": True,
        "outcome": "not_executed",
        "suggestion": "Wait, then make the same call again.",
        "aliases": ["RATE_LIMIT", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"],
        "names": {
            "compact": "TRANSIENT",
            "envelope": "RATE_LIMITED",
            "flat": "rate_limited",
            "meta": "NetworkError",
            "xml": "RATE_LIMITED",
        },
    }
    assert found["TOOL_ERROR"]["retryable"] is None


def test_an_unknown_type_is_refused_with_the_choices() -> None:
    assert refusal("codes", "--type", "TRANSIENTT") == (
        f"unknown type 'TRANSIENTT': choose one of {', '.join(TYPES)}; did you mean 'TRANSIENT'?"
    )


@pytest.mark.parametrize(
    ("columns", "headers"),
    [
        (50, ["code", "meaning"]),
        (60, ["code", "type", "retry", "meaning"]),
        (100, ["code", "type", "retry", "effect", "HTTP", "meaning"]),
    ],
)
def test_a_narrow_terminal_keeps_the_code_and_its_meaning(
    columns: int, headers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")

    shown = run("codes", "--type", "NOT_FOUND", stdout=Terminal()).out.splitlines()

    assert shown[0].split() == headers
    assert max(map(len, shown)) <= columns
