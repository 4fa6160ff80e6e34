"""Agents whose framework is a development dependency; the others run in `nox -s stacks`, by tests/stacks/example.py."""

from pathlib import Path

import pytest

from tests.examples.agents import FOLDER, LONGEST_PROGRAM, SHOWN, output_of
from tests.stacks.setting import ADAPTERS

HERE = ("fastmcp", "mcp", "stamina", "tenacity")
WITHOUT_AN_ADAPTER = {"agent_framework"}
ALSO_SHOWN = {"mcp": ("find_tickets: T-7: the scanner is on fire (search 3)",)}  # a slip, mended without the model


def test_every_adapter_has_an_agent() -> None:
    written = {path.name.removesuffix("_agent.py") for path in FOLDER.glob("*_agent.py")}

    assert written == {*ADAPTERS, *HERE} - WITHOUT_AN_ADAPTER


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_an_agent_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_PROGRAM


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name == "mcp" else pytest.mark.slow) for name in HERE])
def test_an_agent_waits_out_one_failure_and_hands_on_another(name: str) -> None:
    printed = output_of(name)

    assert [line for line in (*SHOWN, *ALSO_SHOWN.get(name, ())) if line not in printed] == []
