"""The page in a real browser. Needs chromium; run by `nox -s browser`, which fetches it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from failwell.check.report import Report
from failwell.check.reports import html
from tests.check.reports import samples

NAMES = ("chromium", "chromium-browser", "google-chrome")
NARROW, WIDE = {"width": 320, "height": 640}, {"width": 1200, "height": 900}
# What a keyboard must reach: each of these in the page, unless it cannot be seen.
CONTROLS = "a[href], button:not([hidden]), summary, input:checked, [tabindex='0']"
NO_CLIPBOARD = "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) }"
MANY = samples.report(
    *(
        samples.tool(
            f"a_tool_with_a_long_name_{number}",
            *(
                samples.probe(f"{row}/field", samples.NAMELESS, tool=f"a_tool_with_a_long_name_{number}")
                for row in (
                    "empty",
                    "missing_field",
                    "wrong_type",
                    "null",
                    "not_listed",
                    "out_of_range",
                    "wrong_length",
                )
            ),
        )
        for number in range(6)
    ),
    changes=(samples.CHANGE,),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(f"no browser: install one of {', '.join(NAMES)} (on Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page in a context of its own, with all that it said and asked for."""

    def __init__(self, browser: Browser, path: Path, report: Report, **options: Any) -> None:
        path.write_text(html.write(report), encoding="utf-8")
        self.context: BrowserContext = browser.new_context(**{"viewport": WIDE, **options})
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    made: list[Opened] = []

    def make(report: Report, **options: Any) -> Opened:
        made.append(Opened(browser, tmp_path / f"{len(made)}.html", report, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


@pytest.mark.parametrize("name", samples.ALL)
def test_nothing_is_complained_of_and_no_request_leaves(opened: Any, name: str) -> None:
    found = opened(samples.ALL[name])
    found.page.locator("details.call").first.wait_for()

    assert found.said == []
    assert found.asked == [found.page.url]


def test_hostile_text_does_not_run(opened: Any) -> None:
    found = opened(samples.HOSTILE_EVERYWHERE)

    assert found.page.evaluate("window.pwned") is None
    assert found.page.locator("img").count() == 0
    assert "window.pwned = 1" in found.page.locator("main").inner_text()


def test_even_markup_that_slipped_through_could_not_run(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    path = tmp_path / "injected.html"
    slipped = (
        "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'><p style='color: red' id=bad>x</p>"
    )
    path.write_text(html.write(samples.MIXED).replace("<main>", f"<main>{slipped}"), encoding="utf-8")

    page.goto(path.as_uri())

    assert page.evaluate("window.pwned") is None
    assert page.evaluate("getComputedStyle(document.getElementById('bad')).color") != "rgb(255, 0, 0)"
    page.close()


def test_light_and_dark_differ_and_both_can_be_read(opened: Any) -> None:
    shots = {}
    for scheme in ("light", "dark"):
        found = opened(samples.MIXED, color_scheme=scheme)
        shots[scheme] = found.page.screenshot(full_page=True)

        too_low = found.page.evaluate(LOW_CONTRAST)
        assert too_low == []
    assert shots["light"] != shots["dark"]


@pytest.mark.parametrize("report", [samples.MIXED, MANY, samples.HOSTILE_EVERYWHERE], ids=["mixed", "many", "hostile"])
def test_a_narrow_screen_does_not_scroll_sideways(opened: Any, report: Report) -> None:
    found = opened(report, viewport=NARROW)
    found.page.get_by_role("button", name="Open all").click()

    assert found.page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


def test_the_matrix_scrolls_by_itself_where_it_is_too_wide(opened: Any) -> None:
    found = opened(MANY, viewport=NARROW)
    region = found.page.get_by_role("region", name="Tools and probes")

    assert region.evaluate("element => element.scrollWidth > element.clientWidth")
    waiting = "new Promise(done => one.addEventListener('scroll', () => done(true), {once: true}))"
    region.evaluate(f"one => {{ window.scrolled = {waiting} }}")
    region.focus()
    found.page.keyboard.press("ArrowRight")
    assert found.page.evaluate("window.scrolled")


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(opened: Any) -> None:
    found = opened(samples.MIXED)
    wanted = found.page.evaluate(
        f"[...document.querySelectorAll({CONTROLS!r})].filter(one => one.checkVisibility()).length"
    )

    reached: list[int] = []
    for _ in range(wanted):
        found.page.keyboard.press("Tab")
        place, outline = found.page.evaluate(
            f"[[...document.querySelectorAll({CONTROLS!r})].filter(one => one.checkVisibility())"
            ".indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached.append(place)
        assert outline == "solid"

    assert reached == list(range(wanted))
    assert wanted > 20


def test_the_skip_link_leads_past_the_summary(opened: Any) -> None:
    found = opened(samples.MIXED)

    found.page.keyboard.press("Tab")
    assert found.page.evaluate("document.activeElement.textContent") == "Skip to the changes"
    assert found.page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    found.page.keyboard.press("Enter")
    expect(found.page.locator("#changes")).to_be_focused()
    found.page.keyboard.press("Tab")
    assert found.page.evaluate("document.activeElement.dataset.copy") == "fix-1"


@pytest.mark.parametrize("way", ["clipboard", "without clipboard"])
def test_the_button_copies_the_fix(opened: Any, way: str) -> None:
    found = opened(samples.MIXED, permissions=["clipboard-read", "clipboard-write"])
    page = found.page
    if way == "without clipboard":
        page.evaluate(NO_CLIPBOARD)

    page.get_by_role("button", name="Copy the code: Give failures a type").click()

    page.get_by_role("status").filter(has_text="Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == samples.CHANGE.snippet
    assert page.evaluate("document.activeElement.dataset.copy") == "fix-1"


def test_where_nothing_may_be_copied_the_text_is_selected(opened: Any) -> None:
    page = opened(samples.MIXED).page
    page.evaluate(NO_CLIPBOARD)
    page.evaluate("() => { document.execCommand = () => false }")

    page.get_by_role("button", name="Copy the code: Give failures a type").click()

    page.get_by_role("status").filter(has_text="Selected").wait_for()
    assert page.evaluate("getSelection().toString()") == samples.CHANGE.snippet


def test_a_score_in_the_matrix_opens_its_call(opened: Any) -> None:
    page = opened(samples.MIXED).page
    page.get_by_role("button", name="Close all").click()
    assert page.locator("details.call[open]").count() == 0

    page.get_by_role("link", name="read_task, wrong type: 0 of 100, 1 call").click()

    page.locator("details.call[open]").filter(has_text="Error: nope").wait_for()


def test_calls_that_failed_well_can_be_hidden(opened: Any) -> None:
    page = opened(samples.MIXED).page
    assert page.locator("details.call:visible").count() == 5

    page.get_by_label("only what fell short").check()

    assert page.locator("details.call:visible").count() == 3


def test_everything_can_be_read_without_javascript(opened: Any) -> None:
    page = opened(samples.MIXED, java_script_enabled=False).page

    assert page.get_by_role("button").count() == 0
    assert page.get_by_text(samples.CHANGE.snippet).is_visible()
    call = page.locator("details.call").filter(has_text="sent as a success")
    if call.get_attribute("open") is None:
        call.locator("summary").first.click()
    assert call.get_by_text("Error: nope").is_visible()
    page.get_by_label("only what fell short").check()
    assert page.locator("details.call:visible").count() == 3


def test_print_shows_every_call_and_no_button(opened: Any) -> None:
    page = opened(samples.MIXED).page
    page.get_by_role("button", name="Close all").click()
    before = page.evaluate("document.body.scrollHeight")

    page.emulate_media(media="print")

    assert page.get_by_role("button").count() == 0
    assert page.evaluate("document.body.scrollHeight") > before
    assert page.evaluate("document.querySelector('.body').getBoundingClientRect().height") > 0


# Returns each piece of visible text whose contrast with what is painted behind it is below WCAG AA.
LOW_CONTRAST = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const one = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * one(r) + 0.7152 * one(g) + 0.0722 * one(b);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const low = [];
  let seen = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest(".unseen, script")) continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    seen += 1;
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(walker.currentNode.data.trim());
  }
  return seen > 50 ? low : ["only " + seen + " texts were seen"];
}"""
