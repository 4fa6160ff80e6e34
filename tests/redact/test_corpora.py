"""Two corpora: secrets as they stand in real error texts, and harmless texts that an agent has to act on.

A secret is written as its parts, and made at run time: what is in quotes as it stands, a pair as so many characters of
an alphabet. So no line of the data is a credential. Rows with `held_out` were written when the patterns were done, and
measured before anything was mended for them.
"""

import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from failwell import encode, read
from failwell.failure import Failure, FieldProblem
from failwell.redact.canonical import canonical
from failwell.redact.scrubber import clean, scrub
from tests.redact.test_scrubber import ALNUM, DIGITS, HEX, UPPER, body, leaked

ALPHABETS = {
    "alnum": ALNUM,
    "hex": HEX,
    "upper": UPPER,
    "digits": DIGITS,
    "lower": "abcdefghijklmnopqrstuvwxyz0123456789",
    "base64url": ALNUM + "-_",
}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(__file__).parent / name).read_text("utf-8").splitlines()]


def part(seed: str, alphabet: str, length: int) -> str:
    if alphabet == "uuid":
        return str(uuid.UUID(bytes=hashlib.sha256(seed.encode()).digest()[:16]))
    return body(seed, length, ALPHABETS[alphabet])


def planted(row: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the text of a row with its secret, and the parts of the secret that nobody may see."""
    if isinstance(row["secret"], str):
        return row["text"].replace("§", row["secret"]), [row["secret"]]
    made = [
        (piece, False) if isinstance(piece, str) else (part(f"{row['text']}/{number}", *piece), True)
        for number, piece in enumerate(row["secret"])
    ]
    cores = [piece for piece, is_secret in made if is_secret and len(piece) > 5]
    return row["text"].replace("§", "".join(piece for piece, _ in made)), cores


SECRETS = rows("secrets.jsonl")
HARMLESS = [row["text"] for row in rows("harmless.jsonl")]
ALIKE = [row for row in SECRETS if "indistinguishable" in row]
CLASSES = sorted({row["class"] for row in SECRETS})


def test_the_corpora_are_large_and_few_secrets_are_given_up() -> None:
    assert len(SECRETS) >= 300
    assert len(HARMLESS) >= 200
    assert len(ALIKE) <= 0.08 * len(SECRETS)
    assert all(row["indistinguishable"] for row in ALIKE)


@pytest.mark.parametrize("kind", CLASSES)
def test_no_secret_of_the_corpus_gets_out(kind: str) -> None:
    chosen = [planted(row) for row in SECRETS if row["class"] == kind and row not in ALIKE]

    out = [clean(text, 4000) for text, cores in chosen if any(leaked(core, clean(text, 4000)) for core in cores)]

    assert out == []
    assert chosen or kind == "other"


def test_a_secret_that_is_given_up_does_get_out() -> None:
    kept = [text for text, cores in map(planted, ALIKE) if not any(leaked(core, clean(text, 4000)) for core in cores)]

    assert kept == []


def test_no_secret_of_the_corpus_gets_out_of_a_failure() -> None:
    chosen = [planted(row) for row in SECRETS if row not in ALIKE]

    def sent(text: str) -> str:
        problem = FieldProblem(path="query", message=text, sent=text)
        return str(canonical(Failure(message=text, details={"log": [text]}, fields=(problem,))))

    assert [text for text, cores in chosen if any(leaked(core, sent(text)) for core in cores)] == []


def test_no_secret_of_the_corpus_gets_out_of_json_in_a_failure() -> None:
    chosen = [planted(row) for row in SECRETS if row not in ALIKE]

    def sent(text: str) -> str:
        held = json.dumps({"error": {"log": [text]}}, ensure_ascii=False)
        return json.dumps(encode(read({"isError": True, "content": [], "structuredContent": json.loads(held)}))) + str(
            canonical(Failure(message=held, details={"body": held}))
        )

    assert [text for text, cores in chosen if any(leaked(core, sent(text)) for core in cores)] == []


def test_no_harmless_text_is_changed() -> None:
    assert [clean(text, 4000) for text in HARMLESS if clean(text, 4000) != text] == []


def test_redacted_texts_stay_as_they_are() -> None:
    texts = [*(scrub(planted(row)[0]) for row in SECRETS), *HARMLESS]

    assert [scrub(text) for text in texts if scrub(text) != text] == []


def test_secrets_are_found_among_harmless_lines() -> None:
    chosen = [planted(row) for row in SECRETS if row not in ALIKE and "\n" not in row["text"]]
    lines = [line for line in HARMLESS if "\n" not in line]

    def out(number: int, text: str) -> str:
        return clean(f"{lines[number % len(lines)]}\n{text}\n{lines[(number * 7 + 3) % len(lines)]}", 8000)

    assert [
        text for number, (text, cores) in enumerate(chosen) if any(leaked(c, out(number, text)) for c in cores)
    ] == []


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"session_id": "planning-2026"}, {"session_id": "planning-2026"}),
        ({"session_id": "9f8e7d6c5b4a"}, {"session_id": "[redacted:value]"}),
        ({"cache_key": "users:42"}, {"cache_key": "users:42"}),
        ({"MAPS_KEY": "a1b2c3d4e5f6a7b8"}, {"MAPS_KEY": "[redacted:value]"}),
        ({"kty": "oct", "k": "short", "kid": "1"}, {"kty": "oct", "k": "[redacted:value]", "kid": "1"}),
        ({"name": "session_id", "value": "alpha"}, {"name": "session_id", "value": "alpha"}),
        ({"name": "smtp_pass", "value": "alpha"}, {"name": "smtp_pass", "value": "[redacted:value]"}),
    ],
)
def test_details_are_judged_by_name_and_value(details: dict[str, Any], expected: dict[str, Any]) -> None:
    assert canonical(Failure(message="x", details=details)).details == expected


def test_a_session_that_has_a_readable_name_is_shown_with_its_problem() -> None:
    problem = FieldProblem(path="session_id", message="No session planning-2026", sent="planning-2026")

    safe = canonical(Failure(message="No session planning-2026", fields=(problem,)))

    assert (safe.message, safe.fields[0].sent) == ("No session planning-2026", "planning-2026")
