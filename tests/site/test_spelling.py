"""The words of the docs are words: those of a dictionary, or of the list beside this file."""

from collections.abc import Iterable
from functools import cache

import pytest
from spellchecker import SpellChecker

from tests.site import pages

LIST = pages.ROOT / "tests" / "site" / "words.txt"
OURS = LIST.read_text(encoding="utf-8").split()


@cache
def dictionary() -> SpellChecker:
    return SpellChecker()


def unknown(words: Iterable[str]) -> set[str]:
    """Return the words that are in neither list; `'s` may follow any of them."""
    bare = {word.lower().removesuffix("'s") for word in words}
    return {word for word in bare if word not in dictionary() and word not in OURS}


@pytest.mark.parametrize("name", pages.NAMES)
def test_all_words_are_spelt_right(name: str) -> None:
    assert unknown(pages.words(name)) == set(), f"mend them, or add them to {LIST.relative_to(pages.ROOT)}"


def test_a_slip_is_found() -> None:
    assert unknown(["We", "recieve", "failwell's", "seperate", "repsonses"]) == {"recieve", "seperate", "repsonses"}


def test_the_list_is_sorted_and_holds_no_word_of_the_dictionary() -> None:
    assert sorted(set(OURS)) == OURS
    assert [word for word in OURS if word in dictionary()] == []
