"""Temporal: activities that fail as failwell decides, so that retries survive a crash of the worker.

Needs temporalio: `@activity.defn` above `@durable(hints=…)`.

Temporal makes an activity again for as long as its error is retryable. Here the decision is that of `failwell.decide`:
what is not worth another try, or not safe, becomes a non-retryable error, and a delay that the server asks for becomes
the next delay of Temporal.
"""

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, cast

from failwell.advice import Policy, decide, durable_delay
from failwell.dialects._placement import write_whole
from failwell.failure import Failure
from failwell.reading.reader import read, returned_failure
from failwell.redact.canonical import canonical

try:
    from temporalio import activity
    from temporalio.exceptions import ApplicationError, CancelledError
except ImportError as missing:
    raise ImportError("this needs Temporal's SDK: pip install temporalio") from missing

__all__ = ["application_error", "durable"]

P = ParamSpec("P")
T = TypeVar("T")

_DEFAULT = Policy()


def application_error(
    failure: Failure, *, hints: Any = None, attempt: int = 1, policy: Policy = _DEFAULT
) -> ApplicationError:
    """Return the error to raise in an activity: retryable with its delay, or not retryable, as `decide` says.

    Its type is the code of the failure, its first detail the whole failure, redacted.

    Args:
        failure: what happened.
        hints: what is known of the tool: `Hints`, or the tool's annotations.
        attempt: how often the activity was made: `activity.info().attempt`.
        policy: how often and how long to try. How often Temporal tries at most is said by its own `RetryPolicy` too.
    """
    delay = durable_delay(failure, decide(failure, hints, attempt=attempt, policy=policy))
    redacted = canonical(failure)
    return ApplicationError(
        redacted.message,
        write_whole(redacted),
        type=redacted.code or redacted.type,
        non_retryable=delay is None,
        next_retry_delay=None if delay is None else timedelta(seconds=delay),
    )


def durable(*, hints: Any = None, policy: Policy = _DEFAULT) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator for an activity that calls a tool, async or not: failures are raised as `application_error`.

    A result that says it is an error counts as a failure too. Cancellation and Temporal's own errors pass.

    Args:
        hints: what is known of the tool: `Hints`, or the tool's annotations.
        policy: how often and how long to try.
    """

    @contextmanager
    def raising() -> Generator[Callable[[Any], Any]]:
        def checked(result: Any) -> Any:
            failure = returned_failure(result)
            if failure is not None:
                raise application_error(failure, hints=hints, attempt=_attempt(), policy=policy)
            return result

        try:
            yield checked
        except (ApplicationError, CancelledError):
            raise
        except Exception as exc:
            raise application_error(read(exc), hints=hints, attempt=_attempt(), policy=policy) from exc

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        made: Any = function

        @functools.wraps(function)
        async def run_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            with raising() as checked:
                return checked(await made(*args, **kwargs))

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with raising() as checked:
                return cast(T, checked(function(*args, **kwargs)))

        return cast(Callable[P, T], run_async) if inspect.iscoroutinefunction(function) else run

    return decorate


def _attempt() -> int:
    return activity.info().attempt if activity.in_activity() else 1
