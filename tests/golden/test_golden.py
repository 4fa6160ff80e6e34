"""Nothing that can be seen has changed since it was recorded; `python -m tests.golden` shows more.

With FAILWELL_GOLDEN=full, heavy cases are compared too, as `python -m tests.golden` always does.
"""

import os
from pathlib import Path

import pytest

from tests.golden import store
from tests.golden.case import Case, steady
from tests.golden.sections import HEAVY, SECTIONS

IS_FULL = os.environ.get("FAILWELL_GOLDEN") == "full"
_MOST_SHOWN = 20
_LONGEST_SHOWN = 2_000


@pytest.mark.parametrize("section", [section for section in SECTIONS if IS_FULL or section not in HEAVY])
def test_everything_is_as_it_was_recorded(section: str) -> None:
    found = store.differences(section, SECTIONS[section](), heavy=IS_FULL)

    assert not found, _told(section, found)


def test_every_section_is_recorded() -> None:
    assert {section: bool(store.recorded(section)) for section in SECTIONS} == dict.fromkeys(SECTIONS, True)


def test_a_changed_a_new_and_a_lost_case_are_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DATA", tmp_path)
    store.write("section", [Case("same", lambda: 1), Case("changed", lambda: {"a": 1}), Case("lost", lambda: 3)])

    found = store.differences(
        "section", [Case("same", lambda: 1), Case("changed", lambda: {"a": 2}), Case("new", lambda: 4)]
    )

    assert [(one.name, one.now) for one in found] == [("changed", '{\n "a": 2\n}'), ("new", "4"), ("lost", None)]


def test_a_heavy_case_is_compared_if_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DATA", tmp_path)
    store.write("section", [Case("heavy", lambda: 1, is_heavy=True)])
    changed = [Case("heavy", lambda: 2, is_heavy=True)]

    assert [one.name for one in store.differences("section", changed, heavy=True)] == ["heavy"]
    assert store.differences("section", changed, heavy=False) == []


def test_a_case_of_a_library_in_another_version_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DATA", tmp_path)
    versions = {"acme": "1", "python": "3"}
    monkeypatch.setattr(store, "installed", versions.__getitem__)
    store.write("section", [Case("acme/a", lambda: 1, "acme"), Case("acme/b", lambda: 1, "acme")])
    changed = [Case("acme/a", lambda: 2, "acme")]

    assert [one.name for one in store.differences("section", changed)] == ["acme/a", "acme/b"]

    versions["acme"] = "2"

    assert store.differences("section", changed) == []


def test_a_case_that_breaks_is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DATA", tmp_path)
    store.write("section", [Case("fine", lambda: 1)])

    def broken() -> int:
        raise LookupError("gone")

    found = store.differences("section", [Case("fine", broken)])

    assert [(one.name, one.now) for one in found] == [("fine", '"LookupError: gone"')]


def test_what_changes_from_run_to_run_is_hidden_and_what_is_equal_stays_equal() -> None:
    first, second = "c0ffee123456", "deadbeef1234"

    found = steady({"ids": [first, second, first], "elapsed": 0.25, "text": f"id {first}", "delay": 0.5})

    assert found == {"ids": ["<id 1>", "<id 2>", "<id 1>"], "elapsed": "<elapsed>", "text": "id <id 1>", "delay": 0.5}


def _told(section: str, found: list[store.Difference]) -> str:
    shown = "\n".join(f"{one.name}: {(one.now or '(gone)')[:_LONGEST_SHOWN]}" for one in found[:_MOST_SHOWN])
    names = ", ".join(one.name for one in found)
    return (
        f"{len(found)} cases of {section} are not as recorded: {names}\n{shown}\n"
        "`python -m tests.golden --diff HEAD` shows what they were; if the change is meant, record it with --write."
    )
