"""Weigh what the rules find in a text: validators first, then wording and status, then the schema itself."""

import re
from typing import Any

import msgspec

from failwell import catalog
from failwell.failure import FieldProblem
from failwell.reader.text import bodies, culprits, delays, ownership, statuses, validators, wording
from failwell.reader.text.context import Context
from failwell.reader.text.finding import Finding
from failwell.reader.text.phrases import plain
from failwell.reader.text.problems import problem

_HEAD, _TAIL = 3000, 1000
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>)\]]{1,500}", re.IGNORECASE)
_RESERVED_HOST = re.compile(r"\.(?:invalid|test|example)\b|\bexample\.(?:com|org|net)\b")
_MASK = "<>"
_VALIDATOR_CONFIDENCE = 0.95
_SCHEMA_CONFIDENCE = 0.8
_RPC = re.compile(r"MCP error (-?\d{1,6})\b")
_CODE_OF_KIND = {"missing": "MISSING_REQUIRED_FIELD", "type": "INVALID_FIELD_TYPE"}
_OWN_FILES = frozenset(("FILE_NOT_FOUND", "WRONG_PATH_KIND", "PARSE_ERROR", "ALREADY_EXISTS"))
_WITHOUT_CULPRIT = frozenset(("UNKNOWN_TOOL", "READ_ONLY", "PAYMENT_REQUIRED", "QUOTA_EXHAUSTED",
                              "PRECONDITION_FAILED"))  # fmt: skip
_ON_THE_WAY = frozenset(("CONNECTION_FAILED", "DNS_TEMPORARY"))
_CALLERS_LIMIT = frozenset(("TIMEOUT", "QUERY_TIMEOUT", "PROCESS_TIMEOUT", "UPSTREAM_TIMEOUT"))


def weigh(text: str, context: Context) -> Finding | None:
    """Return what a text says, by the rule that is surest of it; None if no rule fits."""
    text = _bounded(text)
    body = bodies.find(text) if "{" in text or "[" in text else None
    found = _by_validator(text, context)
    if found is not None:
        return found
    said = body.text if body and body.text else text
    found = _by_wording(text, said, body, context) or _by_schema(context)
    if found is None:
        return None
    return _completed(found, said if body and body.text else text, context)


