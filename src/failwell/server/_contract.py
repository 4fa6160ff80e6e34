"""`raises`: what a tool can fail with, declared on the tool, published to clients, enforced in tests."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from failwell import codes
from failwell.codes import is_code
from failwell.errors import ToolFailure
from failwell.exceptions.engine import from_exception
from failwell.failure import Failure
from failwell.reading.reader import returned_failure

META_KEY = "dev.failwell/raises"

# What a guard or an SDK answers before the tool's body runs.
ALWAYS_POSSIBLE = frozenset(("VALIDATION_FAILED", "UNKNOWN_TOOL", "SERVER_BUSY"))

F = TypeVar("F", bound=Callable[..., Any])
_ATTRIBUTE = "__failwell_raises__"


class BrokenContract(AssertionError):
    """A tool failed with a code it does not declare."""


def raises(*what: type[ToolFailure] | str) -> Callable[[F], F]:
    """Declare what a tool can fail with: exception classes and codes.

    Raises:
        TypeError: something is neither a `ToolFailure` class nor a code.
        ValueError: a class has no code, or a code holds white space.
    """
    codes = tuple(dict.fromkeys(map(_code_of, what)))

    def declare(function: F) -> F:
        setattr(
            function, _ATTRIBUTE, declared(function) + tuple(code for code in codes if code not in declared(function))
        )
        return function

    return declare


def declared(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the codes a tool declares, also if it is wrapped."""
    found: tuple[str, ...] = getattr(function, _ATTRIBUTE, ())
    return found


def contract_meta(named: Iterable[str]) -> dict[str, Any]:
    """Return what a tool's `_meta` says of failures with these codes; nothing if there are none."""
    rows: list[dict[str, Any]] = []
    for code in named:
        derived = codes.derive(code, None)
        rows.append({"code": code, "type": derived.type, "retryable": derived.retryable})
    return {META_KEY: rows} if rows else {}


def enforce(function: F) -> F:
    """Return a tool that raises `BrokenContract` if it fails with an undeclared code. For tests.

    Works on bare tools, whose exceptions pass through, and on guarded ones, whose results are looked into.
    """
    allowed = ALWAYS_POSSIBLE.union(map(codes.canonical_code, declared(function)))
    name = getattr(function, "__name__", "tool")

    def check(failure: Failure | None) -> None:
        if failure is None or (failure.code and codes.canonical_code(failure.code) in allowed):
            return
        known = ", ".join(declared(function)) or "nothing"
        raise BrokenContract(
            f"{name} failed with {failure.code or failure.type}, but declares {known}: {failure.message}"
        )

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def enforced_async(*args: Any, **kwargs: Any) -> Any:
            try:
                result = await function(*args, **kwargs)
            except Exception as exc:
                check(from_exception(exc))
                raise
            check(returned_failure(result))
            return result

        return enforced_async  # type: ignore[return-value]  # the same signature

    @functools.wraps(function)
    def enforced(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except Exception as exc:
            check(from_exception(exc))
            raise
        check(returned_failure(result))
        return result

    return enforced  # type: ignore[return-value]  # the same signature


def _code_of(what: type[ToolFailure] | str) -> str:
    if isinstance(what, str):
        if not is_code(what):
            raise ValueError(f"{what!r} is not a code: codes have no white space")
        return what
    if not (isinstance(what, type) and issubclass(what, ToolFailure)):
        raise TypeError(f"a tool declares ToolFailure classes and codes, not {what!r}")
    if what.code is None:
        raise ValueError(f"{what.__name__} has no code of its own: name the codes it is raised with")
    return what.code
