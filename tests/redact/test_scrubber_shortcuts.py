"""Shortcuts of redaction: a text that is called harmless, or that was cleaned before, is what looking would leave."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failwell.redact import scrubber, secrets
from failwell.redact.scrubber import clean, clean_again, clean_once, is_harmless, is_plain
from tests.redact.test_scrubber import CARRIERS, FORMS, LONG, TOKENS, dangerous
from tests.strategies import examples

WORDS = st.sampled_from(
    [
        "Error:", "not found", "/srv/data/files/some_long_name.txt", "get_current_time_zone", "https://example.com/a/b",
        "key", "pass", "token count: 5", "4111", "1111 1111", "4111111111111111", "user@example.com", "50%", "$5", "\n",
        "input_value={},", "[type=missing,", "\\n", "%0A", "Bearer", "basic", "é", "\u2003", "\x1f",
    ]
)  # fmt: skip
messages = st.lists(st.one_of(WORDS, dangerous), max_size=8).map(" ".join)


def looked_at(text: str) -> str:
    """The text as it is without shortcuts."""
    with mock.patch.multiple(scrubber, is_harmless=lambda _: False, is_plain=lambda _: False):
        return scrubber.scrub(text)


@settings(max_examples=examples(1.5))
@given(messages)
def test_looking_for_secrets_finds_none_in_a_text_that_is_called_harmless(text: str) -> None:
    is_called_so = is_harmless(text) or is_plain(text)

    assert not is_called_so or looked_at(text) == text


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_no_token_is_called_harmless(carrier: str) -> None:
    texts = {name: carrier.format(whole, whole) for name, whole, _ in TOKENS}

    assert [name for name, text in texts.items() if is_harmless(text) or is_plain(text)] == []


@pytest.mark.parametrize("form", FORMS)
def test_no_value_that_goes_is_called_harmless(form: str) -> None:
    text = form.format(s=LONG)

    assert not is_harmless(text)
    assert not is_plain(text)


def test_usual_error_texts_are_called_harmless() -> None:
    usual = [
        "Error executing tool fetch: Failed to fetch http://127.0.0.1:18771/status/404 - status code 404",
        "ENOENT: no such file or directory, open '/srv/data/files/a_rather_long_name.txt'",
        "1 validation error for searchArguments\nquery\n  Field required [type=missing, input_value={}]",
    ]

    assert list(map(is_harmless, usual)) == [True, True, True]
    assert not any(map(is_plain, usual))


def test_the_shortest_token_is_no_longer_than_the_shortcut_takes_it_to_be() -> None:
    shortest = min(len(whole) for _, whole, _ in TOKENS)

    assert shortest >= scrubber.SHORTEST_TOKEN
    assert secrets.TOKENS


@given(dangerous, st.integers(1, 120), st.integers(0, 120))
def test_a_text_that_was_cleaned_before_is_the_same_after_cleaning(text: str, first: int, second: int) -> None:
    once = clean_once(text, first)

    assert once == clean(text, first)
    assert clean_again(once, second) == clean(once, second)
    assert clean_again(text, second) == clean(text, second)


def test_a_text_that_was_cleaned_once_is_not_looked_at_again() -> None:
    text = clean_once("Error: no file '/srv/data/files/a_rather_long_name.txt'", 1000)

    with mock.patch.object(scrubber, "is_harmless") as looked:
        assert clean_again(text, 1000) == text
    assert not looked.called


def test_only_a_few_cleaned_texts_are_kept() -> None:
    texts = [
        clean_once(f"Error: no file '/srv/data/files/a_rather_long_name_{number}.txt'", 1000) for number in range(200)
    ]
    texts.append(clean_once(f"Error: {'word ' * 500}", 5000))

    with mock.patch.object(scrubber, "is_harmless", return_value=True) as looked:
        assert [clean_again(text, 5000) for text in texts] == texts
    assert looked.call_count > 100
