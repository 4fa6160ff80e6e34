"""Arguments that do not fit a function's parameters, as field problems."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from failwell.collect import invalid
from failwell.failure import Failure, FieldProblem, missing_field
from failwell.suggest import closest

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def misfit(
    exc: BaseException, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], *, tool: str
) -> Failure | None:
    """Return the failure of a call whose arguments the function cannot take, or None if it got as far as its body.

    *exc* was raised by the call; a body leaves a frame of its own in the traceback.
    """
    trace = exc.__traceback__
    if type(exc) is not TypeError or trace is None or trace.tb_next is not None:
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin that does not tell its parameters
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        problems = _problems(signature, args, kwargs)
        return invalid(problems, tool=tool) if problems else None
    return None


def _problems(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[FieldProblem]:
    parameters = signature.parameters.values()
    named = [parameter.name for parameter in parameters if parameter.kind in _NAMED]
    bound = signature.bind_partial(*args[: len(named)]).arguments
    missing = [
        missing_field(parameter.name)
        for parameter in parameters
        if parameter.kind in _NAMED
        and parameter.default is parameter.empty
        and parameter.name not in kwargs
        and parameter.name not in bound
    ]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return missing
    unknown = [name for name in kwargs if name not in named]
    return missing + [
        FieldProblem(path=name, kind="unknown", sent=kwargs[name], did_you_mean=next(iter(closest(name, named)), None))
        for name in unknown
    ]
