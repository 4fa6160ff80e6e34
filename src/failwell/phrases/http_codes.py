"""HTTP statuses: what each one means, and its reason phrases."""

from failwell.phrases.meanings import Meaning, fields_of, not_executed

STATUSES: dict[int, Meaning] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHORIZED",
    402: "PAYMENT_REQUIRED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "UNSUPPORTED_MEDIA_TYPE",
    407: "UNAUTHORIZED",
    408: "UPSTREAM_TIMEOUT",
    409: "CONFLICT",
    410: "GONE",
    411: "INVALID_ARGUMENT",
    412: "PRECONDITION_FAILED",
    413: "PAYLOAD_TOO_LARGE",
    414: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    416: "OUT_OF_RANGE",
    420: "RATE_LIMITED",  # Twitter
    421: "MISDIRECTED",
    422: "INVALID_ARGUMENT",
    423: "LOCKED",
    424: "FAILED_DEPENDENCY",
    425: "TOO_EARLY",
    426: {"code": "CONFIG_ERROR", "outcome": "rejected"},
    428: "PRECONDITION_REQUIRED",
    429: "RATE_LIMITED",
    430: "RATE_LIMITED",  # Shopify
    431: "PAYLOAD_TOO_LARGE",
    440: "UNAUTHORIZED",  # IIS: the session expired
    444: "CONNECTION_LOST",  # nginx: closed without an answer
    451: "LEGALLY_BLOCKED",
    494: "PAYLOAD_TOO_LARGE",  # nginx: header too large
    495: {"code": "UNAUTHORIZED", "outcome": "rejected"},  # nginx: client certificate invalid, then missing
    496: {"code": "UNAUTHORIZED", "outcome": "rejected"},
    498: "UNAUTHORIZED",  # Esri: token expired
    499: "CONNECTION_LOST",  # nginx: the client went away; it may have run
    500: "UPSTREAM_ERROR",
    501: "NOT_IMPLEMENTED",
    502: "BAD_GATEWAY",
    503: "SERVICE_UNAVAILABLE",
    504: "UPSTREAM_TIMEOUT",
    505: "NOT_IMPLEMENTED",
    506: {"code": "BAD_UPSTREAM_RESPONSE"},
    507: not_executed("RESOURCE_EXHAUSTED"),
    508: {"code": "TOO_MANY_REDIRECTS"},
    509: "QUOTA_EXHAUSTED",  # bandwidth used up
    510: "NOT_IMPLEMENTED",
    511: "UNAUTHORIZED",
    # Cloudflare: which step to the origin failed; 522 also stands for an origin that fell silent after connecting
    521: "CONNECTION_REFUSED",
    522: {"code": "CONNECT_TIMEOUT", "outcome": "unknown"},
    523: "CONNECTION_FAILED",
    524: "UPSTREAM_TIMEOUT",
    525: "CONNECTION_FAILED",
    526: "TLS_VERIFY_FAILED",
    529: not_executed("OVERLOADED"),
    530: "SERVICE_UNAVAILABLE",
    561: "UNAUTHORIZED",  # AWS load balancer
    598: "UPSTREAM_TIMEOUT",
    599: "UPSTREAM_TIMEOUT",
}
"""What each status means; others mean what 400 and 500 do."""

UNSPECIFIC_STATUSES = frozenset((400, 409, 422, 500))
"""Statuses that services also use for what has a status of its own: a code in the body beats them."""

VAGUE_STATUSES = UNSPECIFIC_STATUSES | {403}
"""Statuses that clear words beat: 403 is also sent for limits and for what is missing."""

REASONS: tuple[tuple[int, str], ...] = (
    (400, "bad request"), (401, "unauthori"), (402, "payment required"), (403, "forbidden"), (404, "not found"),
    (405, "method not allowed"), (406, "not acceptable"), (407, "proxy auth"), (408, "request time"), (409, "conflict"),
    (410, "gone"), (411, "length required"), (412, "precondition"), (413, "payload too"), (413, "request entity"),
    (413, "content too"), (414, "uri too"), (414, "request-uri"), (415, "unsupported media"), (416, "range not"),
    (416, "requested range"), (422, "unprocessable"), (423, "locked"), (424, "failed dependency"), (425, "too early"),
    (426, "upgrade required"), (428, "precondition"), (429, "too many"), (429, "rate limit"), (431, "request header"),
    (451, "unavailable for legal"), (500, "internal"), (501, "not implemented"), (502, "bad gateway"), (503, "service"),
    (503, "temporarily"), (504, "gateway time"), (507, "insufficient"), (529, "overloaded"),
    *((status, "client error") for status in range(400, 500)),
    *((status, "server error") for status in range(500, 600)),
)  # fmt: skip
"""Each status, and how the reason that may stand behind it begins."""


BEFORE_STATUS = (
    r"(?<!exit )(?<!exited with )\b(?:status(?:[ _]?code)?(?: of)?|response code|statuscode|errorcode|error code"
    r"|https?(?:/[\d.]{1,3})?(?: ?error| status| code)?(?: occurred)?)[\s:=#(\[\"']{1,4}"
)
"""The pattern of the words that say, before a number, that it is a status."""


def meaning_of_status(status: int) -> Meaning:
    """Return what a status from 400 on means."""
    return STATUSES.get(status) or STATUSES[400 if status < 500 else 500]


def code_of_status(status: int) -> str:
    """Return the catalog code of a status from 400 on."""
    return str(fields_of(meaning_of_status(status))["code"])
