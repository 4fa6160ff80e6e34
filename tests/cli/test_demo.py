"""What `failwell demo` shows, on terminals and elsewhere."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.pictures import demo as picture

from failwell.cli import demo
from failwell.demo import runner
from failwell.demo.scenes import SIDES, SceneResult
from tests.cli.streams import Terminal, refusal, run

ROOT = Path(__file__).parents[2]


class Closed(io.StringIO):
    """A pipe whose reader goes away after the opening."""

    def write(self, text: str, /) -> int:
        if " 1. " in text:
            raise BrokenPipeError
        return super().write(text)


def shown(results: list[SceneResult], stdout: io.StringIO | None = None, *, in_full: bool = False) -> str:
    stdout = stdout or io.StringIO()
    with demo.show_progress(stdout, in_full=in_full) as display:
        for one in results:
            for side in SIDES:
                for step in one.runs[side].steps:
                    display.on_step(side, one.scene, step)
            display.on_scene(one)
    demo.show_score(stdout, runner.scores(results))
    return stdout.getvalue()


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_window(
    columns: int, results: list[SceneResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    lines = shown(results).splitlines()

    assert max(map(len, lines)) <= columns
    assert not [line for line in lines if line != line.rstrip()]


def test_each_scene_shows_what_both_agents_got_and_did(results: list[SceneResult]) -> None:
    text = shown(results)

    assert [int(number) for number in re.findall(r"^ ?(\d+)\. ", text, re.MULTILINE)] == list(range(1, 15))
    assert re.search(r"^    database is locked +LOCK_TIMEOUT: A lock was not released in time\.$", text, re.MULTILINE)
    assert re.search(r"^    → hand it over  – 1 call +→ look in list_orders  ✓ 3 calls$", text, re.MULTILINE)
    assert text.count("✗ 3 calls, happened 3 times, 2 wasted") == 2


def test_the_score_stands_at_the_end(results: list[SceneResult]) -> None:
    rows = dict(re.findall(r"^    ([a-z ]+?)  +(\d.*)$", shown(results).partition("bare    failwell")[2], re.MULTILINE))

    assert {name: re.split(r" {2,}", numbers) for name, numbers in rows.items()} == {
        "recovered without a model": ["2 of 14", "11 of 14"],
        "calls made": ["24", "26"],
        "calls wasted": ["8", "0"],
        "side effects repeated": ["4", "0"],
        "passwords seen": ["3", "0"],
    }


def test_in_full_the_texts_are_not_cut(results: list[SceneResult]) -> None:
    assert "…" not in shown(results, in_full=True)
    assert '{"type":"NOT_FOUND"' in shown(results, in_full=True)


def test_a_terminal_sees_the_scene_that_is_played_and_colours(results: list[SceneResult], terminal: Terminal) -> None:
    text = shown(results, terminal)

    assert "\x1b[32m" in text
    assert "\x1b[?25h" in text  # the cursor is shown again
    assert text.count("14. an error sent as a success") > 1


def test_no_colour_is_honoured(results: list[SceneResult], terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert not re.search(r"\x1b\[\d*;?3\dm", shown(results, terminal))


def test_a_dumb_terminal_gets_plain_lines(
    results: list[SceneResult], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")

    text = shown(results, terminal)

    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_the_picture_in_the_docs_is_current_and_loads_nothing(results: list[SceneResult]) -> None:
    drawn = picture.drawn(results)

    assert (ROOT / "docs/pictures/demo.svg").read_text(encoding="utf-8") == drawn, "python -m tools.pictures demo"
    assert not re.search(r"@font-face|@import|url\((?!#)|href|<image|<script", drawn)


def test_the_command_writes_json_in_the_chosen_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SCENES", runner.SCENES[:1])

    ran = run("demo", "--json", "--dialect", "xml")

    found = json.loads(ran.out)
    assert (ran.code, ran.err, found["dialect"]) == (0, "", "xml")
    assert {side: counts["recovered"] for side, counts in found["score"].items()} == {"bare": 0, "failwell": 1}
    assert found["scenes"][0]["failwell"]["steps"][0]["text"].startswith('<tool_error code="NOT_FOUND">')
    assert found["scenes"][0]["bare"]["steps"][0]["text"].startswith("Error executing tool read_order: ")


@pytest.mark.slow  # the whole demo once more
def test_the_command_plays_on_a_real_terminal() -> None:
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(
        [sys.executable, "-m", "failwell", "demo"], stdout=inner, stderr=inner, env=environment
    ) as ran:
        os.close(inner)
        seen = b""
        while chunk := _read(outer):
            seen += chunk
    os.close(outer)

    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", seen.decode())
    assert ran.returncode == 0
    assert "recovered without a model    2 of 14    11 of 14" in text
    assert "Traceback" not in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that the other side of a terminal is closed
        return b""


def test_a_reader_that_has_seen_enough_ends_it_quietly(
    results: list[SceneResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def replay(dialect: str, *, on_step: Any, on_scene: Any) -> list[SceneResult]:
        on_scene(results[0])
        raise AssertionError("nobody reads any more")

    monkeypatch.setattr(runner, "run_demo", replay)

    ran = run("demo", stdout=Closed())

    assert (ran.code, ran.err) == (0, "")


def test_servers_that_do_not_start_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "no-such-python")

    assert refusal("demo", "--json").startswith("the demo servers could not run: FileNotFoundError: ")
