"""Shell completion, asked for as shells ask."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from failwell.codes import ROWS
from failwell.dialects import DIALECTS
from tests.cli.streams import run

PROGRAM = Path(sys.executable).with_name("failwell")
BASH = """
eval "$(failwell --show-completion)"
COMP_WORDS=({words}) COMP_CWORD={place}
_failwell_completion failwell
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


Ask = Callable[..., list[str]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask as a shell does: by variables, without arguments."""

    def ask(**environment: str) -> list[str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        ran = run()
        assert (ran.code, ran.err) == (0, "")
        return ran.out.splitlines()

    return ask


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("failwell", "ex"), {"explain"}),
        (("failwell", "explain", "rate"), {"rate_limited"}),
        (("failwell", "explain", "TRANS"), {"TRANSIENT"}),
        (("failwell", "codes", "--type", "CON"), {"CONFLICT"}),
        (("failwell", "read", "--dialect", "x"), {"xml"}),
        (("failwell", "demo", "--dialect", "f"), {"flat"}),
        (("failwell", "schema", "e"), {"envelope"}),
        (("failwell", "schema", "x"), set[str]()),
        (("failwell", "check", "--base"), {"--baseline"}),
        (("failwell", "events", "s"), {"summary"}),
        (("failwell", "events", "list", "--type", "TRA"), {"TRANSIENT"}),
        (("failwell", "proxy", "--retry-"), {"--retry-safe"}),
        (("failwell", "proxy", "--dialect", "m"), {"meta"}),
    ],
    ids=" ".join,
)
def test_a_word_is_completed(words: tuple[str, ...], found: set[str], ask: Ask) -> None:
    place = str(len(words) - 1)

    assert set(ask(_FAILWELL_COMPLETE="complete_bash", COMP_WORDS=" ".join(words), COMP_CWORD=place)) - {""} == found


def test_every_code_can_be_chosen(ask: Ask) -> None:
    assert {row.code for row in ROWS} <= set(ask(
        _FAILWELL_COMPLETE="complete_bash", COMP_WORDS="failwell explain ", COMP_CWORD="2"
    ))  # fmt: skip


def test_zsh_gets_titles_beside_the_codes(ask: Ask) -> None:
    found = ask(_FAILWELL_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="failwell explain RATE")

    assert found == ["""_arguments '*: :(("RATE_LIMITED":"Too many requests"))'"""]


def test_fish_gets_all_dialects(ask: Ask) -> None:
    found = ask(
        _FAILWELL_COMPLETE="complete_fish",
        _TYPER_COMPLETE_ARGS="failwell convert --to ",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )

    assert found == list(DIALECTS)


def test_a_real_bash_completes_with_the_script_that_is_shown() -> None:
    script = BASH.format(words="failwell explain RATE", place=2)
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"}

    ran = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=60, check=False
    )

    assert (ran.returncode, ran.stdout) == (0, "RATE_LIMITED\n"), ran.stderr


def test_the_completion_is_installed_for_the_shell_that_one_is_in(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}",
    }

    ran = subprocess.run(
        ["bash", "-c", "failwell --install-completion; exit $?"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "_FAILWELL_COMPLETE=complete_bash" in (tmp_path / ".bash_completions/failwell.sh").read_text()
    assert "failwell.sh" in (tmp_path / ".bashrc").read_text()


def test_a_shell_that_nobody_knows_is_exit_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_FAILWELL_COMPLETE", "complete_tcsh")

    ran = run()

    assert (ran.code, ran.out) == (2, "")
    assert "tcsh" in ran.err
