"""Weigh what the rules find in a text: validators first, then wording, status and codes, then the schema itself."""

import re

import msgspec

from failwell import catalog
from failwell.failure import FieldProblem
from failwell.reader.text import bodies, completing, statuses, validators, wording
from failwell.reader.text.context import Context
from failwell.reader.text.finding import Finding
from failwell.reader.text.phrases import plain
from failwell.reader.text.problems import informed

_HEAD, _TAIL = 3000, 1000
_MASK = "<>"
_VALIDATOR_CONFIDENCE = 0.95
_SCHEMA_CONFIDENCE = 0.8
_CLEAR = 0.88
# What SDKs put before the text of an error; they say nothing about it.
_WRAPPER = re.compile(
    r"(?:Error (?:executing|calling|running) (?:the )?tool [^\s:]{1,200}: |MCP error -?\d{1,6}: "
    r"|Tool execution failed: |(?:Tool)?Error: |Input validation error: )"
)
_RPC = re.compile(r"MCP error -32602\b")
_CODE_OF_KIND = {"missing": "MISSING_REQUIRED_FIELD", "type": "INVALID_FIELD_TYPE"}


def weigh(text: str, context: Context) -> Finding | None:
    """Return what a text says, by the rule that is surest of it; None if no rule fits."""
    text = _bounded(text)
    found = by_validator(text, context)
    if found is not None:
        return found
    body = bodies.find(text) if "{" in text or "[" in text else None
    said = _unwrapped(body.text if body and body.text else text)
    found = _by_wording(said, text, body, context) or _by_number(text) or _by_schema(context)
    return None if found is None else completing.completed(found, said, context)


def deciding_phrase(text: str, context: Context) -> str | None:
    """Return the phrase by which the wording of a text is known, if it is; for measuring the rules."""
    text = _bounded(text)
    body = bodies.find(text)
    said = _unwrapped(body.text if body and body.text else text)
    match = wording.table().first(plain(_masked(said, context)))
    return match.phrase if match else None


def _bounded(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _unwrapped(text: str) -> str:
    at = 0
    for _ in range(3):
        wrapper = _WRAPPER.match(text, at)
        if wrapper is None or wrapper.end() == len(text):
            break
        at = wrapper.end()
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
        fields = tuple(informed(problem, context) for problem in problems) or context.problems
        if fields or family.is_certain:
            rule = f"{family.name} text"
            return Finding(rule=rule, code=_code_of(fields), confidence=_VALIDATOR_CONFIDENCE, fields=fields)
    return None


def _code_of(fields: tuple[FieldProblem, ...]) -> str:
    kinds = {problem.kind for problem in fields}
    return _CODE_OF_KIND.get(str(next(iter(kinds))), "VALIDATION_FAILED") if len(kinds) == 1 else "VALIDATION_FAILED"


def _by_wording(said: str, text: str, body: bodies.Body | None, context: Context) -> Finding | None:
    masked = _masked(said, context)
    match = wording.table().first(plain(masked))
    worded = match and Finding(
        rule=match.rule.name,
        code=match.rule.code,
        confidence=match.rule.confidence,
        retryable=match.rule.retryable,
        span=(match.start, match.end),
    )
    if body is None:
        status = statuses.find(masked)
        return worded if status is None else _surer(worded, status)
    status = statuses.find(_masked(text, context)) or (statuses.of(body.status) if body.status else None)
    coded = _by_code(body.codes)
    if coded is not None and (status is None or status.http_status in statuses.UNSPECIFIC):
        return worded if worded is not None and worded.confidence >= 0.9 else coded
    return worded if status is None else _surer(worded, status)


def _surer(worded: Finding | None, status: Finding) -> Finding:
    """Return what the words say where they are clearer than the status; else what the status says."""
    if worded is None or worded.confidence < _CLEAR:
        return status
    type_ = catalog.type_of(worded.code)
    is_finer = worded.code == "QUOTA_EXHAUSTED" or type_ == catalog.type_of(status.code)
    if type_ != "INTERNAL" and (is_finer or status.http_status in statuses.UNSPECIFIC):
        return msgspec.structs.replace(worded, http_status=status.http_status)
    return status


def _by_code(codes: tuple[str, ...]) -> Finding | None:
    from failwell.mapping.bodies import known  # rule tables are loaded when they are needed

    for code in codes:
        row = catalog.get(catalog.screaming(code))
        meant = row.code if row else known(code)
        if meant:
            return Finding(rule=f"code {code[:40]}", code=meant, confidence=0.9)
    return None


def _by_number(text: str) -> Finding | None:
    if _RPC.search(text) is None:
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
    if "://" in text:
        text = completing.ADDRESS.sub(_MASK, text)
    if context.tool and len(context.tool) > 3:
        text = text.replace(context.tool, _MASK)
    for _, value in context.values:
        if isinstance(value, str) and len(value) > 3 and value in text:
            text = text.replace(value, _MASK)
    return text
