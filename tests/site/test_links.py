"""Every link leads somewhere, here and on a code host."""

import re

import pytest

from tests.site import pages


def broken(name: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    return [link for link in pages.links(name) if not leads_somewhere(name, link)]


def leads_somewhere(name: str, link: str) -> bool:
    if re.match(r"[a-z]+:", link):  # other hosts are not asked, only the form of their address counts
        return re.fullmatch(r"https://[\w.-]+\.[a-z]+(:\d+)?(/\S*)?", link) is not None
    path, _, anchor = link.partition("#")
    target = ((pages.ROOT / name).parent / path).resolve() if path else pages.ROOT / name
    if not target.exists() or not target.is_relative_to(pages.ROOT):
        return False
    return not anchor or anchor in pages.anchors(str(target.relative_to(pages.ROOT)))


@pytest.mark.parametrize("name", pages.NAMES)
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
    ["nowhere.md", "codes.md#no_such_code", "#nowhere", "http://example.com/", "https:/example.com", "/etc/hosts"],
)
def test_a_link_that_leads_nowhere_is_found(link: str) -> None:
    assert not leads_somewhere("docs/index.md", link)


@pytest.mark.parametrize("link", ["codes.md#deadlock", "../README.md", "#where-to-go", "https://example.com/a"])
def test_a_good_link_is_not_complained_of(link: str) -> None:
    assert leads_somewhere("docs/index.md", link)


def test_the_docs_link_to_no_folder_because_the_site_has_none() -> None:
    links = [(pages.DOCS / f"{page}.md", link) for page in pages.SITE for link in pages.links(f"docs/{page}.md")]
    paths = [(page, path) for page, link in links if (path := link.partition("#")[0]) and ":" not in path]

    assert len(paths) > 200
    assert [(page.name, path) for page, path in paths if (page.parent / path).is_dir()] == []
