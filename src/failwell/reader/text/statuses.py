"""HTTP statuses in text: `status code 404`, `HTTP 503`, `404 Client Error`, `(429)`."""

import re

from msgspec import UNSET

from failwell.reader.text.finding import Finding

# A number is a status if a word before it, or a reason behind it, says so.
_STATED = re.compile(
    r"(?:(?<!exit )(?<!exited with )\b(?:status(?:[ _]?code)?|response code|http(?:s)?(?:/[\d.]{1,3})?(?: error| status| code)?"
    r"|statuscode|errorcode|error code|returned|responded with|got|received|code)[\s:=#(\[\"']{1,4}"
    r"|\berror:? \(?|^\(?|[(\[])([45]\d\d)\b(?![\d.,%-]?\d| ?(?:ms|s|seconds|bytes|kb|mb|px|characters|chars|items|rows|lines|tokens)\b)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b([45]\d\d)[\s:,\"'\]})-]{1,4}(?:client error|server error|bad request|unauthorized|payment required|forbidden|not found"
    r"|method not allowed|not acceptable|proxy auth|request timeout|conflict|gone|length required|precondition"
    r"|payload too large|request entity|uri too long|unsupported media|range not|unprocessable|locked|too many"
    r"|internal server|not implemented|bad gateway|service unavailable|service temporarily|gateway time)",
    re.IGNORECASE,
)  # fmt: skip
_NUMBER = re.compile(r"(?<!\d)[45]\d\d(?!\d)")
_CONFIDENCE = 0.9
UNSPECIFIC = frozenset((400, 403, 409, 422, 500))
"""Statuses that services also use for what has a status of its own: clear words beat them."""


def find(text: str) -> Finding | None:
    """Return what the HTTP status in a text means, or None if there is none."""
    match = (_REASON.search(text) or _STATED.search(text)) if _NUMBER.search(text) else None
    if match is None:
        return None
    from failwell.mapping.http import verdict_for_status  # rule tables are loaded when they are needed

    status = int(match[1])
    code = str(verdict_for_status(status)["code"])
    return Finding(
        rule=f"HTTP status {status}",
        code=code,
        confidence=_CONFIDENCE,
        retryable=None if status == 500 or status > 511 else UNSET,
        http_status=status,
        span=match.span(),
    )
