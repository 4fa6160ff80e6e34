"""The answer to a tool call: find the failure in what was raised or returned, and write it."""

import logging
import opcode
import os
from collections.abc import Collection, Iterable, Mapping
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

from failwell import codes
from failwell._json import is_object, parse_json, write_json
from failwell._log import log
from failwell._trace import CallTrace
from failwell.advice import Hints, advised, is_guess
from failwell.codes import Outcome
from failwell.dialects._placement import (
    META_KEY,
    SuccessResult,
    add_warning,
    is_beside_success,
    read_whole,
    write_result,
)
from failwell.errors import ToolFailure
from failwell.event import CallArguments, Event, Observer
from failwell.exceptions.engine import combined, map_exception, members_of
from failwell.exceptions.rules import Scope, peek
from failwell.failure import Failure, amended
from failwell.phrases.meanings import unmapped
from failwell.result import Err, Ok

BROKEN_OUTPUT = "The tool ran, but its result does not match its output schema."

_HARMLESS = ("not_executed", "rejected")
_TELLS_NOTHING = (None, "INTERNAL_ERROR", "TOOL_ERROR")
_MOST_FRAMES = 200
_MOST_CAUSES = 8
_ANYWHERE: Mapping[str, Any] = {}
_RAISE = opcode.opmap["RAISE_VARARGS"]
_LONGEST_DATA = 2000

SDKS = frozenset(("mcp", "fastmcp", "fastmcp_tasks"))
"""The packages of the SDKs, whose code runs around the tools."""
# The base classes of what SDKs let authors raise: of fastmcp and mcp 1, of mcp 2.
_SDK_ERRORS = frozenset((("fastmcp", "FastMCPError"), ("mcp", "FastMCPError"), ("mcp", "MCPServerError")))
_NAMES_OF_SDK_ERRORS = frozenset(name for _, name in _SDK_ERRORS)


