"""What the arguments add to a finding: which of them is at fault, whose limit or file it was, how long to wait."""

import re
from typing import Any

import msgspec

from failwell import catalog
from failwell.reader.text import culprits, delays, ownership
from failwell.reader.text.context import Context
from failwell.reader.text.finding import Finding
from failwell.reader.text.problems import problem

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>)\]]{1,500}", re.IGNORECASE)
"""An address with a scheme, inside a text."""

# Names that nobody may register (RFC 2606): looking them up fails for good.
_RESERVED_HOST = re.compile(r"\.(?:invalid|test|example)\b|\bexample\.(?:com|org|net)\b")
_ON_THE_WAY = frozenset(("CONNECTION_FAILED", "DNS_TEMPORARY"))
_LIMITS = frozenset(("TIMEOUT", "QUERY_TIMEOUT", "PROCESS_TIMEOUT", "UPSTREAM_TIMEOUT"))
_OWN_FILES = frozenset(("FILE_NOT_FOUND", "WRONG_PATH_KIND", "PARSE_ERROR", "ALREADY_EXISTS"))
_BLAMELESS = frozenset(("UNKNOWN_TOOL", "READ_ONLY", "PAYMENT_REQUIRED", "QUOTA_EXHAUSTED", "PRECONDITION_FAILED"))


def completed(found: Finding, text: str, context: Context) -> Finding:
    """Return a finding with all that text and arguments say together."""
    type_ = catalog.type_of(found.code)
    if type_ == "TRANSIENT":
        return _transient(found, text, context)
    if found.code in _OWN_FILES and ownership.is_servers_own(found.code, text, context):
        rule = f"{found.rule}, of the server's own"
        return msgspec.structs.replace(found, code="CONFIG_ERROR", retryable=None, rule=rule)
    changes: dict[str, Any] = {}
    if type_ == "CONFLICT":
        changes["retry_after"] = delays.find(text)
    if not found.fields and type_ != "INTERNAL" and found.code not in _BLAMELESS:
        changes["fields"] = _blamed(found, text, context)
    return msgspec.structs.replace(found, **changes) if changes else found


def _transient(found: Finding, text: str, context: Context) -> Finding:
    if found.code in _LIMITS and (limit := _limit_sent(context)):
        late = problem(context, [limit], "The call took longer than this", "range")
        return msgspec.structs.replace(found, code="OUT_OF_RANGE", retryable=False, fields=(late,))
    if found.code == "DNS_TEMPORARY" and _RESERVED_HOST.search(text):
        lost = msgspec.structs.replace(found, code="HOST_NOT_FOUND", retryable=False)
        return msgspec.structs.replace(lost, fields=_blamed(lost, text, context))
    changes: dict[str, Any] = {"retry_after": delays.find(text)}
    if found.code in _ON_THE_WAY and _sent_address(context):
        changes["retryable"] = None
    return msgspec.structs.replace(found, **changes)


def _blamed(found: Finding, text: str, context: Context) -> tuple[Any, ...]:
    kind = "missing" if found.code == "MISSING_REQUIRED_FIELD" else None
    title = catalog.title_of(found.code, "INTERNAL")
    return tuple(problem(context, keys, title, kind) for keys in culprits.find(text, context, found.span, found.code))


def _sent_address(context: Context) -> bool:
    """Tell whether the caller chose where to go: then a wrong address sounds like an outage."""
    return any(isinstance(value, str) and ADDRESS.match(value) for _, value in context.values)


def _limit_sent(context: Context) -> str | None:
    return next((name for name in context.arguments if isinstance(name, str) and "timeout" in name.lower()), None)
