"""Shortcuts of redaction: a text that is called harmless, or that was cleaned before, is what looking would leave."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failwell.redact import scrubber
from failwell.redact.scrubber import has_gate, has_token, is_plain, scrub
from failwell.redact.secret_values import SHORTEST_TOKEN, has_digits_of_a_card
from failwell.redact.secrets import SHAPES, may_name_a_secret
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


# Words alone, which make up whole sentences: some of them announce a secret.
SENTENCES = st.lists(
    st.sampled_from(
        [
            "password", "token", "Stripe", "key", "is", "was", "given,", "login", "alice", "identified", "by", "basic",
            "bearer", "Bearer", "USER", "PASS", "AUTH", "PLAIN", "hunterGreen", "swordfish", "client_secret", "not",
            "found.", "rabbitmqctl", "add_user", "PIN", "the", "invalid;", "ABCDEFGHIJKL", "otp", "code",
        ]
    ),
    max_size=8,
).map(" ".join)  # fmt: skip


def is_harmless(text: str) -> bool:
    low, data = text.lower(), text.encode("ascii", "replace")
    is_alarm = may_name_a_secret(low) or has_gate(low) or has_token(data) or has_digits_of_a_card(data)
    return not is_alarm


def looked_at(text: str) -> str:
    """The text as it is without shortcuts."""
    shortcuts = {"is_plain": False, "has_gate": True, "may_name_a_secret": True, "has_token": True}
    with mock.patch.multiple(scrubber, **{name: lambda *_, said=said, **__: said for name, said in shortcuts.items()}):
        return scrubber.scrub(text)


@settings(max_examples=examples(1.5))
@given(st.one_of(messages, SENTENCES))
def test_looking_for_secrets_finds_none_in_a_text_that_is_called_harmless(text: str) -> None:
    is_called_so = scrub(text) == text

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


@pytest.mark.parametrize("gate", sorted({gate for shape in SHAPES for gate in shape.gates}))
def test_a_text_with_the_gate_of_a_shape_is_looked_at(gate: str) -> None:
    assert has_gate(f"see {gate}x")


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

    assert shortest >= SHORTEST_TOKEN
