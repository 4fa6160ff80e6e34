"""How long a service asks to wait."""

import math
from email.utils import formatdate
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.phrases.delays import (
    delay_in_duration,
    delay_in_headers,
    delay_in_retry_after,
    delay_in_text,
    parse_delay,
)

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "delay"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 7 "}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "7.5"}, 7.5),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0),
        ({"retry-after": "Tue, 14 Nov 2023 22:14:50"}, 90),
        ({"retry-after": "2023-11-14T22:14:50Z"}, 90),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"x-amz-retry-after": "250"}, 0.25),
        ({"x-ms-retry-after-ms": "20"}, 0.02),
        ({"grpc-retry-pushback-ms": "3000"}, 3),
        ({"grpc-retry-pushback-ms": "-1"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 40)}, 40),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "40"}, 40),
        ({"x-ratelimit-remaining": "5", "x-ratelimit-reset": "40"}, None),
        ({"x-ratelimit-reset": "40"}, None),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "12"}, 12),
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": str(int(NOW + 5) * 1000)}, 5),
        ({"ratelimit": "limit=10, remaining=0, reset=30"}, 30),
        ({"ratelimit": '"default";r=0;t=31'}, 31),
        ({"ratelimit": '"default";r=4;t=31'}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"}, 90),
        (
            {
                "x-ratelimit-remaining-requests": "3",
                "x-ratelimit-reset-requests": "1m30s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "120ms",
            },
            0.12,
        ),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2023-11-14T22:13:50+00:00",
            },
            30,
        ),
        ({}, None),
    ],
)
def test_every_header_that_names_a_delay(headers: dict[str, str], delay: float | None) -> None:
    assert delay_in_headers(headers, now=NOW) == delay


def test_a_reset_counts_where_the_caller_knows_that_the_limit_is_reached() -> None:
    headers = {"x-ratelimit-reset": "40"}

    assert delay_in_headers(headers, limited=True, now=NOW) == 40


def test_of_several_limits_that_are_used_up_the_longest_counts_and_no_other() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
        "x-ratelimit-reset": "3600",
    }

    assert delay_in_headers(headers, limited=True, now=NOW) == 360


def test_the_servers_own_clock_goes_before_ours() -> None:
    headers = {"date": formatdate(NOW, usegmt=True), "retry-after": formatdate(NOW + 30, usegmt=True)}

    assert delay_in_headers(headers, now=NOW + 3600) == 30


@pytest.mark.parametrize(
    "value",
    ["", " ", "-1", "-0.5", "nan", "inf", "1e3", "+5", "0x10",
     "\u0663", "\uff17", "1" * 21, "9" * 20, "1_000", "soon", "7 s",
     "1.2.3", None, True, -3, math.nan, math.inf, b"7", "Tue, 99 Nov 2023 22:14:50 GMT", "x" * 10_000],
)  # fmt: skip
def test_what_is_no_delay_is_none(value: object) -> None:
    assert delay_in_retry_after(value, now=NOW) is None


@pytest.mark.parametrize(
    ("value", "delay"),
    [
        ("3.5s", 3.5),
        ("1h2m3s", 3723),
        ("250ms", 0.25),
        ("1h 30 min", 5400),
        ("30s1h", None),
        ({"seconds": 4, "nanos": 500_000_000}, 4.5),
        ({"seconds": "4"}, 4),
        (SimpleNamespace(seconds=2, nanos=0), 2),
        ("", None),
        ("s", None),
        ("1.1.1s", None),
        ({"seconds": -1}, None),
        (None, None),
    ],
)
def test_durations_of_rpc_details(value: object, delay: float | None) -> None:
    assert delay_in_duration(value) == delay


