"""Every benchmark still runs, every figure has a row that speaks of it, and prose quotes what was seen."""

import json
import platform
import re
import shutil
from itertools import accumulate, chain, count, repeat
from pathlib import Path
from typing import Any

import pytest
from bench import machine, measure, regression, results, running
from bench.__main__ import main
from bench.judging import as_measured, unspoken, value_in, verdicts
from bench.machine import describe
from bench.measure import Amount, Figure
from bench.promises import ROWS
from bench.reporting import prose
from bench.reporting.writing import generated
from bench.results import Run, all_verdicts, load, merged, save
from bench.suites import SUITES, Suite
from msgspec.structs import replace

ROOT = Path(__file__).parent.parent
QUIET, BUSY = machine.Noise(0.01, 0.02), machine.Noise(0.4, 0.02)
NEEDED_PROGRAMS = {"proxy": ("cc", "the byte pump beside it is built with a C compiler")}
FIGURE = Figure(group="g", what="w", microseconds=30_000, beside="b", beside_microseconds=120_000)

# Speeds and ratios: what people would take for a figure of a benchmark.
A_SPEED = re.compile(r"\d ?(µs|microsec|millisec|(×|times) (as|less|more|faster|slower|the|what)\b)")


@pytest.mark.slow
@pytest.mark.parametrize("suite", [suite for suite in SUITES.values() if suite.exists], ids=lambda suite: suite.name)
def test_a_suite_runs_and_its_figures_and_rows_speak_of_each_other(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, reason = NEEDED_PROGRAMS.get(suite.name, (None, ""))
    if program and shutil.which(program) is None:
        pytest.skip(reason)
    # The processes that suites start are covered by their own tests, and much slower when they are watched.
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)

    found = [as_measured(one) for one in suite.run_quickly()]

    assert found
    assert unspoken(suite.name, found) == [], "give each a row in bench/promises.toml"
    assert [one.id for one in verdicts(suite.name, found) if one.seen is None] == [], "rows of no figure"
    without = [one.id for one in verdicts(suite.name, found) if one.row.floor and one.floor is None]
    assert without == [], "rows whose floor is not measured"


def test_a_quick_run_leaves_everything_as_it_was() -> None:
    before = (measure.most, measure.compare, (ROOT / results.FILE).read_bytes())

    assert main(["--quick", "values", "validation"]) == 0
    assert (measure.most, measure.compare, (ROOT / results.FILE).read_bytes()) == before


def test_a_suite_that_cannot_run_fails_a_quick_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES, "values", Suite("values", "…", {"NO_SUCH_CONSTANT": 1}))

    assert main(["--quick", "values", "validation"]) == 1


def test_every_suite_has_promises_and_every_promise_a_suite() -> None:
    assert set(ROWS) == set(SUITES)


def test_ids_are_unique_and_goals_can_be_judged() -> None:
    ids = [id for rows in ROWS.values() for id in rows]

    assert len(set(ids)) == len(ids)
    assert all(
        re.fullmatch(r"(≤|≥|about) [\d.]+", row.goal) for rows in ROWS.values() for row in rows.values() if row.goal
    )


def test_every_goal_that_is_missed_says_why() -> None:
    missed = [verdict for verdict in all_verdicts(load()) if verdict.is_met is False]

    assert [verdict.id for verdict in missed if not verdict.row.missed] == [], "add `missed` in bench/promises.toml"


def test_what_may_be_missed_has_a_floor_that_is_measured() -> None:
    rows = [(id, row) for suite in ROWS.values() for id, row in suite.items()]

    assert [id for id, row in rows if row.missed and not row.floor] == [], "measure a floor, and say what it is"
    assert [id for id, row in rows if row.floor and not row.goal] == []


