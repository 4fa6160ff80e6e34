"""What a client gets of servers that are written with the SDK, bare and protected by the library."""

import asyncio
import importlib
import inspect
import logging
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import fastmcp
from mcp.client.client import Client
from mcp.server import MCPServer
from mcp.types import ToolAnnotations
from pydantic import create_model

import failwell as fw
from bench.trial.cases import Case, Server
from bench.trial.proxied import text_in

_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def answered(server: Server, cases: Sequence[Case], settings: dict[str, Any] | None) -> dict[str, str]:
    """Return the text that a client gets for each case; the server is protected with *settings*, or bare."""
    logging.disable(logging.CRITICAL)  # the SDK logs every traceback
    try:
        with warnings.catch_warnings():
            # A result that is not what the tool promises makes pydantic warn, on its way to being a failure.
            warnings.filterwarnings("ignore", "Pydantic serializer warnings")
            return {case.id: asyncio.run(_answer(server, case, settings)) for case in cases}
    finally:
        logging.disable(logging.NOTSET)


async def _answer(server: Server, case: Case, settings: dict[str, Any] | None) -> str:
    ran: list[str] = []
    # Results that don't match are found by mcp's server and not by fastmcp's; fastmcp says why a tool failed.
    is_fastmcp = "returns" not in case.answer
    made: Any = fastmcp.FastMCP(server.name) if is_fastmcp else MCPServer(server.name)
    for tool in server.tools:
        hints = tool.get("annotations")
        made.tool(
            name=tool["name"],
            description=tool["description"],
            annotations=ToolAnnotations.model_validate(hints) if hints else None,
        )(_function(tool, case.answer, ran, is_bare=settings is None))
    if settings is not None:
        fw.protect(made, **settings)
    connected: Any = fastmcp.Client(made) if is_fastmcp else Client(made)
    async with connected as client:
        call = client.call_tool_mcp if is_fastmcp else client.call_tool
        result = await call(case.tool, case.arguments)
    if bool(ran) is not case.answer["ran"]:
        raise ValueError(f"{case.id} is wrong about whether the body of {case.tool} runs")
    return text_in({"result": result.model_dump(mode="json", by_alias=True, exclude_none=True)})


def _function(tool: dict[str, Any], answer: dict[str, Any], ran: list[str], *, is_bare: bool) -> Callable[..., Any]:
    """Return a function with the signature that the tool lists, which ends as the answer says."""

    def body(**_: Any) -> Any:
        ran.append(tool["name"])
        if "raises" in answer:
            raise _exception(answer["raises"])
        if "warns" in answer:
            return answer["warns"]["message"] if is_bare else fw.tool_error(**answer["warns"], severity="warning")
        return answer["returns"]

    body.__name__ = tool["name"]
    schema = tool["inputSchema"]
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_TYPES[about["type"]],
            default=inspect.Parameter.empty if name in schema["required"] else None,
        )
        for name, about in schema["properties"].items()
    ]
    output = tool.get("outputSchema")
    returned: Any = _model(tool["name"], output) if output else inspect.Signature.empty
    body.__signature__ = inspect.Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined] # inspect reads it
    body.__annotations__ = {one.name: one.annotation for one in parameters} | ({"return": returned} if output else {})
    return body


def _model(name: str, schema: dict[str, Any]) -> Any:
    fields: dict[str, Any] = {key: (_TYPES[about["type"]], ...) for key, about in schema["properties"].items()}
    return create_model(f"{name}_output", **fields)


def _exception(spec: dict[str, Any]) -> BaseException:
    """Return the exception of a case, made as its library makes it."""
    module, _, name = spec["class"].rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    if "http" in spec:
        return _status_error(spec["http"])
    made: BaseException = cls(*spec["args"], **spec.get("kwargs", {}))
    return made


def _status_error(about: dict[str, Any]) -> BaseException:
    import httpx

    request = httpx.Request(about["method"], about["url"])
    response = httpx.Response(
        about["status"], headers=about.get("headers"), content=about["body"].encode(), request=request
    )
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        return error
    raise ValueError(f"{about['status']} is no failure")
