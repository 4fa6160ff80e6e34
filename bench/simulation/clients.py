"""Those who make the calls: without retries, with tenacity's and stamina's own objects, and with failwell's engine."""

import random
from collections.abc import Callable
from typing import Any, Protocol

import stamina
import tenacity

import failwell as fw
from bench.simulation.server import Call
from failwell import Failure
from failwell.retry import Run, Shared, Try, Wait, settle


class Attempts(Protocol):
    """One call on its way through its attempts."""

    def begin(self, now: float, /) -> float | None:
        """Return after how many seconds to ask again, 0 to make the next try now, None to make no other."""
        ...

    def failed(self, failure: Failure, now: float, /) -> float | None: ...

    def succeeded(self, now: float, /) -> None: ...


Client = Callable[[Call, int], Attempts]


class Once:
    """No retries."""

    def begin(self, _now: float, /) -> float | None:
        return 0.0

    def failed(self, _failure: Failure, _now: float, /) -> float | None:
        return None

    def succeeded(self, _now: float, /) -> None: ...


class WithTenacity(Once):
    """The decision of a tenacity controller: every exception is retried until it stops."""

    def __init__(self, stop: Any, wait: Any, began: float) -> None:
        self.stop = stop
        self.wait = wait
        self.state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
        self.state.start_time = began

    def failed(self, _failure: Failure, now: float, /) -> float | None:
        state = self.state
        state.outcome_timestamp = now
        state.upcoming_sleep = self.wait(state)
        if self.stop(state):
            return None
        state.attempt_number += 1
        return state.upcoming_sleep


class WithFailwell:
    """The decision of failwell's engine."""

    def __init__(self, run: Run, chance: Callable[[], float]) -> None:
        self.run = run
        self.chance = chance

    def begin(self, now: float) -> float | None:
        effect = settle(self.run, self.run.begin(now, jitter=self.chance()))
        return 0.0 if isinstance(effect, Try) else effect.delay if isinstance(effect, Wait) else None

    def failed(self, failure: Failure, now: float) -> float | None:
        effect = settle(self.run, self.run.failed(failure, now, jitter=self.chance()))
        return effect.delay if isinstance(effect, Wait) else None

    def succeeded(self, now: float) -> None:
        self.run.succeeded(now)


def no_retry(_hosts: int, _seed: int) -> Client:
    return lambda _call, _host: Once()


def with_tenacity(_hosts: int, seed: int) -> Client:
    """As guides of vendors show it: up to 6 attempts, random exponential waits from 1 to 60 seconds."""
    random.seed(seed)  # tenacity and stamina take their chance from here
    stop, wait = tenacity.stop_after_attempt(6), tenacity.wait_random_exponential(min=1, max=60)
    return lambda call, _host: WithTenacity(stop, wait, call.began)


def with_stamina(_hosts: int, seed: int) -> Client:
    """As it comes: up to 10 attempts within 45 seconds."""
    random.seed(seed)
    settings = stamina.retry_context(on=Exception)._t_kw  # what it gives to tenacity
    return lambda call, _host: WithTenacity(settings["stop"], settings["wait"], call.began)


def with_failwell(hosts: int, seed: int, policy: fw.Policy | None = None) -> Client:
    """As it comes, unless a policy is given. Agents of one host share budget, breakers and repeats."""
    chance = random.Random(seed).random
    shared = [Shared.new() for _ in range(hosts)]
    chosen = policy or fw.Policy()

    def begun(call: Call, host: int) -> Attempts:
        run = Run(
            chosen,
            shared[host],
            server="server",
            tool=call.tool.name,
            arguments=call.number,
            hints=call.tool.hints,
            started=call.began,
        )
        return WithFailwell(run, chance)

    return begun


def with_patient_failwell(hosts: int, seed: int) -> Client:
    """As patient as tenacity above."""
    return with_failwell(hosts, seed, fw.Policy(attempts=6, base=1, throttled_base=1, longest=60))


CLIENTS: dict[str, Callable[[int, int], Client]] = {
    "no retry": no_retry,
    "tenacity": with_tenacity,
    "stamina": with_stamina,
    "failwell": with_failwell,
    "failwell, 6 attempts": with_patient_failwell,
}
