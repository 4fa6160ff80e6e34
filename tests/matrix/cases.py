"""Every way to fail: the tool, what it is called with, and the failure that must arrive."""

import json
import re
from typing import Any, NamedTuple

import failwell as fw
from tests.matrix.servers import DEPRECATED, MISSING

ID = "a0b1c2d3e4f5"


class Case(NamedTuple):
    tool: str
    failure: fw.Failure
    arguments: dict[str, Any] | None = None
    has_output_schema: bool = False
    kinds: tuple[str, ...] = ("fastmcp", "mcp", "lowlevel")


def mapped(code: str, **more: Any) -> fw.Failure:
    row = fw.codes.explain(code)
    said = {"message": f"{row.title}.", "origin": "mapped", "id": ID}
    return fw.Failure(code=code, **(said | more))


def _wrong_type(path: str, sent: Any, wanted: str) -> fw.FieldProblem:
    message = f"Expected {wanted}, received {'string' if isinstance(sent, str) else 'integer'}"
    return fw.FieldProblem(path=path, kind="type", message=message, sent=sent, expected=wanted, required=True)


_MODE = fw.FieldProblem(path="mode", kind="missing", required=True, options=("fast", "safe"))
_MOD = fw.FieldProblem(path="mod", kind="unknown", sent="fast", options=("mode",), did_you_mean="mode")
NOT_AGAIN = "Do not repeat this call. It may have taken effect."
SAFE = "The call had no effect. Wait, then call again."
WRONG = {"task": 5, "hours": "many", "mod": "fast"}
HIGH = ("fastmcp", "mcp")

CASES = {
    "raised on purpose": Case("declared", MISSING.failure),
    "a failure returned": Case("returned", MISSING.failure),
    "an error returned as a result": Case("returned_err", MISSING.failure, has_output_schema=True, kinds=HIGH),
    "an error returned as a result, low level": Case("returned_err", MISSING.failure, kinds=("lowlevel",)),
    "a crash": Case("crash", mapped("INTERNAL_ERROR", retryable=None, suggestion=NOT_AGAIN)),
    "an exception we know": Case("refused", mapped("CONNECTION_REFUSED", outcome="unknown")),
    "the same in a tool that only reads": Case("refused_reading", mapped("CONNECTION_REFUSED", suggestion=SAFE)),
    "the same in a tool with one effect": Case("refused_once", mapped("CONNECTION_REFUSED", suggestion=SAFE)),
    "an unusable answer inside the body": Case(
        "broken_upstream", mapped("BAD_UPSTREAM_RESPONSE", suggestion=NOT_AGAIN)
    ),
    "a warning": Case("warned", DEPRECATED),
    "a warning in place of structured output": Case("warned_schema", DEPRECATED, has_output_schema=True),
    "raised by a tool with an output schema": Case("missing_schema", MISSING.failure, has_output_schema=True),
    "a result that breaks its schema": Case(
        "broken_output",
        mapped(
            "INTERNAL_ERROR",
            message="The tool ran, but its result does not match its output schema.",
            outcome="executed",
            suggestion="The call took effect. Do not repeat it.",
        ),
        has_output_schema=True,
    ),
    "an unknown tool": Case(
        "declard",
        fw.Failure(
            code="UNKNOWN_TOOL",
            message="There is no tool 'declard'. Did you mean 'declared'?",
            actions=("declared",),
        ),
    ),
    "wrong arguments": Case(
        "claim",
        fw.Failure(
            code="VALIDATION_FAILED",
            message="mode is required; task: Expected string, received integer; hours: Expected integer, received "
            "string; mod: Unrecognized key",
            fields=(_wrong_type("task", 5, "string"), _wrong_type("hours", "many", "integer"), _MODE, _MOD),
        ),
        WRONG,
        kinds=HIGH,
    ),
    "wrong arguments, low level": Case(
        "claim",
        fw.Failure(
            code="VALIDATION_FAILED",
            message="mode is required; task: Expected string, received integer; hours: Expected integer, received "
            "string; mod: Unrecognized key",
            fields=(_MODE, _wrong_type("task", 5, "string"), _wrong_type("hours", "many", "integer"), _MOD),
        ),
        WRONG,
        kinds=("lowlevel",),
    ),
    "an error of the SDK": Case(
        "sdk_error",
        fw.Failure(
            code="RATE_LIMITED",
            message="Rate limit exceeded, retry after 30 seconds",
            retry_after=30,
            outcome="unknown",
            origin="inferred",
            confidence=0.93,
        ),
        kinds=HIGH,
    ),
    "an error of the SDK with a cause": Case(
        "sdk_error_from",
        fw.Failure(
            message="The task store cannot be reached.",
            recoverable=True,
            retryable=None,
            origin="inferred",
            confidence=0.0,
        ),
        has_output_schema=True,
        kinds=HIGH,
    ),
    "an error of the protocol raised by a tool": Case(
        "rpc_error",
        mapped(
            "INVALID_ARGUMENT",
            message="hours must be positive",
            outcome="unknown",
            details={"rpc_code": -32602},
            id=None,
        ),
    ),
}


def expected(case: Case, dialect: str = "meta", **settings: Any) -> dict[str, Any]:
    """Return the result that must arrive, settled."""
    failure = case.failure if case.failure.tool else case.failure.replace(tool=case.tool)
    return settled(fw.encode(failure, dialect, output_schema=case.has_output_schema, **settings))


def settled(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with what differs from run to run replaced: the id, a time, how sure a guess is."""
    found = fw.read(result)
    text = json.dumps(result)
    if found is not None and found.id:
        text = text.replace(found.id, ID)
    text = re.sub(r'\\"timestamp\\": ?\\"[^"]+\\"', r'\\"timestamp\\":\\"now\\"', text)
    return json.loads(re.sub(r', "confidence": [\d.]+', "", text))
