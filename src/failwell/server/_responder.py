"""What a tool call ends with: the failure in what was raised or returned, and that failure on the wire."""

import logging
import os
from collections.abc import Collection, Iterable
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

from failwell import codes
from failwell._log import log
from failwell.advice import Hints, advised
from failwell.codes import Outcome
from failwell.dialects._placement import encode
from failwell.errors import ToolFailure
from failwell.event import CallArguments, Event, Observer
from failwell.exceptions.engine import from_exception
from failwell.failure import Failure
from failwell.reading.reader import read
from failwell.result import Err, Ok

BROKEN_OUTPUT = "The tool ran, but its result does not match its output schema."

_HARMLESS = ("not_executed", "rejected")
_TELLS_NOTHING = (None, "INTERNAL_ERROR", "TOOL_ERROR")
_MOST_FRAMES = 200


class Responder(NamedTuple):
    """How the calls of one tool are answered.

    `single_effect` says that the operation that failed is all that the tool does. Then, and where doing it again is
    harmless, the outcome of that operation is the outcome of the call. `verifier` names the tool that tells whether the
    effect happened.
    """

    tool: str
    dialect: str
    settings: dict[str, Any]
    hints: Hints = Hints()
    single_effect: bool = False
    verifier: str | None = None

    def failure_of(self, exc: Exception, *, ran: bool = True) -> Failure:
        """Return what an exception means for the whole call; log it under an id unless it was raised on purpose.

        *ran* says whether the tool's body was entered at all.
        """
        if isinstance(exc, ToolFailure):
            return exc.failure
        failure = from_exception(exc)
        if failure.origin == "declared":
            return failure
        id = failure.id or _new_id()
        self._log(exc, failure, id)
        return failure.replace(id=id, tool=failure.tool or self.tool, outcome=self._outcome(failure, ran=ran))

    def _log(self, exc: Exception, failure: Failure, id: str) -> None:
        """Log a crash with its traceback, and a failure that a rule understands in one line.

        Handlers that draw tracebacks take up to a second for one, and the caller waits for that.
        """
        if failure.code in _TELLS_NOTHING:
            log.error("tool %s failed, id %s", self.tool, id, exc_info=exc)
        else:
            shown = exc if log.isEnabledFor(logging.DEBUG) else None
            log.warning("tool %s failed, id %s: %r", self.tool, id, exc, exc_info=shown)

    def failure_of_sdk_error(self, exc: Exception, *, ran: bool = True) -> Failure:
        """Return the failure of an SDK's own error, whose text was written for the caller.

        What it was raised from says what kind of failure it is, else its text does.
        """
        failure, text = from_exception(exc), str(exc).strip()
        if failure.origin == "declared":
            return failure
        if failure.code in _TELLS_NOTHING:
            said = {"content": [{"type": "text", "text": text}], "isError": True}
            failure = read(said, tool=self.tool) or failure
        elif text:
            failure = failure.replace(message=text)
        return failure.replace(tool=self.tool, outcome=self._outcome(failure, ran=ran))

    def broken_output(self, exc: Exception | None = None) -> Failure:
        """Return the failure of a tool whose result is not what its schema promises; log it under an id."""
        row = codes.explain("INTERNAL_ERROR")
        found = Failure(
            code=row.code,
            message=BROKEN_OUTPUT,
            outcome="executed",
            origin="mapped",
            id=_new_id(),
        )
        log.error("the result of tool %s does not match its output schema, id %s", self.tool, found.id, exc_info=exc)
        return found

    def _outcome(self, failure: Failure, *, ran: bool) -> Outcome:
        """Return the outcome of the whole call, given the failure of one operation in it."""
        is_harmless = failure.outcome in _HARMLESS
        if not ran:
            return failure.outcome if is_harmless else "not_executed"
        # The body may have done something else before.
        operation_is_call = self.single_effect or self.hints.repeatable
        return "unknown" if is_harmless and not operation_is_call else failure.outcome

    def encode(self, failure: Failure) -> tuple[dict[str, Any], Failure]:
        """Return the result for a failure, and the failure with the tool's name."""
        if failure.tool is None:
            failure = failure.replace(tool=self.tool)
        if self.verifier is not None and failure.outcome == "unknown" and not failure.actions:
            failure = failure.replace(actions=(self.verifier,), recoverable=failure.recoverable)
        try:
            failure = advised(failure, self.hints)
        except Exception:
            log.exception("the next step after a failure of tool %s could not be worded", self.tool)
        return encode(failure, self.dialect, **self.settings), failure


def _new_id() -> str:
    # A letter first: what reads like a number is taken for one somewhere on the way.
    noise = os.urandom(7)
    return "abcdef"[noise[0] % 6] + noise[1:].hex()[1:]


def value_or_failure(value: Any) -> tuple[Any, Failure | None]:
    """Return the value in what a tool returned, and the failure if that is what it amounts to."""
    if type(value) in (Ok, Err):
        value = value.value if value.ok else value.failure
    if isinstance(value, Failure):
        return None, value
    if isinstance(value, ToolFailure):
        return None, value.failure
    return value, None


def original_exception(exc: Exception, packages: Collection[str]) -> Exception:
    """Return what was raised before an SDK, which these packages are, wrapped it in errors of its own."""
    for _ in range(8):
        cause = exc.__cause__
        if not isinstance(cause, Exception) or package_raising(exc) not in packages:
            break
        exc = cause
    return exc


def package_raising(exc: BaseException) -> str:
    """Return the top-level package of the code that raised an exception."""
    last = None
    for last in _traces(exc):  # noqa: B007 - the last one is wanted
        pass
    return "" if last is None else _package(last)


def packages_in(exc: BaseException) -> Iterable[str]:
    """Yield the top-level packages that an exception passed through, the one that raised it last."""
    return map(_package, _traces(exc))


def _traces(exc: BaseException) -> Iterable[TracebackType]:
    trace = exc.__traceback__
    for _ in range(_MOST_FRAMES):  # one that is raised again and again gets longer each time
        if trace is None:
            break
        yield trace
        trace = trace.tb_next


def _package(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


def notify(
    observers: Iterable[Observer],
    tool: str,
    started: float,
    failure: Failure | None,
    *,
    arguments: Any = None,
    wire: dict[str, Any] | None = None,
    server: str = "",
    session: str = "",
) -> None:
    """Tell observers of a finished call; they cannot break it.

    Args:
        observers: who is told.
        tool: which tool it was.
        started: the reading of `perf_counter` when it began.
        failure: how it failed, if it did.
        arguments: what it was called with; observers learn of it only what `CallArguments` tells.
        wire: what a failure is answered with.
        server: what the server is called.
        session: what the client's session is called.
    """
    text: str | None = wire["content"][0]["text"] if wire is not None else None
    event = Event(
        source="server",
        kind="success" if failure is None else "failure",
        session=session,
        server=server,
        tool=tool,
        elapsed=perf_counter() - started,
        failure=failure,
        text=text,
        arguments=None if arguments is None else CallArguments(arguments),
    )
    for observer in observers:
        try:
            observer(event)
        except Exception:
            log.exception("an observer of tool %s failed", tool)
