"""What the adapters of agent frameworks share: one tool call through a `Caller`, answered as the mcp SDK would."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from failwell.client import Caller
from failwell.client._install import adapt, adapted
from failwell.dialects._placement import encode
from failwell.retry._layers import take_inner_failure
from failwell.sdk.errors import handle_call_exception, without_carrier
from failwell.sdk.mcp_client import FailedResult, result_of

__all__ = ["FailedResult", "adapter_caller", "call", "connection_name", "text_of"]

_names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_numbers = count(1)


def adapter_caller(caller: Caller | None) -> Caller:
    """Return how an adapter makes its calls. The SDK is hooked, so that they give no less than `install` gives."""
    caller = caller or Caller()
    adapt(caller)
    return caller


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
    call_other: Callable[[str, dict[str, Any]], Awaitable[Any]] | None = None,
) -> Any:
    """Return what the framework's own call gave, or a `FailedResult` after all tries.

    What a framework raises to stop or to ask somebody passes: only JSON-RPC errors are failures of a tool. One of
    them asks that the user opens a page, and the model is told which.

    Args:
        caller: how calls are made.
        make_call: makes one call with the arguments it is given.
        server: whose tool it is.
        tool: the server's name of the tool.
        arguments: what it is called with.
        describe: gives what the server says of the tool, awaitable or not; asked only after a failure.
        call_other: makes one call of another tool of the server, to ask whether this call took effect.
    """

    async def make(make_call: Callable[..., Awaitable[Any]], *sent: Any) -> Any:
        take_inner_failure()  # what an earlier try left
        token = adapted.set(True)
        try:
            made = await make_call(*sent)
        except Exception as exc:
            inner = take_inner_failure()
            return handle_call_exception(exc) if inner is None else encode(inner)
        finally:
            adapted.reset(token)
        inner = take_inner_failure()  # the session read the whole of it; a framework may pass on some text only
        return made if inner is None or inner.severity == "warning" else encode(inner)

    async def description() -> Any:
        found = describe()
        return await found if inspect.isawaitable(found) else found

    run = caller.run(
        partial(make, make_call),
        server=server,
        tool=tool,
        arguments=arguments,
        description=description,
        ask_inside=None if call_other is None else partial(_ask, partial(make, call_other)),
    )
    return result_of(await without_carrier(run))


def _ask(make: Callable[..., Awaitable[Any]], tool: str, arguments: dict[str, Any]) -> Awaitable[Any]:
    return without_carrier(make(tool, arguments))


def text_of(result: FailedResult) -> str:
    """Return what a model is to see of a failed call."""
    texts = [getattr(block, "text", None) for block in result.content]
    return "\n".join(text for text in texts if isinstance(text, str))
