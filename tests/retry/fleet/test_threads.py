"""Asking costs no call: not by a cancellation, by a thread that cannot be started, or by an answer that comes late."""

import asyncio
import logging
import threading
from concurrent.futures import Future
from typing import Any

import pytest

import failwell as fw
from failwell.retry import FleetLimits, LimitState, Policy, Run, Shared
from failwell.retry._threads import QueryThreads
from tests.retry.fleet.doubles import HeldStore
from tests.retry.fleet.servers import until
from tests.retry.steps import failed, refusal

DOWN = fw.Unavailable("m", outcome="not_executed").failure
KEY = ("s", "t")


class Watched(QueryThreads):
    """Keeps what is asked."""

    asked: "list[Future[Any]]"

    def submit(self, ask: Any) -> Any:
        self.asked = [*getattr(self, "asked", []), super().submit(ask)]
        return self.asked[-1]


@pytest.mark.parametrize("turns", range(6))
def test_a_call_whose_cancellation_is_accepted_is_not_made(turns: int) -> None:
    store = HeldStore()
    limits = FleetLimits(store, Shared.new(), patience=60.0, threads=Watched)
    watched: Any = limits._threads
    made: list[str] = []

    async def work() -> None:
        made.append("x")

    async def main() -> bool:
        store.may_answer.clear()
        call = asyncio.create_task(fw.acall(work, server="s", tool="t", shared=limits))
        while not hasattr(watched, "asked"):
            await asyncio.sleep(0)
        is_told = threading.Event()
        watched.asked[0].add_done_callback(lambda _: is_told.set())
        store.may_answer.set()
        is_told.wait()  # and this loop does not turn meanwhile
        for _ in range(turns):
            await asyncio.sleep(0)
        is_accepted = call.cancel()
        await asyncio.wait([call])
        assert call.cancelled() is is_accepted
        return is_accepted

    is_accepted = asyncio.run(main())
    limits.close()

    assert made == ([] if is_accepted else ["x"])


def cannot_start(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_call_is_made_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    store = HeldStore()
    limits = FleetLimits(store, Shared.new(), patience=60.0, warn=warnings.append)
    with monkeypatch.context() as few:
        few.setattr(threading.Thread, "start", cannot_start)
        answers = [fw.call(lambda: "ok", server="s", tool="t", shared=limits) for _ in range(3)]

    assert answers == ["ok"] * 3
    assert len(warnings) == 1
    assert warnings[0].startswith("the store is unavailable: no thread can be started to ask it.")
    refusal(limits, KEY, 0.0, caller=1)  # and now one can
    assert until(lambda: not limits.is_away)
    assert refusal(limits, KEY, 0.0, caller=1) is None
    assert len(store.callers) == 1
    limits.close()


def test_a_success_is_told_later_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HeldStore()
    limits = FleetLimits(store, Shared.new(), patience=60.0)
    refusal(limits, KEY, 0.0, caller=1)
    with monkeypatch.context() as few:
        few.setattr(threading.Thread, "start", cannot_start)
        limits.succeeded(KEY, None, 0.0, paid=14.0)
        limits.flush()
        assert store.refunds == []
    limits.succeeded(KEY, None, 0.0, paid=5.0)
    limits.flush(30)

    assert store.refunds == [14.0, 5.0]
    limits.close()


def test_threads_that_run_serve_where_no_more_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HeldStore()
    limits = FleetLimits(store, Shared.new(), freshness=0.0, patience=60.0)
    refusal(limits, KEY, 0.0, caller=1)
    monkeypatch.setattr(threading.Thread, "start", cannot_start)
    store.may_answer.clear()
    asked = [limits._threads.submit(lambda number=number: store._said() and number) for number in range(6)]
    store.may_answer.set()

    assert [one.result(30) for one in asked] == list(range(6))
    assert not limits.is_away
    monkeypatch.undo()
    limits.close()


def test_a_warning_that_cannot_be_told_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def warn(_sentence: str) -> None:
        raise BrokenPipeError

    store = HeldStore()
    store.is_up = False
    limits = FleetLimits(store, Shared.new(), patience=60.0, warn=warn)
    with caplog.at_level(logging.WARNING, "failwell"):
        answer = fw.call(lambda: "ok", server="s", tool="t", shared=limits)

    assert answer == "ok"
    assert [one.getMessage().partition(".")[0] for one in caplog.records] == ["the store is unavailable: it is down"]
    store.is_up = True
    assert until(lambda: not limits.is_away)
    limits.close()


def test_who_looked_at_the_clock_earlier_is_not_refused() -> None:
    limits = FleetLimits(HeldStore(), Shared.new(), patience=60.0)
    found = [refusal(limits, KEY, now, caller=1) for now in (10.0, 9.99)]
    limits.close()

    assert found == [None, None]


def test_an_answer_that_comes_too_late_gives_nothing_back_for_a_retry_that_is_made() -> None:
    store = HeldStore(LimitState(has_failures=True))  # too poor for a retry
    limits = FleetLimits(store, Shared.new(), patience=0.05, warn=lambda _: None, threads=Watched)
    watched: Any = limits._threads
    store.may_answer.clear()
    delay = failed(Run(Policy(), limits, "s", "t", arguments=0), DOWN, 0.0)
    store.may_answer.set()
    watched.asked[0].result(30)

    assert delay is not None
    assert limits.local.budget.left("s") == 500 - 14
    limits.close()


PROBE = LimitState(left=30.0, is_probed=True, is_own_probe=True, has_failures=True)


def test_a_probe_whose_answer_is_cut_off_is_released_once_the_store_is_back() -> None:
    store = HeldStore(PROBE)
    limits = FleetLimits(store, Shared.new(), patience=60.0, warn=lambda _: None)
    store.is_up = False
    refusal(limits, KEY, 0.0, caller=1)
    assert limits.is_away
    store.is_up = True

    assert until(lambda: not limits.is_away)
    assert store.released_ones == store.callers
    limits.close()


def test_a_probe_whose_answer_comes_too_late_is_released_once_the_store_is_back() -> None:
    store = HeldStore(PROBE)
    limits = FleetLimits(store, Shared.new(), patience=0.05, warn=lambda _: None, threads=Watched)
    watched: Any = limits._threads
    store.may_answer.clear()
    store.is_found = False
    refusal(limits, KEY, 0.0, caller=1)
    assert limits.is_away
    is_told = threading.Event()
    watched.asked[0].add_done_callback(lambda _: is_told.set())
    store.may_answer.set()
    is_told.wait()
    limits.flush(30)
    assert store.released_ones == []
    store.is_found = True

    assert until(lambda: not limits.is_away)
    assert store.released_ones == store.callers
    limits.close()
