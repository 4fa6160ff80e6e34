"""Published error codes of vendors: all tables, and the codes that mean the same everywhere.

A client library knows whose codes it gets, and some error objects tell by their shape. Where nobody knows, only those
codes count that mean the same everywhere.
"""

from functools import cache
from typing import Any

from failwell.phrases.language import snake
from failwell.phrases.meanings import Meaning, Rows, fields_of, known_everywhere
from failwell.phrases.rpc_codes import GRPC_ROWS
from failwell.phrases.vendor_shapes import Vendor, Vendors

_LONGEST_CODE = 80

SHARED_ROWS: Rows = (
    ("RATE_LIMITED", "*user_rate_limit_exceeded *concurrent_limit_exceeded"),
    ("QUOTA_EXHAUSTED", "*daily_limit_exceeded *credit_balance_too_low"),
    ("PAYMENT_DECLINED", "*card_declined *card_error *expired_card *incorrect_cvc"),
    ("IDEMPOTENCY_MISMATCH", "*idempotency_error"),
    ("UNAUTHORIZED", "*invalid_grant *invalid_client *unauthorized *invalid_authentication_token"),
    ("FORBIDDEN", "*forbidden *insufficient_scope *insufficient_permissions *authorization_failed"),
    ("NOT_FOUND", "*resource_not_found"),
    ("OVERLOADED", "*engine_overloaded"),
    ("UPSTREAM_ERROR", "*backend_error"),
    ("PAYLOAD_TOO_LARGE", "*string_above_max_length"),
    ("INVALID_ARGUMENT", "*validation_exception *validation_error"),
)
"""Codes that many services use."""


@cache
def vendors() -> tuple[Vendor, ...]:
    """Return every vendor whose codes we know; the more telling shapes of a module come first."""
    # Only now: few failures carry a code.
    from failwell.phrases.vendors.cloud import CLOUD
    from failwell.phrases.vendors.commerce import COMMERCE
    from failwell.phrases.vendors.content import CONTENT
    from failwell.phrases.vendors.data import DATA
    from failwell.phrases.vendors.messages import MESSAGES
    from failwell.phrases.vendors.models import MODELS
    from failwell.phrases.vendors.work import WORK

    return (*CLOUD, *COMMERCE, *CONTENT, *DATA, *MESSAGES, *MODELS, *WORK)


services = Vendors(vendors)
"""Every service, found by the shape of its error objects."""


@cache
def _known_everywhere() -> dict[str, Meaning]:
    return {
        snake(code): meaning
        for rows in (GRPC_ROWS, SHARED_ROWS, *(vendor.rows for vendor in vendors()))
        for code, meaning in known_everywhere(rows).items()
    }


def published_code(payload: Any) -> tuple[str, Meaning] | None:
    """Return the code that stands where the service with such error objects puts it, with what it means there."""
    found = services.of(payload)
    for code in services.codes_in(payload, found):
        if (known := services.meaning_of(code, found)) is not None:
            return code, known[0]
    return None


def known_code(code: str) -> str | None:
    """Return the catalog code of a service's code in any case, if it means the same with every service."""
    if len(code) > _LONGEST_CODE:
        return None
    known = _known_everywhere()
    whole = code.rpartition("#")[2]
    meaning = known.get(snake(whole))
    if meaning is None and "." in whole:  # InvalidAccessKeyId.NotFound is about who is calling
        first = known.get(snake(whole.partition(".")[0]))
        meaning = first if first is not None and fields_of(first)["code"] == "UNAUTHORIZED" else None
    return None if meaning is None else str(fields_of(meaning)["code"])
