"""The table of stores holds for every kind of store: who opens it, what it needs, and what its addresses look like."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from failwell.records import Unreadable, open_reader, open_sink
from failwell.records._addresses import STORES, StoreKind

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
kinds = pytest.mark.parametrize("kind", STORES, ids=lambda kind: kind.form)


@kinds
def test_every_kind_of_store_has_the_functions_that_open_it(kind: StoreKind) -> None:
    assert callable(import_module(kind.sink).open_sink)
    assert kind.reader is None or callable(import_module(kind.reader).open_reader)


def included(requirements: list[str]) -> list[str]:
    """Return the extras that an extra includes."""
    return [
        name for each in requirements for names in re.findall(r"^failwell\[(.+)\]", each) for name in names.split(",")
    ]


@kinds
def test_what_a_store_needs_is_installed_by_its_extra(kind: StoreKind) -> None:
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]

    for module, extra in kind.packages:
        assert find_spec(module) is not None
        needed = [requirement for name in (extra, *included(extras[extra])) for requirement in extras[name]]
        assert any(requirement.startswith(module.replace(".", "-")) for requirement in needed), (module, extra)


def test_no_scheme_stands_for_two_stores() -> None:
    schemes = [scheme for kind in STORES for scheme in kind.schemes]

    assert len(schemes) == len(set(schemes))


def test_an_address_of_no_store_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"^records go to ") as no_sink:
        open_sink("mysql://h/d")
    with pytest.raises(Unreadable, match=r"^not a store that can be read: use ") as no_reader:
        open_reader("otlp:http://h")

    assert [kind.form for kind in STORES if kind.form not in str(no_sink.value)] == []
    assert [kind.form for kind in STORES if kind.form in str(no_reader.value)] == [
        kind.form for kind in STORES if kind.reader
    ]


def test_the_table_is_light_enough_for_a_proxy_that_starts() -> None:
    program = """
import sys
before = set(sys.modules)
from failwell.records._addresses import STORES
print(sorted(name for name in set(sys.modules) - before if not name.startswith("failwell")))
"""

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
