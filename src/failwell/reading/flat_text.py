"""Flat text: what can be said of a failure that carries no structure, how surely, and by which rule."""

import re
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from failwell import codes
from failwell.advice import stated_by
from failwell.codes import Outcome
from failwell.dialects._meta import ADVICE_MARKS, split_advice
from failwell.failure import Failure, FieldProblem
from failwell.phrases import texts
from failwell.phrases.http_codes import REASONS, VAGUE_STATUSES, meaning_of_status
from failwell.phrases.language import plain
from failwell.phrases.meanings import fields_of
from failwell.phrases.rpc_codes import INVALID_PARAMS, RECEIVED
from failwell.phrases.vendor_codes import known_code
from failwell.reading import validators
from failwell.reading.blame import ADDRESS, complete_finding
from failwell.reading.bodies import Body, find_body
from failwell.reading.context import Context, Finding
from failwell.reading.validators import add_schema_facts
from failwell.redact.scrubber import clean_once

CERTAIN = 0.7
"""Below this confidence the answer is: don't know."""

_LONGEST_MESSAGE = 1000
# pydantic repeats the address of its manual under each problem.
_ADVERT = "For further information visit https://"
_ADVERTS = re.compile(rf"\n? {{0,8}}{_ADVERT}\S{{1,200}}")
# The frames of a traceback tell about the inside of a server; its last line says what happened.
_TRACEBACK = "Traceback (most recent call last):"
_FRAMES = re.compile(re.escape(_TRACEBACK) + r"(?:\n[ \t][^\n]*+)*+\n?")
_NOTHING_SAID = "The tool reported an error without saying which."


class Reading(Struct, frozen=True):
    """A failure, and the rule that found it; the rule is None where the failure carried structure."""

    failure: Failure
    rule: str | None = None
    sign: Any = None


def read_error_text(text: str, context: Context, found: Finding | None = None) -> Reading:
    """Return the failure that an error text tells of, and the rule that says so; *found* is what is known of it."""
    context.safe_text = safe_message(text)
    if found is not None or not any(mark in text for mark in ADVICE_MARKS):
        return _reading(context, found or find_cause(text, context))
    context.safe_text, said = split_advice(context.safe_text)
    reading = _reading(context, find_cause(split_advice(text)[0], context))
    # Whoever gets nothing but the text is not to make a call again that the text says not to repeat.
    return Reading(reading.failure.replace(**said, **stated_by(said.get("suggestion", ""))), reading.rule)


def safe_message(text: str) -> str:
    """Return a text as a message: cleaned, and without what only fills it."""
    if _ADVERT in text:
        text = _ADVERTS.sub("", text)
    if _TRACEBACK in text:
        text = _FRAMES.sub("", text)
    return clean_once(text, _LONGEST_MESSAGE).strip()


def _reading(context: Context, found: Finding | None) -> Reading:
    message = context.safe_text or _NOTHING_SAID
    if found is None or found.confidence < CERTAIN:
        return Reading(_unknown(message, context, found), found.rule if found else None)
    return Reading(_failure(message, context, found), found.rule)


def _failure(message: str, context: Context, found: Finding) -> Failure:
    return Failure(
        message=message,
        code=found.code,
        outcome=_outcome(found),
        retryable=found.retryable if found.retryable is not UNSET else codes.derive(found.code, None).retryable,
        fields=found.fields,
        retry_after=found.retry_after,
        http_status=found.http_status,
        tool=context.tool,
        origin="inferred",
        confidence=found.confidence,
    )


def _outcome(found: Finding) -> Outcome:
    """Return what the words say of the effect: advice, which an automatic retry trusts only if the policy does."""
    return found.outcome or codes.derive(found.code, None).outcome


def _unknown(message: str, context: Context, found: Finding | None) -> Failure:
    confidence = found.confidence if found else 0.0
    return Failure(message=message, tool=context.tool, origin="inferred", confidence=confidence)


_HEAD, _TAIL = 3000, 1000
_MASK = "<>"
_VALIDATOR_CONFIDENCE = 0.95
_SCHEMA_CONFIDENCE = 0.8
_CLEAR = 0.88
_RPC = re.compile(rf"MCP error {INVALID_PARAMS}\b")
_CODE_OF_KIND = {"missing": "MISSING_REQUIRED_FIELD", "type": "INVALID_FIELD_TYPE"}


