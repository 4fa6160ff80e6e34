"""How long a server asks to wait: read from headers, bodies, RPC details and plain text.

Every function returns seconds, or None where nothing usable was said. The clock is an argument; the response's own
`Date` goes before it, because the difference of two stamps of one clock is right even if that clock is wrong.
"""

import math
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from failwell._lazy import lazy_pattern
from failwell.failure import seconds

_LONGEST_VALUE = 200
_EPOCH_FROM = 1_000_000_000  # a number of seconds this large is a date (from 2001 on), not a delay
_EPOCH_MS_FROM = 1_000_000_000_000

# The seconds in a unit, and its names, the largest first.
_UNITS: tuple[tuple[float, str], ...] = (
    (604800, "w week weeks"),
    (86400, "d day days"),
    (3600, "h hr hrs hour hours"),
    (60, "m min mins minute minutes"),
    (1, "s sec secs second seconds"),
    (0.001, "ms milli millis msec msecs millisecond milliseconds"),
)
_SECONDS_IN = {name: factor for factor, names in _UNITS for name in names.split()}
_DIGITS = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
_NUMBER = lazy_pattern(_DIGITS, re.ASCII)
_NUMBER_WORDS: dict[str, float] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "sixty": 60, "half a": 0.5,
    "half an": 0.5,
}  # fmt: skip
_WORDS = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
_AMOUNT = lazy_pattern(
    rf"(?:,? ?(?:and )?)(?:({_DIGITS})[ -]?|({_WORDS})[ -])({'|'.join(_SECONDS_IN)})(?![a-z])", re.ASCII | re.IGNORECASE
)
_ISO_DURATION = lazy_pattern(
    rf"P(?:({_DIGITS})W)?(?:({_DIGITS})D)?(?:T(?:({_DIGITS})H)?(?:({_DIGITS})M)?(?:({_DIGITS})S)?)?", re.ASCII
)
_ISO_UNITS = (604800, 86400, 3600, 60, 1)
_CLOCK = lazy_pattern(r"(?:([0-9]{1,4}):)?([0-5]?[0-9]):([0-5][0-9])(\.[0-9]{1,9})?", re.ASCII)

_RATE_LIMIT = lazy_pattern(r"(?:^|[;,\s])(?:t|reset)=([0-9]{1,20})(?![0-9.])", re.ASCII)
_NONE_LEFT = lazy_pattern(r"(?:^|[;,\s])(?:r|remaining)=0(?![0-9.])", re.ASCII)

_MS_HEADERS = ("retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after", "grpc-retry-pushback-ms")
_RESET_HEADERS = (
    "x-ratelimit-reset-after",
    "ratelimit-reset",
    "x-ratelimit-reset",
    "x-rate-limit-reset",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-input-tokens-reset",
    "anthropic-ratelimit-output-tokens-reset",
)
_REMAINING = {name: name.replace("reset-after", "remaining").replace("reset", "remaining") for name in _RESET_HEADERS}


def delay_in_headers(headers: Mapping[str, str], *, limited: bool = False, now: float | None = None) -> float | None:
    """Return the delay that a response's headers ask for; names are lower-case.

    The reset of a rate limit counts only if the limit is used up, or the caller knows that it is (`limited`): many
    services send it with every answer.
    """
    for name in _MS_HEADERS:
        if (delay := delay_in_milliseconds(headers.get(name))) is not None:
            return delay
    said = headers.get("retry-after")
    if (delay := delay_in_number(said)) is not None and delay < _EPOCH_FROM:
        return delay
    clock = _server_clock(headers, now)
    if (delay := delay_in_retry_after(said, now=clock)) is not None:
        return delay
    return _from_resets(headers, limited=limited, now=clock)


