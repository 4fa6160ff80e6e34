"""The connection behind a client session: whether it is closed, and a new one where the old one is lost.

A session that the server has forgotten is begun anew on the same connection, as the protocol asks of clients. A closed
connection is replaced by what a `reconnect` function gives. What was called on the old one is called again only if the
engine finds that safe; nothing is decided here.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar
from typing import Any
from weakref import ref

from failwell._automatic import is_automatic
from failwell._log import log
from failwell._sdks import needs
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.phrases.rpc_codes import CONNECTION_CLOSED, find_sdk_error, is_session_lost
from failwell.retry._clock import CallClock
from failwell.retry._time_limit import attempt_clock
from failwell.sdk.errors import handle_call_exception, only_exception, rpc_code, unchecked_result

try:
    import anyio
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

Reconnect = Callable[[], "AbstractAsyncContextManager[Any] | Awaitable[Any]"]
"""Gives a new connected session: a context manager, which is kept open while it is used, or an awaitable."""

Refresh = Callable[[], Awaitable[object]]
"""Renews the credentials of a connection, in place."""

_NOT_SENT = Failure(
    code="CONNECTION_LOST",
    message="The connection to the MCP server is closed. This request was not sent.",
    outcome="not_executed",
    origin="mapped",
)
_CLOSED = Failure(
    code="CONNECTION_LOST",
    message="The connection to the MCP server was closed before it answered.",
    origin="mapped",
)
_RENEWED = Failure(
    code="UNAUTHORIZED",
    message="The MCP server refused the credentials. They have been renewed since.",
    retryable=True,
    outcome="not_executed",
    origin="mapped",
)
is_calling: ContextVar[bool] = ContextVar("failwell_is_calling", default=False)
"""Whether a tool is being called: who lists tools meanwhile does so to check its result."""

_TELL = "Tell the user that the MCP server is no longer connected."
_LONGEST_HANDSHAKE = 30.0
_LONGEST_RECONNECT = 120.0


class ConnectionClosed(ToolFailure):
    """The connection was closed before the call could be sent, or before its answer came."""

    kind = "ToolFailure"


class CredentialsRenewed(ToolFailure):
    """The server refused the credentials of a call, and there are new ones now."""

    kind = "ToolFailure"


class SessionConnection:
    """What a session is connected by. It does not keep the session alive.

    *on_renewed* is called with the session or client to use from now on, where the server may be another one.
    """

    def __init__(self, session: Any, on_renewed: Callable[[Any], None]) -> None:
        self._session = ref(session)
        self._on_renewed = on_renewed
        self._lock = anyio.Lock()
        self._generation = 0
        self._credentials = 0
        self._replacement: Any = None
        self._close: Callable[[], None] = _nothing
        self.reconnect: Reconnect | None = None

    def session(self) -> Any:
        """Return the session or client to use now."""
        return self._replacement if self._replacement is not None else self._session()

    async def call(
        self, original: Callable[..., Awaitable[Any]], outer: CallClock | None, *args: Any, **options: Any
    ) -> Any:
        """Make one call where the connection is now; *original* makes it on the first one.

        A clock that is not the *outer* one is of this call alone: it learns if the call was certainly not executed.

        Raises:
            ConnectionClosed: the connection was closed already, or has been meanwhile.
            Exception: what `handle_call_exception` makes of what the SDK raises.
        """
        generation = self._generation
        if self._replacement is not None:
            original = getattr(self._replacement, "call_tool_mcp", None) or self._replacement.call_tool
        was_closed = _is_closed(self.session())
        token = is_calling.set(True)
        try:
            return await original(*args, **options)
        except Exception as raised:
            unchecked = unchecked_result(raised)
            if unchecked is not None:
                return unchecked
            exc = only_exception(raised)
            is_unsent = was_closed or isinstance(exc, anyio.ClosedResourceError | anyio.BrokenResourceError)
            clock = attempt_clock.get()
            if clock is not None and clock is not outer and (is_unsent or is_lost(exc)):
                clock.may_be_executed = False
            if is_unsent or _is_connection_closed(exc):
                is_back = await self._renew(generation, self._replace)
            elif is_lost(exc):
                is_back = await self._renew(generation, self._begin_session)
            else:
                return handle_call_exception(raised)
            if is_lost(exc):
                raise exc from exc.__cause__
            if not is_unsent:
                raise ConnectionClosed(_CLOSED) from raised
            failure = _NOT_SENT if is_back or self.reconnect else _NOT_SENT.replace(retryable=False, suggestion=_TELL)
            raise ConnectionClosed(failure) from raised
        finally:
            is_calling.reset(token)

    @property
    def credentials(self) -> int:
        """How often the credentials were renewed."""
        return self._credentials

    async def refresh(self, refresh: Refresh, *, seen: int) -> ToolFailure | None:
        """Renew the credentials, once for all calls that had the same ones; return what that means for a call.

        *seen* is how often they had been renewed when the call was made. None: there are no new ones.
        """
        if not is_automatic():
            return None
        async with self._lock:
            if self._credentials == seen:
                try:
                    await refresh()
                except Exception as exc:
                    log.info("the credentials for an MCP server could not be renewed: %s", type(exc).__name__)
                    return None
                self._credentials += 1
                log.info("the credentials for an MCP server were renewed")
        return CredentialsRenewed(_RENEWED)

    async def _renew(self, generation: int, renew: Callable[[], Awaitable[bool]]) -> bool:
        """Renew the connection once for all calls that lost it; return whether there is a new one."""
        if not is_automatic():
            return False
        async with self._lock:
            if self._generation != generation:
                return True
            try:
                is_back = await renew()
                if is_back:
                    self._generation += 1
                    self._on_renewed(self.session())
            except Exception as exc:
                log.info("the connection to an MCP server could not be renewed: %s", type(exc).__name__)
                return False
            return is_back

    async def _begin_session(self) -> bool:
        """Begin a session anew on the same connection, where the server has forgotten it."""
        session = self.session()
        session = getattr(session, "session", session)
        hooked: Any = session.__class__.initialize
        initialize = getattr(hooked, "__wrapped__", hooked)  # past our hook: the engine decides
        if getattr(session, "_initialize_result", None) is not None:
            session._initialize_result = None  # mcp 2 would return it
        try:
            with anyio.fail_after(_LONGEST_HANDSHAKE):
                await initialize(session)
        except Exception:
            if self.reconnect is None:
                raise
            return await self._replace()
        log.info("an MCP server no longer recognized a session, so a new one was started")
        return True

    async def _replace(self) -> bool:
        """Use what `reconnect` gives from now on."""
        if self.reconnect is None:
            return False
        made = self.reconnect()
        close: Callable[[], None] = _nothing
        with anyio.fail_after(_LONGEST_RECONNECT):
            if inspect.isawaitable(made):
                session = await made
            else:
                session, close = await _open(made)
        self._close()
        self._replacement, self._close = session, close
        log.info("a lost connection to an MCP server was replaced")
        return True


def is_lost(exc: BaseException) -> bool:
    """Return whether an exception says that the server does not know the session any more."""
    code, message = rpc_code(exc), getattr(getattr(exc, "error", None), "message", None)
    return isinstance(code, int) and isinstance(message, str) and is_session_lost(code, message)


def _is_connection_closed(exc: BaseException) -> bool:
    """Return whether the whole connection is closed; a stream that ended is one answer only."""
    message = getattr(getattr(exc, "error", None), "message", None)
    if rpc_code(exc) != CONNECTION_CLOSED or not isinstance(message, str) or "SSE stream" in message:
        return False
    return find_sdk_error(CONNECTION_CLOSED, message) is not None


def _is_closed(session: Any) -> bool:
    """Return whether mcp 2 has closed a session: it raises the same for calls it sent and for those it did not."""
    session = getattr(session, "session", session)
    return bool(getattr(getattr(session, "_dispatcher", None), "_closed", False))


async def _open(manager: AbstractAsyncContextManager[Any]) -> tuple[Any, Callable[[], None]]:
    """Enter a context manager in a task of its own, since it must be left where it was entered; return how to leave."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[Any] = loop.create_future()
    closing = asyncio.Event()

    async def hold() -> None:
        try:
            async with manager as session:
                if not opened.done():
                    opened.set_result(session)
                await closing.wait()
        except Exception as exc:
            if not opened.done():
                opened.set_exception(exc)
            else:
                log.debug("a replaced connection ended with %s", type(exc).__name__)

    task = loop.create_task(hold())
    _held.add(task)
    task.add_done_callback(_held.discard)
    try:
        return await opened, closing.set
    except BaseException:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        raise


_held: set["asyncio.Task[None]"] = set()


def _nothing() -> None:
    return None
