"""The first page: short, with one picture, and nothing claimed that is not proven elsewhere."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from failwell.exceptions.rules import all_rules

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = README.splitlines()
PROSE = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#]+)(?:#[^)]*)?\)")
PROOF = re.compile(r"(tests|bench)/[\w./-]+|docs/benchmarks\.md")


def claims() -> list[str]:
    """Return each paragraph and each row of a table up to the list of further pages."""
    said = PROSE.partition("\n## Read on\n")[0]
    blocks = [block for block in re.split(r"\n\s*\n", said) if block and not block.lstrip().startswith(("#", "!["))]
    rows = [row for block in blocks if block.startswith("|") for row in block.splitlines()[2:]]
    return [*(block for block in blocks if not block.startswith("|")), *rows]


def test_it_is_read_in_a_minute() -> None:
    assert len(LINES) <= 120


def test_it_has_one_picture_which_is_there_and_says_in_words_what_it_shows() -> None:
    [picture] = PICTURE.findall(README)

    assert (ROOT / picture).stat().st_size > 1000


def test_the_two_commands_stand_together_and_are_what_ci_types_on_a_bare_copy() -> None:
    block = README.partition("```sh\n")[2].partition("```")[0]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert block.splitlines() == ["make demo", "make test"]
    assert re.findall(r"^step (make demo|make test)\b", ci, re.MULTILINE) == ["make demo", "make test"]
    assert "git archive" in ci


def test_ci_runs_the_quick_tests_with_nothing_but_what_they_ask_for_and_all_tests_later() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    targets = dict(re.findall(r"^(\w+): \$\((\w+)\)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    steps = re.findall(r"^step make (\w+)", ci, re.MULTILINE)

    assert [(step, targets[step]) for step in steps] == [
        ("demo", "CLI"),
        ("test", "TESTS"),
        ("check", "DEV"),
        ("cover", "DEV"),
        ("matrix", "DEV"),
    ]


def test_there_is_something_to_prove() -> None:
    assert len(claims()) > 20
    assert any("never run twice" in claim for claim in claims())


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: "-".join(re.findall(r"\w+", claim)[:6]))
def test_a_claim_links_to_what_proves_it(claim: str) -> None:
    proofs = [link for link in LINK.findall(claim) if PROOF.fullmatch(link)]

    assert proofs, claim
    assert [link for link in proofs if not (ROOT / link).is_file()] == []


def test_a_file_of_tests_that_proves_something_tests() -> None:
    proofs = {link for link in LINK.findall(README) if PROOF.fullmatch(link) and link.endswith(".py")}
    tables_of_tests = {"tests/dialects/limits.py"}

    assert [name for name in sorted(proofs - tables_of_tests) if "\ndef test_" not in _text(name)] == []


def test_its_numbers_are_those_of_the_project() -> None:
    stacks = list((ROOT / "tests" / "stacks" / "constraints").glob("*.txt"))
    sdks = list((ROOT / "tests" / "matrix" / "constraints").glob("*.txt"))
    packages = {package for package, _ in all_rules()} - sys.stdlib_module_names

    assert f"[{len(stacks)} agent stacks]" in README
    assert len(sdks) == 6
    assert "[six SDK versions]" in README
    assert f"more than {len(packages) // 10 * 10} other packages" in README


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_all_holds_every_extra_that_a_program_uses_when_it_runs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    held = {name for needed in extras["all"] for name in re.findall(r"[\w-]+", needed.partition("[")[2])}

    assert held == extras.keys() - {"all", "dev", "docs", "provoked", "pytest", "tests"}
