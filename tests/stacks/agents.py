"""What agents of a stack see and do when tools fail, without us and with us: run by `nox -s stacks`.

The stack is named by STACK and must be installed; each mode is observed in a process of its own.
"""

import fcntl
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stacks.cases import CASES, Case
from tests.stacks.observing import ADAPTED, BARE, BOTH, INSTALLED
from tests.stacks.setting import ADAPTERS

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "data" / "stacks.json"
STACK = os.environ["STACK"].partition("-")[0]
HAS_ADAPTER = STACK in ADAPTERS
WITH_US = [INSTALLED, *([ADAPTED] if HAS_ADAPTER else [])]

# Stacks that show a model the same words for every error by default; the page says what to set.
HIDDEN = {("agent_framework", INSTALLED): "Error: Function failed."}
# Stacks that show their hook words of their own in place of an error without any; `install` sees that there were none.
OWN_WORDS = {("pydantic_ai", "an empty error")}

pytestmark = pytest.mark.filterwarnings("default")


def run_observer(mode: str, *more: str) -> list[dict[str, Any]]:
    """Return what was seen in a mode."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.stacks.observing", STACK, mode, *more],
        cwd=ROOT,
        env=os.environ | {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@functools.cache
def seen(mode: str) -> dict[str, dict[str, Any]]:
    """Return what was seen in a mode, by case."""
    return {row["case"]: row for row in run_observer(mode)}


each_way = pytest.mark.parametrize("mode", WITH_US)
each_case = pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.title.replace(" ", "_"))


def test_the_stack_works_without_us() -> None:
    row = seen(BARE)["a success"]

    assert (row["calls"], row["survived"]) == (1, True)
    assert "12 open tickets" in row["model"]


@each_case
@each_way
def test_the_server_is_called_as_often_as_is_safe_and_not_more(mode: str, case: Case) -> None:
    assert seen(mode)[case.title]["calls"] == case.calls


@each_case
@each_way
def test_the_run_survives(mode: str, case: Case) -> None:
    row = seen(mode)[case.title]

    assert row["survived"], row["application"]


@each_case
@each_way
def test_the_model_sees_a_success_or_one_next_step(mode: str, case: Case) -> None:
    shown = seen(mode)[case.title]["model"]

    if case.failure and (STACK, mode) in HIDDEN:
        assert shown == HIDDEN[STACK, mode]
    else:
        assert case.sees in shown or (STACK, case.title) in OWN_WORDS
        is_understood = case.failure not in (None, "INTERNAL")  # of what nobody understands, nothing is said
        assert shown.count("Next: ") == (1 if is_understood else 0)


@each_case
@each_way
def test_the_application_gets_the_failure(mode: str, case: Case) -> None:
    expected = f"Failure {case.failure}" if case.failure else None

    assert seen(mode)[case.title]["application"] == expected


@pytest.mark.parametrize("mode", WITH_US)
def test_a_success_stays_as_it_is(mode: str) -> None:
    assert seen(mode)["a success"]["model"] == seen(BARE)["a success"]["model"]


@pytest.mark.skipif(not HAS_ADAPTER, reason="there is no adapter")
def test_the_adapter_and_install_retry_as_one() -> None:
    def told(mode: str) -> list[Any]:
        rows = [row for case, row in seen(mode).items() if (STACK, case) not in OWN_WORDS]
        return [(row["calls"], row["survived"], row["model"], row["application"]) for row in rows]

    assert told(BOTH) == told(ADAPTED)


def test_the_table_in_the_docs_is_current() -> None:
    rows = [row for mode in (BARE, *WITH_US) for row in seen(mode).values()]

    if os.environ.get("FAILWELL_TABLE") == "write":
        write(rows, TABLE)

    recorded = json.loads(TABLE.read_text(encoding="utf-8"))
    assert [row for row in recorded if _key(row) == _key(rows[0])] == rows, (
        "write it anew: FAILWELL_TABLE=write nox -s stacks, then python -m tools.generate_docs"
    )


def write(rows: list[dict[str, Any]], table: Path) -> None:
    """Put the rows of one stack in place of its old ones; other processes may write theirs at the same time."""
    table.touch()
    with table.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        others = [row for row in json.loads(file.read() or "[]") if _key(row) != _key(rows[0])]
        text = json.dumps(sorted(others + rows, key=_key), indent=1, ensure_ascii=False)
        file.seek(0)
        file.truncate()
        file.write(text + "\n")


def _key(row: dict[str, Any]) -> tuple[str, str]:
    """Return which stack a row is of; two versions of one package are two."""
    return row["package"], row["version"].partition(".")[0]
