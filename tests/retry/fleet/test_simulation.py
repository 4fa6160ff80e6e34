"""The fleet on the page is the one in the code, and it shows what the page says."""

import json
from typing import Any

import pytest
from bench.simulation import fleet_report, report
from bench.simulation.drawing import picture
from bench.simulation.fleet import compare

RECORDED: dict[str, Any] = json.loads(fleet_report.DATA.read_text(encoding="utf-8"))
NAIVE: dict[str, Any] = json.loads(report.DATA.read_text(encoding="utf-8"))


def test_the_recorded_figures_are_current() -> None:
    found = compare(fleet_report.FEW_PROXIES)

    assert json.loads(json.dumps(found)) == RECORDED["short"], "write them anew: python -m bench.simulation fleet"


@pytest.mark.parametrize("size", ["full", "short"])
def test_shared_limits_leave_a_failing_server_alone(size: str) -> None:
    clients = RECORDED[size]["clients"]
    none, own, shared = clients["no retry"], clients["limits of its own"], clients["shared limits"]

    assert own["tries_while_failing"] > none["tries_while_failing"]
    assert shared["tries_while_failing"] < none["tries_while_failing"] / 5
    assert shared["tries"] < none["tries"]
    assert shared["succeeded"] > none["succeeded"]
    assert shared["duplicates"] == own["duplicates"] == 0


@pytest.mark.parametrize("size", ["full", "short"])
@pytest.mark.parametrize("name", ["limits of its own", "shared limits"])
def test_more_calls_succeed_than_with_naive_retries(name: str, size: str) -> None:
    ours, others = RECORDED[size]["clients"][name], NAIVE[size]["clients"]

    for naive in ("tenacity", "stamina"):
        assert ours["succeeded"] >= others[naive]["succeeded"]
        assert ours["tries_while_failing"] < others[naive]["tries_while_failing"] / 2


def test_the_full_simulation_has_a_thousand_proxies() -> None:
    assert RECORDED["full"]["proxies"] == 1000


def test_the_picture_and_the_table_are_those_of_the_figures() -> None:
    page = fleet_report.PAGE.read_text(encoding="utf-8")

    assert fleet_report.PICTURE.read_text(encoding="utf-8") == picture(RECORDED["full"])
    assert page == fleet_report.page(page, RECORDED["full"])
    assert fleet_report.table(RECORDED["full"]) in page