class Responder(NamedTuple):
    """How the calls of one tool are answered.

    `single_effect` says that the operation that failed is all that the tool does. Then, and where doing it again is
    harmless, the outcome of that operation is the outcome of the call. `verifier` names the tool that tells whether the
    effect happened. `what` is answered is a tool, or a request of another kind. `public` are the classes whose text was
    written for the caller where code of `package`, the tool's own, raised it, and `rules` are those of the server.
    `settings` are the dialect's, which takes them all, and `placement` says where a failure stands on the result.
    """

    tool: str
    dialect: str
    settings: Mapping[str, Any]
    hints: Hints = Hints()
    single_effect: bool = False
    verifier: str | None = None
    public: tuple[type[Exception], ...] = ()
    package: str = ""
    rules: Scope | None = None
    what: str = "tool"
    placement: Mapping[str, Any] = _ANYWHERE

    def around(self) -> "Responder":
        """Return how a call is answered if what fails is not its tool: the tool may have had its effect before."""
        return self._replace(single_effect=False)

    def failure_of(self, exc: Exception, *, ran: bool = True, arguments: Any = None) -> Failure:
        """Return what an exception means for the whole call; log it under an id unless it was raised on purpose.

        Of a group with one failure it is that failure, of one with several what an author said of them.

        Args:
            exc: what the tool raised.
            ran: whether the tool's body was entered at all.
            arguments: what it was called with, if that is known.
        """
        members = members_of(exc)
        if len(members) == 1:
            return self._said_by(members[0], arguments, ran=ran) or self._mapped(exc, arguments, ran=ran)
        said = {id(one): failure for one in members if (failure := self._said_by(one, arguments, ran=ran)) is not None}
        if not said:
            return self._mapped(exc, arguments, ran=ran)
        return combined([said.get(id(one)) or self._mapped(one, arguments, ran=ran) for one in members])

    def _said_by(self, exc: BaseException, arguments: Any, *, ran: bool) -> Failure | None:
        """Return the failure that an author tells of, or None if no author wrote for the caller."""
        if isinstance(exc, ToolFailure):
            return exc.failure
        author = self._written_for_the_caller(exc)
        return None if author is None else self.failure_told_by(author, arguments, ran=ran)

    def _mapped(self, exc: BaseException, arguments: Any, *, ran: bool) -> Failure:
        failure = map_exception(exc, arguments, self.rules)
        if failure.origin == "declared":
            return failure
        id = failure.id or _new_id()
        self._log(exc, failure, id)
        return amended(failure, id=id, tool=failure.tool or self.tool, outcome=self._outcome(failure, ran=ran))

    def _log(self, exc: BaseException, failure: Failure, id: str) -> None:
        """Log a crash with its traceback, and a failure that a rule understands in one line.

        Handlers that draw tracebacks take up to a second for one, and the caller waits for that.
        """
        if failure.code in _TELLS_NOTHING:
            log.error("%s %s failed, id %s", self.what, self.tool, id, exc_info=exc)
        else:
            shown = exc if log.isEnabledFor(logging.DEBUG) else None
            log.warning("%s %s failed, id %s: %r", self.what, self.tool, id, exc, exc_info=shown)

    def _written_for_the_caller(self, exc: BaseException) -> BaseException | None:
        """Return the exception whose text was written for the caller: this one, or what it was explicitly raised from.

        What an SDK raised from an exception of the tool is that exception in other words.
        """
        for depth in range(_MOST_CAUSES):
            if isinstance(exc, ToolFailure):
                return None
            is_ours = depth == 0 or package_raising(exc) not in SDKS
            if is_ours and (is_sdk_error(exc) or self._is_public(exc)):
                return exc
            if not isinstance(exc.__cause__, Exception):
                return None
            exc = exc.__cause__
        return None

    def _is_public(self, exc: BaseException) -> bool:
        return isinstance(exc, self.public) and is_raised_by(exc, self.package)

    def failure_told_by(self, exc: BaseException, arguments: Any = None, *, ran: bool = True) -> Failure:
        """Return the failure that a text written for the caller tells of; what it was raised from does not count."""
        failure, text = map_exception(exc, None, self.rules), _words(exc)
        data = peek(peek(exc, "error"), "data")
        is_of_cause = failure.origin == "declared"
        if is_of_cause or failure.code in (*_TELLS_NOTHING, "UPSTREAM_ERROR"):  # the last for any JSON-RPC number
            from failwell.reading.reader import read  # much to load, and most exceptions are mapped

            said = exc if is_rpc_error(exc) else {"content": [{"type": "text", "text": text}], "isError": True}
            failure = read(said, tool=self.tool, arguments=arguments) or failure
        elif text:
            failure = failure.replace(message=text)
        if data is not None:
            failure = self._with_data(failure, data)
        return failure.replace(tool=self.tool, outcome=self._outcome(failure, ran=ran))

    def _with_data(self, failure: Failure, data: Any) -> Failure:
        """Return a failure with the data of a JSON-RPC error among its details, and in its text where details are not.

        The text of `meta` has no room for details, nor has that of a failure of which nothing but its words is known.
        """
        try:
            shown = write_json(data)
        except Exception:  # what no JSON-RPC error could have carried
            log.debug("the error data of tool %s is not JSON", self.tool, exc_info=True)
            return failure
        given = parse_json(shown)
        details = {**(given if is_object(given) else {"data": given}), **failure.details}
        is_plain = self.dialect == "meta" or is_guess(failure)
        message = f"{failure.message}\nDetails: {shown[:_LONGEST_DATA]}" if is_plain else failure.message
        return failure.replace(details=details, message=message)

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

    def unsendable(self, reason: str, exc: Exception | None = None) -> Failure:
        """Return the failure of a tool whose result no client could read; log it under an id."""
        found = Failure(
            code="INTERNAL_ERROR",
            message=f"The tool ran, but its result can't be sent: {reason}.",
            outcome="executed",
            origin="mapped",
            id=_new_id(),
        )
        log.error("the result of %s %s can't be sent, id %s: %s", self.what, self.tool, found.id, reason, exc_info=exc)
        return found

    def crashed(self, exc: BaseException) -> Failure:
        """Return the failure of a tool that raised what nothing is known of; log it under an id."""
        found = amended(unmapped(), id=_new_id())
        log.error("%s %s failed, id %s", self.what, self.tool, found.id, exc_info=exc)
        return found

    def exited(self, exc: BaseException) -> Failure:
        """Return the failure of a tool that tried to end the program; log it under an id."""
        found = Failure(
            code="INTERNAL_ERROR",
            message="The tool tried to end the server instead of returning.",
            outcome="unknown",
            origin="mapped",
            id=_new_id(),
        )
        log.error("tool %s tried to end the program, id %s", self.tool, found.id, exc_info=exc)
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
            failure = amended(failure, tool=self.tool)
        if self.verifier is not None and failure.outcome == "unknown" and self.verifier not in failure.actions:
            failure = failure.replace(actions=(self.verifier, *failure.actions), recoverable=failure.recoverable)
        try:
            failure = advised(failure, self.hints)
        except Exception:
            log.exception("the next step after a failure of tool %s could not be worded", self.tool)
        return write_result(failure, self.dialect, settings=self.settings, **self.placement), failure

    def warned(self, wire: dict[str, Any], warning: Failure) -> dict[str, Any]:
        """Return a wire-shaped success with a warning beside it, in the tool's dialect."""
        return add_warning(wire, warning.replace(tool=warning.tool or self.tool), self.dialect, **self.settings)


