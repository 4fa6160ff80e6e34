"""`wrap`, `install`, `uninstall`: every tool call of a session, or of the process, through a `Caller`."""

import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from importlib import metadata
from threading import RLock
from typing import Any, TypeVar, Unpack

from failwell import _sdks
from failwell._log import log
from failwell.client._caller import Caller, CallerOptions
from failwell.retry import Policy

T = TypeVar("T")

_DEFAULT = Policy()
_ABSENT = object()
_lock = RLock()


def wrap(
    session: T,
    policy: Policy = _DEFAULT,
    *,
    server: str | None = None,
    reconnect: Callable[[], AbstractAsyncContextManager[T] | Awaitable[T]] | None = None,
    refresh: Callable[[], Awaitable[object]] | None = None,
    **options: Unpack[CallerOptions],
) -> T:
    """Read the failures of a session's tool calls, retry where that is safe, and tell the model what to do next.

    Takes a `ClientSession` or a connected `Client` of the mcp SDK, or a `Client` of fastmcp, and returns the same
    object. A failed call, also one that the SDK raises for, gives a result with `isError`, one text for the model,
    `failure` and `raw`; a success is not touched. Refused calls over streamable HTTP keep their status and
    Retry-After, for which the SDK's HTTP transport is patched, as by `install`. If the server has forgotten the
    session, a new one is started; with *reconnect* a closed connection is replaced too. Wrapping again changes
    policy and options, and logs that.

    Args:
        session: the session or client.
        policy: how often and how long to try.
        server: the server's name, if not the one it gives itself.
        reconnect: gives a new connected session: a context manager, which is held open in a task of its own until the
            session is replaced again or the program ends, or an awaitable.
        refresh: renews the credentials of the HTTP client, in place. It is called once for all calls and lists of
            tools that the MCP server itself refuses with 401, and each of them is requested once more; never if the
            HTTP client has an `auth` of its own, and never for a 401 that a tool reports.
        options: what `Caller` takes: hook, repair, fallbacks, trust, shared, limits, dialect, unflagged, policy_file,
            clock, sleep, chance.

    Raises:
        TypeError: *session* is not a session, or there is no such option.
        ValueError: its SDK is not supported.
    """
    sdk = _sdks.module_for(session, _sdks.SESSIONS)
    if sdk is None:
        raise TypeError(f"wrap takes a session or client of the mcp SDK or fastmcp, not {type(session).__name__}")
    caller = Caller(policy, **options)
    integration = _sdks.load("mcp_client")
    with _lock:
        again = sdk.wrap(session, integration.SessionHook(caller, server, reconnect, refresh))
        if sdk is integration:
            _process.hook_transport(integration)
        else:  # fastmcp connects later, by a session of its own
            _process.hook_sessions(integration)
    said = "was already wrapped and now has the new policy and options" if again else "is wrapped"
    log.info("A %s %s.", type(session).__name__, said)
    return session


class Patches:
    """Replaces attributes of classes or objects; `undo` restores each, unless it was replaced again since."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def put(self, owner: Any, name: str, new: Any) -> None:
        """Replace an attribute; remember what the owner itself had there, or that it only inherited it."""
        self._done.append((owner, name, owner.__dict__.get(name, _ABSENT), new))
        setattr(owner, name, new)

    def undo(self) -> list[str]:
        """Put everything back; return the names of what others have replaced since, which stays as it is."""
        kept: list[str] = []
        while self._done:
            owner, name, before, new = self._done.pop()
            if owner.__dict__.get(name) is not new:
                kept.append(name)
            elif before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        return kept


class Installation:
    """What `install` did: one sentence in `says`, and the `caller` that every call goes through."""

    def __init__(self, caller: Caller, says: str) -> None:
        self.caller = caller
        self.says = says

    def __repr__(self) -> str:
        return f"<Installation: {self.says}>"


adapted: ContextVar[bool] = ContextVar("failwell_adapted", default=False)
"""Whether a framework's adapter makes a call: its sessions then leave it what they know of a failure."""


connecting: ContextVar[Any] = ContextVar("failwell_connecting", default=None)
"""The hook of the wrapped client that is connecting."""


