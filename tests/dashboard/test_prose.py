"""The page of the docs says what the page of the dashboard says."""

import re
from pathlib import Path

from failwell.dashboard.app import EXPORTS, FILES
from failwell.dashboard.details import MEANINGS, VERDICT_WORDS
from failwell.dashboard.views import RANGES, View
from failwell.records import recovery

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "dashboard.md").read_text(encoding="utf-8")
FOLDER = ROOT / "src" / "failwell" / "dashboard" / "page"


def test_every_word_is_explained_as_on_the_page() -> None:
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.+) \|$", PAGE, re.MULTILINE))

    assert {
        name.replace(" ", "_"): meaning for name, meaning in rows.items() if name != "word" and name != "path"
    } == MEANINGS


def test_every_verdict_has_words_here_and_in_the_page() -> None:
    script = (FOLDER / "words.js").read_text(encoding="utf-8")
    named = re.findall(r"(\w+):", script.partition("export const VERDICTS = {")[2].partition("}")[0])

    assert list(VERDICT_WORDS) == named
    assert sorted(VERDICT_WORDS) == sorted(recovery([]).verdicts)


def test_every_path_and_every_name_in_the_address_is_told() -> None:
    assert [path for path in EXPORTS if f"`{path}`" not in PAGE] == []
    assert [name for name in RANGES if f"`{name}`" not in PAGE] == []
    assert [name for name in View.__struct_fields__ if f"`{name}" not in PAGE and f"{name}=" not in PAGE] == []


def test_every_file_of_the_page_is_served_and_there_are_no_others() -> None:
    shipped = {path.name for path in FOLDER.iterdir() if path.suffix not in (".py", ".pyc", "")}

    assert shipped == {name for name, _ in FILES.values()}


def test_no_script_makes_markup_of_text_or_leaves_the_page() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.w3\.org/2000/svg)"
    )
    found = {
        path.name: forbidden.findall(path.read_text(encoding="utf-8"))
        for path in FOLDER.glob("*.*")
        if path.suffix in (".js", ".html", ".css")
    }

    assert len(found) > 8
    assert {name: what for name, what in found.items() if what} == {}
    assert " style=" not in (FOLDER / "index.html").read_text(encoding="utf-8")