@pytest.mark.parametrize(
    ("ratio", "floor", "cells"),
    [
        (3.6, 1.8, "3.60 × | ≤ 3 × | 1.80 × | 2 × | Floor: "),
        (3.6, 3.2, "3.60 × | ≤ 3 × | 3.20 × | 1.12 × | **The floor alone misses the goal.** Floor: "),
        (3.6, None, "3.60 × | ≤ 3 × | not measured yet |  | Floor: "),
    ],
    ids=["below", "beyond", "old figures"],
)
def test_a_missed_goal_stands_beside_its_floor(
    ratio: float, floor: float | None, cells: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ROWS["check"], "check-calls", replace(ROWS["check"]["check-calls"], floor="the least"))
    figure = replace(_check(ratio), floor_microseconds=floor and floor * 100)

    text = generated({"check": Run(figures=[as_measured(figure)])})["bench/RESULTS.md"]

    assert f"| {cells}the least. |" in text


def test_the_floor_of_what_should_be_large_is_above_it() -> None:
    figure = Figure(
        group="g", what="HTTP proxy: added p50", microseconds=400, beside="fastmcp, connected",
        beside_microseconds=2000, floor_microseconds=200,
    )  # fmt: skip

    text = generated({"http_proxy": Run(figures=[as_measured(figure)])})["bench/RESULTS.md"]

    assert "| 5 × less | ≥ 8 × less | 10 × less | 2 × | Floor: a plain pass-through of aiohttp." in text


def test_a_floor_is_measured_in_turns_with_the_rest() -> None:
    calls: list[str] = []

    found = measure.compare(
        "g", "w", lambda: calls.append("ours"), "b", lambda: calls.append("theirs"),
        floor=lambda: calls.append("floor"), number=1, rounds=2,
    )  # fmt: skip

    assert calls == ["ours", "theirs", "floor"] * 3
    assert found.floor_microseconds is not None


