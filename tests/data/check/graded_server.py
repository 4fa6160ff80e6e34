"""A server over plain stdin and stdout that fails well in everything, or in everything but the one grade it is told.

python graded_server.py GRADE [tools]
"""

import json
import sys
from collections import Counter
from typing import Any

import failwell as fw

FIELDS = {
    "task": {"type": "string", "minLength": 3},
    "hours": {"type": "integer", "minimum": 1, "maximum": 8},
    "pace": {"enum": ["quick", "gentle"], "type": "string"},
}
READ = {
    "name": "read_task",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {
        "type": "object",
        "properties": FIELDS,
        "required": ["task", "pace"],
        "additionalProperties": False,
    },
}
TOOLS = [READ]
WORDS = "required, unknown, a string, an integer, at least 1 or 3, at most 8, quick, gentle"
FAULT = sys.argv[1] if len(sys.argv) > 1 else "none"
_calls_alike: Counter[str] = Counter()


def failure_of(name: str, arguments: dict[str, Any]) -> fw.Failure | None:
    known = {tool["name"]: tool for tool in TOOLS}
    if name not in known:
        return fw.Failure(
            code="UNKNOWN_TOOL",
            message=f"There is no tool {name!r}: unknown.",
            suggestion="Call one of the tools that exist.",
            actions=tuple(known),
        )
    return fw.check_arguments(arguments, known[name]["inputSchema"], tool=name)


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def with_text(result: dict[str, Any], text: str) -> dict[str, Any]:
    return {**result, "content": [{"type": "text", "text": text}]}


def unflagged(failure: fw.Failure) -> dict[str, Any]:
    return {**fw.encode(failure), "isError": False}


def protocol_error(failure: fw.Failure) -> dict[str, Any]:
    return {"error": {"code": -32602, "message": text_of(fw.encode(failure))}}


def unrepairable(failure: fw.Failure) -> dict[str, Any]:
    if failure.code == "UNKNOWN_TOOL":
        return fw.encode(failure)
    wrong = tuple(fw.FieldProblem(path=f"nowhere.{p.path}", message=p.message, kind=p.kind, expected=p.expected,
                                  options=p.options) for p in failure.fields)  # fmt: skip
    return fw.encode(failure.replace(fields=wrong))


def without_names(failure: fw.Failure) -> dict[str, Any]:
    if failure.code == "UNKNOWN_TOOL":
        return fw.encode(failure)
    vague = fw.Failure(code=failure.code, message=f"One argument is wrong. Expected: {WORDS}. Correct it.")
    return with_text(fw.encode(failure), text_of(fw.encode(vague)))


def without_expected(failure: fw.Failure) -> dict[str, Any]:
    if failure.code == "UNKNOWN_TOOL" or any(problem.options for problem in failure.fields):
        return fw.encode(failure)
    names = " and ".join(problem.path for problem in failure.fields)
    vague = fw.Failure(code=failure.code, message=f"{names}: wrong. Correct what you sent.")
    return with_text(fw.encode(failure), text_of(fw.encode(vague)))


def without_options(failure: fw.Failure) -> dict[str, Any]:
    names = [problem.path for problem in failure.fields if problem.kind == "enum"]
    if failure.code == "UNKNOWN_TOOL" or not names:
        return fw.encode(failure)
    vague = fw.Failure(code=failure.code, message=f"{names[0]}: another string is required, of those that exist.")
    return with_text(fw.encode(failure), text_of(fw.encode(vague)))


def with_traceback(failure: fw.Failure) -> dict[str, Any]:
    trace = 'Traceback (most recent call last):\n  File "server.py", line 3, in <module>'
    return fw.encode(failure.replace(message=f"{failure.message} {trace}"))


def with_wrong_step(failure: fw.Failure) -> dict[str, Any]:
    if failure.code == "UNKNOWN_TOOL":
        return fw.encode(failure)
    denied = failure.replace(type="PERMISSION", code="FORBIDDEN")
    return with_text(fw.encode(failure), text_of(fw.encode(denied)))


def without_retry(failure: fw.Failure) -> dict[str, Any]:
    named = ", ".join(failure.actions)
    options = "; ".join(
        f"{p.path}: {p.message} {p.expected or ''} {', '.join(map(str, p.options))}" for p in failure.fields
    )
    # It says that another time may do, and not when.
    return with_text(
        fw.encode(failure),
        f"Rate limit exceeded: too many requests. {failure.message} {options} Please use {named or options}.",
    )


def without_code(failure: fw.Failure) -> dict[str, Any]:
    return fw.encode(
        fw.Failure(
            type=failure.type,
            message=failure.message,
            fields=failure.fields,
            actions=failure.actions,
            retryable=False,
            recoverable=True,
            suggestion=failure.suggestion,
        )
    )


def without_field_path(failure: fw.Failure) -> dict[str, Any]:
    text = "Input validation error: " + ", ".join(sentence(problem) for problem in failure.fields)
    if failure.code == "UNKNOWN_TOOL":
        return fw.encode(failure)
    meta = {"errorType": "ValidationError", "errorCode": "VALIDATION_FAILED", "retryable": False}
    text += ". Do not retry unchanged: fix this and call again."
    return {"content": [{"type": "text", "text": text}], "isError": True, "_meta": meta}


def sentence(problem: fw.FieldProblem) -> str:
    if problem.kind == "missing":
        return f"must have required property '{problem.path}'"
    if problem.kind == "unknown":
        return f"Additional properties are not allowed ('{problem.path}' was unexpected)"
    options = f" one of {', '.join(map(repr, problem.options))}" if problem.options else ""
    return f"'{problem.path}' must be{options} {problem.expected or 'a string'}"


def without_retry_flag(failure: fw.Failure) -> dict[str, Any]:
    return fw.encode(failure.replace(retryable=None, message=f"{failure.message}. Fix it and call again."))


def with_changing_code(failure: fw.Failure) -> dict[str, Any]:
    other = {"VALIDATION_FAILED": "INVALID_ARGUMENT"}.get(failure.code or "", "NOT_FOUND")
    _calls_alike[failure.message] += 1  # other calls may come between two of a kind
    code = failure.code if _calls_alike[failure.message] % 2 else other
    return fw.encode(failure.replace(code=code, recoverable=True))


def too_long(failure: fw.Failure) -> dict[str, Any]:
    result = fw.encode(failure)
    return with_text(result, text_of(result) + " " * 2_000)


FAULTS = {
    "flagged": unflagged,
    "tool_error": protocol_error,
    "repairable": unrepairable,
    "names_field": without_names,
    "says_expected": without_expected,
    "lists_options": without_options,
    "safe": with_traceback,
    "next_step": with_wrong_step,
    "says_retry": without_retry,
    "size": too_long,
    "typed": without_code,
    "field_path": without_field_path,
    "retry_flag": without_retry_flag,
    "stable_code": with_changing_code,
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "graded", "version": "1"}}}  # fmt: skip
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method != "tools/call":
        return {"result": {}}
    failure = failure_of(params["name"], params.get("arguments") or {})
    if failure is None:
        return {"result": fw.success("done")}
    result = FAULTS.get(FAULT, fw.encode)(failure)
    return result if "error" in result else {"result": result}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        found = answer(message["method"], message.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **found}) + "\n")
        sys.stdout.flush()
        arguments = (message.get("params") or {}).get("arguments")
        if FAULT == "alive" and arguments == {}:
            sys.exit(1)


if __name__ == "__main__":
    main()
