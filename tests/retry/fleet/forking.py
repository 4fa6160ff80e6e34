"""Forks at the worst moments, and prints as a line of JSON what each child found."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import failwell as fw
from failwell.retry import Event, FleetLimits, Shared, _fleet
from tests.retry.fleet.doubles import PAID, HeldStore
from tests.retry.steps import refusal

KEY = ("s", "t")
LONG = 60


def in_child(work: Callable[[], Any]) -> Any:
    """Return what a forked process finds; None if it hangs."""
    found, to_parent = os.pipe()
    if os.fork() == 0:
        signal.alarm(10)
        os.write(to_parent, json.dumps(work()).encode())
        os._exit(0)
    os.close(to_parent)
    with open(found, "rb") as told:
        data = told.read()
    os.wait()
    return json.loads(data) if data else None


def limits_of(store: HeldStore) -> FleetLimits:
    return FleetLimits(store, Shared.new(), freshness=0.0, patience=LONG, warn=lambda _: None)


def held(*locks: Any) -> None:
    """Have locks held by a thread that does not live on in a child."""
    are_held = threading.Event()

    def hold() -> None:
        for lock in locks:
            lock.acquire()
        are_held.set()
        threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    are_held.wait()


def while_locked() -> Any:
    store = HeldStore(PAID)
    limits = limits_of(store)
    local = limits.local
    fw.call(lambda: "ok", server="s", tool="t", arguments={}, shared=limits)
    parts = (limits, local.budget, local.breaker, local.repeats, limits._threads)
    held(*(part._lock for part in parts), limits._background._changed, _fleet._lock)

    def work() -> str:
        answers = iter([fw.Temporary("m", code="OVERLOADED", outcome="not_executed"), "ok"])

        def flaky() -> str:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        fw.client.Caller(limits="redis://127.0.0.1:1")
        return fw.call(flaky, server="s", tool="t", arguments={}, shared=limits, sleep=lambda _: None)

    return in_child(work)


def connected(url: str) -> Any:
    limits = FleetLimits.at(url, patience=LONG, freshness=0.0)
    refusal(limits, KEY, 0.0, caller=1)
    store: Any = limits._store
    client = store._redis

    def work() -> list[bool]:
        refusal(limits, KEY, 0.0, caller=1)
        return [limits.is_away, store._redis is client]

    return in_child(work)


def while_away() -> Any:
    store = HeldStore()
    limits = limits_of(store)
    store.is_up = False
    refusal(limits, KEY, 0.0, caller=1)

    def work() -> list[Any]:
        was_away, store.is_up = limits.is_away, True
        refusal(limits, KEY, 0.0, caller=1)
        return [was_away, limits.is_away, len(store.callers)]

    return [limits.is_away, in_child(work)]


def while_something_is_to_be_told() -> Any:
    store = HeldStore()
    limits = limits_of(store)
    refusal(limits, KEY, 0.0, caller=1)
    store.may_answer = threading.Event()
    for _ in range(3):
        limits.succeeded(KEY, None, 0.0, paid=14.0)

    def work() -> list[float]:
        store.may_answer = threading.Event()
        store.may_answer.set()
        refusal(limits, KEY, 0.0, caller=1)
        limits.succeeded(KEY, None, 0.0, paid=7.0)
        limits.flush(LONG)
        return store.refunds

    found = in_child(work)
    store.may_answer.set()
    limits.flush(LONG)
    return [store.refunds, found]


def callers() -> Any:
    store = HeldStore()
    limits, caller = limits_of(store), object()

    def work() -> str:
        refusal(limits, KEY, 0.0, caller=caller)
        return store.callers[-1]

    return [in_child(work), work()]


def numbers() -> Any:
    told: list[Event] = []

    def work() -> int:
        fw.call(lambda: "ok", hook=told.append)
        return told[-1].call

    return [work(), in_child(work), work()]


def main(url: str) -> None:
    found = {
        "locked": while_locked(),
        "redis": connected(url),
        "away": while_away(),
        "to be told": while_something_is_to_be_told(),
        "callers": callers(),
        "numbers": numbers(),
    }
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # threads hold locks, and wait for ever


main(sys.argv[1])