@pytest.mark.parametrize("name", sorted(generated()))
def test_the_pages_and_their_pictures_are_written_from_the_results(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == generated()[name], "python -m bench.reporting"


@pytest.mark.parametrize("page", prose.pages(ROOT), ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_in_prose_are_those_of_the_results(page: Path) -> None:
    text, found = page.read_text(encoding="utf-8"), all_verdicts(load())

    assert set(prose.ids(text)) <= {verdict.id for verdict in found}
    assert text == prose.filled(text, found), "python -m bench.reporting"


@pytest.mark.parametrize("page", prose.pages(ROOT), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_speed_in_prose_is_quoted_from_the_results(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)

    assert [line for line in prose.unquoted(text).splitlines() if A_SPEED.search(line)] == []


def test_the_simulation_of_the_page_on_retrying_is_the_one_in_the_results() -> None:
    recorded = json.loads((ROOT / "docs" / "data" / "retries.json").read_text(encoding="utf-8"))["full"]["clients"]
    seen = {one["beside"]: one["value"] for one in load()["agents"].figures if one["what"] == "side effects run twice"}

    assert seen == {name: client["duplicates"] for name, client in recorded.items()}, "python -m bench agents"


def test_a_quoted_figure_is_filled_in() -> None:
    [verdict] = verdicts("check", [as_measured(_check(2.5))])

    assert prose.filled("a <!--bench:check-calls-->9<!--/bench--> b", [verdict]) == (
        "a <!--bench:check-calls-->2.50<!--/bench--> b"
    )
    assert prose.unquoted("a <!--bench:check-calls-->9 ×<!--/bench--> b") == "a  b"


@pytest.mark.parametrize(
    ("unit", "value"), [("×", 0.25), ("× less", 4.0), ("µs", 30_000.0), ("ms", 30.0), ("s", 0.03), ("MB", 30_000.0)]
)
def test_a_figure_is_judged_in_the_unit_of_its_row(unit: str, value: float) -> None:
    assert value_in(as_measured(FIGURE), unit) == pytest.approx(value)


def test_an_amount_in_seconds_is_judged_in_milliseconds() -> None:
    amount = as_measured(Amount(group="g", what="w", value=0.25, unit="s"))

    assert value_in(amount, "ms") == pytest.approx(250)


@pytest.mark.parametrize(("ratios", "worst", "is_met"), [([2.0, 2.9], 2.9, True), ([3.1, 1.0], 3.1, False)])
def test_the_worst_of_several_figures_counts(ratios: list[float], worst: float, is_met: bool) -> None:
    [verdict] = verdicts("check", [as_measured(_check(ratio)) for ratio in ratios])

    assert (verdict.seen, verdict.is_met) == (worst, is_met)


def test_the_worst_of_what_should_be_large_is_the_least() -> None:
    row, found = "check-valid", [_figure("valid arguments", "jsonschema", ratio) for ratio in (0.02, 0.1)]

    [verdict] = [one for one in verdicts("validation", map(as_measured, found)) if one.id == row]

    assert (verdict.seen, verdict.is_met) == (10.0, False)


def test_nothing_measured_is_neither_met_nor_missed() -> None:
    assert {verdict.is_met for verdict in all_verdicts({})} == {None}


def test_a_run_of_one_suite_keeps_the_others(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    older = {"check": Run("2026-01-01", 1, {"python": "3.11"}, [as_measured(_check(2.0))])}
    newer = {"values": Run("2026-02-02", 2, {"python": "3.13"}, [as_measured(FIGURE)])}

    save(merged(older, newer, list(SUITES)), tmp_path)

    assert load(tmp_path) == {**newer, **older}
    assert list(load(tmp_path)) == ["values", "check"]


def test_the_page_says_which_run_its_figures_come_from() -> None:
    check, values = (Run(figures=[as_measured(one)], run="January 1, 10:00, abc") for one in (_check(2.0), FIGURE))
    newer = replace(values, run="January 1, 11:00, abc+")
    mixed = "from the same run can be compared: `January 1, 11:00, abc+`: values; `January 1, 10:00, abc`: check."

    assert "All figures come from one run (`January 1, 10:00, abc`)." in _page({"values": values, "check": check})
    assert f"**The figures come from 2 runs**, and only figures {mixed}" in _page({"values": newer, "check": check})


def _page(found: results.Results) -> str:
    return generated(found)["bench/RESULTS.md"]


def test_a_suite_that_fails_keeps_its_last_figures_and_says_so() -> None:
    last = Run("2026-01-01", 1, {}, [as_measured(_check(2.0))])

    found = merged({"check": last}, {"check": Run(failed="2026-02-02, OSError")}, list(SUITES))

    assert found == {"check": Run("2026-01-01", 1, {}, last.figures, "2026-02-02, OSError")}
    assert "last run failed (2026-02-02, OSError)" in generated(found)["bench/RESULTS.md"]


def test_a_suite_that_fails_does_not_lose_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "README.md").write_text("<!--bench:check-invalid-->?<!--/bench-->", encoding="utf-8")
    monkeypatch.setattr(measure, "most", 1)
    monkeypatch.setattr(machine, "listen", lambda: QUIET)
    monkeypatch.setitem(SUITES, "values", _Broken("values", "…"))

    code = main(["values", "validation"], tmp_path)

    kept = json.loads((tmp_path / results.FILE).read_text(encoding="utf-8"))["suites"]
    shown = capsys.readouterr()
    assert code == 1
    assert (kept["values"]["failed"][-12:], kept["values"]["figures"]) == ("RuntimeError", [])
    assert [figure["what"] for figure in kept["validation"]["figures"]] == [
        "valid arguments",
        "four wrong fields, in words",
    ]
    assert "failed: values" in shown.err
    assert "four wrong fields" in shown.out
    assert (tmp_path / "docs" / "reference" / "benchmarks.md").exists()
    assert "?" not in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_a_busy_machine_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "listen", lambda: BUSY)

    assert main(["values"], tmp_path) == 3
    assert "nothing is measured, the machine is busy: 40% of the time" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("heard", "is_kept"),
    [([BUSY, BUSY], False), ([BUSY, QUIET], True), ([QUIET], True)],
    ids=["busy", "again", "quiet"],
)
def test_figures_of_a_busy_machine_are_measured_again_and_then_not_kept(
    heard: list[machine.Noise], is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    noises = iter(heard)
    monkeypatch.setattr(measure, "most", 1)
    monkeypatch.setattr(machine, "listen", lambda: next(noises))

    [(name, run)] = running.measure([SUITES["validation"]], lambda _: None)

    assert name == "validation"
    assert bool(run.figures) is is_kept
    assert run.failed is None if is_kept else str(run.failed).endswith("busy machine")
    assert run.spread == (0.02 if is_kept else None)
    assert (run.run is not None) is is_kept
    assert list(noises) == []


def test_no_suite_begins_after_the_time_is_up() -> None:
    told: list[str] = []

    [(name, run)] = running.measure([SUITES["validation"]], told.append, iter((0.0, 601.0)).__next__)

    assert (name, run.figures, str(run.failed)[-15:]) == ("validation", [], "the time was up")
    assert told == ["[1/1] validation: not measured, the time is up"]


def test_a_comparison_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(measure, "SECONDS", 0.0)

    found = measure.compare("g", "w", lambda: calls.append("ours"), "b", lambda: calls.append("theirs"), number=1)

    assert calls == ["ours", "theirs"] * (measure.FEWEST_ROUNDS + 1)
    assert found.spread is None or found.spread >= 0


@pytest.mark.parametrize(
    ("costs", "wanted"), [([5.0, 5.0, 5.0], 0.0), ([1.0, 10.0, 100.0], 1.0), ([9.0, 3.0, 1.0], 0.0)]
)
def test_a_slope_of_0_is_flat_and_1_is_linear(costs: list[float], wanted: float) -> None:
    growth = pytest.importorskip("bench.growth")

    assert growth.slope((10, 100, 1000), costs) == pytest.approx(wanted)


def test_each_curve_is_drawn_with_its_slope() -> None:
    amounts = [Amount(group="g", what="rules", beside=f"{size:,}", value=5.0, unit="µs") for size in (10, 1000)]
    amounts.append(Amount(group="g", what="slope: rules", beside="flat at most", value=0.01))

    drawn = generated({"growth": Run(figures=[as_measured(one) for one in amounts])})["docs/data/bench_growth.svg"]

    assert "rules: slope 0.01" in drawn
    assert drawn.count("<circle") == 2


@pytest.mark.parametrize(
    ("ratios", "code", "said"),
    [
        ([1.5], 0, "a job: 1.50 × another, at most 2"),
        ([2.5, 2.4, 1.9], 0, "a job: 1.90 × another, at most 2"),
        ([2.5, 2.4, 2.6], 1, "TOO SLOW: a job: 2.40 × another, at most 2"),
    ],
    ids=["quick", "busy", "slow"],
)
def test_a_ratio_beyond_its_bound_fails_the_check_only_if_it_stays_there(
    ratios: list[float], code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = iter(ratios)
    monkeypatch.setattr(regression, "_jobs", lambda: [(regression.Limit("a job", 2.0, "another"), lambda: next(left))])

    assert main(["--check"]) == code
    assert capsys.readouterr().out == f"{said}\n"
    assert list(left) == []


def test_the_check_measures_every_job(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(regression, "TURNS", 1)
    monkeypatch.setattr(regression, "TRIES", 1)

    regression.check(told.append)

    assert len(told) == len(regression.SERVER_LIMITS) + 3


def test_noise_is_what_a_process_waits_and_how_much_its_times_differ() -> None:
    quiet, waiting = count(step=0.01), count(step=0.01)
    slowed = accumulate(chain.from_iterable(repeat((0.01, 0.01, 0.01, 0.02))))

    assert machine.listen(lambda: next(quiet), lambda: next(waiting)).spread == pytest.approx(0.0)
    assert not machine.listen(iter((0.0, 100.0)).__next__, lambda: next(waiting)).is_quiet
    assert not machine.listen(iter((0.0, 0.0)).__next__, lambda: next(slowed)).is_quiet


def test_an_unknown_suite_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialect"]) == 2
    assert capsys.readouterr().err.startswith("unknown suite dialect: choose from imports, values,")


def test_the_machine_is_described_without_naming_it() -> None:
    found = describe()

    assert {"processor", "cores", "system", "python", "msgspec", "fastmcp"} <= set(found)
    assert not any(platform.node() in value.split() or re.search(r"(^|\s)/", value) for value in found.values())


def _check(ratio: float) -> Figure:
    return _figure("check of 50 tools", "the calls alone", ratio)


def _figure(what: str, beside: str, ratio: float) -> Figure:
    return Figure(group="g", what=what, microseconds=ratio * 100, beside=beside, beside_microseconds=100)


class _Broken(Suite, frozen=True):
    def run(self) -> Any:
        raise RuntimeError("it broke")