_POLICY = lazy_pattern(r"(?:^|[;,\s])q=([0-9]{1,9})\b[^,]*;\s?w=([0-9]{1,9})\b", re.ASCII)
_OLD_POLICY = lazy_pattern(r"(?:^|[,\s])([0-9]{1,9})\s?;\s?w=([0-9]{1,9})\b", re.ASCII)
_SCOPES = frozenset(("global", "user"))


def stated_limit(headers: Mapping[str, str]) -> dict[str, float | str]:
    """Return what the headers of a rate limit say of it: `limit` calls in `window` seconds, and its `scope`.

    Of several windows the shortest one counts: the others are waited out when they are used up.
    """
    said: dict[str, float | str] = {}
    policy = f"{headers.get('ratelimit-policy', '')},{headers.get('ratelimit-limit', '')}"[:_LONGEST_VALUE]
    found = [(int(window), int(limit)) for limit, window in _POLICY.findall(policy) or _OLD_POLICY.findall(policy)]
    if found and min(found)[0] > 0 < min(found)[1]:
        said = {"limit": min(found)[1], "window": min(found)[0]}
    scope = "global" if headers.get("x-ratelimit-global", "").strip().lower() == "true" else ""
    scope = scope or headers.get("x-ratelimit-scope", "").strip().lower()
    return {**said, **({"scope": scope} if scope in _SCOPES else {})}


def is_used_up(headers: Mapping[str, str]) -> bool:
    """Return whether the headers say that a rate limit has nothing left."""
    if any(headers.get(name, "").strip() == "0" for name in _REMAINING.values()):
        return True
    return _NONE_LEFT.search(headers.get("ratelimit", "")[:_LONGEST_VALUE]) is not None


def delay_in_retry_after(value: object, *, now: float | None = None) -> float | None:
    """Return the delay of a Retry-After value: seconds, also with a fraction, or a date."""
    if (delay := delay_in_number(value)) is not None:
        return delay if delay < _EPOCH_FROM else _until(delay, now)
    return delay_in_date(value, now=now)


def delay_in_number(value: object) -> float | None:
    """Return a number of seconds, given as a number or as ASCII digits with an optional fraction."""
    if isinstance(value, str):
        text = value.strip(" \t")
        return seconds(float(text) if "." in text else int(text)) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return seconds(value)


def delay_in_milliseconds(value: object) -> float | None:
    """Return the delay of a value in milliseconds, in seconds."""
    number = delay_in_number(value)
    return None if number is None else seconds(number / 1000)


def delay_in_date(value: object, *, now: float | None = None) -> float | None:
    """Return the delay until an HTTP or RFC 3339 date; a date without a zone is UTC, one in the past is no wait."""
    moment = _moment(value)
    return None if moment is None else _until(moment, now)


def delay_in_duration(value: Any) -> float | None:
    """Return the seconds of a protobuf duration (`"3.5s"`, a dict, a message), of `1m30s`, `PT1M30S` or `00:01:30`."""
    if isinstance(value, str):
        text = value.strip()[:_LONGEST_VALUE]
        total, end = _sum_of_amounts(text)
        if 0 < end == len(text):
            return seconds(total)
        return _iso_duration(text) if text[:1] == "P" else _clock_time(text) if ":" in text else delay_in_number(value)
    if isinstance(value, dict):
        said = cast("dict[str, object]", value)
        if not said.keys() & {"seconds", "nanos"}:
            return None
        whole, nanos = delay_in_number(said.get("seconds", 0)), delay_in_number(said.get("nanos", 0))
    else:
        whole, nanos = delay_in_number(getattr(value, "seconds", None)), delay_in_number(getattr(value, "nanos", 0))
    return None if whole is None or nanos is None else seconds(round(whole + nanos / 1e9, 9))


def _iso_duration(text: str) -> float | None:
    match = _ISO_DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    return seconds(sum(float(part) * unit for part, unit in zip(match.groups(), _ISO_UNITS, strict=True) if part))


def _clock_time(text: str) -> float | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    return seconds(int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3]) + float(match[4] or 0))