DELAYS = [
    ("Rate limit exceeded, retry in 30s", 30),
    ("Too many requests. Try again in 2 minutes.", 120),
    ("Slow down! You can call this again in 45 seconds.", 45),
    ("Rate limit hit. Come back in half an hour.", 1800),
    ("429: please hold off for a minute", 60),
    ("The catalogue is rebuilding, try in 2 minutes", 120),
    ("Request after 5 minutes timed out, try again", None),
    ("rate limited; please wait 5 seconds", 5),
    ("429 Too Many Requests\nRetry-After: 17", 17),
    ("Rate limit: retry after 1500 ms", 1.5),
    ("Please try again in 1m30s", 90),
    ("Too many requests. Try again in 1 minute and 5 seconds.", 65),
    ("available in 1 hour, 5 minutes 10 s", 3910),
    ("wait 5 minutes, 3 attempts left", 300),
    ("retry in 3 attempts, or wait 10 ms", 3),
    ("wait 5, or retry in 2 hrs", 7200),
    ("retry after 1700000000", None),
    ("connection timed out after 30 seconds", None),
    ("failed after 3 retries", None),
    ("wait for it", None),
    ("You can do this again in 1 minute and 30 seconds.", 90),
    ("Quota resets in 2h15m", 8100),
    ("Throttled: next slot in 750ms", 0.75),
    ("We're at capacity. Estimated wait: 45 s", 45),
    ("The record is locked for 5 minutes", 300),
    ("It timed out again in 30 seconds", None),
    ("Zu viele Anfragen. Bitte in 30 Sekunden erneut versuchen.", 30),
    ("Trop de requêtes, réessayez dans 2 minutes", 120),
    ("Demasiadas solicitudes. Inténtelo en 45 segundos.", 45),
    ("Troppe richieste: riprova tra 30 secondi", 30),
    ("Muitas solicitações, tente em 1,5 minutos", 90),
    ("Слишком много запросов, повторите через 20 секунд", 20),
    ("リクエストが多すぎます。60秒後にもう一度お試しください。", 60),
    ("请求过于频繁,请在30秒后重试", 30),
    ("요청이 너무 많습니다. 10초 후에 다시 시도하세요.", 10),
    ("Die Anfrage dauerte 30 Sekunden", None),
    ("La requête a échoué en 30 secondes", None),
]


@pytest.mark.parametrize(("text", "delay"), DELAYS)
def test_the_wait_that_a_text_asks_for_is_read(text: str, delay: float | None) -> None:
    assert delay_in_text(text) == delay


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("Bitte versuchen Sie es in 30 Sekunden erneut.", 30),
        ("Zu viele Anfragen, bitte warten Sie eine Minute.", 60),
        ("Zeitüberschreitung nach 30 Sekunden. Bitte versuchen Sie es erneut.", None),
        ("Die Sitzung ist seit 3 Tagen abgelaufen, bitte erneut anmelden", None),
        ("Veuillez patienter 1 minute et 30 secondes.", 90),
        ("Réessayez dans une heure.", 3600),
        ("Espere 1,5 segundos antes de reintentar.", 1.5),
        ("Vuelva a intentarlo en 10 minutos.", 600),
        ("Tente novamente em 20 segundos.", 20),
        ("Aguarde 2 minutos.", 120),
        ("Riprova tra un minuto.", 60),
        ("Attendere 15 secondi prima di riprovare.", 15),
        ("Слишком много запросов, повторите через 30 секунд.", 30),
        ("Пожалуйста, подождите минуту.", 60),
        ("1分30秒お待ちください。", 90),
        ("タイムアウト:30秒", None),
        ("The patient's record was locked 5 minutes ago.", None),
        ("请求过于频繁。请30秒后重试", 30),
        ("請在 1 分鐘後重試", 60),
        ("요청이 너무 많습니다. 30초 후에 다시 시도하세요", 30),
    ],
)
def test_the_wait_that_a_text_asks_for_is_read_in_other_languages(text: str, delay: float | None) -> None:
    assert delay_in_text(text) == delay


