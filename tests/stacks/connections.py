"""What agents of a stack see and do when the connection to a server fails, over HTTP and stdio: run by `nox -s stacks`.

The stack is named by STACK and must be installed; each mode is observed in a process of its own.
"""

import functools
import json
import os
from typing import Any

import pytest

from tests.stacks.agents import HIDDEN, ROOT, STACK, run_observer, write
from tests.stacks.faults import FAULTS, HTTP, Fault
from tests.stacks.observing import ADAPTED, BARE, INSTALLED
from tests.stacks.setting import ADAPTERS

TABLE = ROOT / "docs" / "data" / "connections.json"
# OpenAI's agents list the tools of a server before each turn: a dead one ends the run, unless the adapter is there.
LISTS_EACH_TURN = {("openai_agents", INSTALLED)}

pytestmark = pytest.mark.filterwarnings("default")

each_way = pytest.mark.parametrize("mode", [INSTALLED, *([ADAPTED] if STACK in ADAPTERS else [])])
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.transport}: {fault.title}")


@functools.cache
def seen(mode: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what was seen in a mode, by transport and fault."""
    return {(row["transport"], row["fault"]): row for row in run_observer(mode, "faults")}


def row_of(mode: str, fault: Fault) -> dict[str, Any]:
    return seen(mode)[fault.transport, fault.title]


@each_fault
@each_way
def test_the_run_survives(mode: str, fault: Fault) -> None:
    if fault.transport != HTTP and (STACK, mode) in LISTS_EACH_TURN:
        pytest.skip("the stack lists the tools of the dead server")
    row = row_of(mode, fault)

    assert row["survived"], row["application"]
    assert fault.sees in row["model"] or row["model"] == HIDDEN.get((STACK, mode))


@each_fault
@each_way
def test_the_server_is_called_as_often_as_is_safe_and_not_more(mode: str, fault: Fault) -> None:
    row = row_of(mode, fault)

    if fault.transport == HTTP:
        assert (row["calls"], row["effects"]) == (fault.calls, fault.effects)
    else:
        assert 1 <= row["calls"] <= fault.calls


@each_way
def test_a_delay_that_the_server_asks_for_is_kept(mode: str) -> None:
    gaps = [row_of(mode, fault)["gap"] for fault in FAULTS if fault.asked]

    assert gaps
    assert all(gap >= 0 for gap in gaps)


@pytest.mark.skipif(STACK not in ADAPTERS, reason="there is no adapter")
@each_fault
def test_the_adapter_gives_no_less_than_install(fault: Fault) -> None:
    installed, adapted = row_of(INSTALLED, fault), row_of(ADAPTED, fault)

    assert adapted["survived"] >= installed["survived"]
    is_answer = str(fault.meets[-1].text if fault.transport == HTTP and hasattr(fault.meets[-1], "text") else "")
    if is_answer and is_answer in (installed["model"] or ""):
        assert is_answer in adapted["model"]


def test_the_table_in_the_docs_is_current() -> None:
    rows = [row for mode in (BARE, INSTALLED, *([ADAPTED] if STACK in ADAPTERS else [])) for row in seen(mode).values()]

    if os.environ.get("FAILWELL_TABLE") == "write":
        write(rows, TABLE)

    recorded = json.loads(TABLE.read_text(encoding="utf-8"))
    ours = [row for row in recorded if row["package"] == rows[0]["package"] and row["version"] == rows[0]["version"]]
    assert list(map(_steady, ours)) == list(map(_steady, rows)), (
        "write it anew: FAILWELL_TABLE=write nox -s stacks, then python -m tools.generate_docs"
    )


def _steady(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without what differs from run to run: ports, and by how much a delay was passed."""
    application = (row["application"] or "").partition(":")[0]
    return {**row, "gap": None if row["gap"] is None else row["gap"] >= 0, "application": application}