# The seconds in a number whose unit the name of its key says: `retry_after_ms`, `waitMinutes`.
_KEY_UNITS: dict[str, float] = {
    **dict.fromkeys(("ms", "millis", "milliseconds"), 0.001),
    **dict.fromkeys(("min", "mins", "minutes"), 60.0),
    "hours": 3600.0,
}


def parse_delay(value: object, *, unit: str = "", now: float | None = None) -> float | None:
    """Return the seconds that a value asks to wait, in whatever form: the one parser for what stands under a key.

    A number is in the unit that the key names, or else in seconds; one that can only be a date is one. A text is a
    number, a duration or a date.
    """
    number = delay_in_number(value)
    if number is not None:
        if unit in _KEY_UNITS:
            return seconds(number * _KEY_UNITS[unit])
        return delay_in_reset(number, now=now)
    if isinstance(value, str):
        duration = delay_in_duration(value)
        return delay_in_date(value, now=now) if duration is None else duration
    return delay_in_duration(value) if isinstance(value, dict) else None


def delay_in_reset(value: object, *, now: float | None = None) -> float | None:
    """Return the delay until a rate limit resets, given as a date, an epoch, or a number of seconds from now."""
    number = delay_in_number(value)
    if number is None:
        duration = delay_in_duration(value) if isinstance(value, str) else None
        return delay_in_date(value, now=now) if duration is None else duration
    if number >= _EPOCH_MS_FROM:
        return _until(number / 1000, now)
    return _until(number, now) if number >= _EPOCH_FROM else number


def _from_resets(headers: Mapping[str, str], *, limited: bool, now: float) -> float | None:
    fields = headers.get("ratelimit", "")[:_LONGEST_VALUE]
    if (limited or _NONE_LEFT.search(fields)) and (match := _RATE_LIMIT.search(fields)):
        return delay_in_reset(match[1], now=now)
    spent = [name for name in _RESET_HEADERS if headers.get(_REMAINING[name], "").strip() == "0"]
    unstated = [name for name in _RESET_HEADERS if limited and _REMAINING[name] not in headers]
    delays = [delay_in_reset(headers.get(name), now=now) for name in spent or unstated]
    return max((delay for delay in delays if delay is not None), default=None)


def _server_clock(headers: Mapping[str, str], now: float | None) -> float:
    said = _moment(headers.get("date"))
    if said is not None:
        return said
    return time.time() if now is None else now


def _until(moment: float, now: float | None) -> float | None:
    return seconds(max(0.0, moment - (time.time() if now is None else now)))


