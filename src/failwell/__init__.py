"""MCP tools that fail well: typed failures in servers, decoded and acted on in agents.

Names are loaded when they are first used, so that `import failwell` costs a process next to nothing.
"""

# Type checkers know it by its name, and `typing` is slow to load.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from failwell import catalog, dialects
    from failwell.client import Answer, Caller, Described, install, uninstall, wrap
    from failwell.collect import Validation
    from failwell.contract import BrokenContract, declared, enforce, raises
    from failwell.decision import Decision, Hints, decide, is_terminal
    from failwell.encoding import encode
    from failwell.errors import (
        AlreadyExists,
        BadGateway,
        Busy,
        Conflict,
        Denied,
        Gone,
        Internal,
        Invalid,
        Locked,
        MissingField,
        NetworkFailure,
        NotFound,
        PreconditionFailed,
        QuotaExhausted,
        RateLimited,
        SendFailed,
        Temporary,
        TimedOut,
        ToolFailure,
        Unauthenticated,
        Unavailable,
        Unparsable,
        WrongType,
        WrongValue,
    )
    from failwell.failure import Failure, FieldProblem
    from failwell.guarding import guard
    from failwell.limit import Limit
    from failwell.mapping import from_exception, from_http, rule, unrule
    from failwell.meter import Meter, Observation, Usage
    from failwell.outgoing import canonical
    from failwell.protecting import protect
    from failwell.protection import Protection
    from failwell.reader import convert, read
    from failwell.rendering import render
    from failwell.repairing import Change, Repair, repair
    from failwell.result import Err, Ok, Result, fail, succeed, success
    from failwell.retry import Policy, acall, call
    from failwell.routing import Group
    from failwell.shortcuts import error, required, tool_error
    from failwell.telemetry.record import Record
    from failwell.telemetry.recorder import Recorder
    from failwell.validation import Checker, check_arguments

__version__ = "0.1.0"

_HOME = {
    "AlreadyExists": "errors",
    "Answer": "client",
    "BadGateway": "errors",
    "BrokenContract": "contract",
    "Busy": "errors",
    "Caller": "client",
    "Change": "repairing",
    "Checker": "validation",
    "Conflict": "errors",
    "Decision": "decision",
    "Denied": "errors",
    "Described": "client",
    "Err": "result",
    "Failure": "failure",
    "FieldProblem": "failure",
    "Gone": "errors",
    "Group": "routing",
    "Hints": "decision",
    "Internal": "errors",
    "Invalid": "errors",
    "Limit": "limit",
    "Locked": "errors",
    "Meter": "meter",
    "MissingField": "errors",
    "NetworkFailure": "errors",
    "NotFound": "errors",
    "Observation": "meter",
    "Ok": "result",
    "Policy": "retry",
    "PreconditionFailed": "errors",
    "Protection": "protection",
    "QuotaExhausted": "errors",
    "RateLimited": "errors",
    "Record": "telemetry.record",
    "Recorder": "telemetry.recorder",
    "Repair": "repairing",
    "Result": "result",
    "SendFailed": "errors",
    "Temporary": "errors",
    "TimedOut": "errors",
    "ToolFailure": "errors",
    "Unauthenticated": "errors",
    "Unavailable": "errors",
    "Unparsable": "errors",
    "Usage": "meter",
    "Validation": "collect",
    "WrongType": "errors",
    "WrongValue": "errors",
    "acall": "retry",
    "call": "retry",
    "canonical": "outgoing",
    "check_arguments": "validation",
    "convert": "reader",
    "decide": "decision",
    "declared": "contract",
    "encode": "encoding",
    "enforce": "contract",
    "error": "shortcuts",
    "fail": "result",
    "from_exception": "mapping",
    "from_http": "mapping",
    "guard": "guarding",
    "install": "client",
    "is_terminal": "decision",
    "protect": "protecting",
    "raises": "contract",
    "read": "reader",
    "render": "rendering",
    "repair": "repairing",
    "required": "shortcuts",
    "rule": "mapping",
    "succeed": "result",
    "success": "result",
    "tool_error": "shortcuts",
    "uninstall": "client",
    "unrule": "mapping",
    "wrap": "client",
}

__all__ = [
    "AlreadyExists",
    "Answer",
    "BadGateway",
    "BrokenContract",
    "Busy",
    "Caller",
    "Change",
    "Checker",
    "Conflict",
    "Decision",
    "Denied",
    "Described",
    "Err",
    "Failure",
    "FieldProblem",
    "Gone",
    "Group",
    "Hints",
    "Internal",
    "Invalid",
    "Limit",
    "Locked",
    "Meter",
    "MissingField",
    "NetworkFailure",
    "NotFound",
    "Observation",
    "Ok",
    "Policy",
    "PreconditionFailed",
    "Protection",
    "QuotaExhausted",
    "RateLimited",
    "Record",
    "Recorder",
    "Repair",
    "Result",
    "SendFailed",
    "Temporary",
    "TimedOut",
    "ToolFailure",
    "Unauthenticated",
    "Unavailable",
    "Unparsable",
    "Usage",
    "Validation",
    "WrongType",
    "WrongValue",
    "acall",
    "call",
    "canonical",
    "catalog",
    "check_arguments",
    "convert",
    "decide",
    "declared",
    "dialects",
    "encode",
    "enforce",
    "error",
    "fail",
    "from_exception",
    "from_http",
    "guard",
    "install",
    "is_terminal",
    "protect",
    "raises",
    "read",
    "render",
    "repair",
    "required",
    "rule",
    "succeed",
    "success",
    "tool_error",
    "uninstall",
    "unrule",
    "wrap",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOME:
        found = globals()[name] = getattr(import_module(f"failwell.{_HOME[name]}"), name)
        return found
    if name in __all__:
        return import_module(f"failwell.{name}")
    raise AttributeError(f"module 'failwell' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
