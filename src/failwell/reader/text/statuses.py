"""HTTP statuses in text: `status code 404`, `HTTP 503`, `404 Client Error`, `(429)`."""

import re

from msgspec import UNSET

from failwell.reader.text.finding import Finding

# A number is a status if a word before it, or a reason behind it, says so.
_BEFORE = (
    r"(?<!exit )(?<!exited with )\b(?:status(?:[ _]?code)?|response code|statuscode|errorcode|error code"
    r"|https?(?:/[\d.]{1,3})?(?: error| status| code)?|returned|responded with|got|received|code)[\s:=#(\[\"']{1,4}"
)
_UNITS = "ms|s|seconds|bytes|kb|mb|px|characters|chars|items|rows|lines|tokens"
_STATED = re.compile(
    rf"(?:{_BEFORE}|\berror:? \(?|^\(?|[(\[])([45]\d\d)\b(?![\d.,%-]?\d| ?(?:{_UNITS})\b)", re.IGNORECASE
)
_REASONS = (
    "client error|server error|bad request|unauthorized|payment required|forbidden|not found|method not allowed"
    "|not acceptable|proxy auth|request timeout|conflict|gone|length required|precondition|payload too large"
    "|request entity|uri too long|unsupported media|range not|unprocessable|locked|too many|internal server"
    "|not implemented|bad gateway|service unavailable|service temporarily|gateway time"
)
_REASON = re.compile(rf"\b([45]\d\d)[\s:,\"'\]}})-]{{1,4}}(?:{_REASONS})", re.IGNORECASE)
_NUMBER = re.compile(r"[45](?<!\d\d)\d\d(?!\d)")
_CONFIDENCE = 0.9
UNSPECIFIC = frozenset((400, 403, 409, 422, 500))
"""Statuses that services also use for what has a status of its own: clear words beat them."""


def find(text: str) -> Finding | None:
    """Return what the HTTP status in a text means, or None if there is none."""
    match = (_REASON.search(text) or _STATED.search(text)) if _NUMBER.search(text) else None
    return None if match is None else of(int(match[1]), match.span())


def of(status: int, span: tuple[int, int] | None = None) -> Finding:
    """Return what an HTTP status means."""
    from failwell.mapping.http import verdict_for_status  # rule tables are loaded when they are needed

    return Finding(
        rule=f"HTTP status {status}",
        code=str(verdict_for_status(status)["code"]),
        confidence=_CONFIDENCE,
        retryable=None if status == 500 or status > 511 else UNSET,
        http_status=status,
        span=span,
    )
