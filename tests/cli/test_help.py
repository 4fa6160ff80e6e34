"""The help of every command: a purpose in one line, and examples that can be copied."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from failwell.cli.commands import app, examples
from failwell.proxy import options, rewrite
from tests.cli.streams import run

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]  # a group has commands
PARTS: dict[str, Any] = {  # commands of groups, such as `policy init`
    f"{name} {part}": command
    for name, group in COMMANDS.items()
    for part, command in getattr(group, "commands", {}).items()
}
ALL = {**COMMANDS, **PARTS}
EXAMPLES = [
    (name, example)
    for name, command in ALL.items()
    if not hasattr(command, "commands")
    for example in examples(command)
]
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words(example: str, name: str = "") -> list[str]:
    """Return the arguments of an example of a command, without what the shell takes for itself."""
    return shlex.split(re.sub(r" [<>] \S+", "", example))[1 + max(len(name.split()), 1) :]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_purpose_of_a_command_is_one_line_that_is_not_cut_in_the_list(name: str) -> None:
    purpose = COMMANDS[name].help.splitlines()[0]

    assert purpose.endswith(".")
    assert re.search(rf"^  {name} +{re.escape(purpose)}$", run("--help").out, re.MULTILINE)


@pytest.mark.parametrize("name", PARTS)
def test_the_purpose_of_a_part_is_one_sentence(name: str) -> None:
    assert PARTS[name].help.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", ALL)
def test_a_command_shows_its_examples_each_on_one_line(name: str) -> None:
    shown = run(*name.split(), "--help").out

    assert examples(ALL[name])
    if name not in ("proxy", "rewrite"):  # they have a help of their own
        for example in examples(ALL[name]):
            assert f"\n  {example}\n" in shown.replace(" \\\n    ", " ")


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_an_example_can_be_parsed(name: str, example: str) -> None:
    assert example.startswith(f"failwell {name}")
    if name == "proxy":
        assert options.parse(words(example)).command
    elif name == "rewrite":
        assert rewrite.parser().parse_args(words(example)).tool
    else:
        with ALL[name].make_context(name, words(example, name)) as context:
            assert context.args == []


def test_the_example_of_the_proxy_s_own_help_can_be_parsed() -> None:
    shown = run("proxy", "--help").out.replace(" \\\n    ", " ")
    found = [options.parse(words(example)) for example in re.findall(r"^  (failwell proxy .+)$", shown, re.MULTILINE)]

    assert [bool(chosen.command or chosen.url) for chosen in found] == [True, True]


@pytest.mark.parametrize("columns", [60, 80, 140])
@pytest.mark.parametrize("name", ["", *ALL])
def test_help_has_one_layout_and_fits_the_terminal(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run(*name.split(), "-h").out
    headings = re.findall(r"^(\w+):", shown, re.MULTILINE)

    assert shown == run(*name.split(), "--help").out
    assert headings == [one for one in ("Usage", "Commands", "Arguments", "Options", "Examples") if one in headings]
    assert {"Usage", "Options"} <= {*headings}
    assert [line for line in shown.splitlines() if len(line) > min(columns, 100)] == []
    assert "[default: ]" not in shown
    assert "  Show this message and exit.\n" in shown
    assert shown.endswith("\n")
    assert not shown.endswith("\n\n")


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
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")

    assert re.findall(r"^## failwell (\w+)$", page, re.MULTILINE) == list(COMMANDS)
    assert set(re.findall(r"^### failwell (\w+ \w+)$", page, re.MULTILINE)) == set(PARTS)
    for name, command in ALL.items():
        section = page.partition(f"# failwell {name}\n")[2].partition("\n## ")[0]
        for option in [opt for parameter in command.params for opt in parameter.opts if opt.startswith("--")]:
            assert option == "--help" or f"`{option}" in section.replace("`--file, -f", "`--file `--f")
        assert all(example in section for example in examples(command))


def test_the_refusal_on_the_page_is_the_one_that_is_written() -> None:
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    [(argv, said)] = re.findall(r"^\$ failwell (.+)\n(.+)$", page, re.MULTILINE)

    assert run(*argv.split()).err == f"{said}\n"
