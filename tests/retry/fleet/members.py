"""Eight processes of a fleet: each does what a line on standard input says; the answers of all are one line of JSON."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))  # it is started as a program

import failwell as fw
from failwell.retry import Breaker, Budget, FleetLimits, Repeats, Run, Shared
from failwell.retry import _redis as _loaded  # noqa: F401 - once for all, before the processes part
from tests.retry.steps import begin, failed, refusal

MEMBERS = 8
DOWN = fw.Temporary("m", code="OVERLOADED", outcome="not_executed").failure


def spend(limits: FleetLimits, now: float) -> int:
    """Make calls that fail, and return how many retries were paid for."""
    retries = 0
    for number in range(40):
        run = Run(fw.Policy(), limits, "s", "t", arguments=number)
        while begin(run, now) is None and failed(run, DOWN, now, jitter=0) is not None:
            retries += 1
    return retries


def open_breaker(limits: FleetLimits, now: float) -> int:
    """Make calls that fail until the breaker of their tool is open."""
    for number in range(limits.local.breaker.most // MEMBERS):
        failed(Run(fw.Policy(attempts=1), limits, "s", "probed", arguments=number), DOWN, now, jitter=0)
    return 0


def probe(limits: FleetLimits, now: float) -> int:
    """Ask for the one call that an open breaker lets through, and return whether it was this one."""
    return int(refusal(limits, ("s", "probed"), now, caller=limits) is None)


TASKS = {"spend": spend, "open": open_breaker, "probe": probe}


def member(url: str, orders: int, answers: int) -> None:
    figures = Shared(Budget(capacity=500, throttled_cost=5), Breaker(most=400), Repeats(most=1000))
    limits = FleetLimits.at(url, figures, freshness=0.0, patience=20.0)  # a busy machine is not a Redis that is away
    while order := os.read(orders, 100).decode():
        task, now = order.split()
        os.write(answers, f"{TASKS[task](limits, float(now))}\n".encode())
    limits.close()


def main(url: str) -> None:
    pipes: list[tuple[int, int]] = []
    for _ in range(MEMBERS):
        (orders, to_member), (from_member, answers) = os.pipe(), os.pipe()
        if os.fork() == 0:
            for pipe in pipes:
                os.close(pipe[0])
            os.close(to_member)
            member(url, orders, answers)
            os._exit(0)
        os.close(orders)
        os.close(answers)
        pipes.append((to_member, from_member))
    for line in sys.stdin:
        for to_member, _ in pipes:
            os.write(to_member, line.encode())
        found = [int(os.read(from_member, 100)) for _, from_member in pipes]
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    for to_member, _ in pipes:
        os.close(to_member)
    for _ in pipes:
        os.wait()


main(sys.argv[1])
