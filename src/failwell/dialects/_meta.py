"""`meta`: the message as text, class, code and retry advice in `_meta`.

    text   Workflow run did not complete within 600 seconds
    _meta  {"errorType":"TimeoutError","errorCode":"WORKFLOW_TIMEOUT","retryable":true}

The next step, the time to wait, what to use and field problems follow the message, a line each, because no model sees
`_meta`.
"""

from typing import Any

from msgspec import UNSET

from failwell import codes
from failwell._lazy import lazy_pattern
from failwell.codes import Type
from failwell.dialects._open_part import read_failure
from failwell.dialects._wire import Wire, is_error
from failwell.failure import Failure, FieldProblem, facts, valid_code
from failwell.redact.canonical import RedactedFailure

name = "meta"

_SUGGESTION = "Next: "
_DELAY = lazy_pattern(r"Wait at least: (\d{1,16}(?:\.\d{1,3})?) seconds?")
_ACTIONS = "Use: "
ADVICE_MARKS = (f"\n{_SUGGESTION}", "\nWait at least: ", f"\n{_ACTIONS}")
"""What a text with advice holds at least one of."""
_NAME = lazy_pattern(r"[\w./:-]{1,200}")
_FIELD = "- "
_FIELD_LINE = lazy_pattern(r"- ([^\n:]+): (.*)")


def encode(failure: RedactedFailure) -> Wire:
    """Return a canonical failure as a message with `_meta` beside it."""
    lines = [failure.message]
    if failure.suggestion:
        lines.append(_SUGGESTION + _indented(failure.suggestion))
    if failure.retry_after is not None:
        lines.append(f"Wait at least: {failure.retry_after} second{'' if failure.retry_after == 1 else 's'}")
    if failure.actions and all(map(_NAME.fullmatch, failure.actions)):
        lines.append(_ACTIONS + ", ".join(failure.actions))
    unsaid = ((problem.path, "; ".join(facts(problem, failure.message))) for problem in failure.fields)
    lines += [f"{_FIELD}{path}: {_indented(sentence)}" for path, sentence in unsaid if sentence]
    meta: dict[str, Any] = {"errorType": failure.kind}
    if failure.code is not None:
        meta["errorCode"] = failure.code
    if failure.retryable is not None:
        meta["retryable"] = failure.retryable
    if failure.outcome != codes.derive(failure.code, _type_read(failure.kind, failure.code)).outcome:
        meta["outcome"] = failure.outcome  # beyond the contract: left out, a call might be made twice
    return Wire("\n".join(lines), is_error(failure), meta)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def decode(wire: Wire) -> Failure | None:
    """Return the failure that `_meta.errorType` tells of, or None."""
    meta = wire.meta
    kind = meta.get("errorType")
    if not isinstance(kind, str) or not kind.strip():
        return None
    message, values = _parts(wire.text)
    values["kind"] = kind
    code = valid_code(meta.get("errorCode"))
    if code is UNSET:
        code = None
    else:
        values["code"] = code
    values["type"] = type_ = _type_read(kind, code)
    outcome, retryable = meta.get("outcome"), meta.get("retryable")
    if isinstance(outcome, str):
        values["outcome"] = outcome
    if isinstance(retryable, bool):
        values["retryable"] = retryable
    elif type_ is None or type_ == "INTERNAL":
        values["retryable"] = None  # left out means unknown
    return read_failure(values, message)


def _type_read(kind: str, code: str | None) -> Type | None:
    row = codes.get(code)
    return row.type if row else codes.type_of_kind(kind) or codes.type_of(code)


def split_advice(text: str) -> tuple[str, dict[str, Any]]:
    """Split a text that came without `_meta` into the message and what its advice says, if it has any."""
    message, said = _parts(text)
    return (message, said) if said.keys() - {"fields"} else (text, {})


def _parts(text: str) -> tuple[str, dict[str, Any]]:
    """Return the message in a text, and what the lines after it say, read from its end."""
    said: dict[str, Any] = {}
    lines = text.split("\n")
    fields: list[FieldProblem] = []
    end = len(lines)
    while end > 1 and "suggestion" not in said:
        start = end - 1
        line = lines[start]
        if line[:2] != "  ":
            block = line
        else:
            while start > 0 and lines[start].startswith("  "):
                start -= 1
            line = lines[start]
            block = "\n".join([line, *(more[2:] for more in lines[start + 1 : end])])
            if start == 0:
                break
        if line[:2] == _FIELD and not said and (match := _FIELD_LINE.match(line)):
            fields.append(FieldProblem(path=match[1], message=block[len(_FIELD) + len(match[1]) + 2 :]))
        elif line.startswith(_SUGGESTION):
            said["suggestion"] = block[len(_SUGGESTION) :]
        elif not said and line.startswith(_ACTIONS) and all(map(_NAME.fullmatch, names := _listed(block))):
            said["actions"] = names
        elif "retry_after" not in said and (delay := _DELAY.fullmatch(block)):
            said["retry_after"] = float(delay[1]) if "." in delay[1] else int(delay[1])
        else:
            break
        end = start
    if fields:
        said["fields"] = tuple(reversed(fields))
    return ("\n".join(lines[:end]) if end > 1 else lines[0]), said


def _listed(block: str) -> tuple[str, ...]:
    return tuple(block[len(_ACTIONS) :].split(", "))


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `_meta`: the text beside it is prose."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["errorType"],
        "properties": {
            "errorType": {"type": "string", "description": "The class of the error, such as ValidationError"},
            "errorCode": {"type": "string", "description": "The specific reason, such as INVALID_PORT"},
            "retryable": {"type": "boolean", "description": "May the same call succeed if it is made again later?"},
        },
    }
