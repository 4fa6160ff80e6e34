"""Failures of resources, prompts, completions and other requests, as JSON-RPC errors."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from failwell._json import is_object
from failwell._log import log
from failwell._sdks import needs
from failwell.advice import Hints, advised
from failwell.dialects._placement import META_KEY, write_whole
from failwell.errors import ToolFailure, quoted
from failwell.failure import Failure, FieldProblem
from failwell.phrases.rpc_codes import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    PROTOCOL_ERRORS,
    RESOURCE_NOT_FOUND,
    is_missing_resource,
)
from failwell.redact.canonical import canonical
from failwell.schema.problems import invalid
from failwell.schema.pydantic import problems_of
from failwell.sdk.errors import new_rpc_error, rpc_code
from failwell.server._responder import SDKS, Responder, is_rpc_error, package_raising, packages_in

try:
    from pydantic import ValidationError
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_MODERN = "2026-07-28"  # from this version of the protocol on, a missing resource has another number
_READ, _PROMPT, _COMPLETION, _TASKS = "resources/read", "prompts/get", "completion/complete", "tasks/"
_BEFORE_THE_BODY = SDKS | {"failwell", "pydantic", "pydantic_core", "anyio", "asyncio", "functools", "contextlib"}
_MOST_CAUSES = 8

# What is said of a failure that no rule knows, where a tool "failed unexpectedly".
_CRASHES = {
    _READ: "The resource could not be read.",
    _PROMPT: "The prompt could not be rendered.",
    _COMPLETION: "The argument could not be completed.",
}
_CRASH = "The request failed unexpectedly."
_ANSWERED_BY_AUTHORS = frozenset((_READ, _PROMPT, _COMPLETION, "tasks/get", "tasks/result"))
_TELLS_NOTHING = (None, "INTERNAL_ERROR", "TOOL_ERROR")

# Classes of the SDKs, by name: the versions have different ones.
_MISSING = frozenset(("NotFoundError", "ResourceNotFoundError", "DisabledError"))
_WRITTEN_FOR_THE_CALLER = frozenset(("FastMCPError", "MCPServerError"))

# How SDKs word what they find wrong by themselves; only some versions have classes for it.
_UNKNOWN = re.compile(r"(?:Unknown (?:resource|prompt)|(?:Resource|Task(?: \S{1,200})?) not found)\b", re.IGNORECASE)
_NOT_GIVEN = re.compile(r"Missing required arguments?: \{?('[^']{1,200}'(?:, '[^']{1,200}')*)\}?$", re.IGNORECASE)
_NOT_CONVERTED = re.compile(r"Could not convert argument '([^']{1,200})' with value ", re.IGNORECASE)


class RequestInfo(NamedTuple):
    """A request that is no call of a tool: its method, its parameters, and the version of the protocol, if known."""

    method: str
    params: Any
    version: str | None = None

    @property
    def is_answered_by_author(self) -> bool:
        """Whether the answer holds what code of the server's author returned."""
        return self.method in _ANSWERED_BY_AUTHORS

    @property
    def uri(self) -> str | None:
        """The resource that is to be read."""
        return str(self.params.uri) if self.method == _READ else None

    @property
    def called_with(self) -> dict[str, Any]:
        """What the author's code got from the caller."""
        if self.uri is not None:
            return {"uri": self.uri}
        if self.method == _COMPLETION:
            return {"value": self.params.argument.value}
        return dict(getattr(self.params, "arguments", None) or {})

    @property
    def subject(self) -> str:
        """What the request is about, in words."""
        if self.method == _READ:
            return f"resource {quoted(str(self.params.uri))}"
        if self.method.startswith(_TASKS):
            return "such task"  # anyone who knows its id may read its result
        return f"prompt {quoted(self.params.name)}" if self.method == _PROMPT else self.method


def request_error(exc: BaseException, request: RequestInfo) -> Exception:
    """Return the JSON-RPC error that answers a request whose handler raised; the whole failure is in its `data`."""
    try:
        responder = _responder(request)
        if not isinstance(exc, Exception):
            crash = responder.crashed(exc).replace(message=_CRASHES.get(request.method, _CRASH))
            return _written(crash, INTERNAL_ERROR, {}, request)
        # Some versions wrap what was raised without saying that they do.
        chain = list(_chain(exc))
        core = next((one for one in chain if package_raising(one) not in SDKS), chain[-1])
        if rpc_code(core) in PROTOCOL_ERRORS and _is_for_the_caller(core):
            return core  # clients must see it as it is
        failure = _failure(chain, core, request, responder)
        return _written(failure, _number(failure, core, request), _data(core), request)
    except Exception:
        log.exception("the failure of %s could not be written; a minimal one was sent instead", request.method)
    return new_rpc_error(INTERNAL_ERROR, _CRASH, None)