class _Process:
    """What is installed in this process."""

    def __init__(self) -> None:
        self.hook: Any = None
        self.adapter: Any = None
        self.patches: Any = None
        self.transport: Any = None
        self.has_fastmcp = False

    def current(self) -> Any:
        """Return the current hook. fastmcp is hooked once it is in use: importing it takes a second."""
        if self.hook is not None and not self.has_fastmcp and "fastmcp.client.client" in sys.modules:
            self.hook_fastmcp()
        return self.hook or (self.adapter if adapted.get() else None)

    def connector(self) -> Any:
        """Return the hook by which sessions connect and list their tools."""
        return connecting.get() or self.hook or self.adapter

    def hook_sessions(self, integration: Any) -> None:
        """Hook every session, once."""
        if self.patches is None:
            patches = Patches()
            integration.attach(patches, self.current, self.connector)
            self.patches = patches
        self.hook_transport(integration)

    def hook_transport(self, integration: Any) -> None:
        """Hook the HTTP transport, so that refused calls keep their status; sessions do not know their transport."""
        if self.transport is None:
            patches = Patches()
            integration.attach_transport(patches)
            self.transport = patches

    def undo(self) -> list[str]:
        """Put everything back; return the names of what others have replaced since."""
        kept: list[str] = []
        for patches in (self.patches, self.transport):
            kept += patches.undo() if patches is not None else ()
        self.hook = self.adapter = self.patches = self.transport = None
        self.has_fastmcp = False
        return kept

    def hook_fastmcp(self) -> None:
        """Hook fastmcp's clients too. Never fails: a call is being made."""
        with _lock:
            if self.patches is not None and not self.has_fastmcp:
                self.has_fastmcp = True
                try:
                    _sdks.load("fastmcp_client").attach(self.patches, self.current)
                except Exception:
                    log.exception("fastmcp's Client could not be hooked, so what it raises carries no failure")


_process = _Process()


def install(policy: Policy = _DEFAULT, **options: Unpack[CallerOptions]) -> Installation:
    """Do for every MCP tool call of this process what `wrap` does for one session.

    Works for all that is built on `mcp.ClientSession`: fastmcp's `Client`, whose `ToolError` then carries the
    failure, and agent frameworks. Tool calls over HTTP that are refused keep their status and Retry-After. What was
    done is logged, and `says` of the returned object repeats it. Installing again changes the policy and options.

    Args:
        policy: how often and how long to try.
        options: what `Caller` takes: hook, repair, fallbacks, trust, shared, limits, dialect, unflagged, policy_file,
            clock, sleep, chance.

    Raises:
        TypeError: there is no such option.
        ValueError: an installed SDK is not supported; nothing was changed.
        ImportError: there is no mcp SDK.
    """
    caller = Caller(policy, **options)
    integration = _sdks.load("mcp_client")
    versions = _checked_versions()
    with _lock:
        again = _process.hook is not None
        _process.hook_sessions(integration)
        _process.hook = integration.SessionHook(caller)
    if again:
        says = "failwell was already installed and now has the new policy and options."
    else:
        says = f"Tool calls in this process now go through failwell: every ClientSession of {versions}."
    log.info("%s", says)
    return Installation(caller, says)


def adapt(caller: Caller) -> None:
    """Hook what adapters of frameworks cannot see by themselves: transports, connecting, and failures of sessions.

    Tool calls are touched only where an adapter makes them. Connecting goes through the caller of the latest adapter.
    """
    integration = _sdks.load("mcp_client")
    with _lock:
        _process.hook_sessions(integration)
        _process.adapter = integration.SessionHook(caller.with_own_pins())


def uninstall() -> str:
    """Undo `install`, and return one sentence that says so.

    Wrapped sessions stay wrapped, but HTTP transports are as they were for them too.
    """
    with _lock:
        if _process.patches is None and _process.transport is None:
            return "failwell was not installed, so there is nothing to restore."
        kept = _process.undo()
        _sdks.load("mcp_client").detach()
    says = "Tool calls in this process no longer go through failwell."
    if kept:
        says += f" {', '.join(sorted(kept))} has been replaced since, so it stays in place and passes calls on."
    log.info("%s", says)
    return says


def _checked_versions() -> str:
    """Return which SDKs are installed.

    Raises:
        ValueError: one of them is not supported.
    """
    _sdks.supported_version("mcp", who="install")
    says = f"mcp {_sdks.installed_version('mcp')}"
    try:
        _sdks.supported_version("fastmcp", who="install")
    except metadata.PackageNotFoundError:
        return says
    return f"{says}, and of fastmcp {_sdks.installed_version('fastmcp')}"
