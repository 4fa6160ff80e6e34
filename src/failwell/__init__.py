"""MCP tools that fail well: typed failures in servers, decoded and acted on in agents."""

from failwell import catalog
from failwell.canonical import canonical
from failwell.collect import Validation
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
from failwell.reader import convert, read
from failwell.result import Err, Ok, Result, fail, succeed, success
from failwell.shortcuts import error, required, tool_error

__version__ = "0.1.0"

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
    "Hints",
    "Internal",
    "Invalid",
    "Locked",
    "MissingField",
    "NetworkFailure",
    "NotFound",
    "Ok",
    "PreconditionFailed",
    "QuotaExhausted",
    "RateLimited",
    "Result",
    "SendFailed",
    "Temporary",
    "TimedOut",
    "ToolFailure",
    "Unauthenticated",
    "Unavailable",
    "Unparsable",
    "Validation",
    "WrongType",
    "WrongValue",
    "canonical",
    "catalog",
    "convert",
    "decide",
    "encode",
    "error",
    "fail",
    "is_terminal",
    "read",
    "required",
    "succeed",
    "success",
    "tool_error",
]