def find_cause(text: str, context: Context) -> Finding | None:
    """Return what a text says, by the rule that is surest of it; None if no rule fits."""
    text = _bounded(text)
    if _OUTPUT_ERROR.search(text):
        return Finding(rule="an error about the result", code="INTERNAL_ERROR", confidence=_OUTPUT_CONFIDENCE)
    found = by_validator(text, context)
    if found is not None:
        return found
    body = find_body(text) if "{" in text or "[" in text else None
    said = without_prefixes(body.text if body and body.text else text)
    found = _by_wording(said, text, body, context) or _by_number(text) or _by_schema(context)
    return None if found is None else complete_finding(found, said, context)


def deciding_phrase(text: str, context: Context) -> str | None:
    """Return the phrase by which the wording of a text is known, if it is; for measuring the rules."""
    text = _bounded(text)
    body = find_body(text)
    said = without_prefixes(body.text if body and body.text else text)
    match = texts.table().first(plain(_masked(said, context)))
    return match.phrase if match else None


def _bounded(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


# How SDKs word that a tool ran and that its result is not what it promised: no error of the caller's.
_OUTPUT_ERROR = re.compile(
    r"\boutput validation error\b|\boutput ?schema\b.{0,60}\b(?:but|no structured)\b|\binvalid structured content\b"
    r"|\bunexpected return (?:value )?type\b|\bResponseValidationError\b|\binvalid structured output\b",
    re.IGNORECASE,
)
_OUTPUT_CONFIDENCE = 0.95


# What SDKs put before the text of an error. It says nothing about the error itself.
SDK_PREFIXES: tuple[tuple[str, str], ...] = (
    # A name may hold blanks if a payload follows; otherwise such words are the server's own.
    (
        "mcp, fastmcp",
        r"Error (?:executing|calling|running) (?:the )?tool (?:[^\s:]{1,200}: |[^\n:]{1,200}: (?=\s*[{<]))",
    ),
    ("mcp, low level", r"Input validation error: "),
    ("TypeScript SDK", r"MCP error -?\d{1,6}: "),
    ("strands", r"Tool execution failed: "),
    ("agent frameworks", r"(?:Tool)?Error: "),
)
_SDK_PREFIX = re.compile("|".join(pattern for _, pattern in SDK_PREFIXES))
_MOST_PREFIXES = 3


def without_prefixes(text: str) -> str:
    """Return an error text without what SDKs put before it; one that has nothing else stays as it is."""
    at = 0
    for _ in range(_MOST_PREFIXES):
        prefix = _SDK_PREFIX.match(text, at)
        if prefix is None or prefix.end() == len(text):
            break
        at = prefix.end()
    return text[at:]


def by_validator(text: str, context: Context) -> Finding | None:
    """Return what a validator's text says about fields, or None if it is none."""
    for family in validators.FAMILIES:
        for gate in family.gates:
            if gate in text:
                break
        else:
            continue
        problems = family.parse(text, context)
        if problems is None:
            continue
        fields = tuple(add_schema_facts(problem, context) for problem in problems) or context.problems
        if fields or family.is_certain:
            rule = f"{family.name} text"
            return Finding(rule=rule, code=_code_of(fields), confidence=_VALIDATOR_CONFIDENCE, fields=fields)
    return None


def _code_of(fields: tuple[FieldProblem, ...]) -> str:
    kinds = {problem.kind for problem in fields}
    return _CODE_OF_KIND.get(str(next(iter(kinds))), "VALIDATION_FAILED") if len(kinds) == 1 else "VALIDATION_FAILED"


def _by_wording(said: str, text: str, body: Body | None, context: Context) -> Finding | None:
    masked = _masked(said, context)
    match = texts.table().first(plain(masked))
    worded = match and Finding(
        rule=match.rule.name,
        code=match.rule.code,
        confidence=match.rule.confidence,
        retryable=match.rule.retryable,
        outcome=match.rule.outcome,
        span=(match.start, match.end),
    )
    if body is None:
        status = find_status(masked)
        return worded if status is None else _words_or_status(worded, status)
    status = find_status(_masked(text, context)) or (finding_of_status(body.status) if body.status else None)
    coded = _by_code(body.codes)
    if coded is not None and (status is None or status.http_status in VAGUE_STATUSES):
        return worded if worded is not None and worded.confidence >= 0.9 else coded
    if coded is not None and status is not None and coded.code in (status.code, "QUOTA_EXHAUSTED"):
        return msgspec.structs.replace(status, code=coded.code)
    return worded if status is None else _words_or_status(worded, status)


def _words_or_status(worded: Finding | None, status: Finding) -> Finding:
    """Return what the words say where they are clearer than the status; else what the status says."""
    if worded is None or worded.confidence < _CLEAR:
        return status
    type_ = codes.type_of(worded.code)
    is_finer = worded.code == "QUOTA_EXHAUSTED" or type_ == codes.type_of(status.code)
    if type_ != "INTERNAL" and (is_finer or status.http_status in VAGUE_STATUSES):
        return msgspec.structs.replace(worded, http_status=status.http_status)
    return status


def _by_code(stated: tuple[str, ...]) -> Finding | None:
    for code in stated:
        row = codes.get(codes.screaming(code))
        meant = row.code if row else known_code(code)
        if meant:
            return Finding(rule=f"code {code[:40]}", code=meant, confidence=0.9)
    return None


def _by_number(text: str) -> Finding | None:
    if _RPC.search(text) is None:
        return None
    return Finding(rule=f"JSON-RPC {INVALID_PARAMS}", code=RECEIVED[INVALID_PARAMS], confidence=0.8)


def _by_schema(context: Context) -> Finding | None:
    """Return that the arguments do not fit the schema, where the text says nothing clear."""
    wrong = tuple(problem for problem in context.problems if problem.kind != "unknown")
    if not wrong:
        return None
    return Finding(rule="arguments against schema", code=_code_of(wrong), confidence=_SCHEMA_CONFIDENCE, fields=wrong)


def _masked(text: str, context: Context) -> str:
    """Return a text without addresses and without what the caller sent, whose words are not the server's."""
    if "://" in text:
        text = ADDRESS.sub(_MASK, text)
    if context.tool and len(context.tool) > 3:
        text = text.replace(context.tool, _MASK)
    for _, value in context.values:
        if isinstance(value, str) and len(value) > 3 and value in text:
            text = text.replace(value, _MASK)
    return text


# A number is a status if a word before it, or a reason behind it, says so.
_BEFORE = (
    r"(?<!exit )(?<!exited with )\b(?:status(?:[ _]?code)?|response code|statuscode|errorcode|error code"
    r"|https?(?:/[\d.]{1,3})?(?: error| status| code)?|returned|responded with|got|received|code)[\s:=#(\[\"']{1,4}"
)
_UNITS = "ms|s|seconds|bytes|kb|mb|px|characters|chars|items|rows|lines|tokens"
_STATED = re.compile(
    rf"(?:{_BEFORE}|\berror:? \(?|^\(?|[(\[])([45]\d\d)\b(?![\d.,%-]?\d| ?(?:{_UNITS})\b)", re.IGNORECASE
)
_REASON = re.compile(rf"\b([45]\d\d)[\s:,\"'\]}})-]{{1,4}}(?:{'|'.join(REASONS)})", re.IGNORECASE)
_NUMBER = re.compile(r"[45](?<!\d\d)\d\d(?!\d)")
_STATUS_CONFIDENCE = 0.9


def find_status(text: str) -> Finding | None:
    """Return what the HTTP status in a text means, or None if there is none."""
    match = (_REASON.search(text) or _STATED.search(text)) if _NUMBER.search(text) else None
    return None if match is None else finding_of_status(int(match[1]), match.span())


def finding_of_status(status: int, span: tuple[int, int] | None = None) -> Finding:
    """Return what an HTTP status means."""
    meaning = fields_of(meaning_of_status(status))
    return Finding(
        rule=f"HTTP status {status}",
        code=meaning["code"],
        confidence=_STATUS_CONFIDENCE,
        outcome=meaning.get("outcome"),
        retryable=None if status == 500 or status > 511 else UNSET,
        http_status=status,
        span=span,
    )
