"""The pages of the project as they are written: links, anchors, blocks of code, prose."""

import re
import runpy
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REPOSITORY: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
NAMES = sorted(
    str(path.relative_to(ROOT))
    for path in [
        *ROOT.glob("*.md"),
        *(path for folder in ("bench", "docs", "examples") for path in (ROOT / folder).rglob("*.md")),
    ]
)
SITE = [
    name.removeprefix("docs/").removesuffix(".md")
    for name in NAMES
    if name.startswith("docs/") and not name.startswith("docs/decisions/")
]


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title if it has one, and what it holds."""

    language: str
    title: str | None
    code: str


@cache
def tokens(name: str) -> list[Token]:
    """Return the tokens of a page, by its path in the repository."""
    return MarkdownIt("commonmark").enable("table").parse((ROOT / name).read_text(encoding="utf-8"))


def blocks(name: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [_block(token) for token in tokens(name) if token.type == "fence"]


def links(name: str) -> list[str]:
    """Return what the links and pictures of a page point at."""
    inline = [child for token in tokens(name) for child in token.children or ()]
    return [str(child.attrs[key]) for child in inline for key in ("href", "src") if key in child.attrs]


def anchors(name: str) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    found: dict[str, int] = {}
    all_tokens = tokens(name)
    for heading, inline in pairwise(all_tokens):
        if heading.type == "heading_open":
            text = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
    return {slug if times == 0 else f"{slug}-{times}" for slug, most in found.items() for times in range(most + 1)}


def words(name: str) -> Iterator[str]:
    """Yield the words of a page's prose: neither code nor addresses."""
    for token in tokens(name):
        for child in token.children or ():
            if child.type == "text":
                prose = re.sub(r"https?://\S+", "", child.content)
                yield from (word.replace("’", "'") for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", prose))


def navigation() -> dict[str, list[str]]:
    """Return the pages that the side bar of the site shows, by the heading above them."""
    return {caption: [*pages] for caption, pages in runpy.run_path(str(DOCS / "conf.py"))["NAVIGATION"].items()}


def _block(token: Token) -> Block:
    title = re.search(r'title="([^"]+)"', token.info)
    return Block(token.info.partition(" ")[0], title[1] if title else None, token.content)
