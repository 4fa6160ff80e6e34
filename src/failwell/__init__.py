"""Structured errors and safe retries for MCP tools: servers raise typed failures, agents act on them.

Names are loaded when they are first used, so that `import failwell` costs a process next to nothing.
"""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports

if TYPE_CHECKING:
    from failwell import client, codes, dialects, records, retry, server, testing
    from failwell.advice import Decision, Hints, Policy, Tool, decide
    from failwell.client import install, uninstall, wrap
    from failwell.dialects._placement import encode, success
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
        error,
        required,
        tool_error,
    )
    from failwell.exceptions.engine import from_exception, is_terminal
    from failwell.exceptions.http import from_http
    from failwell.exceptions.rules import rule
    from failwell.failure import Failure, FieldProblem
    from failwell.policy_file import PolicyFile
    from failwell.reading.reader import convert, failure_of, read
    from failwell.renderer import render
    from failwell.result import Err, Ok, Result, fail, succeed
    from failwell.retry import acall, call
    from failwell.schema.problems import Validation
    from failwell.schema.repair import Repair, repair
    from failwell.schema.validator import check_arguments
    from failwell.server import Group, guard, idempotent, protect, raises, verified_by

__version__ = "0.1.0"

# The public names by module. What type checkers read above and below is compared with this by a test.
_HOMES = {
    "advice": "Decision Hints Policy Tool decide",
    "client": "install uninstall wrap",
    "dialects._placement": "encode success",
    "errors": (
        "AlreadyExists BadGateway Busy Conflict Denied Gone Internal Invalid Locked MissingField "
        "NetworkFailure NotFound PreconditionFailed QuotaExhausted RateLimited SendFailed Temporary TimedOut "
        "ToolFailure Unauthenticated Unavailable Unparsable WrongType WrongValue error required tool_error"
    ),
    "exceptions.engine": "from_exception is_terminal",
    "exceptions.http": "from_http",
    "exceptions.rules": "rule",
    "failure": "Failure FieldProblem",
    "policy_file": "PolicyFile",
    "reading.reader": "convert failure_of read",
    "renderer": "render",
    "result": "Err Ok Result fail succeed",
    "retry": "acall call",
    "schema.problems": "Validation",
    "schema.repair": "Repair repair",
    "schema.validator": "check_arguments",
    "server": "Group guard idempotent protect raises verified_by",
}

_MODULES = ("client", "codes", "dialects", "records", "retry", "server", "testing")

__all__ = [
    "AlreadyExists",
    "BadGateway",
    "Busy",
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
    "Locked",
    "MissingField",
    "NetworkFailure",
    "NotFound",
    "Ok",
    "Policy",
    "PolicyFile",
    "PreconditionFailed",
    "QuotaExhausted",
    "RateLimited",
    "Repair",
    "Result",
    "SendFailed",
    "Temporary",
    "TimedOut",
    "Tool",
    "ToolFailure",
    "Unauthenticated",
    "Unavailable",
    "Unparsable",
    "Validation",
    "WrongType",
    "WrongValue",
    "acall",
    "call",
    "check_arguments",
    "client",
    "codes",
    "convert",
    "decide",
    "dialects",
    "encode",
    "error",
    "fail",
    "failure_of",
    "from_exception",
    "from_http",
    "guard",
    "idempotent",
    "install",
    "is_terminal",
    "protect",
    "raises",
    "read",
    "records",
    "render",
    "repair",
    "required",
    "retry",
    "rule",
    "server",
    "succeed",
    "success",
    "testing",
    "tool_error",
    "uninstall",
    "verified_by",
    "wrap",
]

__getattr__, __dir__ = _exports(__name__, _HOMES, _MODULES)
