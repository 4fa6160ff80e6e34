"""Every link leads somewhere, here and on a code host."""

import re
from pathlib import Path

import pytest

from tests.site import pages

# Pages that a code host makes.
MADE_BY_THE_HOST = {"issues", "security/advisories/new"}


def broken(name: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    return [link for link in pages.links(name) if not leads_somewhere(name, link)]


def leads_somewhere(name: str, link: str) -> bool:
    if link.startswith(f"{pages.REPOSITORY}/"):
        place = link.removeprefix(f"{pages.REPOSITORY}/")
        path, _, anchor = re.sub(r"^(?:blob|raw)/main/", "", place).partition("#")
        return place in MADE_BY_THE_HOST or (not place.startswith(path) and is_there(pages.ROOT / path, anchor))
    if re.match(r"[a-z]+:", link):  # other hosts are not asked, only the form of their address counts
        return re.fullmatch(r"https://[\w.-]+\.[a-z]+(:\d+)?(/\S*)?", link) is not None
    path, _, anchor = link.partition("#")
    return is_there((pages.ROOT / name).parent / path if path else pages.ROOT / name, anchor)


def is_there(path: Path, anchor: str = "") -> bool:
    target = path.resolve()
    if not target.exists() or not target.is_relative_to(pages.ROOT):
        return False
    return not anchor or anchor in pages.anchors(str(target.relative_to(pages.ROOT)))


@pytest.mark.parametrize("name", [*pages.NAMES, "llms.txt"])
def test_links_lead_somewhere(name: str) -> None:
    assert broken(name) == []


def test_there_are_links_of_every_kind() -> None:
    links = [link for name in pages.NAMES for link in pages.links(name)]

    assert len(links) > 300
    assert any(link.startswith("https://") for link in links)
    assert any(link.startswith("#") for link in links)
    assert any(link.endswith(".svg") for link in links)


@pytest.mark.parametrize(
    "link",
    [
        *("nowhere.md", "reference/codes.md#no_such_code", "#nowhere", "/etc/hosts"),
        *("http://example.com/", "https:/example.com"),
        *(f"{pages.REPOSITORY}/{place}" for place in ("blob/main/nowhere.md", "docs/index.md", "no/such/page")),
        f"{pages.REPOSITORY}/blob/main/docs/reference/codes.md#no_such_code",
        f"{pages.REPOSITORY}/blob/main/../../etc/hosts",
    ],
)
def test_a_link_that_leads_nowhere_is_found(link: str) -> None:
    assert not leads_somewhere("docs/index.md", link)


@pytest.mark.parametrize(
    "link",
    [
        *("reference/codes.md#deadlock", "../README.md", "#install", "https://example.com/a"),
        f"{pages.REPOSITORY}/blob/main/docs/reference/codes.md#deadlock",
        f"{pages.REPOSITORY}/raw/main/docs/pictures/demo.svg",
        f"{pages.REPOSITORY}/issues",
    ],
)
def test_a_good_link_is_not_complained_of(link: str) -> None:
    assert leads_somewhere("docs/index.md", link)


def test_the_docs_link_to_no_folder_because_the_site_has_none() -> None:
    links = [(pages.DOCS / f"{page}.md", link) for page in pages.SITE for link in pages.links(f"docs/{page}.md")]
    paths = [(page, path) for page, link in links if (path := link.partition("#")[0]) and ":" not in path]

    assert len(paths) > 200
    assert [(page.name, path) for page, path in paths if (page.parent / path).is_dir()] == []