def unsendable_error(reason: str, request: RequestInfo) -> Exception:
    """Return the JSON-RPC error that answers a request in place of a result that no client could read."""
    failure = _responder(request).unsendable(reason)
    return _written(failure.replace(message=f"The result can't be sent: {reason}."), INTERNAL_ERROR, {}, request)


def _responder(request: RequestInfo) -> Responder:
    # Nothing of this changes anything, so that a request may be made again.
    hints = Hints(read_only=request.method.endswith(("/read", "/get", "/list", "/complete")))
    return Responder(request.method, "meta", {}, hints, what="request")


def _written(failure: Failure, number: int, stated: dict[str, Any], request: RequestInfo) -> Exception:
    failure = advised(failure.replace(tool=None), _responder(request).hints)
    if request.uri is not None:
        stated = {**stated, "uri": request.uri}
    safe = canonical(failure.replace(details={**failure.details, **stated}))
    data = {key: safe.details[key] for key in stated if key in safe.details} | {META_KEY: write_whole(safe)}
    return new_rpc_error(number, safe.message, data)


def _number(failure: Failure, core: Exception, request: RequestInfo) -> int:
    is_missing = failure.type == "NOT_FOUND"
    is_modern = request.version is not None and request.version >= _MODERN
    if request.method == _READ and is_missing:
        return INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
    stated = rpc_code(core)
    if isinstance(stated, int):
        return INVALID_PARAMS if stated == RESOURCE_NOT_FOUND and is_modern else stated
    if request.method != _READ and (is_missing or failure.type == "VALIDATION"):
        return INVALID_PARAMS
    return INTERNAL_ERROR


def _failure(chain: Sequence[Exception], core: Exception, request: RequestInfo, responder: Responder) -> Failure:
    for exc in chain:
        if package_raising(exc) not in SDKS:
            break
        if (found := _refused_by_sdk(exc, request)) is not None:
            return found
    if isinstance(core, ToolFailure):
        return core.failure
    names = {cls.__name__ for cls in type(core).__mro__}
    if names & _MISSING or (request.method == _READ and _is_missing(core)):
        return Failure(code="NOT_FOUND", message=str(core) or f"There is no {request.subject}.")
    if is_rpc_error(core):
        return responder.failure_told_by(core) if _is_for_the_caller(core) else responder.failure_of(core)
    if names & _WRITTEN_FOR_THE_CALLER and package_raising(core) not in SDKS:
        return responder.failure_told_by(core)
    if isinstance(core, ValidationError) and _BEFORE_THE_BODY.issuperset(packages_in(core)):
        arguments: Any = getattr(request.params, "arguments", None)
        return invalid(problems_of(core, arguments=arguments))
    failure = responder.failure_of(core, arguments=request.called_with)
    if failure.code not in _TELLS_NOTHING or failure.origin != "mapped":
        return failure
    return failure.replace(message=_CRASHES.get(request.method, _CRASH))


def _refused_by_sdk(exc: Exception, request: RequestInfo) -> Failure | None:
    """Return what the SDK refused by itself: what does not exist, or a prompt whose arguments are not right."""
    text = str(exc)
    is_unknown = type(exc).__name__ in _MISSING or _UNKNOWN.match(text) is not None
    if is_unknown and request.method.startswith((_READ, _PROMPT, _TASKS)):
        return Failure(code="NOT_FOUND", message=f"There is no {request.subject}.")
    if request.method != _PROMPT:
        return None
    if found := _NOT_GIVEN.match(text):
        names = sorted(found[1].strip("'").split("', '"))
        return invalid(FieldProblem(path=name, kind="missing", required=True) for name in names)
    if found := _NOT_CONVERTED.match(text):
        message = "Not the type that the prompt expects"
        return invalid([FieldProblem(path=found[1], kind="type", message=message)])
    return None


def _is_for_the_caller(exc: Exception) -> bool:
    """Tell an error for whoever made the request from one that a client of the SDK raised, about another server."""
    return package_raising(exc) not in SDKS or _BEFORE_THE_BODY.issuperset(packages_in(exc))


def _is_missing(exc: Exception) -> bool:
    data = getattr(getattr(exc, "error", None), "data", None)
    return rpc_code(exc) == RESOURCE_NOT_FOUND or is_missing_resource(rpc_code(exc), data)


def _chain(exc: Exception) -> Iterator[Exception]:
    inner: BaseException | None = exc
    for _ in range(_MOST_CAUSES):
        if not isinstance(inner, Exception):
            return
        yield inner
        inner = inner.__cause__ or (None if inner.__suppress_context__ else inner.__context__)


def _data(exc: Exception) -> dict[str, Any]:
    """Return what a JSON-RPC error carries."""
    data = getattr(getattr(exc, "error", None), "data", None)
    return data if is_object(data) else {} if data in (None, "") else {"data": data}
