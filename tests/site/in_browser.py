"""The site as it is built, on disk and in a real browser. Needs chromium; run by `nox -s browser`, which fetches it."""

import functools
import http.server
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NARROW, WIDE = {"width": 360, "height": 740}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = (sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(built / "doctrees"))
    done = subprocess.run(
        [*command, "docs", str(built / "html")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return built / "html"


class Served(http.server.SimpleHTTPRequestHandler):
    """Hands out files without a word in the log."""

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module", params=["file", "http"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    if request.param == "file":
        yield site.as_uri()
        return
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Served, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail(f"no browser: install one of {', '.join(BROWSERS)} (on Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page in a context of its own, with all that it complained of and asked for."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(**{"viewport": WIDE, **options})
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def goto(self, path: str) -> Page:
        self.page.goto(f"{self.address}/{path}")
        return self.page

    @property
    def strangers(self) -> list[str]:
        """What was asked of anybody else."""
        return [url for url in self.asked if not url.startswith((self.address, "data:"))]


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Any]:
    made: list[Visit] = []

    def make(**options: Any) -> Visit:
        made.append(Visit(browser, address, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


def test_the_home_page_opens_and_leads_to_the_first_page(visit: Any) -> None:
    seen = visit()
    page = seen.goto("index.html")

    expect(page.get_by_role("heading", level=1)).to_contain_text("failwell")
    page.get_by_role("main").get_by_role("link", name="Protect a server", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Protect a server")
    expect(page.locator(".code-block-caption").first).to_contain_text("server.py")
    assert (seen.said, seen.strangers) == ([], [])


def test_the_search_finds_a_code_and_opens_its_page(visit: Any) -> None:
    seen = visit()
    page = seen.goto("index.html")

    page.get_by_role("textbox", name="Search").fill("deadlock")
    page.keyboard.press("Enter")
    found = page.get_by_role("link", name="Codes > DEADLOCK")
    found.wait_for()
    page.wait_for_load_state("networkidle")
    found.click()

    expect(page.locator("section#deadlock h3")).to_be_in_viewport()
    assert (seen.said, seen.strangers) == ([], [])


def test_what_does_not_exist_is_not_found(visit: Any) -> None:
    page = visit().goto("search.html?q=xyzzyplugh")

    expect(page.locator("#search-results")).to_contain_text("did not match any documents")


def test_records_of_decisions_are_not_on_the_site(site: Path) -> None:
    assert not (site / "decisions").exists()


def test_a_long_table_can_be_filtered(visit: Any) -> None:
    seen = visit()
    page = seen.goto("reference/mapping.html")
    rows = page.locator("article table").last.locator("tbody tr")
    all_of_them = rows.count()

    page.get_by_role("searchbox", name="Filter the table").fill("BadZipFile PARSE_ERROR")

    shown = page.locator("article table").last.locator("tbody tr:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("BadZipFile")
    assert all_of_them > 100
    assert seen.said == []


@pytest.mark.parametrize("width", [NARROW["width"], 820, 1100])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_the_screen_in_both_colour_schemes(visit: Any, scheme: str, width: int) -> None:
    seen = visit(viewport={**NARROW, "width": width}, color_scheme=scheme)
    shades = {}
    for path in ("index.html", "reference/codes.html", "reference/mapping.html", "start/server.html"):
        page = seen.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        shades[path] = page.evaluate("getComputedStyle(document.body).backgroundColor")

    brightness = {sum(int(part) for part in shade[4:-1].split(",")) for shade in shades.values()}
    assert all(bright > 600 if scheme == "light" else bright < 150 for bright in brightness)
    assert (seen.said, seen.strangers) == ([], [])


def test_code_can_be_copied(visit: Any, address: str) -> None:
    seen = visit(permissions=["clipboard-read", "clipboard-write"])
    page = seen.goto("start/server.html")

    block = page.locator("div.highlight").first
    block.hover()
    block.get_by_role("button", name="Copy").click()

    expect(block.get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "pip install 'failwell[cli,mcp,validation]'\n"


class Links(HTMLParser):
    """The links of a page, which of them are loaded with it, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
                self.loaded += [value] if tag != "a" else []
            elif name == "id" and value:
                self.anchors.add(value)


def test_every_link_of_every_built_page_leads_somewhere(site: Path) -> None:
    pages = {path: Links(path) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            if urlsplit(link).scheme:
                continue
            target = (path.parent / unquote(urlsplit(address).path)).resolve() if address else path
            has_anchor = target not in pages or anchor in pages[target].anchors or anchor in ("", "top")
            if not (target.exists() and has_anchor):
                broken.append((path.name, link))

    assert len(pages) > 60
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loaded = [
        (path.name, found) for path in site.rglob("*.html") for found in Links(path).loaded if urlsplit(found).netloc
    ]
    styled = [
        (path.name, found)
        for path in site.rglob("*.css")
        for found in re.findall(r"(?:url\(|@import)[^;)]*//[^;)]*", path.read_text(encoding="utf-8"))
    ]

    assert (loaded, styled) == ([], [])