def _bounded(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _by_validator(text: str, context: Context) -> Finding | None:
    for family in validators.FAMILIES:
        if not any(gate in text for gate in family.gates):
            continue
        problems = family.parse(text, context)
        if problems is None:
            continue
        fields = tuple(_informed(problem, context) for problem in problems) or context.problems
        if not fields and family.name in ("words", "zod", "ajv"):
            continue
        return Finding(
            rule=f"{family.name} text",
            code=_code_of(fields),
            confidence=_VALIDATOR_CONFIDENCE,
            fields=fields,
        )
    return None


def _code_of(fields: tuple[FieldProblem, ...]) -> str:
    kinds = {problem.kind for problem in fields}
    return _CODE_OF_KIND.get(str(next(iter(kinds))), "VALIDATION_FAILED") if len(kinds) == 1 else "VALIDATION_FAILED"


def _informed(found: FieldProblem, context: Context) -> FieldProblem:
    """Return a problem with what the schema adds to it: the options, what was expected, what was meant."""
    known = next((known for known in context.problems if known.path == found.path), None)
    if known is None:
        return found
    changes = {name: getattr(known, name) for name in ("expected", "options", "did_you_mean", "required", "kind")}
    return msgspec.structs.replace(found, **changes)


def _by_wording(text: str, said: str, body: bodies.Body | None, context: Context) -> Finding | None:
    masked = _masked(said, context)
    words = plain(masked)
    match = wording.table().first(words)
    worded = (
        Finding(
            rule=match.rule.name,
            code=match.rule.code,
            confidence=match.rule.confidence,
            retryable=match.rule.retryable,
            span=(match.start, match.end),
        )
        if match
        else None
    )
    status = statuses.find(masked if body is None else _masked(text, context))
    if status is None and body is not None and body.status is not None:
        status = statuses.find(f"HTTP {body.status}")
    coded = _by_code(body.codes) if body else None
    return _surest(worded, status, coded) or _by_number(text)


def _surest(worded: Finding | None, status: Finding | None, coded: Finding | None) -> Finding | None:
    if coded is not None and (status is None or status.http_status in statuses.UNSPECIFIC):
        return coded if worded is None or worded.confidence < 0.9 or worded.code == coded.code else worded
    if status is None:
        return worded
    is_clearer = worded is not None and worded.confidence >= 0.88 and catalog.type_of(worded.code) != "INTERNAL"
    if worded is not None and is_clearer and (status.http_status in statuses.UNSPECIFIC or _is_finer(worded, status)):
        return msgspec.structs.replace(worded, http_status=status.http_status)
    return status


def _is_finer(worded: Finding, status: Finding) -> bool:
    return worded.code == "QUOTA_EXHAUSTED" or catalog.type_of(worded.code) == catalog.type_of(status.code)


def _by_code(codes: tuple[str, ...]) -> Finding | None:
    from failwell.mapping.bodies import known  # rule tables are loaded when they are needed

    for code in codes:
        row = catalog.get(catalog.screaming(code))
        meant = row.code if row else known(code)
        if meant:
            return Finding(rule=f"code {code[:40]}", code=meant, confidence=0.9)
    return None


def _by_number(text: str) -> Finding | None:
    match = _RPC.search(text)
    if match is None or match[1] != "-32602":
        return None
    return Finding(rule="JSON-RPC -32602", code="INVALID_ARGUMENT", confidence=0.8)


def _by_schema(context: Context) -> Finding | None:
    """Return that the arguments do not fit the schema, where the text says nothing clear."""
    wrong = tuple(problem for problem in context.problems if problem.kind != "unknown")
    if not wrong:
        return None
    return Finding(rule="arguments against schema", code=_code_of(wrong), confidence=_SCHEMA_CONFIDENCE, fields=wrong)


def _masked(text: str, context: Context) -> str:
    """Return a text without addresses and without what the caller sent, whose words are not the server's."""
    text = _ADDRESS.sub(_MASK, text)
    if context.tool and len(context.tool) > 3:
        text = text.replace(context.tool, _MASK)
    for _, value in context.values:
        if isinstance(value, str) and len(value) > 3 and value in text:
            text = text.replace(value, _MASK)
    return text


def _completed(found: Finding, text: str, context: Context) -> Finding:
    """Return a finding with the argument at fault, the delay asked for, and what the arguments say about a limit."""
    changes: dict[str, Any] = {}
    type_ = catalog.type_of(found.code)
    if found.code == "DNS_TEMPORARY" and _RESERVED_HOST.search(text):
        changes["code"], type_ = "HOST_NOT_FOUND", "NOT_FOUND"
    if found.code in _CALLERS_LIMIT and (limit := _limit_sent(context)):
        changes |= {
            "code": "OUT_OF_RANGE",
            "retryable": False,
            "fields": (problem(context, [limit], "The call took longer than this", "range"),),
        }
        return msgspec.structs.replace(found, **changes)
    if found.code in _ON_THE_WAY and _sent_address(context):
        changes["retryable"] = None
    if type_ in ("TRANSIENT", "CONFLICT") and (delay := delays.find(text)) is not None:
        changes["retry_after"] = delay
    if found.code in _OWN_FILES and ownership.is_servers_own(found.code, text, context):
        return msgspec.structs.replace(
            found, code="CONFIG_ERROR", retryable=None, rule=f"{found.rule}, of the server's own"
        )
    if not found.fields and type_ not in ("TRANSIENT", "INTERNAL") and found.code not in _WITHOUT_CULPRIT:
        blamed = culprits.find(text, context, found.span, found.code)
        kind = "missing" if found.code == "MISSING_REQUIRED_FIELD" else None
        title = catalog.title_of(found.code, type_ or "INTERNAL")
        changes["fields"] = tuple(problem(context, keys, title, kind) for keys in blamed)
    return msgspec.structs.replace(found, **changes) if changes else found


def _sent_address(context: Context) -> bool:
    """Tell whether the caller chose where to go: then a wrong address sounds like an outage."""
    return any(isinstance(value, str) and _ADDRESS.match(value) for _, value in context.values)


def _limit_sent(context: Context) -> str | None:
    return next((name for name in context.arguments if isinstance(name, str) and "timeout" in name.lower()), None)
