"""The simulation on the page is the one in the code, and it shows what the page says."""

import json
from typing import Any

import pytest
from bench.simulation import report
from bench.simulation.drawing import picture
from bench.simulation.running import compare

RECORDED: dict[str, Any] = json.loads(report.DATA.read_text(encoding="utf-8"))
OURS = ("failwell", "failwell, 6 attempts")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return compare(report.FEW_AGENTS)


def test_the_recorded_figures_are_current(found: dict[str, Any]) -> None:
    assert json.loads(json.dumps(found)) == RECORDED["short"], "write them anew: python -m bench.simulation"


@pytest.mark.parametrize("size", ["full", "short"])
@pytest.mark.parametrize("name", OURS)
def test_nothing_is_run_twice_and_the_load_stays_bounded(name: str, size: str) -> None:
    clients = RECORDED[size]["clients"]
    ours, none = clients[name], clients["no retry"]

    assert ours["duplicates"] == 0
    assert ours["tries_of_wrong_input"] == 0
    assert ours["tries"] <= 1.1 * ours["calls"]
    assert ours["tries_while_failing"] <= none["tries_while_failing"]
    assert ours["succeeded"] > none["succeeded"]


@pytest.mark.parametrize("size", ["full", "short"])
@pytest.mark.parametrize("name", OURS)
def test_more_calls_succeed_than_with_naive_retries_at_a_tenth_of_their_load(name: str, size: str) -> None:
    clients = RECORDED[size]["clients"]

    for naive in ("tenacity", "stamina"):
        assert clients[name]["succeeded"] >= clients[naive]["succeeded"]
        assert clients[name]["tries_while_failing"] <= clients[naive]["tries_while_failing"] / 10


@pytest.mark.parametrize("size", ["full", "short"])
@pytest.mark.parametrize("name", ["tenacity", "stamina"])
def test_those_who_retry_everything_run_effects_twice(name: str, size: str) -> None:
    clients = RECORDED[size]["clients"]

    assert clients[name]["duplicates"] > 0
    assert clients[name]["tries_while_failing"] > 3 * clients["no retry"]["tries_while_failing"]


def test_the_full_simulation_has_ten_thousand_agents() -> None:
    assert RECORDED["full"]["agents"] == 10_000


def test_the_picture_and_the_table_are_those_of_the_figures() -> None:
    page = report.PAGE.read_text(encoding="utf-8")

    assert report.PICTURE.read_text(encoding="utf-8") == picture(RECORDED["full"])
    assert page == report.page(page, RECORDED["full"])
    assert report.table(RECORDED["full"]) in page
