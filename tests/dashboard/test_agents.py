"""Twenty agents with known fates, through the proxy and a store: every figure equals the truth."""

import json
import time
from collections import Counter
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from failwell.dashboard.views import View
from failwell.records import RecordStore
from tests.cli.streams import run
from tests.dashboard.agents import AGENTS
from tests.dashboard.stores import counted, source_of

RECOVERED = {"by_retry", "by_repair", "by_fallback", "same_call", "corrected", "named_tool"}
SAVED = {"by_retry", "by_repair", "by_fallback"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store that all agents were played into, one after the other."""
    address = f"sqlite:///{tmp_path_factory.mktemp('agents') / 'calls.db'}"
    for agent in AGENTS.values():
        agent.play(address)
    return address


def truth() -> dict[str, Any]:
    """Return what the fates of all agents come to, added up by hand."""
    all_of_them = [agent.truth for agent in AGENTS.values()]
    verdicts = Counter(verdict for one in all_of_them for _, _, verdict in one.failures)
    return {
        "calls": sum(one.calls for one in all_of_them),
        "failed": sum(one.failed for one in all_of_them),
        "failures": sum(verdicts.values()),
        "recovered": sum(count for verdict, count in verdicts.items() if verdict in RECOVERED),
        "moved_on": verdicts["moved_on"],
        "stuck": verdicts["looped"] + verdicts["unresolved"],
        "turns_saved": sum(count for verdict, count in verdicts.items() if verdict in SAVED),
        "calls_wasted": sum(one.wasted for one in all_of_them),
        "duplicates_avoided": sum(one.duplicates for one in all_of_them),
        "verdicts": verdicts,
    }


def seconds_lost(store: str) -> float:
    """Return how long failed calls took, and tries before the last, by the records themselves."""
    with RecordStore(store) as opened:
        records = list(opened.records())
    retried = {one.session for one in records if one.kind == "recovered"}
    before_last = [one for one in records if one.kind == "retry" and one.session in retried]
    return sum(one.elapsed or 0.0 for one in records if one.has_failed) + sum(
        (one.elapsed or 0.0) + (one.delay or 0.0) for one in before_last
    )


def test_the_fates_are_worth_a_test() -> None:
    known = truth()

    assert len(AGENTS) == 20
    assert len(known["verdicts"]) == 9  # each verdict is somebody's fate
    assert (known["calls"], known["failed"], known["failures"]) == (40, 23, 20)
    assert (known["recovered"], known["moved_on"], known["stuck"]) == (11, 4, 5)


def test_every_figure_of_the_page_is_the_truth(store: str) -> None:
    known, source = truth(), counted(source_of(store, now=time.time()))
    try:
        found = source.overview(View(range="all"))
        by_code = source.overview(View(range="all", by="code"))
    finally:
        source.close()

    verdicts = known.pop("verdicts")
    totals = found["totals"]
    assert {name: totals[name] for name in known} == known
    assert {name: count for name, count in found["verdicts"].items() if count} == verdicts
    assert totals["failure_rate"] == pytest.approx(known["failed"] / known["calls"], abs=1e-6)
    assert totals["recovery_rate"] == pytest.approx(11 / 16, abs=1e-6)
    assert totals["seconds_lost"] == pytest.approx(seconds_lost(store), abs=1e-2)
    of_codes = Counter(code for agent in AGENTS.values() for _, code, _ in agent.truth.failures)
    assert {row["name"]: row["failures"] for row in by_code["groups"]} == of_codes
    for name in ("calls", "failed", "failures", "recovered"):
        assert sum(bar[name] for bar in found["series"]["bars"]) == known[name]


def test_every_figure_of_one_agent_is_its_truth(store: str) -> None:
    with RecordStore(store) as opened:
        sessions = list(dict.fromkeys(one.session for one in opened.records()))
    source = counted(source_of(store, now=time.time()))
    try:
        found = [source.overview(View(range="all", session=session))["totals"] for session in sessions]
    finally:
        source.close()

    assert len(sessions) == len(AGENTS)
    for totals, (name, agent) in zip(found, AGENTS.items(), strict=True):
        known, verdicts = agent.truth, Counter(verdict for _, _, verdict in agent.truth.failures)
        shown = tuple(totals[figure] for figure in ("calls", "failed", "calls_wasted", "duplicates_avoided"))
        assert shown == (known.calls, known.failed, known.wasted, known.duplicates), name
        assert {verdict: totals[verdict] for verdict in verdicts} == verdicts, name
        assert totals["failures"] == len(known.failures), name


def test_every_figure_of_the_summary_is_the_truth(store: str) -> None:
    known = truth()

    found = json.loads(run("events", "summary", "--store", store, "--json").out)
    text = run("events", "summary", "--store", store).out

    overall = found["overall"]
    assert overall["sessions"] == 20
    for name in ("calls", "failed", "turns_saved", "calls_wasted", "duplicates_avoided"):
        assert overall[name] == known[name]
    assert {name: count for name, count in overall["verdicts"].items() if count} == known["verdicts"]
    rows = Counter((one["tool"], one["code"], verdict) for one in found["rows"] for verdict in one["verdicts"])
    assert set(rows) == {failure for agent in AGENTS.values() for failure in agent.truth.failures}
    assert sum(one["failures"] for one in found["rows"]) == known["failures"]
    assert "20 sessions, 40 calls, 23 failed." in text
    assert "Agents recovered from 11 of 16 failures (69%); after 4 more, they moved on." in text
    assert f"{known['calls_wasted']} wasted calls" in text


def test_what_an_agent_should_do_agrees_with_what_it_was_sent(store: str) -> None:
    with RecordStore(store) as opened:
        failed = [one for one in opened.records() if one.has_failed]

    assert len(failed) > 20
    for one in failed:
        assert one.decision
        assert one.advice
        suggestion = (one.failure or {}).get("suggestion")
        assert suggestion is None or suggestion in (one.text or "")
        if one.decision == "verify":
            assert "may have taken effect" in (suggestion or "")


def test_what_prometheus_gets_is_the_truth(store: str) -> None:
    known, source = truth(), counted(source_of(store, now=time.time()))
    try:
        kind, page = source.metrics()
    finally:
        source.close()

    families = {one.name: one.samples for one in text_string_to_metric_families(page.decode())}
    sums = {name: sum(sample.value for sample in samples) for name, samples in families.items()}
    verdicts: Counter[str] = Counter()
    for sample in families["failwell_recorded_failures"]:
        verdicts[sample.labels["verdict"]] += int(sample.value)
    assert kind.startswith("text/plain")
    assert sums == {
        "failwell_recorded_calls": known["calls"],
        "failwell_recorded_failed_calls": known["failed"],
        "failwell_recorded_failures": known["failures"],
        "failwell_recorded_lost_events": 0,
        "failwell_uncounted_events": 0,
    }
    assert verdicts == known["verdicts"]
