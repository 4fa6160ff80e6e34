"""For those who keep stamina: what failwell decides, as stamina's `on`.

```python
import stamina

import failwell as fw
from failwell.integrations.stamina import settings


@stamina.retry(**settings(fw.Policy(attempts=5), hints={"idempotentHint": True}))
def fetch() -> str:
    return "ok"
```

stamina looks at exceptions only, so a result that says it is an error is not retried. The rules on what is worth
another try, and safe, hold; budget and breaker are part of `failwell.call` only.
"""

from collections.abc import Callable
from typing import Any, TypedDict

from failwell._automatic import is_automatic
from failwell.advice import Hints, Policy, decide, is_throttled
from failwell.reading.reader import read
from failwell.retry import _environment, _layers

_DEFAULT = Policy()


class StaminaSettings(TypedDict):
    """What `stamina.retry` and `retry_context` take."""

    on: Callable[[Exception], bool | float]
    attempts: int
    timeout: float | None
    wait_initial: float
    wait_max: float
    wait_jitter: float


def settings(policy: Policy = _DEFAULT, *, hints: Any = None) -> StaminaSettings:
    """Return what makes stamina retry as the policy says, for a tool with these annotations.

    stamina adds chance to a delay that grows, instead of picking one up to it, so waits are a little longer.
    """
    return StaminaSettings(
        on=on(policy, hints=hints),
        attempts=policy.attempts,
        timeout=policy.deadline or None,
        wait_initial=policy.base,
        wait_max=policy.longest,
        wait_jitter=policy.base,
    )


def on(
    policy: Policy = _DEFAULT, *, hints: Any = None, chance: Callable[[], float] = _environment.chance
) -> Callable[[Exception], bool | float]:
    """Return a hook that says whether to retry an exception, and after how long if the server asks to wait.

    stamina tells it neither the attempt nor the time, and sleeps as long as it is told, past its own timeout. So a
    delay beyond the policy's deadline ends the call; and what is unknown, or is to be waited out once, is retried only
    where the policy makes no more attempts than are right for it. Give stamina the policy's attempts: `settings` does.
    """
    known = Hints.of(hints)

    def is_worth_it(exc: Exception) -> bool | float:
        if policy.attempts == 1 or policy.deadline == 0 or _layers.is_marked(exc) or not is_automatic():
            return False
        failure = read(exc)
        last_but_one = policy.attempts - 1
        if decide(failure, known, attempt=last_but_one, policy=policy, jitter=0.0).retry_delay is None:
            return False
        jitter = chance() if is_throttled(failure) else 0.0
        delay = decide(failure, known, policy=policy, jitter=jitter).retry_delay
        return False if delay is None else delay or True

    return is_worth_it
