"""The pages are whole: all in the navigation, every block of code run, every integration described."""

import pkgutil
import runpy

import pytest
from tools import included_code
from tools.pictures.__main__ import PICTURES

from failwell import integrations
from failwell.dialects import DIALECTS
from tests.site import pages

# Pages that are followed as a stranger would: their programs are saved under the name above them, and run.
FOLLOWED = ("docs/start/server.md", "docs/start/agent.md", "docs/start/proxy.md", "docs/start/check.md")
OTHER_LANGUAGES = {"diff", "ini", "json", "sh", "sql", "text", "toml", "xml", "yaml"}


def test_every_page_is_in_the_navigation_once() -> None:
    shown = [page for listed in pages.navigation().values() for page in listed]
    listed_by_another = [page for page in pages.SITE if page.startswith("integrations/")]
    written = {*pages.SITE} - {"index", *listed_by_another} | {"integrations/index"}

    assert len(shown) == len(set(shown))
    assert written - set(shown) == set(), "add it to NAVIGATION in docs/conf.py"


def test_a_page_lies_in_the_folder_of_its_purpose() -> None:
    folders = {
        "Tutorials": "start",
        "How-to guides": "howto",
        "Integrations": "integrations",
        "Reference": "reference",
        "Explanation": "explanation",
    }
    found = {
        caption: {page.partition("/")[0] for page in listed}
        for caption, listed in pages.navigation().items()
        if caption in folders
    }

    assert found == {caption: {folder} for caption, folder in folders.items()}


def test_a_page_begins_with_its_only_heading_of_the_first_level() -> None:
    places = {
        name: [
            place for place, token in enumerate(pages.tokens(name)) if (token.type, token.tag) == ("heading_open", "h1")
        ]
        for name in pages.NAMES
    }

    assert len(places) > 80
    assert [name for name, found in places.items() if found != [0]] == []


def test_a_program_on_a_page_is_an_example_unless_the_page_is_followed() -> None:
    titles = [
        block.title for name in pages.NAMES if name not in FOLLOWED for block in pages.blocks(name) if block.title
    ]

    assert len(titles) > 8
    assert [title for title in titles if not (title.startswith("examples/") and (pages.ROOT / title).is_file())] == []


def test_no_block_of_python_escapes_the_tests() -> None:
    found = {(name, block.language) for name in pages.NAMES for block in pages.blocks(name)}
    patterns = runpy.run_path(str(pages.ROOT / "conftest.py"))["PAGES"]
    run_by_sybil = {name for name in pages.NAMES for pattern in patterns if (pages.ROOT / name).match(pattern)}

    assert {language for _, language in found} - OTHER_LANGUAGES == {"python"}
    assert {name for name, language in found if language == "python"} - run_by_sybil == set()


def test_programs_on_pages_are_those_in_the_repository() -> None:
    found = {str(page.relative_to(pages.DOCS)): text == current for page, text, current in included_code.pages()}

    assert {page.removesuffix(".md") for page in found} >= {*pages.SITE}
    assert [page for page, is_current in found.items() if not is_current] == [], "python -m tools.included_code"


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_start_page_goes_from_installing_to_a_result(name: str) -> None:
    found = pages.blocks(name)
    kinds = [block.language for block in found]

    assert found[0].code.startswith("pip install 'failwell[")
    assert [block.title for block in found if block.language == "python" and not block.title] == []
    assert kinds[kinds.index("text") - 1] == "sh"


def test_every_integration_and_dialect_has_a_page() -> None:
    modules = {module.name for module in pkgutil.iter_modules(integrations.__path__) if module.name[0] != "_"}

    assert len(modules) > 8
    assert [name for name in sorted(modules) if f"integrations/{name}" not in pages.SITE] == []
    assert [name for name in DIALECTS if f"reference/dialects/{name}" not in pages.SITE] == []


def test_the_index_of_integrations_links_to_all_of_them() -> None:
    described = {page.removeprefix("integrations/") for page in pages.SITE if page.startswith("integrations/")}

    assert described - {"index"} == {
        link.removesuffix(".md") for link in pages.links("docs/integrations/index.md") if "/" not in link
    }


def test_every_picture_is_made_by_a_program() -> None:
    assert {picture.name for picture in (pages.DOCS / "pictures").iterdir()} == set(PICTURES.values())


def test_every_picture_is_shown_and_described_in_words() -> None:
    shown = {link.rpartition("/")[2] for name in pages.NAMES for link in pages.links(name)}
    pictures = sorted((pages.DOCS / "pictures").iterdir())
    nameless = [
        name
        for name in pages.NAMES
        for token in pages.tokens(name)
        for child in token.children or ()
        if child.type == "image" and not child.content
    ]

    assert [picture.name for picture in pictures if picture.name not in shown] == []
    assert nameless == []
