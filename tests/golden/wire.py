"""What failures look like on the wire, in every dialect and from one to another, and what calls are refused with."""

import json
from collections.abc import Iterator
from typing import Any

from tests import vectors
from tests.golden import api, inputs
from tests.golden.case import Case, plain, steady
from tests.golden.inputs import Row
from tests.golden.reading import NOW, decided

CLOCK = "2026-01-19T19:08:56-08:00"


def cases() -> Iterator[Case]:
    """Yield a case for every vector, code, richly filled failure and HTTP status, and for arguments of real calls."""
    yield Case("codes", lambda: [plain(row) for row in api.codes()])
    for name, dialect, vector in inputs.vectors():
        if "given" in vector:
            yield Case(f"vector/{name}", lambda vector=vector, dialect=dialect: _vector(vector["given"], dialect))
    for row in api.codes():
        yield Case(f"code/{row.code}", lambda code=row.code: _code(code))
    for name, failure in _filled():
        yield Case(f"filled/{name}", lambda failure=failure: spoken(failure))
    for name, row in inputs.failures():
        yield Case(f"read/{name}", lambda row=row: _converted(row))
    for name, source in (("failure", inputs.failures()), ("repair", inputs.repairs())):
        for case, row in source:
            if row.get("inputSchema"):
                yield Case(f"arguments/{name}/{case}", lambda row=row: _arguments(row))
    for status in range(400, 600):
        yield Case(f"http/{status}", lambda status=status: _http(status))


def encoded(failure: Any, dialect: str, **how: Any) -> Any:
    """Return a failure on the wire, at a time that is always the same."""
    settings = {"clock": lambda: CLOCK, "version": "1.0.0"} if dialect == "envelope" else {}
    return api.encode(failure, dialect, **settings, **how)


def spoken(failure: api.Failure) -> dict[str, Any]:
    """Return a failure in every dialect, each converted to every other, and what is read in each again."""
    found: dict[str, Any] = {"failure": plain(failure)}
    for dialect in api.DIALECTS:
        result = encoded(failure, dialect)
        bare = {key: value for key, value in result.items() if key != "_meta"}
        found[dialect] = {
            "result": result,
            "structured": encoded(failure, dialect, structured=True, attempts=2).get("structuredContent"),
            "read": plain(api.read(bare, dialect=dialect, now=NOW)),
            "converted": {other: steady(result) for other, result in _conversions(bare, dialect)},
        }
    return found


def _conversions(result: Any, dialect: str) -> Iterator[tuple[str, Any]]:
    for other in api.DIALECTS:
        if other != dialect:
            try:
                yield other, api.convert(result, other, dialect=dialect)["content"]
            except ValueError as told:
                yield other, str(told)


def _vector(given: Any, dialect: str) -> Any:
    failure = vectors.failure_of(json.loads(json.dumps(given)))
    return {"own": encoded(failure, dialect), **spoken(failure)}


def _code(code: str) -> Any:
    bare = api.Failure(code=code, message="It failed.")
    more = api.Failure(
        code=code,
        message="It failed for order 7.",
        retry_after=30,
        tool="claim_task",
        actions=("list_tasks",),
        details={"order": 7},
        suggestion="Look at the order first.",
    )
    return {"bare": spoken(bare), "more": spoken(more), "decide": decided(bare), "decide more": decided(more)}


