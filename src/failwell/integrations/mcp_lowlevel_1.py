"""Protect a low-level server of mcp 1: the function that was registered with its `call_tool` decorator.

The SDK turns what that function raises into text before any handler sees it, so the function itself is covered. The
server of fastmcp 2 and 3, and the high-level server of mcp 1, stand on such a server too.
"""

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from failwell.answering import log, opened, package_raising, unknown_tool, unwrapped
from failwell.failure import Failure
from failwell.integrations.protocol_errors import is_protocol_error, is_rpc_error
from failwell.protection import Called, Protection
from failwell.result import Ok, success
from failwell.schema_checks import SchemaChecks

try:
    from mcp import types
except ImportError as missing:
    raise ImportError("this needs mcp 1.21.2 or newer: pip install 'failwell[mcp]'") from missing

_SDK = frozenset(("mcp",))
_CALL, _LIST = types.CallToolRequest, types.ListToolsRequest
_COVERED = "__failwell_covered__"


class _Run:
    """One request on its way: whether the function was entered, and whether what it ended with is final."""

    __slots__ = ("has_final_result", "meta", "ran")

    def __init__(self, meta: Any) -> None:
        self.meta = meta
        self.ran = False
        self.has_final_result = False


_running: ContextVar[_Run | None] = ContextVar("failwell_mcp_1_run", default=None)


def attach(server: Any, protection: Protection, *, is_inner: bool = False) -> str:
    """Protect a server, functions that are registered later too, and return what was done.

    *is_inner* says that the server is part of another one, which lists tools and watches calls by itself.
    """
    functions = _Functions(server, protection, SchemaChecks(), is_inner=is_inner)
    functions.cover()
    for name in ("call_tool", "list_tools"):
        setattr(server, name, _then(getattr(server, name), functions.cover))
    return "what the registered function raises is caught, and its arguments are all checked"


def _then(decorator: Callable[..., Any], do: Callable[[], None]) -> Callable[..., Any]:
    """Return one of the SDK's decorators, doing something more after each registration."""

    @functools.wraps(decorator)
    def configure(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        register = decorator(*args, **kwargs)

        def registered(function: Any) -> Any:
            result = register(function)
            do()
            return result

        return registered

    return configure


class _Functions:
    """What stands around the functions of one server."""

    def __init__(self, server: Any, protection: Protection, checks: SchemaChecks, *, is_inner: bool) -> None:
        self.server = server
        self.protection = protection
        self.checks = checks
        self.is_inner = is_inner

    def cover(self) -> None:
        """Cover the handlers that are registered and not covered yet."""
        handlers = self.server.request_handlers
        covers: dict[Any, Callable[[Any], Any]] = {_CALL: self._calling}
        if not self.is_inner:
            covers[_LIST] = self._listing
        for request, covering in covers.items():
            handler = handlers.get(request)
            if handler is not None and not hasattr(handler, _COVERED):
                handlers[request] = covering(handler)
                setattr(handlers[request], _COVERED, True)

    def _calling(self, handler: Any) -> Any:
        protection = self.protection
        nonlocals = dict(zip(handler.__code__.co_freevars, handler.__closure__ or (), strict=True))
        is_checked = "validate_input" in nonlocals and nonlocals["validate_input"].cell_contents
        if "func" in nonlocals:
            nonlocals["func"].cell_contents = self._covered(nonlocals["func"].cell_contents)

        async def handle(request: Any) -> Any:
            name, started = request.params.name, protection.start()
            run = _Run(request.params.meta)
            failure = await self._refused(request.params) if is_checked else None
            result = None
            if failure is None:
                token = _running.set(run)
                try:
                    result = await handler(request)
                except Exception as exc:
                    if is_protocol_error(exc) or "func" in nonlocals:
                        raise
                    failure = self._failure(exc, self._called(name, run.meta))
                finally:
                    _running.reset(token)
                failure = failure or self._flattened(result, run, name)
            if failure is None:
                if not self.is_inner:
                    protection.finish(name, started, _failure_in(result))
                return result
            wire, failure = protection.result(failure, self._called(name, run.meta))
            protection.finish(name, started, failure)
            return types.ServerResult(types.CallToolResult.model_validate(wire))

        return handle
