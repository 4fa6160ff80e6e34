"""Let many agents call a server through one client each, event by event, and count."""

import heapq
import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.simulation.clients import CLIENTS, Attempts, Client
from bench.simulation.server import RETRY_AFTER, TOOLS, WRONG_SHARE, Call, Phase, Server
from failwell import Failure

SEED, AGENTS_PER_HOST, THINKING = 7, 100, 30.0
SECONDS_PER_POINT = 5


def phases(agents: int) -> tuple[Phase, ...]:
    """Return a minute of work, one of failing, two of throttling and two of work, with room in proportion."""
    plenty, little = agents * 8 // 100, agents * 25 // 1000
    return (
        Phase("working", 60, plenty),
        Phase("failing", 120, 0),
        Phase("throttling", 240, little),
        Phase("recovered", 360, plenty),
    )


def simulate(name: str, agents: int, seed: int = SEED) -> dict[str, Any]:
    """Return what happened with one kind of client."""
    found = Simulation(CLIENTS[name](max(agents // AGENTS_PER_HOST, 1), seed), agents, seed)
    found.run()
    return found.summary()


def compare(agents: int, seed: int = SEED) -> dict[str, Any]:
    """Return what happened with each kind of client, and what it was measured with."""
    return {
        "agents": agents,
        "agents_per_host": AGENTS_PER_HOST,
        "thinking": THINKING,
        "retry_after": RETRY_AFTER,
        "seconds_per_point": SECONDS_PER_POINT,
        "phases": [{"name": phase.name, "until": phase.until, "room": phase.room} for phase in phases(agents)],
        "clients": {name: simulate(name, agents, seed) for name in CLIENTS},
    }


class Simulation:
    """Agents, so many of them behind each client, and the server that they call."""

    def __init__(self, client: Client, agents: int, seed: int, *, agents_per_host: int = AGENTS_PER_HOST) -> None:
        self._agents_per_host = agents_per_host
        self.phases = phases(agents)
        self.ends = self.phases[-1].until
        self.server = Server(self.phases, seed)
        self.client = client
        self.calls = [_calls_of(random.Random(f"{seed}/{agent}")) for agent in range(agents)]
        self.waited: list[float] = []
        self.ended: list[Call] = []
        self.succeeded = 0
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = itertools.count()

    def run(self) -> None:
        """Take one event after another until time is up."""
        for agent in range(len(self.calls)):
            self._think(agent, 0.0)
        while self._events[0][0] < self.ends:
            now, _, act = heapq.heappop(self._events)
            act(now)

    def summary(self) -> dict[str, Any]:
        """Return the figures."""
        waits = sorted(self.waited)
        once = [call for call in self.ended if not call.tool.hints.repeatable]
        points = range(0, int(self.ends), SECONDS_PER_POINT)
        load = self.server.load
        return {
            "calls": len(self.ended),
            "tries": sum(load.values()),
            "succeeded": round(self.succeeded / len(self.ended), 4),
            "peak": max(load.values()),
            "tries_while_failing": sum(load[second] for second in range(*_span(self.phases, "failing"))),
            "mean_wait": round(sum(waits) / len(waits), 2),
            "p95_wait": round(waits[int(len(waits) * 0.95)], 2),
            "duplicates": sum(max(call.effects - 1, 0) for call in once),
            "tries_of_wrong_input": sum(max(call.rejections - 1, 0) for call in self.ended),
            "load": [round(sum(load[s + n] for n in range(SECONDS_PER_POINT)) / SECONDS_PER_POINT, 1) for s in points],
        }

    def _think(self, agent: int, now: float) -> None:
        thinks, call = next(self.calls[agent])
        self._at(now + thinks, partial(self._begin, agent, call))

    def _begin(self, agent: int, call: Call, now: float) -> None:
        call.began = now
        self._try(agent, call, self.client(call, agent // self._agents_per_host), now)

    def _try(self, agent: int, call: Call, attempts: Attempts, now: float) -> None:
        held = attempts.begin(now)
        if held is None:
            self._end(agent, call, now)
            return
        if held > 0:
            self._at(now + held, partial(self._try, agent, call, attempts))
            return
        failure, seconds = self.server.answer(call, now)
        self._at(now + seconds, partial(self._answered, agent, call, attempts, failure))

    def _answered(self, agent: int, call: Call, attempts: Attempts, failure: Failure | None, now: float) -> None:
        if failure is None:
            attempts.succeeded(now)
            self.succeeded += 1
        elif (delay := attempts.failed(failure, now)) is not None:
            self._at(now + delay, partial(self._try, agent, call, attempts))
            return
        self._end(agent, call, now)

    def _end(self, agent: int, call: Call, now: float) -> None:
        self.ended.append(call)
        self.waited.append(now - call.began)
        self._think(agent, now)

    def _at(self, time: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (time, next(self._order), act))


def _span(phases: tuple[Phase, ...], name: str) -> tuple[int, int]:
    """Return the first second of a phase and the first one after it."""
    index = [phase.name for phase in phases].index(name)
    return int(phases[index - 1].until) if index else 0, int(phases[index].until)


def _calls_of(chance: random.Random) -> Iterator[tuple[float, Call]]:
    """Yield how long an agent thinks, and the call it makes then."""
    weights = [tool.share for tool in TOOLS]
    for number in itertools.count():
        [tool] = chance.choices(TOOLS, weights)
        thinks = chance.expovariate(1 / THINKING)
        yield thinks, Call(tool, number=chance.getrandbits(32) + number, is_wrong=chance.random() < WRONG_SHARE)
