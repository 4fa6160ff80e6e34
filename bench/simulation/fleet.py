"""A thousand proxies in front of one server that fails and recovers: with limits of their own, and with shared ones."""

import random
from collections.abc import Callable
from typing import Any

import failwell as fw
from bench.simulation.clients import Attempts, Client, Once, WithFailwell
from bench.simulation.running import SECONDS_PER_POINT, SEED, THINKING, Simulation, phases
from bench.simulation.server import RETRY_AFTER, Call
from bench.simulation.store import AskedAtOnce, AtOnce, SimulatedStore
from failwell import Failure
from failwell.retry import FleetLimits, Limits, Run, Shared

AGENTS_PER_PROXY = 10
FRESHNESS = 0.5


class InTime(WithFailwell):
    """The decision of failwell's engine, with a store that knows the time of the simulation."""

    def __init__(self, run: Run, chance: Callable[[], float], store: SimulatedStore) -> None:
        super().__init__(run, chance)
        self.store = store

    def begin(self, now: float) -> float | None:
        self.store.now = now
        return super().begin(now)

    def failed(self, failure: Failure, now: float) -> float | None:
        self.store.now = now
        return super().failed(failure, now)

    def succeeded(self, now: float) -> None:
        self.store.now = now
        super().succeeded(now)


def no_retry(_proxies: int, _seed: int, _store: SimulatedStore) -> Client:
    return lambda _call, _proxy: Once()


def own_limits(proxies: int, seed: int, store: SimulatedStore) -> Client:
    return _retrying([Shared.new() for _ in range(proxies)], seed, store)


def shared_limits(proxies: int, seed: int, store: SimulatedStore) -> Client:
    limits = [
        FleetLimits(store, Shared.new(), freshness=FRESHNESS, background=AtOnce, threads=AskedAtOnce)
        for _ in range(proxies)
    ]
    return _retrying(limits, seed, store)


def _retrying(limits: list[Any], seed: int, store: SimulatedStore) -> Client:
    chance = random.Random(seed).random
    policy = fw.Policy()

    def begun(call: Call, proxy: int) -> Attempts:
        shared: Limits = limits[proxy]
        run = Run(policy, shared, "server", call.tool.name, call.number, call.tool.hints, None, call.began)
        return InTime(run, chance, store)

    return begun


CLIENTS: dict[str, Callable[[int, int, SimulatedStore], Client]] = {
    "no retry": no_retry,
    "limits of its own": own_limits,
    "shared limits": shared_limits,
}


def compare(proxies: int, seed: int = SEED) -> dict[str, Any]:
    """Return what happened with each kind of proxy, and what it was measured with."""
    agents = proxies * AGENTS_PER_PROXY
    return {
        "proxies": proxies,
        "agents": agents,
        "thinking": THINKING,
        "retry_after": RETRY_AFTER,
        "freshness": FRESHNESS,
        "seconds_per_point": SECONDS_PER_POINT,
        "phases": [{"name": phase.name, "until": phase.until, "room": phase.room} for phase in phases(agents)],
        "clients": {name: _simulated(name, proxies, agents, seed) for name in CLIENTS},
    }


def _simulated(name: str, proxies: int, agents: int, seed: int) -> dict[str, Any]:
    store = SimulatedStore(settling=2 * FRESHNESS)
    found = Simulation(CLIENTS[name](proxies, seed, store), agents, seed, agents_per_host=AGENTS_PER_PROXY)
    found.run()
    return {**found.summary(), "asked": store.asked, "asked_per_second": round(store.asked / found.ends, 1)}
