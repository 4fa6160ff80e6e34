"""Scrubbing hostile text: eight times the text must not take much more than eight times as long."""

from collections.abc import Iterator

from bench.measure import Figure, compare
from failwell.redact import clean, scrub

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
        small, large = piece * (125_000 // len(piece)), piece * (1_000_000 // len(piece))
        yield compare(
            "redaction",
            f"1 MB of {name}",
            lambda large=large: scrub(large),
            "125 kB",
            lambda small=small: scrub(small),
            goal="≤ 12",
            number=1,
            rounds=3,
        )
    sentence = "The mail service takes one hundred requests a minute."
    yield compare(
        "redaction",
        "clean a sentence",
        lambda: clean(sentence, 1000),
        "str.translate",
        lambda: sentence.translate({0: None}),
    )
