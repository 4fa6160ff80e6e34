"""Call something that must fail, and look at what it raised."""

from collections.abc import Callable
from typing import Any

import pytest

from failwell import Failure, from_exception

UNMAPPED = Failure(
    code="INTERNAL_ERROR",
    message="The tool failed unexpectedly.",
    retryable=None,
    outcome="unknown",
    origin="mapped",
)
"""What every exception becomes that says nothing."""


def caught(function: Callable[..., Any], *args: Any) -> BaseException:
    """Return the exception that a call raises."""
    with pytest.raises(BaseException) as caught_info:  # noqa: PT011 - whatever it is
        function(*args)
    return caught_info.value


def judgement(exc: BaseException) -> tuple[str, str | None, str]:
    """Return what an exception is mapped to, in short: type, code and outcome."""
    failure = from_exception(exc)
    return failure.type, failure.code, failure.outcome


def raised(
    exc: BaseException, *, cause: BaseException | None = None, context: BaseException | None = None
) -> BaseException:
    """Return an exception after it was raised from another, or while another was handled."""

    def run() -> None:
        try:
            if context is not None:
                raise context
        except BaseException:  # the exception under test is raised while this one is handled
            raise exc  # noqa: B904 - the context is the point
        if cause is not None:
            raise exc from cause
        raise exc

    return caught(run)