def _filled() -> Iterator[tuple[str, api.Failure]]:
    fields = (
        api.FieldProblem(path="task_id", kind="missing", required=True),
        api.FieldProblem(path="owner.name", message="Expected string", kind="type", sent=7, expected="string"),
        api.FieldProblem(path="items[2]", kind="enum", sent="blu", options=("blue", "red"), did_you_mean="blue"),
        api.FieldProblem(path="taskId", kind="unknown", sent="t-1", did_you_mean="task_id"),
        api.FieldProblem(path="größe", message="must be < 3 & > 1", kind="range", sent=None),
    )
    for number in range(len(fields)):
        yield f"field-{number}", api.Failure(code="VALIDATION_FAILED", message="Wrong.", fields=fields[number:])
    for type_ in ("NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"):
        yield f"type-{type_}", api.Failure(type=type_, message='Something <is> wrong & "quoted".\nSecond line…')
        for outcome in ("not_executed", "rejected", "unknown", "executed"):
            for retryable in (True, False, None):
                yield (
                    f"type-{type_}-{outcome}-{retryable}",
                    api.Failure(type=type_, message="m", outcome=outcome, retryable=retryable),
                )
    for severity in ("warning", "error", "critical"):
        yield f"severity-{severity}", api.Failure(code="CONFLICT", message="m", severity=severity, actions=("look",))
    yield "unknown-code", api.Failure(code="ACME_TASK_NOT_FOUND", message="m", tool="acme_task")
    yield "strange-code", api.Failure(code="E-42", message="m")
    yield (
        "everything",
        api.Failure(
            code="RATE_LIMITED", message="m", recoverable=False, retryable=True, outcome="unknown", retry_after=1.5,
            severity="critical", kind="MyError", suggestion="s", actions=("a", "b"), fields=fields,
            details={"deep": {"list": [1, 2.5, None, True, "ü"]}}, tool="t", action="act", http_status=418,
            docs_url="https://example.org/doc", id="abc-1", origin="inferred", confidence=0.5, extra={"x": {"y": 1}},
        ),
    )  # fmt: skip
    yield (
        "secrets",
        api.Failure(
            message="password=hunter2secret and Bearer abcdefghijklmnopqrstuvwxyz012345 at postgres://u:pw123456@h/db",
            details={"api_key": "sk-abcdefghijklmnopqrstuvwxyz123456", "token": "t0ps3cr3t", "fine": "value"},
            suggestion="Use sk-abcdefghijklmnopqrstuvwxyz123456",
        ),
    )
    yield "long", api.Failure(message="word " * 20_000, details={f"k{n}": "v" * 500 for n in range(200)})
    yield "helper-error", api.error("It failed.", "NOT_FOUND")
    yield "helper-required", api.required("task_id")
    yield "helper-tool-error", api.tool_error("RateLimited", message="m", retry_after=3, actions=("wait",))
    for name, cls in api.EXCEPTIONS.items():
        yield f"raised-{name}", cls("It failed.").failure
        yield f"raised-{name}-more", cls("It failed.", code="ACME_ERROR", retry_after=2, details={"a": 1}).failure


def _converted(row: Row) -> Any:
    how = {"tool": row["tool"], "arguments": row["arguments"], "input_schema": row["inputSchema"], "unflagged": True}
    failure = api.read(row["raw"], now=NOW, **how)
    if failure is None:
        return None
    return {dialect: encoded(failure, dialect) for dialect in api.DIALECTS}


def _arguments(row: Row) -> Any:
    try:
        found = api.check_arguments(row["arguments"], row["inputSchema"], tool=row["tool"])
    except (ValueError, TypeError) as told:
        return f"{type(told).__name__}: {told}"
    read = api.read(
        row["raw"], tool=row["tool"], arguments=row["arguments"], input_schema=row["inputSchema"], unflagged=True
    )
    return {
        "failure": plain(found),
        "repair": plain(api.repair(found, row["arguments"], row["inputSchema"])) if found else None,
        "repair of what was read": plain(api.repair(read, row["arguments"], row["inputSchema"])) if read else None,
    }


BODIES: tuple[Any, ...] = (
    {"type": "https://example.org/p", "title": "Busy", "status": 503, "detail": "Come back", "retry_after": 7},
    {"error": {"code": "rate_limit_exceeded", "message": "Slow down"}},
    {"error": {"type": "insufficient_quota", "message": "No money"}},
    {"errors": [{"field": "name", "message": "is required"}]},
    {"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}]},
    "<html><body>nginx</body></html>",
    b"\xff\xfe",
)
HEADERS: tuple[dict[str, str], ...] = (
    {"Retry-After": "30"},
    {"Retry-After": "Wed, 18 Nov 2026 21:46:40 GMT"},
    {"retry-after-ms": "1500"},
    {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1794800060"},
    {"RateLimit": '"default";r=0;t=12'},
    {"WWW-Authenticate": 'Bearer error="invalid_token"'},
)


def _http(status: int) -> Any:
    found = {"bare": api.from_http(status, now=NOW)}
    found |= {
        f"header {number}": api.from_http(status, headers=headers, now=NOW) for number, headers in enumerate(HEADERS)
    }
    found |= {f"body {number}": api.from_http(status, body=body, now=NOW) for number, body in enumerate(BODIES)}
    return {form: plain(failure) for form, failure in found.items()}
