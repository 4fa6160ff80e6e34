"""Every public name is in the API reference, with an example that shows it; Sybil runs the examples on the pages."""

import re
from importlib import import_module

import pytest
from tools import api_pages

import failwell as fw

pytestmark = pytest.mark.table


@pytest.mark.parametrize("package", api_pages.PACKAGES)
def test_every_public_name_has_an_example_that_uses_it(package: str) -> None:
    shown = {name: example.code for example in api_pages.examples(package) for name in example.names}

    assert sorted(shown) == sorted(api_pages.names_of(package)), "add it to tools/api_examples"
    assert [name for name, code in shown.items() if not re.search(rf"\b{name}\b", code)] == []


def test_every_public_package_has_a_page() -> None:
    modules = {f"failwell.{name}" for name in fw.__all__ if type(getattr(fw, name)).__name__ == "module"}

    # It needs a package that is optional, so it is no name of the top level.
    assert {"failwell", "failwell.metrics", *modules} == set(api_pages.PACKAGES)


def test_a_name_that_two_packages_export_is_described_once() -> None:
    described = [
        (name, id(getattr(import_module(package), name)))
        for package in api_pages.PACKAGES
        for name in api_pages.names_of(package)
    ]

    assert len(set(described)) == len(described)


def test_every_public_name_says_what_it_is() -> None:
    pages = api_pages.pages()
    nameless = [
        (path, heading)
        for path, text in pages.items()
        for heading, body in re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if not re.sub(r"^```.*?^```", "", body, flags=re.MULTILINE | re.DOTALL).strip()
    ]

    assert nameless == []
    assert sum(text.count("\n## ") for text in pages.values()) > 130