def _new_id() -> str:
    # A letter first: what reads like a number is taken for one somewhere on the way.
    noise = os.urandom(7)
    return "abcdef"[noise[0] % 6] + noise[1:].hex()[1:]


_PLAIN_TYPES = frozenset((bool, float, int, list, str, type(None)))


def value_or_failure(value: Any) -> tuple[Any, Failure | None]:
    """Return the value in what a tool returned, and the failure if that is what it amounts to.

    So does what `encode` returns: it carries the whole failure under a key of ours.
    """
    if type(value) in _PLAIN_TYPES:  # what most tools return
        return value, None
    if is_object(value):
        meta = value.get("_meta")
        failure = read_whole(meta.get(META_KEY)) if is_object(meta) and "content" in value else None
        return value, None if failure is None or is_beside_success(failure) else failure
    if type(value) in (Ok, Err):
        value = value.value if value.ok else value.failure
    if isinstance(value, Failure):
        return None, value
    if isinstance(value, ToolFailure):
        return None, value.failure
    return value, None


def is_rpc_error(exc: BaseException) -> bool:
    """Return whether an exception stands for a JSON-RPC error: `McpError` in mcp 1, `MCPError` in mcp 2."""
    return isinstance(peek(peek(exc, "error"), "code"), int)


def is_sdk_error(exc: BaseException) -> bool:
    """Return whether an exception is an SDK's own class for authors, whose text was written for the caller.

    A JSON-RPC error that the SDK raised by itself is what another server said.
    """
    if is_rpc_error(exc):
        return package_raising(exc) != "mcp"
    for cls in type(exc).__mro__:
        if cls.__name__ in _NAMES_OF_SDK_ERRORS and (package_of(cls), cls.__name__) in _SDK_ERRORS:
            return True
    return False


def is_raised_by(exc: BaseException, package: str) -> bool:
    """Return whether a `raise` statement in code of a package, and nothing that it called, raised an exception."""
    last = None
    for last in _traces(exc):  # noqa: B007 - the last one is wanted
        pass
    if last is None or _package(last) != package:
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE


def public_classes(classes: Any) -> tuple[type[Exception], ...]:
    """Return exception classes whose text is sent, after a look whether that is what they are.

    Raises:
        TypeError: it is something else.
    """
    found: tuple[Any, ...] = (classes,) if isinstance(classes, type | str | BaseException) else tuple(classes)
    for one in found:
        if not isinstance(one, type) or not issubclass(one, Exception):
            raise TypeError(f"public_errors takes exception classes, such as (ValueError,), not {one!r}")
    return found


def package_of(function: Any) -> str:
    """Return the top-level package of a tool's function, or of a class."""
    return str(getattr(function, "__module__", None) or "").partition(".")[0]


def _words(exc: BaseException) -> str:
    """Return the text of an exception; that of a `KeyError` is what it was given, not in quotes."""
    only = exc.args[0] if len(exc.args) == 1 else None
    try:
        return (only if isinstance(only, str) and isinstance(exc, KeyError) else str(exc)).strip()
    except Exception:
        log.exception("an exception of class %s has no text", type(exc).__name__)
        return ""


def value_and_warning(value: Any) -> tuple[Any, Failure | None]:
    """Return the value in what `success` made, and the warning beside it; anything else is a value itself."""
    return (value.value, value.warning) if type(value) is SuccessResult else (value, None)


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


def notify(observers: Iterable[Observer], event: Event) -> None:
    """Tell observers of a call that ended; they cannot break it."""
    for observer in observers:
        try:
            observer(event)
        except Exception:
            log.exception("an observer of tool %s failed", event.tool)


def end_of_call(
    tool: str,
    started: float,
    failure: Failure | None,
    *,
    arguments: Any = None,
    wire: dict[str, Any] | None = None,
    hints: Hints | None = None,
    server: str = "",
    session: str = "",
    trace: CallTrace | None = None,
    is_cancelled: bool = False,
) -> Event:
    """Return the event that ends a call.

    Args:
        tool: which tool it was.
        started: the reading of `perf_counter` when it began.
        failure: how it failed, if it did.
        arguments: what it was called with; observers learn of it only what `CallArguments` tells.
        wire: what a failure is answered with.
        hints: what the tool promises.
        server: what the server is called.
        session: what the client's session is called.
        trace: what its request says of the trace that it stands in.
        is_cancelled: nobody waits for its answer any more.
    """
    return Event(
        source="server",
        kind="cancelled" if is_cancelled else "success" if failure is None else "failure",
        session=session,
        server=server,
        tool=tool,
        elapsed=perf_counter() - started,
        failure=failure,
        text=None if wire is None else wire["content"][0]["text"],
        hints=hints,
        arguments=None if arguments is None else CallArguments(arguments),
        trace=trace,
    )
