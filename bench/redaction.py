"""Scrubbing hostile text: eight times the text must not take much more than eight times as long."""

from collections.abc import Iterator
from functools import partial

from bench.measure import Figure, compare
from failwell.redact.scrubber import clean, scrub

SMALL, LARGE = 125_000, 1_000_000
HOSTILE = {
    "sk-": "sk-",
    "userinfo": "://a:b@",
    "assignments": "password=",
    "PEM": "-----BEGIN ",
    "JWT": "eyJ",
    "quotes": "\"'",
}


def run() -> Iterator[Figure]:
    """Measure growth on hostile text, and an ordinary sentence."""
    for name, piece in HOSTILE.items():
        small, large = piece * (SMALL // len(piece)), piece * (LARGE // len(piece))
        yield compare(
            "redaction", f"1 MB of {name}", partial(scrub, large), "125 kB", partial(scrub, small), number=1, rounds=3
        )
    sentence = "The mail service takes one hundred requests a minute."
    yield compare(
        "redaction",
        "clean a sentence",
        lambda: clean(sentence, 1000),
        "str.translate",
        lambda: sentence.translate({0: None}),
    )