def _moment(value: object) -> float | None:
    if not isinstance(value, str) or not value.isascii() or ":" not in value or len(value) > _LONGEST_VALUE:
        return None  # the standard library takes a long number for a date too
    for parse in _DATES:
        try:
            moment = parse(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _http_date(text: str) -> datetime:
    from email.utils import parsedate_to_datetime  # costs several ms: only when a date comes

    return parsedate_to_datetime(text)


_DATES: tuple[Callable[[str], datetime], ...] = (_http_date, datetime.fromisoformat)


# One is in every text that asks.
_ASKING_WORDS = (
    "retry", "again", "wait", "available", "reset", "backoff", "cool", "allowed", "possible", "back", "try in",
    "hold off", "next ", "delay", "locked", "paused", "suspended",
)  # fmt: skip
_ASKED = lazy_pattern(
    r"(?:(?P<key>retry(?:ing)?[ _-]?(?:after|in|delay|at|not[ _-]?before)"
    r"|rate[ _-]?limit[ _-]?reset(?:[ _-]?(?:after|at|in))?|backoff)"
    r"(?:[ _-]?(?P<unit>ms|millis|milliseconds|s|sec|secs|seconds|min|mins|minutes|hours)(?=[\"'\s:=]))?"
    r"[\"']?[\s:=]{1,3}[\"']?(?:about |at least |approximately |around )?"
    r"|(?:try|retry|come back|check back)(?: (?:this|it|your request|the request))?(?: again)? (?:in|after|at) "
    r"(?:about |at least |approximately |around )?"
    r"|(?:call|ask|come|check|run|send|request|attempt|use)(?: (?:this|it|us|that|the tool|your request|the request))?"
    r" again (?:in|after|at) (?:about |at least |approximately |around )?"
    r"|(?<!failed )(?<!out )(?<!crashed )again in (?:about |at least |approximately |around )?"
    r"|next (?:[a-z]{3,12} ){1,3}(?:is )?in (?:about |around )?"
    r"|(?:estimated|expected|minimum|remaining) (?:wait(?:ing)?(?: time)?|delay)(?: is|:)? (?:about |around )?"
    r"|(?:locked|paused|suspended|unavailable)(?: out)? for (?:about |another |the next )?"
    r"|hold off (?:for )?(?:about |at least )?"
    r"|wait(?:ing)? (?:for |of )?(?:about |at least |another |approximately |around |until )?"
    r"|(?:available|resets?|reset|retry|back|unblocked|unlocked|allowed|possible) (?:again )?(?:in|at|after) "
    r"(?:about |around )?"
    r"|cool-?down(?: period)?(?: of|:| is) )"
    rf"(?=[0-9P]|(?:{_WORDS})[ -]|[A-Z][a-z]{{2}}, [0-9])",
    re.IGNORECASE,
)
_ISO_MOMENT = lazy_pattern(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"(?: ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?"
)
_HTTP_MOMENT = lazy_pattern(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT")


# In the other languages that texts are read in: the names of units, and how words begin that ask to wait or to try
# again. Amount and request must stand in one clause: "aborted after 30 seconds" asks for nothing.
_TRANSLATED_UNITS: tuple[tuple[float, str], ...] = (
    (86400, "tag tage tagen jour jours día días dia dias giorno giorni день дня дней 天 日 일"),
    (3600, "stunde stunden std heure heures hora horas ora ore час часа часов 小时 小時 个小时 個小時 時間 시간"),
    (60, "minute minuten minutes min minuto minutos minuti минуту минуты минут мин 分 分钟 分鐘 分間 분"),
    (1, "sekunde sekunden sek seconde secondes segundo segundos secondo secondi s"),
    (1, "секунду секунды секунд сек 秒 秒钟 秒鐘 秒間 초"),
)
_SECONDS_IN_TRANSLATED = {name: factor for factor, names in _TRANSLATED_UNITS for name in names.split()}
_TRANSLATED_REQUEST = lazy_pattern(
    r"\b(?:versuch|warten?\b|erneut|gedulden"  # German
    r"|réessa|ressay|reessa|patiente[rz]|attend(?:ez|re)"  # French
    r"|(?:re)?int[eé]nt[ae]|vuelv|esper[ae]|aguard|tent(?:e|ar)\b|novamente"  # Spanish, Portuguese
    r"|riprov|attend(?:i|ere|ete)\b|nuovamente"  # Italian
    r"|повтор|попроб|подожд|попыт)"  # Russian
    r"|重试|重試|再试|再試|等待|稍候|やり直|お試し|試して|待ち|待って|待機"  # Chinese, Japanese
    r"|다시|재시도|기다|대기"  # Korean
)
_TRANSLATED_NAMES = "|".join(sorted(_SECONDS_IN_TRANSLATED, key=len, reverse=True))
_TRANSLATED_AMOUNT = lazy_pattern(
    rf"(?:([0-9]{{1,20}}(?:[.,][0-9]{{1,20}})?)[ \u00a0]?| (?:eine[rmn]?|une?|una|uno|uma?|через|подождите) )"
    rf"({_TRANSLATED_NAMES})(?![a-zà-ÿа-я])"
)
_AND = frozenset(("", " ", "\u00a0", " und ", " et ", " y ", " e ", " и "))
_LONGEST_CLAUSE = 100
_CLAUSE_ENDS = lazy_pattern(r"[!?;:\n。\uff01\uff1f\uff1b\uff0c、]|[.,](?![0-9])")


def delay_in_text(text: str, *, now: float | None = None) -> float | None:
    """Return the seconds that a text asks to wait, or None if it asks for none."""
    found = find_delay(text, now=now)
    return found and found[0]


def find_delay(text: str, *, now: float | None = None) -> tuple[float, int, int] | None:
    """Return the seconds that a text asks to wait, and where it asks; None if it asks for none."""
    low = text.lower()
    if _may_ask(low):
        for asked in _ASKED.finditer(text):
            delay, end = _asked_delay(text, asked, now)
            if delay is not None:
                return None if delay >= _EPOCH_FROM else (delay, asked.start(), end)
    return _translated_delay(low)


def _translated_delay(low: str) -> tuple[float, int, int] | None:
    total, start, end = 0.0, 0, 0
    for amount in _TRANSLATED_AMOUNT.finditer(low):
        if not end or low[end : amount.start()] not in _AND:
            if _asks_in_translation(low, start, end):
                break
            total, start = 0.0, amount.start()
        total += float((amount[1] or "1").replace(",", ".")) * _SECONDS_IN_TRANSLATED[amount[2]]
        end = amount.end()
    delay = seconds(total) if _asks_in_translation(low, start, end) else None
    return None if delay is None or delay >= _EPOCH_FROM else (delay, start, end)


def _asks_in_translation(low: str, start: int, end: int) -> bool:
    """Return whether the clause around an amount asks to wait or to try again."""
    if not end:
        return False
    before = _CLAUSE_ENDS.split(low[max(0, start - _LONGEST_CLAUSE) : start])[-1]
    after = _CLAUSE_ENDS.split(low[end : end + _LONGEST_CLAUSE], 1)[0]
    return _TRANSLATED_REQUEST.search(before + low[start:end] + after) is not None


def _asked_delay(text: str, asked: re.Match[str], now: float | None) -> tuple[float | None, int]:
    start = asked.end()
    for moment in (_ISO_MOMENT, _HTTP_MOMENT):
        if match := moment.match(text, start):
            return delay_in_date(match[0].replace(" UTC", "Z"), now=now) or None, match.end()
    total, end = _sum_of_amounts(text, start)
    if end > start:
        return seconds(total), end
    if (match := _ISO_DURATION.match(text, start)) and match.end() > start + 1:
        return _iso_duration(match[0]), match.end()
    if (match := _CLOCK.match(text, start)) and match[1]:
        return _clock_time(match[0]), match.end()
    number = _NUMBER.match(text, start)
    if number is None or asked["key"] is None:
        return None, start
    behind = text[number.end() : number.end() + 2]
    if behind[:1].isalpha() or behind.strip(":").isdecimal():  # another unit, or a time of day
        return None, start
    delay = parse_delay(number[0], unit=(asked["unit"] or "").lower(), now=now)
    return None if delay == 0 and float(number[0]) >= _EPOCH_FROM else delay, number.end()


def _may_ask(low: str) -> bool:
    for word in _ASKING_WORDS:  # noqa: SIM110 - a generator would take twice as long
        if word in low:
            return True
    return False


def _sum_of_amounts(text: str, start: int = 0) -> tuple[float, int]:
    """Return the seconds of the amounts that stand at a place, such as `1 minute and 30 s`, and where they end."""
    total, end, smallest = 0.0, start, math.inf
    while match := _AMOUNT.match(text, end):
        factor = _SECONDS_IN[match[3].lower()]
        if factor >= smallest:
            break
        number = float(match[1]) if match[1] else _NUMBER_WORDS[match[2].lower()]
        total, end, smallest = total + number * factor, match.end(), factor
    return total, end
