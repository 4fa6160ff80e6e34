"""The page as text: complete, escaped, closed to the outside, readable in both schemes."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from failwell.check.report import Report
from failwell.check.reports import html
from tests.check.reports import samples

VOID = {"meta", "link", "input"}
CSS = (files("failwell.check.reports.page") / "page.css").read_text(encoding="utf-8")


class Page(HTMLParser):
    """Collects elements, attributes and text, and sees whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.text += data

    def having(self, attribute: str) -> list[str]:
        return [found for _, attrs in self.elements if (found := attrs.get(attribute)) is not None]


@pytest.mark.parametrize("report", samples.ALL.values(), ids=samples.ALL)
def test_every_page_is_well_formed_and_its_links_lead_somewhere(report: Report) -> None:
    page = Page(html.write(report))

    ids = page.having("id")
    assert len(set(ids)) == len(ids)
    links = [link.removeprefix("#") for link in page.having("href") if link.startswith("#")]
    assert {*links, *page.having("data-copy"), *page.having("aria-labelledby")} <= set(ids)
    assert page.elements[0] == ("html", {"lang": "en"})
    assert [tag for tag, _ in page.elements if tag in ("h1", "main", "title")] == ["title", "h1", "main"]


def test_the_page_says_what_was_found() -> None:
    text = Page(html.write(samples.MIXED)).text

    for words in (
        "How well tasks fails",
        "Grade C, score 61.5 of 100",
        "python server/tasks.py --port 1",
        "Data for programs",
        "Give failures a type",
        'fw.protect(server)  # "quoted" & <kept>',
        "the text does not name task_id",
        '{"type":"VALIDATION","message":"task_id is required"}',
        "invalid input",
        "it would run the tool",
        "missing field",
        "no answer in time",
    ):
        assert words in text


def test_a_cell_of_the_matrix_leads_to_its_worst_call() -> None:
    worst = samples.probe("wrong_type/b", samples.UNFLAGGED)
    report = samples.report(samples.tool("read_task", samples.probe("wrong_type/a", samples.FLAGGED), worst))

    page = Page(html.write(report))

    [cell] = [attrs for _, attrs in page.elements if (attrs.get("class") or "").startswith("cell")]
    assert cell["aria-label"] == "read_task, wrong type: 50 of 100, 2 calls"
    assert cell["href"] == "#call-2"


def test_with_a_baseline_the_page_says_what_got_worse() -> None:
    assert "Since the baseline" not in html.write(samples.MIXED)
    assert "names_field: the text does not name task_id" in Page(html.write(samples.COMPARED)).text
    assert "Nothing got worse." in html.write(samples.report(worse=()))


def test_a_perfect_server_has_nothing_to_change() -> None:
    text = Page(html.write(samples.PERFECT)).text

    assert "Nothing: every call failed as it should." in text
    assert "Every call that could be made was made." in text
    assert "It should have said" not in text


def test_hostile_text_adds_no_element_no_attribute_and_no_hidden_character() -> None:
    page = Page(html.write(samples.HOSTILE_EVERYWHERE))

    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not {"img", "onerror", "onload"} & {name for tag, attrs in page.elements for name in (tag, *attrs)}
    assert "window.pwned = 1" in page.text
    assert "\\u202egnp.exe" in page.text
    assert not any(
        one in html.write(samples.HOSTILE_EVERYWHERE) for one in ("\u202e", "\x1b", "\x00", "hunter2hunter2")
    )


def test_a_long_text_is_folded_and_a_huge_one_is_cut() -> None:
    long, huge = "a" * 5_000, "b" * 1_000_000
    report = samples.report(
        samples.tool("t", samples.probe("x", samples.FLAT, text=long), samples.probe("y", samples.FLAT, text=huge))
    )

    written = html.write(report)

    assert "Show all 5,000 characters" in written
    assert long in written
    assert "980,000 more characters" in written
    assert len(written) < 200_000


def test_nothing_but_its_own_style_and_script_may_run_and_no_address_is_named() -> None:
    written = html.write(samples.MIXED)
    page = Page(written)

    [policy] = [attrs["content"] for _, attrs in page.elements if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    for name in ("style", "script"):
        [source] = re.findall(f"<{name}>(.*?)</{name}>", written, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert directives[f"{name}-src"] == f"'sha256-{digest}'"
    assert not page.having("style")
    links = r'<a href="https://[^"]+/reference/grades\.md#\w+">'  # followed only by whoever clicks
    assert re.search(links, written)
    assert not re.search(r"(?:https?:)?//[a-z]", re.sub(rf"<pre.*?</pre>|{links}", "", written, flags=re.DOTALL))


def tokens(block: str) -> dict[str, tuple[float, ...]]:
    found = re.findall(r"--([\w-]+): #([0-9a-f]{6})", block)
    return {name: tuple(int(value[i : i + 2], 16) / 255 for i in (0, 2, 4)) for name, value in found}


def luminance(colour: tuple[float, ...]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


LIGHT, DARK = CSS.split("@media (prefers-color-scheme: dark)", 1)
SCHEMES = {"light": tokens(LIGHT), "dark": tokens(DARK.partition("*,")[0])}
READ_ON = [
    *((ink, paper) for ink in ("ink", "quiet", "accent") for paper in ("paper", "card", "well")),
    *((name, f"{name}-well") for name in ("good", "fair", "poor")),
]
SEEN_ON = [(f"{name}-mark", "paper") for name in ("good", "fair", "poor")]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contrast_meets_wcag_aa(scheme: str) -> None:
    colours = SCHEMES[scheme]

    too_low = [pair for pair in READ_ON if contrast(colours[pair[0]], colours[pair[1]]) < 4.5]
    too_low += [pair for pair in SEEN_ON if contrast(colours[pair[0]], colours[pair[1]]) < 3]

    assert too_low == []
    assert SCHEMES["light"].keys() == SCHEMES["dark"].keys()
