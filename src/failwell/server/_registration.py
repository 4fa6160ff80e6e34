"""Refuse to register a guarded function as a tool of an SDK, which would send its errors as successes."""

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from failwell import _sdks

_PACKAGES = frozenset(package for package, _ in _sdks.SERVERS)
_REFUSAL = "guard is not for the tools of an SDK's server: leave it out, and call protect(server) once instead"


class _GuardedSignature(inspect.Signature):
    """The signature of a guarded function, which SDKs read to make a tool of it."""

    __slots__ = ()

    @property
    def parameters(self) -> Any:
        """The parameters.

        Raises:
            TypeError: it is an SDK that asks.
        """
        frame = inspect.currentframe()
        if frame is not None and _package(frame.f_back) in _PACKAGES:
            raise TypeError(_REFUSAL)
        return super().parameters


def refuse_registration(guarded: Callable[..., Any]) -> Callable[..., Any]:
    """Return a guarded function so that the SDKs refuse to make a tool of it."""
    try:
        signature = inspect.signature(guarded)
    except (TypeError, ValueError):  # a function that is not written in Python
        return guarded
    parameters = list(signature.parameters.values())
    guarded.__signature__ = _GuardedSignature(  # type: ignore[attr-defined]  # what `inspect` looks for
        parameters, return_annotation=signature.return_annotation
    )
    return guarded


def refuse_registered(function: Any) -> None:
    """Refuse a tool of an SDK, and a function that a server at hand has made one of.

    Raises:
        TypeError: it is one.
    """
    if type(function).__module__.partition(".")[0] in _PACKAGES:
        raise TypeError(_REFUSAL)
    if _PACKAGES.isdisjoint(sys.modules):
        return
    frame = inspect.currentframe()
    while frame is not None and _package(frame) == "failwell":
        frame = frame.f_back
    if frame is not None and any(_has(server, function) for server in _servers(frame)):
        raise TypeError(_REFUSAL)


def _servers(frame: FrameType) -> list[Any]:
    """Return the servers that the code of a frame has names for."""
    names: Mapping[str, Any] = {**frame.f_globals, **frame.f_locals}
    return [value for value in names.values() if type(value).__module__.partition(".")[0] in _PACKAGES]


def _has(server: Any, function: Any) -> bool:
    sdk = _sdks.module_for(server, _sdks.SERVERS)
    return sdk is not None and any(found is function for found in sdk.registered(server))


def _package(frame: FrameType | None) -> str:
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]
