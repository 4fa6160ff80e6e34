"""The changes that would raise a score most, each with code for the SDK that the server seems to be made with.

The code needs no library but the server's own: what failwell does for this server is measured, and said once.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from failwell._json import is_object
from failwell.check import report
from failwell.check.grades import ADDRESS_OF_MANUAL
from failwell.check.report import ProposedChange, ToolReport

_UNKNOWN = "unknown"


class Snippet(NamedTuple):
    """Code to copy, and its language."""

    language: str
    code: str


Rows = Literal["all", "tools", "server"]


class Remedy(NamedTuple):
    """One change to a server: what it cures, why it matters, and how it is made.

    It cures calls of the server's tools, calls of tools that it does not have (`server`), or all of them; with a
    `reason`, only what failed for it, which the others then leave to it.
    """

    title: str
    why: str
    cures: tuple[str, ...]
    snippets: Mapping[str, Snippet]
    rows: Rows = "all"
    reason: str = ""

    def fits(self, result: report.GradeResult) -> bool:
        """Return whether it cures a grade that failed."""
        return result.grade in self.cures and self.reason in result.reason

    def is_for(self, tool: ToolReport) -> bool:
        """Return whether it changes what is said of this tool."""
        return self.rows == "all" or (self.rows == "server") == (tool.name == report.SERVER)

    def snippet(self, sdk: str) -> Snippet:
        """Return the code for an SDK, or what is due on the wire."""
        return self.snippets.get(sdk) or self.snippets[_UNKNOWN]


def _python(code: str) -> Snippet:
    return Snippet("python", code.strip("\n"))


def _typescript(code: str) -> Snippet:
    return Snippet("typescript", code.strip("\n"))


def _wire(code: str) -> Snippet:
    return Snippet("json", code.strip("\n"))


def _both(code: str) -> dict[str, Snippet]:
    """Return code for both Python SDKs."""
    return dict.fromkeys(("fastmcp", "mcp"), _python(code))


REMEDIES: tuple[Remedy, ...] = (
    Remedy(
        "Flag failures as errors",
        "Without isError, hosts and agents take the error for the tool's result.",
        ("flagged",),
        {
            **_both("""
raise ValueError(f"Task {task_id!r} does not exist.")  # raise: a text that is returned is a success
"""),
            "typescript": _typescript("""
return { isError: true, content: [{ type: "text", text: message }] };  // not without isError
"""),
            "unknown": _wire("""
{"isError": true, "content": [{"type": "text", "text": "Task t-9 does not exist."}]}
"""),
        },
    ),
    Remedy(
        "Give failures a type, a code and field paths that programs can read",
        "An agent that has to guess retries what can't work and gives up on what could.",
        ("typed", "field_path", "retry_flag", "stable_code"),
        {
            **_both("""
import json

# one function for all tools: the same code for the same reason
raise ValueError(json.dumps({"code": "NOT_FOUND", "message": message, "retryable": False, "fields": fields}))
"""),
            "typescript": _typescript("""
// one function for all tools: the text is for the model, _meta is for programs
const fail = (code: string, message: string, fields: object[] = []) => ({
  isError: true,
  content: [{ type: "text", text: message }],
  _meta: { errorType: "ValidationError", errorCode: code, retryable: false, fields },
});
"""),
            "unknown": _wire("""
{"isError": true, "content": [{"type": "text", "text": "Task t-9 does not exist."}],
 "_meta": {"errorType": "NotFoundError", "errorCode": "NOT_FOUND", "retryable": false}}
"""),
        },
    ),
    Remedy(
        "Name the wrong field, and say what it should be",
        "A model that is told which field is wrong and what is expected fixes the call at the first try.",
        ("names_field", "says_expected", "lists_options", "repairable"),
        {
            **_both("""
if not isinstance(hours, int):
    raise ValueError(f"hours: must be an integer from 1 to 8, not {hours!r}.")
"""),
            "typescript": _typescript("""
const parsed = schema.safeParse(args);  // inside the handler, so that the text is yours
if (!parsed.success)
  return fail("VALIDATION_FAILED", parsed.error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; "),
    parsed.error.issues.map((i) => ({ path: i.path.join("."), message: i.message })));
"""),
            "unknown": _wire("""
{"isError": true, "content": [{"type": "text", "text": "hours: must be an integer from 1 to 8, not 'two'."}]}
"""),
        },
        rows="tools",
    ),
    Remedy(
        "List the available tools when a caller asks for one that does not exist",
        "A model that misspelt a name finds the right one in the list.",
        ("names_field", "says_expected", "lists_options", "repairable"),
        {
            **_both("""
