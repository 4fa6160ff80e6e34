"""What clients get of tools that fail: of guarded functions, and of protected servers of each SDK."""

import asyncio
import errno
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tests.golden import api, exceptions
from tests.golden.case import Case, logged, plain, steady
from tests.golden.store import PYTHON, installed

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "read-only": {"hints": {"readOnlyHint": True}},
    "single effect": {"single_effect": True},
}
SCHEMA = {
    "type": "object",
    "properties": {"task": {"type": "string"}, "hours": {"type": "integer", "minimum": 1}},
    "required": ["task"],
}
# The servers, and the distribution whose versions they depend on.
KINDS = {"mcp": "mcp", "lowlevel": "mcp", "fastmcp": "fastmcp"}


def raised() -> dict[str, BaseException]:
    """Return what tools raise: what the library offers, and what handlers typically let escape."""
    found: dict[str, BaseException] = {}
    for name, cls in api.EXCEPTIONS.items():
        found[name] = cls("It failed.")
        found[f"{name} with more"] = cls(
            "It failed.", suggestion="Ask ann.", actions=["list"], details={"a": 1}, id="x-1"
        )
    own = type("OrderMissing", (api.EXCEPTIONS["NotFound"],), {})
    found["own class"] = own("Order 7 does not exist.")
    problems = api.Validation(tool="claim")
    problems.add("task", None, required=True)
    problems.add("hours", "many", "hours must be a number", expected="integer")
    found["validation"] = exceptions.caught(problems.raise_if_any)
    foreign = _foreign()
    for name in ("ENOENT", "EACCES", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENOSPC", "EAGAIN", "EEXIST", "EPIPE"):
        found[name] = foreign[name]
    for name in ("HTTP 404", "HTTP 429 with a delay", "HTTP 503", "JSON", "key", "cause", "group of unlike", "unique",
                 "timeout expired", "exit 1", "declared cause", "number", "attribute", "encoding"):  # fmt: skip
        found[name] = foreign.get(name) or foreign[f"sqlite {name}"]
    found["timeout"] = TimeoutError()
    found["refused"] = ConnectionRefusedError(errno.ECONNREFUSED, "hunter2hunter2")
    found["runtime"] = RuntimeError("password=hunter2hunter2")
    return found


@cache
def _foreign() -> dict[str, BaseException]:
    return exceptions.made(PYTHON)


def _raise(name: str) -> Any:
    raise raised()[name].with_traceback(None)


RETURNED: dict[str, Callable[[], Any]] = {
    "text": lambda: "done",
    "nothing": lambda: None,
    "number": lambda: 5,
    "object": lambda: {"a": [1, None]},
    "list": lambda: [1, "x"],
    "ok": lambda: api.succeed({"n": 1}),
    "err": lambda: api.fail(api.EXCEPTIONS["NotFound"]("Task 7 does not exist.")),
    "failure": lambda: api.Failure(code="RATE_LIMITED", message="Busy.", retry_after=3),
    "warning": lambda: api.tool_error("DEPRECATED", message="Use find.", actions=["find"], severity="warning"),
    "result": lambda: {"content": [], "isError": False, "_meta": {"k": 1}},
    "no JSON": lambda: object,
}


def cases() -> Iterator[Case]:
    """Yield a case for everything a guarded function and a protected server can do."""
    for name in raised():
        for setting in SETTINGS:
            yield Case(f"guard/{name}/{setting}", lambda name=name, setting=setting: _guarded(name, SETTINGS[setting]))
    for name, make in RETURNED.items():
        yield Case(f"guard/returned/{name}", lambda make=make: _answered(lambda **_: make(), {}))
    for name, arguments in _ARGUMENTS.items():
        yield Case(
            f"guard/arguments/{name}",
            lambda arguments=arguments: _answered(lambda **_: "done", {"schema": SCHEMA}, arguments),
        )
    for kind, library in KINDS.items():
        if installed(library):
            for dialect in api.DIALECTS:
                for name in _server_calls():
                    yield Case(
                        f"{library}/{kind}/{dialect}/{name}",
                        lambda kind=kind, dialect=dialect, name=name: _from_server(kind, dialect)[name],
                        library,
                        is_heavy=dialect not in ("compact", "xml"),
                    )


_ARGUMENTS: dict[str, dict[str, Any]] = {
    "fine": {"task": "t"},
    "missing": {},
    "wrong": {"task": 5, "hours": "many"},
    "unknown": {"tsk": "t"},
    "small": {"task": "t", "hours": 0},
}


def _guarded(name: str, settings: dict[str, Any]) -> Any:
    def tool(**_: Any) -> Any:
        return _raise(name)

    found = {dialect: _answered(tool, {**settings, "dialect": dialect}) for dialect in api.DIALECTS}

    async def later(**_: Any) -> Any:
        return _raise(name)

    return found | {"async": _answered(later, settings)}


def _answered(tool: Callable[..., Any], settings: dict[str, Any], arguments: dict[str, Any] | None = None) -> Any:
    seen: list[Any] = []
    with logged() as lines:
        answer = api.guard(tool="claim", observers=[seen.append], **settings)(tool)(**arguments or {})
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(answer)
    observed = [
        {**plain(one), "arguments": one.arguments and [one.arguments.digest, one.arguments.names]} for one in seen
    ]
    return steady({"result": plain(answer), "log": lines, "observed": observed})


def _server_calls() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what a server is asked, by name: the tool and its arguments."""
    found = {f"raised/{name}": ("fail", {"name": name}) for name in raised()}
    found |= {
        f"ways/{name}": (name, {})
        for name in (
            "declared", "returned", "returned_err", "crash", "refused", "refused_reading", "refused_once",
            "broken_upstream", "warned", "warned_schema", "missing_schema", "broken_output", "sdk_error",
            "sdk_error_from", "rpc_error", "text", "number", "ok", "data", "by_hand",
        )
    }  # fmt: skip
    found |= {f"arguments/{name}": ("claim", arguments) for name, arguments in _ARGUMENTS.items()}
    return found | {
        "arguments/right": ("claim", {"task": "t", "hours": 1, "mode": "fast"}),
        "arguments/choice": ("claim", {"task": "t", "hours": 1, "mode": "fats"}),
        "unknown tool": ("clam", {}),
        "tools": ("", {}),
    }


@cache
def _from_server(kind: str, dialect: str) -> dict[str, Any]:
    """Return what the SDK's own client gets of a protected server in memory, call by call."""
    from tests.matrix import sdks, servers

    settings: dict[str, Any] = {"dialect": dialect, "single_effect": ["refused_once"], "describe": True}
    if dialect == "envelope":
        settings["structured"] = True

    def fail(name: str) -> str:
        return str(_raise(name))

    async def main() -> dict[str, Any]:
        server = _server(kind, servers, fail)
        said = api.protect(server, **settings).says
        found: dict[str, Any] = {}
        async with sdks.session(kind, server) as session:
            send = session.call_tool_mcp if kind == "fastmcp" else session.call_tool
            for case, (tool, arguments) in _server_calls().items():
                lines.clear()
                if not tool:
                    tools = await session.list_tools()
                    listed = [sdks.plain(one) for one in getattr(tools, "tools", tools)]
                    found[case] = {"says": said, "tools": listed}
                    continue
                try:
                    result = sdks.plain(await send(tool, arguments))
                except Exception as exc:  # an error of the protocol is an answer too
                    result = {"raised": type(exc).__name__, "text": str(exc)}
                found[case] = steady({"result": result, "log": list(lines)})
        return found

    with logged() as lines, _quiet("mcp", "fastmcp"), warnings.catch_warnings():
        # A tool whose result is not what it promises makes pydantic warn, on its way to being a failure.
        warnings.filterwarnings("ignore", "Pydantic serializer warnings")
        return asyncio.run(main())


@contextmanager
def _quiet(*loggers: str) -> Iterator[None]:
    """Keep the SDKs from logging: fastmcp draws every traceback in colours, which takes a second."""
    before = {name: logging.getLogger(name).level for name in loggers}
    try:
        for name in loggers:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _server(kind: str, servers: Any, fail: Callable[[str], str]) -> Any:
    """Return a server with a tool for every way to fail, and one more that raises what it is told to."""
    if kind != "lowlevel":
        server = servers.bare(kind)
        server.tool()(fail)
        return server
    from unittest.mock import patch

    listed = servers.tools(kind)
    with patch.object(servers, "tools", lambda _: [*listed, (fail, {})]):
        return servers.bare(kind)
