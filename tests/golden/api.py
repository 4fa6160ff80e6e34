"""Every name of failwell that the recordings use: a renamed one is changed here alone."""

from collections.abc import Iterator
from typing import Any

import failwell as fw
from failwell import retry

DIALECTS = ("compact", "envelope", "flat", "meta", "xml")
META = "dev.failwell/failure"

Failure, FieldProblem, ToolFailure, Validation = fw.Failure, fw.FieldProblem, fw.ToolFailure, fw.Validation
Policy, Recorder, Meter, Group, Limit = fw.Policy, fw.records.Recorder, fw.records.Meter, fw.Group, fw.server.Limit
read, convert, render, decide, repair = fw.read, fw.convert, fw.render, fw.decide, fw.repair
encode, from_exception, from_http, is_terminal = fw.encode, fw.from_exception, fw.from_http, fw.is_terminal
check_arguments = fw.check_arguments
error, required, tool_error = fw.error, fw.required, fw.tool_error
guard, protect, raises, fail, succeed, success = fw.guard, fw.protect, fw.raises, fw.fail, fw.succeed, fw.success
wrap, call, acall, new_shared = fw.wrap, fw.call, fw.acall, retry.Shared.new

EXCEPTIONS: dict[str, type[fw.ToolFailure]] = {
    cls.__name__: cls
    for cls in (
        fw.AlreadyExists, fw.BadGateway, fw.Busy, fw.Conflict, fw.Denied, fw.Gone, fw.Internal, fw.Invalid, fw.Locked,
        fw.MissingField, fw.NetworkFailure, fw.NotFound, fw.PreconditionFailed, fw.QuotaExhausted, fw.RateLimited,
        fw.SendFailed, fw.Temporary, fw.TimedOut, fw.ToolFailure, fw.Unauthenticated, fw.Unavailable, fw.Unparsable,
        fw.WrongType, fw.WrongValue,
    )
}  # fmt: skip


def codes() -> Iterator[Any]:
    """Yield the row of every code of ours; other tests add rows of their own."""
    yield from fw.codes.ROWS
