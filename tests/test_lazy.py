"""Packages that load their names late: what type checkers read, what is loaded and what is exported agree."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import failwell as fw

SOURCES = Path(fw.__file__).parent
PACKAGES = [
    import_module(".".join(("failwell", *path.parent.relative_to(SOURCES).parts)))
    for path in SOURCES.rglob("__init__.py")
    if "from failwell._lazy import exports" in path.read_text(encoding="utf-8")
]


def tree_of(package: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(package))


def imported_for_type_checkers(package: ModuleType) -> dict[str, str]:
    """Return the names in the `if TYPE_CHECKING:` block, and the module that each comes from."""
    [block] = [node for node in tree_of(package).body if isinstance(node, ast.If)]
    assert isinstance(block.test, ast.Name)
    assert block.test.id == "TYPE_CHECKING"
    return {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module != package.__name__  # these are modules
    }


def loaded_late(package: ModuleType) -> dict[str, str]:
    """Return the names that `exports` is given, and the module that each comes from."""
    [homes] = [
        found
        for node in ast.walk(tree_of(package))
        if isinstance(node, ast.Dict) and (found := _literal(node)) and all(isinstance(key, str) for key in found)
    ]
    return {
        name: home if home.startswith("failwell.") else f"{package.__name__}.{home}"
        for home, names in homes.items()
        for name in names.split()
    }


def _literal(node: ast.Dict) -> dict[Any, Any]:
    found: dict[Any, Any] = ast.literal_eval(node)
    return found


def modules_of(package: ModuleType) -> set[str]:
    return set(getattr(package, "_MODULES", ()))


def test_the_packages_that_load_late_are_found() -> None:
    assert fw in PACKAGES


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_type_checkers_read_the_names_that_are_loaded_late(package: ModuleType) -> None:
    assert imported_for_type_checkers(package) == loaded_late(package)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_that_is_loaded_late_is_exported_and_nothing_else(package: ModuleType) -> None:
    exported = sorted({*loaded_late(package), *modules_of(package)})

    assert package.__all__ == exported
    assert dir(package) == exported


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_is_the_object_of_its_module(package: ModuleType) -> None:
    for name, home in loaded_late(package).items():
        assert getattr(package, name) is getattr(import_module(home), name)
    for name in modules_of(package):
        assert getattr(package, name) is import_module(f"{package.__name__}.{name}")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_that_does_not_exist_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018 - asking for it is the test
