"""What the adapters of agent frameworks share: one tool call through a `Caller`, answered as the mcp SDK would."""

import inspect
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from failwell.client import Caller
from failwell.sdk.errors import NotAToolFailure, handle_call_exception
from failwell.sdk.mcp_client import FailedResult, result_of

__all__ = ["FailedResult", "call", "connection_name", "text_of"]

_names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_numbers = count(1)


def connection_name(connection: object) -> str:
    """Return a name for a connection whose server has none here: what fails at one server must not suspend another."""
    try:
        return _names.setdefault(connection, f"connection {next(_numbers)}")
    except TypeError:  # it cannot be kept track of
        return f"connection at {id(connection)}"


async def call(
    caller: Caller,
    make_call: Callable[[dict[str, Any]], Awaitable[Any]],
    *,
    server: str,
    tool: str,
    arguments: dict[str, Any] | None,
    describe: Callable[[], Any],
) -> Any:
    """Return what the framework's own call gave, or a `FailedResult` after all tries.

    What a framework raises to stop or to ask somebody passes: only JSON-RPC errors are failures of a tool.

    Args:
        caller: how calls are made.
        make_call: makes one call with the arguments it is given.
        server: whose tool it is.
        tool: the server's name of the tool.
        arguments: what it is called with.
        describe: gives what the server says of the tool, awaitable or not; asked only after a failure.
    """

    async def make(sent: dict[str, Any]) -> Any:
        try:
            return await make_call(sent)
        except Exception as exc:
            return handle_call_exception(exc)

    async def description() -> Any:
        found = describe()
        return await found if inspect.isawaitable(found) else found

    try:
        call_result = await caller.run(make, server=server, tool=tool, arguments=arguments, description=description)
    except NotAToolFailure as other:
        raise other.exception from other.exception.__cause__
    return result_of(call_result)


def text_of(result: FailedResult) -> str:
    """Return what a model is to see of a failed call."""
    texts = [getattr(block, "text", None) for block in result.content]
    return "\n".join(text for text in texts if isinstance(text, str))
