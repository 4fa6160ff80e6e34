"""The page of the demo says what the demo does."""

import re
from pathlib import Path

from failwell.demo import clock, plain_agent, play
from failwell.demo.play import Played
from failwell.demo.scenes import Course, Step

PAGE = (Path(__file__).parents[2] / "docs" / "demo.md").read_text(encoding="utf-8")


def test_the_words_of_the_bare_agent_are_those_on_the_page() -> None:
    rule = PAGE.partition("2. If the text holds one of ")[2].partition(", the same call")[0]

    assert tuple(re.findall(r"`([^`]+)`", rule)) == plain_agent.PASSING


def test_the_score_is_the_one_on_the_page(played: list[Played]) -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| (\d+)(?: of 14)? \| (\d+)(?: of 14)? \|$", PAGE, re.MULTILINE)
    found = play.scores(played)

    assert [(int(before), int(after)) for _, before, after in rows] == [
        (getattr(found["bare"], name), getattr(found["failwell"], name))
        for name in ("recovered", "calls", "wasted", "duplicates", "secrets")
    ]


def test_the_pace_is_the_one_on_the_page() -> None:
    assert f"a second of the story takes {clock.PACE:g} seconds" in PAGE


def test_every_key_of_the_json_is_on_the_page() -> None:
    keys = {*Step.__struct_fields__, *Course.__struct_fields__, *play.Score.__struct_fields__}

    assert {key for key in keys if not re.search(rf"[`.]{key}\b", PAGE)} == set()
