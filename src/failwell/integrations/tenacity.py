"""For those who keep tenacity: what failwell decides, as tenacity's `retry`, `wait` and `stop`.

```python
import tenacity

import failwell as fw
from failwell.integrations.tenacity import settings


@tenacity.retry(**settings(fw.Policy(attempts=5), hints={"idempotentHint": True}))
def fetch() -> str:
    return "ok"
```

The rules on what is worth another try, and safe, hold; budget and breaker are part of `failwell.call` only.
"""

from collections.abc import Callable
from typing import Any, TypedDict

from failwell._automatic import is_automatic
from failwell.advice import Hints, Policy, decide
from failwell.failure import Failure
from failwell.reading.reader import attempts_below, read, returned_failure
from failwell.retry import _environment, _layers

try:
    from tenacity import RetryCallState
    from tenacity.retry import retry_base
    from tenacity.stop import stop_base
    from tenacity.wait import wait_base
except ImportError as exc:  # pragma: no cover - the development environment has it
    raise ImportError("failwell.integrations.tenacity needs tenacity: pip install 'failwell[tenacity]'") from exc

_DEFAULT = Policy()


class TenacitySettings(TypedDict):
    """What `tenacity.retry` and `Retrying` take."""

    retry: retry_base
    wait: wait_base
    stop: stop_base
    reraise: bool


def settings(policy: Policy = _DEFAULT, *, hints: Any = None) -> TenacitySettings:
    """Return what makes tenacity retry as the policy says, for a tool with these annotations.

    Whoever gives up gives back what happened last: the exception itself, and no `RetryError`.
    """
    return TenacitySettings(
        retry=retry_if_safe(policy, hints=hints),
        wait=wait_by_policy(policy, hints=hints),
        stop=stop_by_policy(policy, hints=hints),
        reraise=True,
    )


class _PolicyBased:
    def __init__(self, policy: Policy = _DEFAULT, *, hints: Any = None) -> None:
        self.policy = policy
        self.hints = Hints.of(hints)

    def delay(self, state: RetryCallState, jitter: float) -> float | None:
        """Return the seconds to wait before another try, or None for no other."""
        failure = _failure(state)
        if failure is None or not is_automatic():
            return None
        elapsed = state.seconds_since_start or 0.0
        attempt = state.attempt_number
        decision = decide(failure, self.hints, attempt=attempt, policy=self.policy, elapsed=elapsed, jitter=jitter)
        return decision.retry_delay


class retry_if_safe(_PolicyBased, retry_base):  # noqa: N801 - as tenacity spells its own
    """Retry what may pass, where another try is safe and the wait that the server asks for is not too long."""

    def __call__(self, retry_state: RetryCallState) -> bool:
        """Return whether to try again."""
        return self.delay(retry_state, jitter=0.0) is not None


class wait_by_policy(_PolicyBased, wait_base):  # noqa: N801 - as tenacity spells its own
    """Wait as long as the server asks at least, and else a time that chance picks."""

    def __init__(
        self, policy: Policy = _DEFAULT, *, hints: Any = None, chance: Callable[[], float] = _environment.chance
    ) -> None:
        super().__init__(policy, hints=hints)
        self.chance = chance

    def __call__(self, retry_state: RetryCallState) -> float:
        """Return seconds."""
        delay = self.delay(retry_state, jitter=self.chance())
        if delay is None:  # only chance stands against it
            delay = self.delay(retry_state, jitter=0.0)
        return delay or 0.0


class stop_by_policy(_PolicyBased, stop_base):  # noqa: N801 - as tenacity spells its own
    """Stop where the policy has no further try, whatever else was asked whether to retry."""

    def __call__(self, retry_state: RetryCallState) -> bool:
        """Return whether to stop."""
        return self.delay(retry_state, jitter=0.0) is None


def _failure(state: RetryCallState) -> Failure | None:
    """Return the failure that the last try ended with; None for a success and for one that was retried below."""
    outcome = state.outcome
    if outcome is None:
        return None
    exc = outcome.exception()
    if exc is None:
        result = outcome.result()
        return None if attempts_below(result) > 1 else returned_failure(result)
    return None if not isinstance(exc, Exception) or _layers.is_marked(exc) else read(exc)
