"""The page of the demo says what the demo does."""

import re
from pathlib import Path

import pytest

from failwell.demo import runner
from failwell.demo.agents import PASSING_WORDS
from failwell.demo.scenes import PACE, AgentRun, AgentStep, DemoScore, SceneResult

PAGE = (Path(__file__).parents[2] / "docs" / "start" / "demo.md").read_text(encoding="utf-8")


def test_the_words_of_the_bare_agent_are_those_on_the_page() -> None:
    rule = PAGE.partition("2. If the text contains one of ")[2].partition(", the agent")[0]

    assert tuple(re.findall(r"`([^`]+)`", rule)) == PASSING_WORDS


@pytest.mark.slow
def test_the_score_is_the_one_on_the_page(results: list[SceneResult]) -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| (\d+)(?: of 14)? \| (\d+)(?: of 14)? \|$", PAGE, re.MULTILINE)
    found = runner.scores(results)

    assert [(int(before), int(after)) for _, before, after in rows] == [
        (getattr(found["bare"], name), getattr(found["failwell"], name))
        for name in ("recovered", "calls", "wasted", "duplicates", "secrets")
    ]


def test_the_pace_is_the_one_on_the_page() -> None:
    assert f"one second of the story takes {PACE:g} seconds" in PAGE


def test_every_key_of_the_json_is_on_the_page() -> None:
    keys = {*AgentStep.__struct_fields__, *AgentRun.__struct_fields__, *DemoScore.__struct_fields__}

    assert {key for key in keys if not re.search(rf"[`.]{key}\b", PAGE)} == set()