@given(st.text(max_size=60) | st.from_regex(r"[0-9.smhd:\-]{0,40}"), st.booleans())
def test_no_header_makes_it_raise_or_give_anything_but_a_delay(value: str, limited: bool) -> None:
    for name in ("retry-after", "retry-after-ms", "x-ratelimit-reset", "ratelimit", "date", "x-ratelimit-reset-tokens"):
        delay = delay_in_headers({name: value, "x-ratelimit-remaining": "0"}, limited=limited, now=NOW)

        assert delay is None or (delay >= 0 and math.isfinite(delay))


ONE_PARSER: list[tuple[object, str, float | None]] = [
    ("1h30m", "", 5400),
    ("1 hour 20 minutes", "", 4800),
    ("34s", "", 34),
    (1500, "ms", 1.5),
    ("1500", "milliseconds", 1.5),
    (2, "minutes", 120),
    (60, "", 60),
    (int(NOW) + 60, "", 60),
    (int(NOW + 60) * 1000, "", 60),
    ("2023-11-14T22:14:50Z", "", 90),
    ("Tue, 14 Nov 2023 22:14:50 GMT", "", 90),
    ("PT1H30M", "", 5400),
    ("P1DT1S", "", 86401),
    ("PT0.5S", "", 0.5),
    ("00:01:30", "", 90),
    ("a minute", "", 60),
    ("half an hour", "", 1800),
    ("2 weeks", "", 1_209_600),
    ({"seconds": 3, "nanos": 100_000}, "", 3.001),
    (1.0004, "", 1.001),
    (0.00001, "", 0.001),
    ("P", "", None),
    ("PT", "", None),
    ("soon", "", None),
    (True, "", None),
    (None, "", None),
    (-5, "", None),
    ([], "", None),
]


@pytest.mark.parametrize(("value", "unit", "delay"), ONE_PARSER)
def test_whatever_stands_under_a_key_is_parsed_and_never_shorter_than_stated(
    value: object, unit: str, delay: float | None
) -> None:
    assert parse_delay(value, unit=unit, now=NOW) == delay


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("retry_after_ms=1500", 1.5),
        ('"retryDelay": "34s"', 34),
        ("retryDelay:34s", 34),
        ("X-RateLimit-Reset: 60", 60),
        (f"x-ratelimit-reset: {int(NOW) + 20}", 20),
        ("Retry-After: Tue, 14 Nov 2023 22:14:50 GMT", 90),
        ("Please retry after 2023-11-14T22:14:50Z.", 90),
        ("Limit reached, resets at 2023-11-14 22:14:50 UTC", 90),
        ("Try again in an hour", 3600),
        ("Try again in one minute.", 60),
        ("Please wait 1 hour 20 minutes before the next call", 4800),
        ("Retry after PT2M", 120),
        ("Too many requests (retry after 00:01:30)", 90),
        ("retry after 14:30", None),
        ("A wait of 27 seconds is required", 27),
        ("Next request allowed in 3 min", 180),
        ("backoff=2.5", 2.5),
        ("retry 3 times", None),
        ("wait a moment", None),
        ("retry in a different region", None),
        ("available in all plans", None),
        ("Retry-After: Tue, 14 Nov 2003 22:14:50 GMT", None),
    ],
)
def test_a_text_may_say_it_as_a_key_or_as_a_date(text: str, delay: float | None) -> None:
    assert delay_in_text(text, now=NOW) == delay


@given(st.floats(min_value=0, max_value=1e12, allow_nan=False))
def test_no_number_becomes_a_shorter_delay(value: float) -> None:
    found = parse_delay({"seconds": value}, now=NOW)

    assert found is not None
    assert found >= value - 1e-7 - value * 1e-12


@given(st.text(max_size=80) | st.from_regex(r"(?:retry|wait|reset)[ a-zPT0-9:.,=\-]{0,40}"))
def test_no_text_makes_it_raise_or_give_anything_but_a_delay(text: str) -> None:
    for delay in (delay_in_text(text, now=NOW), parse_delay(text, now=NOW)):
        assert delay is None or (delay >= 0 and math.isfinite(delay))
