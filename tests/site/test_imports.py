"""What people copy from the docs and the examples uses public names only."""

import ast
import textwrap
from collections.abc import Iterator
from importlib import import_module

import pytest
from tools import api_pages

import failwell as fw
from tests.site import pages

PACKAGES = {*api_pages.PACKAGES, "failwell.pytest_plugin"}
EXAMPLES = sorted(
    str(path.relative_to(pages.ROOT))
    for folder in ("examples", "tools/api_examples")
    for path in (pages.ROOT / folder).rglob("*.py")
    if path.name != "__init__.py"
)


def programs(name: str) -> Iterator[str]:
    """Yield the programs of a page, or the one that a file is; pages show some of them as plain text."""
    if name.endswith(".py"):
        yield (pages.ROOT / name).read_text(encoding="utf-8")
        return
    for block in pages.blocks(name):
        if block.language == "python" or (block.language == "text" and "import failwell" in block.code):
            yield textwrap.dedent(block.code)


def private(program: str) -> list[str]:
    """Return what a program takes from failwell that is not public."""
    try:
        tree = ast.parse(program)
    except SyntaxError:  # a sketch
        return []
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if _is_ours(alias.name) and not _is_public(alias.name)]
        elif isinstance(node, ast.ImportFrom) and _is_ours(module := node.module or ""):
            found += [f"{module}.{alias.name}" for alias in node.names if not _is_exported(module, alias.name)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "fw":
            found += [f"fw.{node.attr}"] if node.attr not in {*fw.__all__, "metrics", "__version__"} else []
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "failwell"


def _is_public(module: str) -> bool:
    folder, _, name = module.rpartition(".")
    return module in PACKAGES or (folder == "failwell.integrations" and not name.startswith("_"))


def _is_exported(module: str, name: str) -> bool:
    if not _is_public(module):
        return module == "failwell.integrations" and _is_public(f"{module}.{name}")
    if module.startswith("failwell.integrations."):  # its framework may not be installed here
        return not name.startswith("_")
    return name in import_module(module).__all__


@pytest.mark.parametrize("name", [name for name in pages.NAMES if not name.startswith("docs/decisions/")])
def test_pages_use_public_names_only(name: str) -> None:
    assert [one for program in programs(name) for one in private(program)] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_use_public_names_only(name: str) -> None:
    assert [one for program in programs(name) for one in private(program)] == []


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("import failwell._json", ["failwell._json"]),
        ("from failwell._json import LONGEST_JSON", ["failwell._json.LONGEST_JSON"]),
        ("from failwell.retry._engine import Run", ["failwell.retry._engine.Run"]),
        ("from failwell.retry import _engine, Policy", ["failwell.retry._engine"]),
        ("from failwell.reading.reader import read", ["failwell.reading.reader.read"]),
        ("from failwell.integrations._common import x", ["failwell.integrations._common.x"]),
        ("import failwell as fw\nfw._log, fw.read, fw.no_such_name", ["fw._log", "fw.no_such_name"]),
        ("from failwell.integrations import stamina\nfrom failwell.records import Recorder", []),
    ],
)
def test_a_private_name_is_found(program: str, found: list[str]) -> None:
    assert private(program) == found


def test_there_are_programs_to_look_at() -> None:
    assert sum(1 for name in [*pages.NAMES, *EXAMPLES] for _ in programs(name)) > 200
