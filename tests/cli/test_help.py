"""The help of every command: a purpose in one line, and examples that can be copied."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from failwell.cli.commands import app, examples
from failwell.proxy import options
from tests.cli.streams import run

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]  # a group has commands
EXAMPLES = [(name, example) for name, command in COMMANDS.items() for example in examples(command)]
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words(example: str) -> list[str]:
    """Return the arguments of an example, without what the shell takes for itself."""
    return shlex.split(re.sub(r" [<>] \S+", "", example))[2:]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_purpose_of_a_command_is_one_line_that_is_not_cut_in_the_list(name: str) -> None:
    purpose = COMMANDS[name].help.splitlines()[0]

    assert purpose.endswith(".")
    assert re.search(rf"^  {name} +{re.escape(purpose)}$", run("--help").out, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_its_examples_each_on_one_line(name: str) -> None:
    shown = run(name, "--help").out

    assert examples(COMMANDS[name])
    if name != "proxy":  # it has a help of its own
        for example in examples(COMMANDS[name]):
            assert f"\n  Example: {example}\n" in shown


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_an_example_can_be_parsed(name: str, example: str) -> None:
    assert example.split()[:2] == ["failwell", name]
    if name == "proxy":
        assert options.parse(words(example)).command
    else:
        with COMMANDS[name].make_context(name, words(example)) as context:
            assert context.args == []


def test_the_example_of_the_proxy_s_own_help_can_be_parsed() -> None:
    [example] = re.findall(r"^Example: (.+)$", run("proxy", "--help").out, re.MULTILINE)

    assert options.parse(words(example)).command[0] == "npx"


@pytest.mark.parametrize(
    "example",
    [example for name, example in EXAMPLES if name in ("codes", "explain", "schema") or "<" in example],
)
def test_an_example_that_needs_nothing_else_runs(example: str) -> None:
    payload = '{"error":"rate_limited","message":"Slow down","details":{"retry_after":60}}'

    ran = run(example.split()[1], *words(example), stdin=payload)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out


def test_the_page_names_every_command_option_and_example() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")

    assert re.findall(r"^## failwell (\w+)$", page, re.MULTILINE) == list(COMMANDS)
    for name, command in COMMANDS.items():
        section = page.partition(f"## failwell {name}\n")[2].partition("\n## ")[0]
        for option in [opt for parameter in command.params for opt in parameter.opts if opt.startswith("--")]:
            assert option == "--help" or f"`{option}" in section.replace("`--file, -f", "`--file `--f")
        assert all(example in section for example in examples(command))


def test_the_refusal_on_the_page_is_the_one_that_is_written() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    [(argv, said)] = re.findall(r"^\$ failwell (.+)\n(.+)$", page, re.MULTILINE)

    assert run(*argv.split()).err == f"{said}\n"