# where calls are dispatched: in your own handler, or in a middleware if the SDK dispatches them
if name not in tools:
    raise ValueError(f"There is no tool {name!r}. There are: {', '.join(sorted(tools))}.")
"""),
            "typescript": _typescript("""
// where calls are dispatched
if (!tools.has(name))
  return fail("UNKNOWN_TOOL", `There is no tool ${name}. There are: ${[...tools.keys()].join(", ")}.`);
"""),
            "unknown": _wire("""
{"isError": true, "content": [{"type": "text", "text": "There is no tool list_task. There are: list_tasks, add_task."}]}
"""),
        },
        rows="server",
    ),
    Remedy(
        "Say what to do next, and whether to try again",
        "Without a next step, models repeat the same call or stop.",
        ("next_step", "says_retry"),
        {
            **_both("""
raise ValueError("Task t-9 does not exist. Call list_tasks to see what exists; do not repeat this call.")
"""),
            "typescript": _typescript("""
return fail("NOT_FOUND", "Task t-9 does not exist. Call list_tasks to see what exists; do not repeat this call.");
"""),
            "unknown": _wire("""
{"isError": true, "content": [{"type": "text",
  "text": "Task t-9 does not exist. Call list_tasks to see what exists; do not repeat this call."}]}
"""),
        },
    ),
    Remedy(
        "Keep addresses of libraries out of the text",
        "Models can rarely open them, and they cost tokens in every error.",
        ("safe",),
        {
            "fastmcp": _python("""
from fastmcp.exceptions import ToolError
from pydantic import ValidationError

try:  # in the method on_call_tool of a middleware: arguments are checked before your tool runs
    return await call_next(context)
except Exception as failed:
    if not isinstance(wrong := failed.__cause__ or failed, ValidationError):
        raise
    problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors())
    raise ToolError("; ".join(problems)) from None
"""),
            "mcp": _python("""
from pydantic import ValidationError

try:  # in the method call_tool of a subclass of your server: arguments are checked before your tool runs
    return await super().call_tool(name, arguments)
except ToolError as failed:
    if not isinstance(wrong := failed.__cause__, ValidationError):
        raise
    problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors())
    raise ToolError("; ".join(problems)) from None
"""),
            "typescript": _typescript("""
return fail("VALIDATION_FAILED", message.replace(/\\s*https?:\\/\\/\\S+/g, ""));  // keep what is wrong
"""),
            "unknown": _wire("""
{"isError": true, "content": [{"type": "text", "text": "hours: must be an integer from 1 to 8, not 'two'."}]}
"""),
        },
        reason=ADDRESS_OF_MANUAL,
    ),
    Remedy(
        "Keep tracebacks, paths and secrets out of the text",
        "They don't help the model, cost tokens, and reveal the inside of the server.",
        ("safe", "size"),
        {
            **_both("""
import logging

try:
    return run(task_id)
except Exception:
    logging.exception("run failed")  # the details stay in the log
    raise ValueError("The task could not be run. Tell the operator; do not repeat this call.") from None
"""),
            "typescript": _typescript("""
try { return await handler(args); }
catch (error) { console.error(error); return fail("INTERNAL_ERROR", "The tool failed unexpectedly."); }
"""),
            "unknown": _wire("""
{"isError": true, "content": [{"type": "text", "text": "The task could not be run. Tell the operator."}]}
"""),
        },
    ),
    Remedy(
        "Answer wrong arguments with a tool error, not a protocol error",
        "Many hosts never show a JSON-RPC error to the model (SEP-1303).",
        ("tool_error",),
        {
            **_both("""
raise ValueError(message)  # from the handler: not McpError(ErrorData(code=INVALID_PARAMS, message=message))
"""),
            "typescript": _typescript("""
return fail("VALIDATION_FAILED", message);  // not: throw new McpError(ErrorCode.InvalidParams, message)
"""),
            "unknown": _wire("""
{"jsonrpc": "2.0", "id": 1, "result": {"isError": true, "content": [{"type": "text", "text": "hours: required"}]}}
"""),
        },
    ),
    Remedy(
        "Survive wrong calls, and refuse them at once",
        "A server that hangs or ends on wrong input takes every other conversation with it.",
        ("alive", "speed"),
        {
            **_both("""
import asyncio

async with asyncio.timeout(30):  # no call takes longer
    found = await look_up(query)
"""),
            "typescript": _typescript("""
