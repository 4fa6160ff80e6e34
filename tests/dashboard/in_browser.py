"""The dashboard in a real browser. Needs chromium; run by `nox -s browser`, which fetches it."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tools import sample_records

import failwell as fw
from failwell.records import Record, Recorder, failure_fields
from tests.dashboard.agents import AGENTS
from tests.dashboard.stores import NOW, Serving, some_sessions, write

NAMES = ("chromium", "chromium-browser", "google-chrome")
NARROW, MIDDLE, WIDE = {"width": 390, "height": 844}, {"width": 820, "height": 1180}, {"width": 1280, "height": 900}
TOKEN = "planted-token-0123456789"
SCRIPT = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>\"'><svg onload=window.pwned=3>"
USUAL: list[Record] = []
"""Stands for the records of a dashboard that several tests look at."""
CONTROLS = "a[href], button:not([hidden]), select, summary, [tabindex='0']"


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

    def __init__(self, browser: Browser, base: str, query: str, **options: Any) -> None:
        self.context: BrowserContext = browser.new_context(**{"viewport": WIDE, **options})
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{base}/{query}")
        self.page.locator("main section, main article").first.wait_for()


def ordinary() -> list[Record]:
    return [*some_sessions(150), *sample_records.server_events(NOW)]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A dashboard that tests only look at."""
    store = f"sqlite:///{tmp_path_factory.mktemp('usual') / 'calls.db'}"
    write(store, ordinary())
    serving = Serving(store)
    yield serving
    serving.close()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'calls.db'}"


