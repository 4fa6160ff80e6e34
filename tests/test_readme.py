"""The first page: short, with one picture, and nothing promised that is not proven on the page of guarantees."""

import asyncio
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import failwell as fw
from failwell.exceptions.rules import all_rules
from tests.site import pages

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUARANTEES = (ROOT / "docs" / "explanation" / "guarantees.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#]+)(?:#[^)]*)?\)")
PROOF = re.compile(r"\.\./\.\./(tests|bench)/[\w./-]+|\.\./reference/benchmarks\.md")


def section(page: str, heading: str) -> str:
    """Return what stands below a heading of the second level."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[str]:
    """Return the rows of all tables, without their heads."""
    tables = [block for block in re.split(r"\n\s*\n", text) if block.lstrip().startswith("|")]
    return [row for table in tables for row in table.strip().splitlines()[2:]]


def promises() -> list[str]:
    """Return each reason and each guarantee that the first page gives."""
    lists = section(README, "Why failwell") + "\n" + section(README, "Guarantees").partition("\n\nEach")[0]
    return re.findall(r"^(?:\d\.|-) .+(?:\n  .+)*", lists, re.MULTILINE)


def test_it_is_read_in_a_minute() -> None:
    assert len(README.splitlines()) <= 120


def test_it_has_one_picture_which_is_there_and_says_in_words_what_it_shows() -> None:
    [picture] = PICTURE.findall(README)

    assert (ROOT / picture.removeprefix(f"{pages.REPOSITORY}/raw/main/")).stat().st_size > 1000


def test_its_links_are_whole_addresses_because_it_is_shown_elsewhere_too() -> None:
    links = pages.links("README.md")

    assert len(links) > 20
    assert [link for link in links if not link.startswith(f"{pages.REPOSITORY}/")] == []


def test_it_says_how_to_install_it_with_pip_and_with_uv() -> None:
    [block] = [block for block in pages.blocks("README.md") if "pip install" in block.code]

    assert block.code.splitlines() == ['pip install "failwell[mcp]"', 'uv add "failwell[mcp]"']


@pytest.mark.parametrize("extra", sorted(set(re.findall(r"(?:failwell|\.)\[(\w+)\]\"", README))))
def test_an_extra_that_it_names_exists(extra: str) -> None:
    assert extra in PROJECT["optional-dependencies"]


def test_the_two_commands_stand_together_and_are_what_ci_types_on_a_bare_copy() -> None:
    blocks = [block.code.splitlines() for block in pages.blocks("README.md") if "make" in block.code]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert blocks == [["make demo", "make test"]]
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


def shop() -> MCPServer:
    """Return a server that fails in the ways of the table."""
    server = MCPServer("shop", log_level="CRITICAL")

    @server.tool()
    def send_mail(to: str) -> str:
        raise httpx.ReadTimeout("timed out")

    @server.tool()
    def search(query: str) -> str:
        asked = httpx.Request("GET", "https://example.com/search")
        httpx.Response(429, headers={"Retry-After": "30"}, request=asked).raise_for_status()
        return "found"

    @server.tool()
    def list_orders(customer: str) -> str:
        raise ToolError("could not connect to postgresql://app:hunter2@db.internal/orders")

    return server


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("send_mail", {"to": "ann"}),
    ("search", {"query": "tea"}),
    ("list_orders", {"customer": "ann"}),
    ("search", {"q": "tea"}),
]


async def texts(server: MCPServer) -> list[str]:
    async with Client(server) as client:
        results = [await client.call_tool(tool, arguments) for tool, arguments in CALLS]
    return [content.text for result in results for content in result.content if content.type == "text"]


def cell(text: str, *, whole: bool) -> str:
    """Return a text as a cell shows it: each line as code, or its first one if the rest is left out."""
    lines = [f"`{line}`" for line in text.splitlines()]
    return " ".join(lines) if whole else f"{lines[0]} …"


def test_the_table_shows_what_a_server_sends_without_failwell_and_with_it() -> None:
    protected = shop()
    fw.protect(protected)
    bare, ours = asyncio.run(texts(shop())), asyncio.run(texts(protected))

    shown = [row.strip("| ").split(" | ")[1:] for row in rows(section(README, "Before and after"))]
    whole = [True, True, True, False]

    assert shown == [
        [cell(before, whole=is_whole), cell(after, whole=is_whole)]
        for before, after, is_whole in zip(bare, ours, whole, strict=True)
    ]


def greeter() -> MCPServer:
    server = MCPServer("greeter", log_level="CRITICAL")

    @server.tool()
    def greet(name: str) -> str:
        return f"Hello {name}"

    return server


async def greeted(server: MCPServer) -> bool:
    async with Client(server) as client:
        return not (await client.call_tool("greet", {"name": "ann", "tone": "warm"})).is_error


def test_an_argument_that_a_tool_does_not_have_is_rejected_only_with_protect_and_not_if_allowed() -> None:
    bare, protected, lenient = greeter(), greeter(), greeter()
    fw.protect(protected)
    fw.protect(lenient, allow_unknown=True)

    assert [asyncio.run(greeted(server)) for server in (bare, protected, lenient)] == [True, False, True]
    assert "unless you pass `allow_unknown=True`" in README


def test_there_is_something_to_prove() -> None:
    assert len(promises()) == 5 + 4
    assert len(rows(GUARANTEES)) > 20
    assert any("No call is repeated" in row for row in rows(GUARANTEES))


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: "-".join(re.findall(r"\w+", promise)[:6]))
def test_a_promise_links_to_its_part_of_the_page_that_proves_it(promise: str) -> None:
    named = re.findall(r"\]\[(\w+)\]", promise)
    anchors = re.findall(rf"^\[({'|'.join(named)})\]: \S+/docs/explanation/guarantees\.md#(\S+)$", README, re.MULTILINE)
    headings = {heading.lower().replace(" ", "-"): heading for heading in re.findall(r"^## (.+)$", GUARANTEES, re.M)}

    assert [name for name, _ in anchors] == named
    assert named
    assert all(rows(section(GUARANTEES, headings[anchor])) for _, anchor in anchors)


@pytest.mark.parametrize("row", rows(GUARANTEES), ids=lambda row: "-".join(re.findall(r"\w+", row)[:6]))
def test_a_row_of_the_guarantees_links_to_what_proves_it(row: str) -> None:
    proofs = [link for link in LINK.findall(row) if PROOF.fullmatch(link)]

    assert proofs, row
    assert [link for link in proofs if not (ROOT / "docs" / "explanation" / link).is_file()] == []


def test_a_file_of_tests_that_proves_something_tests() -> None:
    proofs = {link for link in LINK.findall(GUARANTEES) if PROOF.fullmatch(link) and link.endswith(".py")}
    tables_of_tests = {"../../tests/dialects/limits.py"}

    assert len(proofs) > 15
    assert [
        name for name in sorted(proofs - tables_of_tests) if "\ndef test_" not in _text(f"docs/explanation/{name}")
    ] == []


def test_its_numbers_are_those_of_the_project() -> None:
    stacks = list((ROOT / "tests" / "stacks" / "constraints").glob("*.txt"))
    sdks = list((ROOT / "tests" / "matrix" / "constraints").glob("*.txt"))
    packages = {package for package, _ in all_rules()} - sys.stdlib_module_names

    assert f"[{len(stacks)} agent stacks]" in README
    assert f"{len(stacks)} agent stacks" in GUARANTEES
    assert len(sdks) == 6
    assert "six SDK versions" in GUARANTEES
    assert f"more than {len(packages) // 10 * 10} packages" in README
    assert f"more than {len(packages) // 10 * 10} other packages" in GUARANTEES


def test_the_versions_that_it_names_are_those_that_are_tested() -> None:
    compatible = section(README, "Compatibility")
    tested = [path.stem.rpartition("-") for path in (ROOT / "tests" / "matrix" / "constraints").glob("*.txt")]
    pythons = [words.rpartition(" ")[2] for words in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", words)]

    assert set(re.findall(r"\b\d+\.\d+\.\d+\b", compatible)) == {version for _, _, version in tested}
    assert f"Python {', '.join(pythons[:-1])} and {pythons[-1]} " in compatible


def test_the_score_of_the_demo_is_the_one_on_its_page() -> None:
    demo = (ROOT / "docs" / "start" / "demo.md").read_text(encoding="utf-8")
    score = dict(re.findall(r"^\| (.+?) \| (.+ \| .+) \|$", section(demo, "The score"), re.MULTILINE))
    said = " ".join(section(README, "See it in action").split())

    assert score["side effects repeated"] == "4 | 0"
    assert score["passwords seen"] == "3 | 0"
    assert "repeats 4 side effects and sees 3 passwords; with failwell, none" in said
    assert score["recovered without a model"] == "2 of 14 | 11 of 14"
    assert "recovers from 2 of the failures without failwell, and from 11 with it" in said
    assert "**The agent is mechanical**" in said


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_all_holds_every_extra_that_a_program_uses_when_it_runs() -> None:
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    held = {name for needed in extras["all"] for name in re.findall(r"[\w-]+", needed.partition("[")[2])}

    assert held == extras.keys() - {"all", "pytest"}
