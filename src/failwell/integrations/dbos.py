"""DBOS: steps of a workflow that are made again as failwell decides, so that retries survive a crash.

Needs dbos: `durable_call(step, …)` or `await durable_acall(step, …)` in a workflow.

DBOS can retry a step by itself, but after delays of its own. Here each try is a step, and each wait a durable sleep.
Both are recorded, so a workflow that is recovered after a crash goes on with the try or the wait where it was.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from failwell.advice import Policy, decide, durable_delay
from failwell.codes import Outcome
from failwell.failure import with_graver_outcome
from failwell.reading.reader import read, returned_failure

try:
    from dbos import DBOS
except ImportError as missing:
    raise ImportError("this needs DBOS: pip install dbos") from missing

__all__ = ["durable_acall", "durable_call"]

T = TypeVar("T")

_DEFAULT = Policy()


def durable_call(step: Callable[[], T], *, policy: Policy = _DEFAULT, hints: Any = None) -> T:
    """Make a step until it succeeds, or another try is not worth it or not safe. Call it in a workflow.

    Delays that a server asks for are kept, also beyond `max_wait`: a workflow may sleep for a day. The policy's
    `deadline` and `timeout` do not count here, since a workflow that is recovered does not know how long it was away.

    Args:
        step: a function that DBOS knows as a step, without arguments.
        policy: how often to try.
        hints: what is known of the tool: `Hints`, or the tool's annotations.

    Raises:
        TypeError: the step is async.
        Exception: what the last try raised.
    """
    tries = _StepTries(policy, hints)
    while True:
        try:
            result = step()
        except Exception as exc:
            delay = tries.failed(exc)
            if delay is None:
                raise
        else:
            if inspect.iscoroutine(result):
                result.close()  # it has not begun
                raise TypeError("durable_call takes a synchronous step, and this one is async: await durable_acall")
            delay = tries.returned(result)
            if delay is None:
                return result
        DBOS.sleep(delay)


async def durable_acall(step: Callable[[], Awaitable[T]], *, policy: Policy = _DEFAULT, hints: Any = None) -> T:
    """Do what `durable_call` does for a step that is awaited.

    Raises:
        TypeError: the step is synchronous; it has run once.
        Exception: what the last try raised.
    """
    tries = _StepTries(policy, hints)
    while True:
        made = step()
        if not inspect.isawaitable(made):
            raise TypeError("durable_acall takes an async step, and this one is synchronous: use durable_call")
        try:
            result = await made
        except Exception as exc:
            delay = tries.failed(exc)
            if delay is None:
                raise
        else:
            delay = tries.returned(result)
            if delay is None:
                return result
        await DBOS.sleep_async(delay)


class _StepTries:
    """What the tries of a step came to so far. It follows from what DBOS recorded, without a clock or chance."""

    def __init__(self, policy: Policy, hints: Any) -> None:
        self._policy, self._hints = policy, hints
        self._attempt = 0
        self._gravest: Outcome | None = None

    def failed(self, failed: Any) -> float | None:
        """Return the seconds to sleep before the next try; None: there is none."""
        self._attempt += 1
        failure = with_graver_outcome(read(failed), self._gravest)
        self._gravest = failure.outcome
        decision = decide(failure, self._hints, attempt=self._attempt, policy=self._policy)
        return durable_delay(failure, decision)

    def returned(self, result: Any) -> float | None:
        """Return the same after a try that returned: a success needs no other."""
        return None if returned_failure(result) is None else self.failed(result)