@pytest.fixture
def serve(store: str) -> Iterator[Callable[..., Serving]]:
    made: list[Serving] = []

    def start(records: list[Record] | None, token: str | None = None) -> Serving:
        if records is not None:
            write(store, records)
        made.append(Serving(store, token))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def opened(browser: Browser, serve: Callable[..., Serving], usual: Serving) -> Iterator[Any]:
    made: list[Opened] = []

    def make(records: list[Record] | None = None, query: str = "", token: str | None = None, **options: Any) -> Opened:
        base = usual.address if records is USUAL else serve(records, token).address
        made.append(Opened(browser, base, query, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


def down() -> dict[str, Any]:
    return failure_fields(fw.Failure(code="SERVICE_UNAVAILABLE", message="A new failure."))


def hostile() -> list[Record]:
    """Script in every text of a record that an agent or a server could have written."""
    failure = fw.Failure(
        code="NOT_FOUND", message=SCRIPT, suggestion=SCRIPT, actions=(SCRIPT,), details={SCRIPT: SCRIPT}
    )
    what = {**failure_fields(failure), "code": SCRIPT, "id": SCRIPT, "message": SCRIPT}
    texts: dict[str, Any] = dict.fromkeys(("session", "server", "tool", "text", "reason"), SCRIPT)
    common: dict[str, Any] = {**texts, "names": (SCRIPT,), "details": {SCRIPT: SCRIPT}, "source": "proxy"}
    return [
        Record(time=NOW - 90, kind="retry", call=SCRIPT, delay=1.0, **{**what, **common}),
        Record(time=NOW - 60, kind="failure", call=SCRIPT, decision="use", arguments=SCRIPT, **{**what, **common}),
        Record(time=NOW - 30, kind="success", call="2", **common),
        Record(time=NOW - 20, kind="died", **common),
    ]


def test_the_first_page_tells_in_words_and_asks_nobody_else(opened: Any) -> None:
    found = opened(USUAL)
    page = found.page

    expect(page.locator(".headline p")).to_contain_text("calls failed in the last 7 days. Agents recovered from")
    expect(page.get_by_role("heading", name="Worst first")).to_be_visible()
    expect(page.get_by_role("heading", name="Latest failed calls")).to_be_visible()
    assert page.locator("#records li").count() == 25
    assert page.locator("svg.chart").count() == 2
    assert found.said == []
    assert {url.split("/")[2] for url in found.asked} == {page.url.split("/")[2]}


def test_what_a_number_means_shows_itself_to_mouse_keyboard_and_ears(opened: Any) -> None:
    page = opened(USUAL).page
    term = page.get_by_role("button", name="failures recovered", exact=True)
    meaning = page.locator(f"#{term.get_attribute('aria-describedby')}")

    expect(meaning).to_be_hidden()
    term.hover()
    expect(meaning).to_be_visible()
    page.mouse.move(0, 0)
    expect(meaning).to_be_hidden()
    page.keyboard.press("Tab")
    term.focus()
    expect(meaning).to_have_text(
        "Failures after which the same call succeeded, a corrected call of the same tool succeeded, or the tool that "
        "the failure named succeeded. The rate leaves out failures that agents moved on from."
    )
    expect(meaning).to_be_visible()
    page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()


def test_a_filter_stands_in_the_address_and_the_back_button_takes_it_away(opened: Any) -> None:
    page = opened(USUAL).page
    before = page.locator(".headline p").inner_text()

    page.get_by_label("Tool").select_option("run_query")
    expect(page.locator(".groups tbody tr")).to_have_count(1)
    filtered = page.url
    page.get_by_role("link", name="by code").click()
    expect(page.locator(".groups tbody")).to_contain_text("VALIDATION_FAILED")

    page.go_back()
    expect(page.locator(".groups tbody th")).to_have_text(["run_query"])
    page.go_back()
    expect(page.locator(".headline p")).to_have_text(before)
    page.goto(filtered)
    expect(page.get_by_label("Tool")).to_have_value("run_query")
    page.get_by_role("link", name="Clear all filters").click()
    expect(page.locator(".headline p")).to_have_text(before)


def test_a_name_in_the_table_is_a_filter_and_a_heading_sorts(opened: Any) -> None:
    page = opened(USUAL).page

    page.get_by_role("link", name="Calls", exact=True).click()
    expect(page.locator("th[aria-sort]")).to_contain_text("Calls")
    page.get_by_role("link", name="refund_payment", exact=True).first.click()

    expect(page.get_by_label("Tool")).to_have_value("refund_payment")
    assert "tool=refund_payment" in page.url
    assert "sort=calls" in page.url


def test_a_failure_shows_its_details_and_leads_back(opened: Any) -> None:
    page = opened(USUAL, "?tool=create_pull_request&code=VALIDATION_FAILED").page

    page.locator("#records .what").first.click()

    expect(page.get_by_role("heading", level=1)).to_have_text("create_pull_request failed: VALIDATION_FAILED")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    for heading in (
        "What the agent was sent",
        "What the agent should do",
        "The call, try by try",
        "What the agent did next",
    ):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.locator(".details pre").first).to_contain_text('"recoverable":true')
    expect(page.get_by_text("correct the arguments")).to_be_visible()
    assert page.locator(".ending h2").inner_text().startswith("The agent")
    page.go_back()
    expect(page.locator("#filter-code")).to_have_value("VALIDATION_FAILED")


def test_what_is_shown_is_exported(opened: Any) -> None:
    page = opened(USUAL, "?server=github&by=server").page

    with page.expect_download() as waiting:
        page.get_by_role("link", name="JSON of this table").click()
    groups = json.loads(Path(waiting.value.path()).read_text("utf-8"))
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV of these events").click()

    assert [row["name"] for row in groups] == ["github"]
    assert waiting.value.suggested_filename == "failwell-records.csv"
    assert '"github"' in Path(waiting.value.path()).read_text("utf-8").splitlines()[1]


def test_an_empty_store_says_what_to_do_and_shows_what_comes(opened: Any, store: str) -> None:
    page = opened().page

    expect(page.get_by_role("heading", level=1)).to_have_text("No events yet")
    expect(page.locator(".commands")).to_contain_text(f"failwell proxy --events {store} -- COMMAND")
    write(store, ordinary())
    expect(page.get_by_role("heading", name="Worst first")).to_be_visible(timeout=15_000)


def test_a_view_with_nothing_in_it_leads_out(opened: Any) -> None:
    page = opened(USUAL, "?range=24h&tool=no_such_tool").page

    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing to show here")
    page.get_by_role("link", name="Clear all filters").last.click()
    expect(page.get_by_role("heading", name="Worst first")).to_be_visible()


def test_an_address_that_makes_no_sense_is_told(opened: Any) -> None:
    page = opened(USUAL, "?range=2y").page

    expect(page.locator("main")).to_contain_text("range must be one of 15m, 1h, 6h, 24h, 7d, 30d, 90d, all, not '2y'")


def test_new_failures_appear_by_themselves_and_are_said(opened: Any, store: str) -> None:
    page = opened(ordinary()).page
    expect(page.locator("#records")).to_be_visible()

    write(store, [Record(time=NOW, source="proxy", kind="failure", session="n", tool="fresh_tool", call="1", **down())])

    expect(page.locator("#records li").first).to_contain_text("A new failure.", timeout=15_000)
    expect(page.locator("#said")).to_have_text("1 new event in the list.")


def test_a_list_of_failures_takes_in_no_failed_call_that_has_no_verdict_yet(opened: Any, store: str) -> None:
    page = opened(ordinary(), "?verdict=recovered").page
    listed = page.locator("#records li").count()

    write(store, [Record(time=NOW, source="proxy", kind="failure", session="n", tool="fresh_tool", call="1", **down())])
    with page.expect_response(lambda response: "/api/feed" in response.url and "fresh_tool" in response.text()):
        pass
    page.wait_for_function("document.querySelectorAll('#records .fresh').length === 0")

    assert page.locator("#records li").count() == listed
    assert "fresh_tool" not in page.locator("#records").inner_text()


@pytest.mark.parametrize("sort", ["wasted calls", "agent time lost", "median latency"])
def test_a_cost_leads_to_the_tools_that_cause_it(opened: Any, sort: str) -> None:
    page = opened(USUAL).page

    page.get_by_role("link", name=re.compile(f"^{sort}: ")).click()

    heading = page.get_by_role("heading", name="Worst first")
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()
    expect(page.locator("th[aria-sort]")).to_have_count(1)


def test_events_of_servers_say_what_happened(opened: Any) -> None:
    page = opened(USUAL, "?show=servers").page

    texts = page.locator("#records .what").all_inner_texts()

    assert [text.partition(",")[0].strip() for text in texts] == [
        "refund_payment is called again",
        "refund_payment was suspended after repeated failures",
        "The server was restarted",
        "The server exited",
    ]


def test_what_an_empty_store_tells_to_write_runs(opened: Any) -> None:
    page = opened().page

    for code in page.locator(".commands pre").all_inner_texts()[1:]:
        name = re.search(r"fw\.[\w.]*Recorder", code)
        assert name is not None
        assert eval(name[0], {"fw": fw}) is Recorder


def test_who_pauses_is_left_alone(opened: Any, store: str) -> None:
    page = opened(ordinary()).page

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    write(store, [Record(time=NOW, source="proxy", kind="failure", session="n", tool="fresh_tool", call="1", **down())])
    page.get_by_role("button", name="Resume").click()

    expect(page.locator("#records li").first).to_contain_text("A new failure.")


@pytest.mark.parametrize("query", ["", "?by=code", "?show=all", "?show=servers", "?failure=2", "?failure=4"])
def test_hostile_text_is_text(opened: Any, query: str) -> None:
    found = opened(hostile(), query)
    page = found.page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")

    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main script, main iframe").count() == 0
    assert SCRIPT in page.locator("main").inner_text()
    assert found.said == []


def test_hostile_names_are_filters_like_others(opened: Any) -> None:
    page = opened(hostile()).page

    page.get_by_label("Tool").select_option(SCRIPT)

    expect(page.locator(".groups tbody th")).to_have_text([SCRIPT])
    assert page.evaluate("window.pwned") is None


def test_even_markup_that_slipped_in_could_not_run(opened: Any) -> None:
    page = opened(USUAL).page

    refused = page.evaluate(REFUSED)
    stopped = page.evaluate(STOPPED)

    assert refused == ["TypeError", "TypeError", "TypeError"]
    assert stopped == "img-src"
    assert page.evaluate("window.pwned") is None


def test_the_token_leaves_the_address_and_opens_the_page(opened: Any) -> None:
    found = opened(ordinary(), f"?token={TOKEN}&range=30d", TOKEN)

    expect(found.page.get_by_role("heading", name="Worst first")).to_be_visible()
    assert found.page.url.endswith("/?range=30d")
    assert found.page.evaluate("document.cookie") == ""


def test_a_page_of_a_stranger_sees_nothing(browser: Browser, usual: Serving, serve: Callable[..., Serving]) -> None:
    context = browser.new_context(bypass_csp=True)  # the page of a stranger has no policy that would stop it
    page = context.new_page()
    page.goto(f"{serve(None).address}/icon.svg")

    seen = page.evaluate(
        """async (url) => [
          await fetch(url).then((answer) => answer.status, () => "refused"),
          await fetch(url, { mode: "no-cors" }).then((answer) => answer.type, () => "refused"),
        ]""",
        f"{usual.address}/api/overview",
    )
    context.close()

    assert seen == ["refused", "refused"]


@pytest.mark.parametrize("query", ["", "?failure=15"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_both_colour_schemes(opened: Any, scheme: str, query: str) -> None:
    page = opened(USUAL, query, color_scheme=scheme).page

    assert page.evaluate(LOW_CONTRAST) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    assert dark == (scheme == "dark")


@pytest.mark.parametrize("records", [lambda: USUAL, hostile], ids=["ordinary", "hostile"])
@pytest.mark.parametrize("query", ["", "?failure=2", "?show=all", "?verdict=stuck"])
@pytest.mark.parametrize("size", [NARROW, MIDDLE, WIDE], ids=lambda size: str(size["width"]))
def test_no_screen_scrolls_sideways(
    opened: Any, records: Callable[[], list[Record]], query: str, size: dict[str, int]
) -> None:
    page = opened(records(), query, viewport=size).page

    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def test_the_table_of_tools_fits_a_tablet(opened: Any) -> None:
    page = opened(USUAL, viewport={"width": 900, "height": 1100}).page

    assert page.evaluate(
        "[...document.querySelectorAll('.groups .scroll')].map((one) => one.scrollWidth - one.clientWidth)"
    ) == [0]


def test_filters_are_wide_enough_for_a_finger_on_a_narrow_screen(opened: Any) -> None:
    page = opened(USUAL, viewport=NARROW).page

    sizes = page.evaluate("[...document.querySelectorAll('select')].map((one) => [one.clientWidth, one.clientHeight])")
    page.get_by_label("Tool").select_option("run_query")

    assert len(sizes) == 6
    assert min(width for width, _ in sizes) > 150
    assert min(height for _, height in sizes) >= 36
    expect(page.locator(".groups tbody th")).to_have_text(["run_query"])


def test_a_code_leads_to_its_docs_beside_the_page(opened: Any) -> None:
    found = opened(USUAL, "?by=code")
    page = found.page
    links = page.locator(".groups a.docs")
    hrefs = links.evaluate_all("links => links.map((one) => one.href)")

    assert len(hrefs) == page.locator(".groups tbody tr").count()
    assert all(re.search(r"^https://.+/reference/codes\.md#[a-z_]+$", href) for href in hrefs)
    assert links.first.get_attribute("rel") == "noopener noreferrer"
    page.locator(".messages .what").first.click()
    expect(page.locator(".facts a.docs")).to_have_count(1)
    assert found.said == []


def test_without_a_period_before_nothing_is_called_new(opened: Any) -> None:
    page = opened(USUAL).page

    expect(page.locator(".tiles .figure").first).to_be_visible()
    assert page.locator(".delta").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, MIDDLE, WIDE], ids=lambda size: str(size["width"]))
def test_pictures_of_every_size_and_scheme_are_taken(
    opened: Any, size: dict[str, int], scheme: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = opened(USUAL, viewport=size, color_scheme=scheme).page
    folder = Path(os.environ.get("FAILWELL_PICTURES") or tmp_path_factory.getbasetemp())

    page.screenshot(path=folder / f"dashboard-{size['width']}-{scheme}.png", full_page=True)

    assert page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize(
    ("figure", "title"),
    [
        ("not recovered", "Failures: not recovered"),
        ("failures recovered", "Failures: recovered"),
        ("moved on", "Failures: agent moved on"),
        ("turns saved", "Failures: resolved before the model saw them"),
        ("failed calls", "Latest failed calls"),
        ("duplicates avoided", "Failures: possibly done, not repeated"),
    ],
)
def test_a_figure_leads_to_what_it_counts(opened: Any, figure: str, title: str) -> None:
    page = opened(USUAL, "?range=all").page
    link = page.get_by_role("link", name=re.compile(f"^{figure}: .*, show what it counts"))
    count = int(link.inner_text().replace(",", ""))

    link.click()
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    rows = page.locator("#records li")
    assert rows.count() == min(count, 25)
    heading = page.get_by_role("heading", name=title)
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()

    rows.first.locator(".what").click()
    expect(page.locator(".details")).to_be_visible()


def test_every_figure_on_the_page_is_that_of_twenty_known_agents(browser: Browser, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'calls.db'}"
    with ThreadPoolExecutor(1) as thread:  # the browser's driver has an event loop in this one
        for agent in AGENTS.values():
            thread.submit(agent.play, store).result()
    serving = Serving(store, now=time.time())
    found = Opened(browser, serving.address, "?range=all")
    tiles = found.page.locator(".tiles > div")
    shown = dict(tile.inner_text().split("\n", 2)[:2] for tile in tiles.all())
    sentence = found.page.locator(".headline p").inner_text()
    found.context.close()
    serving.close()

    assert sentence == "58% of 40 calls failed. Agents recovered from 69% of 16 failures. After 4 more, they moved on."
    assert {name: shown[name] for name in shown if name not in ("agent time lost", "median latency")} == {
        "failed calls": "23",
        "failures recovered": "11",
        "not recovered": "5",
        "moved on": "4",
        "turns saved": "3",
        "wasted calls": "15",
        "duplicates avoided": "1",
    }


def test_a_mark_stands_in_the_charts_and_its_text_is_text(opened: Any) -> None:
    mark = Record(time=NOW - 86_400, source="recorder", kind="mark", reason=SCRIPT)
    page = opened([*ordinary(), mark]).page

    assert page.locator(".flag").count() == 2
    assert SCRIPT in (page.locator(".flag title").first.text_content() or "")
    assert SCRIPT in page.locator(".marks li").inner_text()
    assert page.evaluate("window.pwned") is None


def test_the_keyboard_reaches_every_control_in_order_and_shows_where_it_is(opened: Any) -> None:
    page = opened(USUAL).page
    listed = f"[...document.querySelectorAll({CONTROLS!r})].filter((one) => one.checkVisibility())"
    wanted = page.evaluate(f"{listed}.length")

    reached = list[int]()
    for _ in range(wanted):
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            f"[{listed}.indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached.append(place)
        assert outline == "solid", page.evaluate("document.activeElement.outerHTML")

    assert reached == list(range(wanted))
    assert wanted > 50


def test_the_keyboard_alone_leads_to_details_and_back(opened: Any) -> None:
    page = opened(USUAL).page

    page.locator("#records .what").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("link", name="← Back to all figures")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Worst first")).to_be_visible()


@pytest.mark.parametrize("query", ["", "?failure=15", "?range=24h&tool=none"])
def test_who_listens_to_the_page_finds_their_way(opened: Any, query: str) -> None:
    page = opened(USUAL, query).page

    assert page.evaluate(STRUCTURE) == []


def test_the_charts_have_their_numbers_in_a_table(opened: Any) -> None:
    page = opened(USUAL).page

    page.get_by_text("Both charts as a table").click()

    table = page.get_by_role("table", name="Figures over time, the newest first")
    assert table.get_by_role("columnheader").count() == 6
    assert table.get_by_role("row").count() > 5


def test_nothing_moves_for_those_who_do_not_want_it(opened: Any) -> None:
    page = opened(USUAL, reduced_motion="reduce").page

    assert page.evaluate("getComputedStyle(document.querySelector('.dot')).animationName") == "none"


# Returns texts of tiles and headings that do not fit where they stand.
CUT_OFF = """() => [...document.querySelectorAll(".tiles dd, .tiles dt, h2, .ranges a")]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).display !== "inline")
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.textContent)"""

# Tries to make markup of text, which the browser does not let the page do.
REFUSED = """() => [
  () => { document.querySelector("main").innerHTML = "<img src=x onerror='window.pwned = 1'>" },
  () => { document.createElement("img").setAttribute("onerror", "window.pwned = 2") },
  () => { document.createElement("script").src = "/dashboard.js" },
].map((attempt) => { try { attempt(); return "taken" } catch (error) { return error.name } })"""

# Puts a script and a picture from elsewhere into the page; returns which rule stopped the picture.
STOPPED = """() => new Promise((done) => {
  document.addEventListener("securitypolicyviolation", (event) => {
    if (event.effectiveDirective === "img-src") done(event.effectiveDirective);
  });
  const script = document.createElement("script");
  script.append("window.pwned = 3");
  const picture = document.createElement("img");
  picture.src = "http://evil.example/x.png";
  document.body.append(script, picture);
})"""

# What a screen reader needs: landmarks, one heading of the first level, no level left out, names, unique ids, headers.
STRUCTURE = """() => {
  const wrong = [];
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((one) => Number(one.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) wrong.push("headings of the first level: " + levels);
  if (levels.some((level, at) => level > (levels[at - 1] ?? 0) + 1)) wrong.push("a level is left out: " + levels);
  for (const name of ["header", "main", "footer"]) if (!document.querySelector(name)) wrong.push("no " + name);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice: " + ids.filter((id, at) => ids.indexOf(id) !== at));
  for (const one of document.querySelectorAll("a, button, select, summary")) {
    const label = one.id && document.querySelector(`label[for="${one.id}"]`);
    if (!(one.textContent.trim() || one.getAttribute("aria-label") || label)) wrong.push("no name: " + one.outerHTML);
  }
  for (const one of document.querySelectorAll("select")) if (!one.labels.length) wrong.push("no label: " + one.id);
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) wrong.push("a table without a caption");
    if ([...table.querySelectorAll("th")].some((th) => !th.scope)) wrong.push("a header without a scope");
  }
  for (const one of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
    for (const id of (one.getAttribute("aria-describedby") ?? one.getAttribute("aria-labelledby")).split(" ")) {
      if (!document.getElementById(id)) wrong.push("nothing called " + id);
    }
  }
  for (const one of document.querySelectorAll("svg")) {
    const isHidden = one.getAttribute("aria-hidden") === "true";
    const isNamed = one.getAttribute("role") === "img" && one.getAttribute("aria-label");
    if (!isHidden && !isNamed) wrong.push("a picture without a word");
  }
  if (document.documentElement.lang !== "en") wrong.push("no language");
  return wrong;
}"""

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
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest(".unseen, script, option, title")) continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parts(ink)), light(behind(element))].sort((x, y) => y - x);
    seen += 1;
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(walker.currentNode.data.trim());
  }
  return seen > 25 ? low : ["only " + seen + " texts were seen"];
}"""
