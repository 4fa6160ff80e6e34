"""MCP tools that fail well: typed failures in servers, decoded and acted on in agents.

Names are loaded when they are first used, so that `import failwell` costs a process little more than msgspec.
"""

from typing import TYPE_CHECKING

from failwell import catalog
from failwell.collect import Validation
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
from failwell.result import Err, Ok, Result, fail, succeed, success
from failwell.shortcuts import error, required, tool_error

if TYPE_CHECKING:
    from failwell import dialects
    from failwell.contract import BrokenContract, declared, enforce, raises
    from failwell.decision import Decision, Hints, decide, is_terminal
    from failwell.encoding import encode
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
    from failwell.retry import Policy, acall, call
    from failwell.routing import Group
    from failwell.validation import Checker, check_arguments

__version__ = "0.1.0"

_HOME = {
    "BrokenContract": "contract",
    "Change": "repairing",
    "Checker": "validation",
    "Decision": "decision",
    "Group": "routing",
    "Hints": "decision",
    "Limit": "limit",
    "Meter": "meter",
    "Observation": "meter",
    "Policy": "retry",
    "Protection": "protection",
    "Repair": "repairing",
    "Usage": "meter",
    "acall": "retry",
    "call": "retry",
    "canonical": "outgoing",
    "check_arguments": "validation",
    "convert": "reader",
    "decide": "decision",
    "declared": "contract",
    "encode": "encoding",
    "enforce": "contract",
    "from_exception": "mapping",
    "from_http": "mapping",
    "guard": "guarding",
    "is_terminal": "decision",
    "protect": "protecting",
    "raises": "contract",
    "read": "reader",
    "render": "rendering",
    "repair": "repairing",
    "rule": "mapping",
    "unrule": "mapping",
}

__all__ = [
    "AlreadyExists",
    "BadGateway",
    "BrokenContract",
    "Busy",
    "Change",
    "Checker",
    "Conflict",
    "Decision",
    "Denied",
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
    "unrule",
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
