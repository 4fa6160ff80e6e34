"""One class name is one class, so that a search for it finds it."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import failwell

SOURCES = Path(failwell.__file__).parent


@pytest.mark.table
def test_every_class_has_a_name_of_its_own() -> None:
    modules = defaultdict[str, list[str]](list)
    for path in SOURCES.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path.name)

    assert len(modules) > 200
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
