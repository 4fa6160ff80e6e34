"""What each dialect cannot say in its text alone, and what is read instead. The docs print this table."""

import re

from msgspec import structs

import failwell as fw
from failwell import codes
from failwell.codes import TYPES
from failwell.dialects._xml import field_sentences
from failwell.failure import FieldProblem, facts, is_certain, last_key, summary, wants_correction

CANNOT_SAY: dict[str, dict[str, str]] = {
    "compact": {
        "origin": "read",
        "confidence": "absent",
        "outcome": "unknown if inferred and repeatable",
        "fields": "absent if inferred from the message",
        "tool": "absent",
        "action": "absent",
    },
    "envelope": {
        "origin": "read",
        "confidence": "absent",
        "outcome": "unknown if inferred and repeatable",
        "fields": "absent if inferred from the message",
        "code": "an absent one is read as that of the type; the prefix of the tool is removed",
        "http_status": "an absent one is read as the code's",
        "suggestion": "an absent one may be read as a hint to add the missing fields",
    },
    "flat": {
        "origin": "read",
        "confidence": "absent",
        "outcome": "unknown if inferred and repeatable",
        "fields": "absent if inferred from the message",
        "tool": "absent",
        "action": "absent",
        "code": "an absent one is read as the literal's, if of the same type",
    },
    "meta": {
        "origin": "read",
        "confidence": "absent",
        "outcome": "unknown if inferred and repeatable",
        "type": "read from the class name, then from the code",
        "recoverable": "read from code and type",
        "retryable": "unknown for INTERNAL if left out, otherwise from code and type",
        "fields": "path and a sentence; absent if the message says the same; a path with a colon is lost",
        "message": "last lines that look like a next step, a delay, names or a field are read as such",
        "severity": "absent",
        "actions": "absent if a name is unusual",
        "details": "absent",
        "tool": "absent",
        "action": "absent",
        "http_status": "absent",
        "docs_url": "absent",
        "id": "absent",
        "extra": "absent",
    },
    "xml": {
        "origin": "read",
        "confidence": "absent",
        "outcome": "unknown if inferred and repeatable",
        "fields": "path and sentence in a validation error, none in a routing error; absent if inferred from "
        "the message",
        "message": "rebuilt from the fields in a validation error, if it only listed them",
        "suggestion": "absent in a validation error if it was the catalog's",
        "tool": "the part before the first slash of the action in a validation error, otherwise absent",
        "action": "the part after the first slash of the action in a validation error, otherwise absent",
    },
}


def as_read_without_meta(dialect: str, failure: fw.Failure) -> fw.Failure:
    """Return what reading a canonical failure's text must give, by the table above."""
    if not is_certain(failure):
        is_guess = failure.retryable is not False and failure.outcome != "executed"
        unsaid = tuple(problem for problem in failure.fields if not _is_said(problem, failure.message))
        failure = structs.replace(failure, fields=unsaid, outcome="unknown" if is_guess else failure.outcome)
    return _CHANGES[dialect](failure.replace(origin="read", confidence=None))


def _is_said(problem: FieldProblem, message: str) -> bool:
    if problem.did_you_mean and problem.did_you_mean not in message:
        return False
    return problem.kind is None or bool(re.search(rf"(?<!\w){re.escape(last_key(problem.path))}(?!\w)", message))


def _compact(failure: fw.Failure) -> fw.Failure:
    return failure.replace(tool=None, action=None)


def _envelope(failure: fw.Failure) -> fw.Failure:
    if failure.code and failure.tool:
        flags = {name: getattr(failure, name) for name in ("type", "recoverable", "retryable", "outcome", "kind")}
        failure = failure.replace(code=codes.canonical_code(failure.code, failure.tool), **flags)
    flags = {name: getattr(failure, name) for name in ("type", "recoverable", "retryable", "outcome", "kind")}
    missing = [problem.path for problem in failure.fields if problem.is_missing]
    is_hinted = missing and wants_correction(failure)
    hint = "Add " + ", ".join(f"'{path}'" for path in missing) + " to your request parameters" if is_hinted else None
    return failure.replace(
        code=failure.code or TYPES[failure.type].code,
        http_status=failure.http_status or codes.http_status_of(failure.code, failure.type),
        suggestion=failure.suggestion or hint,
        **flags,
    )


def _flat(failure: fw.Failure) -> fw.Failure:
    flags = {name: getattr(failure, name) for name in ("type", "recoverable", "retryable", "outcome", "kind")}
    row = next(row for row in codes.rows() if row.flat == TYPES[failure.type].flat)
    code = failure.code or (row.code if row.type == failure.type else None)
    return failure.replace(code=code, tool=None, action=None, **flags)


def _meta(failure: fw.Failure) -> fw.Failure:
    read = fw.dialects.get("meta").decode(fw.dialects.get("meta").encode(failure))
    assert read is not None
    said = {name: getattr(failure, name) for name in ("code", "kind", "message", "suggestion", "retry_after")}
    is_plain = all(re.fullmatch(r"[\w./:-]{1,200}", name) for name in failure.actions)
    said["actions"] = failure.actions if is_plain else ()
    unsaid = [(problem.path, "; ".join(facts(problem, failure.message))) for problem in failure.fields]
    fields = tuple(FieldProblem(path=path, message=sentence) for path, sentence in unsaid if sentence)
    flags = {name: getattr(read, name) for name in ("type", "recoverable", "retryable", "outcome")}
    assert failure.retryable is None or read.retryable == failure.retryable
    return fw.Failure(origin="read", fields=fields, **said, **flags)


def _xml(failure: fw.Failure) -> fw.Failure:
    if failure.code in ("MISSING_DISCRIMINATOR", "UNKNOWN_ACTION"):
        return failure.replace(fields=(), tool=None, action=None)
    if failure.code != "VALIDATION_FAILED" or not failure.fields or not wants_correction(failure):
        return failure.replace(tool=None, action=None)
    fields = tuple(FieldProblem(path=path, message=text.strip()) for path, text in field_sentences(failure.fields))
    tool, _, action = "/".join(part for part in (failure.tool, failure.action) if part).partition("/")
    row = codes.get("VALIDATION_FAILED")
    return failure.replace(
        fields=fields,
        tool=tool or None,
        action=action or None,
        message=failure.message if failure.message != summary(failure.fields) else summary(fields),
        suggestion=failure.suggestion if row and failure.suggestion != row.suggestion else None,
    )


_CHANGES = {"compact": _compact, "envelope": _envelope, "flat": _flat, "meta": _meta, "xml": _xml}
assert set(CANNOT_SAY) == set(fw.dialects.DIALECTS)
