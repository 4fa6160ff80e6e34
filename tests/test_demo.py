"""The demo: what it stages is true."""

import io
import json

import pytest

from failwell import cli
from failwell.cli import demo
from failwell.dialects import DIALECTS

SCENES = demo.play(tuple(DIALECTS))


def shown(*argv: str) -> str:
    stdout, stderr = io.StringIO(), io.StringIO()
    assert cli.run(["demo", *argv], stdin=io.StringIO(), stdout=stdout, stderr=stderr) == 0
    assert stderr.getvalue() == ""
    return stdout.getvalue()


def answers(name: str) -> list[demo.Answer]:
    return [scene.answers[name] for scene in SCENES]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_agent_decides_right_in_every_scene(dialect: str) -> None:
    for scene in SCENES:
        decided = scene.answers[dialect].decision
        assert (scene.title, decided and decided.action) == (scene.title, scene.expected)
        assert scene.answers[dialect].right


def test_every_type_and_every_decision_but_one_is_staged() -> None:
    types = {answer.result["_meta"]["dev.failwell/failure"]["type"] for answer in answers("compact")}
    actions = {answer.decision.action for answer in answers("compact") if answer.decision}

    assert types == {"NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"}
    assert actions == {"use", "fix_input", "wait", "escalate", "retry", "verify", "stop"}


def test_the_rate_limit_is_waited_out() -> None:
    [scene] = [scene for scene in SCENES if scene.tool == "search_web"]
    decided = scene.answers["compact"].decision

    assert decided is not None
    assert decided.delay == 30


def test_only_a_server_of_today_gives_the_password_away() -> None:
    assert {name: counts["leaks"] for name, counts in demo.score(SCENES).items()} == {
        "today": 1,
        **dict.fromkeys(DIALECTS, 0),
    }


def test_structure_beats_sentences() -> None:
    score = demo.score(SCENES)

    for dialect in DIALECTS:
        assert score[dialect]["right"] == score[dialect]["of"] == len(SCENES)
        assert score[dialect]["right_from_text"] > score["today"]["right"]


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_window(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    lines = shown().splitlines()

    assert max(map(len, lines)) <= columns
    assert not [line for line in lines if line != line.rstrip()]


def test_every_call_is_shown_as_today_and_in_each_dialect() -> None:
    text = shown()

    for scene in SCENES:
        assert f"{scene.tool}(" in text
    for name in ("today", *DIALECTS):
        assert text.count(f"\n    {name}  ") == len(SCENES)


def test_one_dialect_can_be_picked_and_is_shown_in_full() -> None:
    text = shown("--dialect", "xml")

    assert "</validation_error>" in text
    assert "envelope" not in text


def test_programs_get_scenes_and_score() -> None:
    found = json.loads(shown("--json", "--dialect", "flat"))

    assert [scene["tool"] for scene in found["scenes"]] == [scene.tool for scene in SCENES]
    assert found["scenes"][0]["answers"]["flat"]["decision"]["action"] == "use"
    assert found["score"]["flat"]["right"] == len(SCENES)