process.on("unhandledRejection", (reason) => console.error(reason));  // and check arguments before any work
"""),
            "unknown": Snippet("text", "Check arguments before any work, and give every call a time limit."),
        },
    ),
)  # fmt: skip
"""Every grade of a row is cured by one of these; a test says so."""

MOST_CHANGES = 3


def best_changes(tools: Iterable[ToolReport], sdk: str) -> tuple[ProposedChange, ...]:
    """Return the changes that raise the score most, the best first."""
    tools = tuple(tools)
    now = report.server_score(tools)
    found: list[ProposedChange] = []
    for remedy in REMEDIES:
        affected = tuple(tool.name for tool in tools if _cures_any(remedy, tool))
        gain = round(report.server_score(_with_remedy(tool, remedy) for tool in tools) - now, 1)
        if affected and gain > 0:
            snippet = remedy.snippet(sdk)
            found.append(
                ProposedChange(
                    title=remedy.title,
                    why=remedy.why,
                    gain=gain,
                    cures=remedy.cures,
                    tools=affected,
                    sdk=sdk,
                    language=snippet.language,
                    snippet=snippet.code,
                )
            )
    return tuple(sorted(found, key=lambda change: -change.gain)[:MOST_CHANGES])


def remedies_of(result: report.GradeResult) -> list[Remedy]:
    """Return what cures a grade that failed: one change for tools, and perhaps another for calls of missing tools."""
    fitting = [remedy for remedy in REMEDIES if remedy.fits(result)]
    return [remedy for remedy in fitting if remedy.reason] or fitting


def _cures(remedy: Remedy, tool: ToolReport, result: report.GradeResult) -> bool:
    return remedy.is_for(tool) and remedy in remedies_of(result)


def _cures_any(remedy: Remedy, tool: ToolReport) -> bool:
    return any(_cures(remedy, tool, result) for probe in tool.probes for result in probe.failed)


def _with_remedy(tool: ToolReport, remedy: Remedy) -> ToolReport:
    if not _cures_any(remedy, tool):
        return tool
    grades = (result for probe in tool.probes for result in probe.grades)
    corrected = (replace(result, passed=True) if _cures(remedy, tool, result) else result for result in grades)
    return replace(tool, score=report.score(corrected))


class _SdkSign(NamedTuple):
    sdk: str
    shows: Callable[["_ServerTraits"], bool]


class _ServerTraits(NamedTuple):
    """What tells the SDK of a server: its introduction, its tools, the texts of its failures, and its command."""

    server: dict[str, Any]
    tools: list[dict[str, Any]]
    texts: str
    command: str


def detect_sdk(server: dict[str, Any], tools: list[dict[str, Any]], texts: list[str], command: str) -> str:
    """Return `fastmcp`, `mcp` (the Python SDK), `typescript` or `unknown`."""
    traits = _ServerTraits(server, tools, "\n".join(texts), command)
    return next((sign.sdk for sign in _SIGNS if sign.shows(traits)), _UNKNOWN)


def _has_fastmcp_mark(traits: _ServerTraits) -> bool:
    marks = (tool.get("_meta") for tool in traits.tools)
    return any(is_object(mark) and ("fastmcp" in mark or "_fastmcp" in mark) for mark in marks)


def _has_zod_schemas(traits: _ServerTraits) -> bool:
    schemas = (tool.get("inputSchema") for tool in traits.tools)
    return any(is_object(schema) and "$schema" in schema for schema in schemas)


def _is_of_python_sdk(traits: _ServerTraits) -> bool:
    # The Python SDK announces `experimental`, empty or not; no other one does.
    capabilities = traits.server.get("capabilities")
    titles = (tool.get("inputSchema", {}).get("title", "") for tool in traits.tools)
    return (is_object(capabilities) and "experimental" in capabilities) or any(
        isinstance(title, str) and title.endswith("Arguments") for title in titles
    )


def _texts_hold(*words: str) -> Callable[[_ServerTraits], bool]:
    def shows(traits: _ServerTraits) -> bool:
        return any(word in traits.texts for word in words)

    return shows


def _command_matches(pattern: str) -> Callable[[_ServerTraits], bool]:
    def shows(traits: _ServerTraits) -> bool:
        return re.search(pattern, traits.command) is not None

    return shows


_SIGNS = (
    _SdkSign("fastmcp", _has_fastmcp_mark),
    _SdkSign("fastmcp", _texts_hold("for call[")),
    _SdkSign("mcp", _texts_hold("Error executing tool", "errors.pydantic.dev")),
    _SdkSign("typescript", _texts_hold("MCP error -32", "invalid_type")),
    _SdkSign("typescript", _has_zod_schemas),
    _SdkSign("mcp", _is_of_python_sdk),
    _SdkSign("typescript", _command_matches(r"(?:^|[/\s])(?:node|npx|bun|deno|tsx)\b|\.[cm]?[jt]s\b")),
    _SdkSign("mcp", _command_matches(r"(?:^|[/\s])(?:python[\d.]*|uvx?|pipx)\b|\.py\b")),
)
"""Signs from the surest to the least sure."""
