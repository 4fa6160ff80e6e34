"""`wrap`, `install`, `uninstall`: every tool call of a session, or of the process, through a `Caller`."""

import sys
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


def wrap(session: T, policy: Policy = _DEFAULT, *, server: str | None = None, **options: Unpack[CallerOptions]) -> T:
    """Make every tool call of a session safe to fail: decoded, retried where that is safe, answered for the model.

    Takes a `ClientSession` or a connected `Client` of the mcp SDK, or a `Client` of fastmcp, and returns the same
    object. A failed call, also one that the SDK raises for, gives a result with `isError`, one text for the model,
    `failure` and `raw`; a success is not touched. Refused calls over streamable HTTP keep their status and Retry-After,
    for which the SDK's transport is hooked as by `install`. Wrapping again changes policy and options, and logs that.

    Args:
        session: the session or client.
        policy: how often and how long to try.
        server: what to call its server, if not as it calls itself.
        options: what `Caller` takes: hook, repair, fallbacks, trust, shared, limits, dialect, unflagged, clock, sleep,
            chance.

    Raises:
        TypeError: this is no session, or there is no such option.
        ValueError: its SDK is not supported.
    """
    sdk = _sdks.module_for(session, _sdks.SESSIONS)
    if sdk is None:
        raise TypeError(f"wrap takes a session or client of the mcp SDK or fastmcp, not {type(session).__name__}")
    caller = Caller(policy, **options)
    integration = _sdks.load("mcp_client")
    with _lock:
        again = sdk.wrap(session, integration.SessionHook(caller, server))
        _process.hook_transport(integration)
    said = "was wrapped already: its policy and options are the new ones" if again else "is wrapped"
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


class _Process:
    """What is installed in this process."""

    def __init__(self) -> None:
        self.hook: Any = None
        self.patches: Any = None
        self.transport: Any = None
        self.has_fastmcp = False

    def current(self) -> Any:
        """Return the current hook. fastmcp is hooked once it is in use: importing it takes a second."""
        if self.hook is not None and not self.has_fastmcp and "fastmcp.client.client" in sys.modules:
            self.hook_fastmcp()
        return self.hook

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
        self.hook = self.patches = self.transport = None
        self.has_fastmcp = False
        return kept

    def hook_fastmcp(self) -> None:
        """Hook fastmcp's clients too. Never fails: a call is being made."""
        with _lock:
            if self.patches is not None and not self.has_fastmcp:
                self.has_fastmcp = True
                try:
                    _sdks.load("fastmcp_client").attach(self.patches)
                except Exception:
                    log.exception("fastmcp's Client could not be hooked: what it raises carries no failure")


_process = _Process()


def install(policy: Policy = _DEFAULT, **options: Unpack[CallerOptions]) -> Installation:
    """Make every MCP tool call of this process safe to fail, as `wrap` does for one session.

    Works for all that is built on `mcp.ClientSession`: fastmcp's `Client`, whose `ToolError` then carries the failure,
    and agent frameworks. Tool calls over HTTP that are refused keep their status and Retry-After. What was done is
    logged, and said in `says` of what this returns. Installing again changes the policy and options.

    Args:
        policy: how often and how long to try.
        options: what `Caller` takes: hook, repair, fallbacks, trust, shared, limits, dialect, unflagged, clock, sleep,
            chance.

    Raises:
        TypeError: there is no such option.
        ValueError: an installed SDK is not one we know; nothing was changed.
        ImportError: there is no mcp SDK.
    """
    caller = Caller(policy, **options)
    integration = _sdks.load("mcp_client")
    versions = _checked_versions()
    with _lock:
        again = _process.patches is not None
        if not again:
            patches = Patches()
            integration.attach(patches, _process.current)
            _process.patches = patches
        _process.hook_transport(integration)
        _process.hook = integration.SessionHook(caller)
    if again:
        says = "failwell was installed already: its policy and options are the new ones."
    else:
        says = f"Tool calls of this process go through failwell: every ClientSession of {versions}."
    log.info("%s", says)
    return Installation(caller, says)


def uninstall() -> str:
    """Put everything back as it was before `install`, and return one sentence that says so.

    Wrapped sessions stay wrapped, but HTTP transports are as they were for them too.
    """
    with _lock:
        if _process.patches is None and _process.transport is None:
            return "failwell was not installed: nothing to put back."
        kept = _process.undo()
        _sdks.load("mcp_client").detach()
    says = "Tool calls of this process no longer go through failwell."
    if kept:
        says += f" {', '.join(sorted(kept))} stays as somebody else replaced it since, and passes calls on."
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
