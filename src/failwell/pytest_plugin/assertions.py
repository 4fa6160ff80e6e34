"""`assert_fails_well`: check that a failure meets every expectation, and report the first that it does not."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from msgspec.structs import replace

from failwell._json import is_array, is_object
from failwell.advice import is_guess
from failwell.check.advice import remedies_of
from failwell.check.evidence import Evidence, ProbeAnswer, read_evidence
from failwell.check.grades import grade_call
from failwell.check.probes.probe import Probe
from failwell.check.report import GradeResult
from failwell.dialects._placement import encode
from failwell.errors import ToolFailure
from failwell.failure import Failure, path_keys
from failwell.redact.scrubber import clean

# What an agent misses most comes first; only the first that is broken is reported.
_ORDER = (
    *("alive", "flagged", "tool_error", "typed", "field_path", "names_field", "says_expected", "lists_options", "safe"),
    *("repairable", "next_step", "says_retry", "retry_flag", "stable_code", "size", "speed"),
)
_LONGEST_TEXT = 400
_ALIASES = {"is_error": "isError", "meta": "_meta", "structured_content": "structuredContent"}


def assert_fails_well(
    result: Any, /, *, type: str | None = None, code: str | None = None, field: str | None = None
) -> Failure:
    """Return the failure in a result if it fails well: flagged, with a type and a code, safe, and with a next step.

    Args:
        result: a result of any SDK, a wire-shaped one, a JSON-RPC answer, or the exception that a client raised.
        type: the type that it must have.
        code: the code that it must have.
        field: the path of a field that it must complain of.

    Raises:
        AssertionError: it does not; the text says which expectation is broken first, and how to mend that.
    """
    __tracebackhide__ = True
    probe = Probe(
        id="call",
        row="own",
        tool="",
        arguments={},
        violates="",
        keys=tuple(path_keys(field)) if field else (),
        named=tuple(key for key in path_keys(field) if isinstance(key, str))[-1:] if field else (),
        types=(type,) if type else (),
        code=code,
        breaks_schema=field is not None,
    )
    evidence = read_evidence(probe, ProbeAnswer(response=_response(result), seconds=0.0))
    if _has_only_text(result) and evidence.failure is not None and not is_guess(evidence.failure):
        evidence = replace(evidence, is_structured=True)  # the client dropped what programs read: clear words do
    # Whether a call can be mended depends on the schema of its tool, which nobody knows here.
    broken = first_broken(one for one in grade_call(evidence) if one.grade != "repairable")
    if broken is not None:
        raise AssertionError(explain_broken(broken, evidence))
    assert evidence.failure is not None
    return evidence.failure


def first_broken(grades: Iterable[GradeResult]) -> GradeResult | None:
    """Return the grade that matters most among those that were not reached."""
    broken = [one for one in grades if not one.passed]
    return min(broken, key=lambda one: _ORDER.index(one.grade), default=None)


def explain_broken(broken: GradeResult, evidence: Evidence, *, call: str = "") -> str:
    """Return a broken expectation in words: what, what was found instead, and how to mend it."""
    lines = [f"{call}{broken.reason}"]
    if evidence.failure is not None:
        how = "" if evidence.is_structured else " (guessed from its words)"
        lines.append(f"  read as: {evidence.failure.type} {evidence.failure.code or 'without a code'}{how}")
    text = clean(evidence.text, _LONGEST_TEXT).strip().replace("\n", "\n    ")
    lines.append(f"  text: {text or '(nothing)'}")
    if not _is_other_failure(broken, evidence):
        lines += [f"  fix: {remedy.title}." for remedy in remedies_of(broken)]
    return "\n".join(lines)


def _is_other_failure(broken: GradeResult, evidence: Evidence) -> bool:
    """Tell whether the failure is as it should be, and only another one than was expected."""
    return evidence.ending == "accepted" or (
        broken.grade == "typed"
        and evidence.is_structured
        and evidence.failure is not None
        and evidence.failure.code is not None
    )


def _has_only_text(result: Any) -> bool:
    is_foreign = isinstance(result, BaseException) and not isinstance(result, ToolFailure)
    return is_foreign and getattr(result, "result", None) is None


def _response(result: Any) -> dict[str, Any]:
    """Return a JSON-RPC answer that holds the result."""
    if isinstance(result, Failure | ToolFailure):
        return {"result": encode(result)}
    if isinstance(result, BaseException):
        held = getattr(result, "result", None)
        return _response(held) if held is not None else {"result": _error_result(str(result))}
    if hasattr(result, "model_dump"):
        return _response(result.model_dump(mode="json", by_alias=True, exclude_none=True))
    if is_dataclass(result):
        values = {field.name: getattr(result, field.name) for field in fields(result)}
        return {
            "result": {_ALIASES.get(name, name): _wire_value(value) for name, value in values.items() if name != "data"}
        }
    if is_object(result):
        return result if "result" in result or ("error" in result and "content" not in result) else {"result": result}
    return {"result": {**_error_result(str(result)), "isError": False}}


def _wire_value(value: Any) -> Any:
    if is_array(value):
        return [_wire_value(one) for one in value]
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


def _error_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}
