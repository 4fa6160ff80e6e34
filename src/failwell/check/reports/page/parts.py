"""Small parts that stand in several places of the page."""

from failwell.check.reports.page.markup import Markup, tag
from failwell.check.reports.shown import counted, number, visible

_BANDS = ((75.0, "good"), (40.0, "fair"), (0.0, "poor"))
_READ_AT_ONCE = 900


def band(score: float | None) -> str:
    """Return whether a score is `good`, `fair` or `poor`; `none` without one."""
    return "none" if score is None else next(name for least, name in _BANDS if score >= least)


def chip(score: float | None) -> Markup:
    """Return a score as a small mark."""
    said = "not graded" if score is None else f"score {number(score)} of 100"
    return tag("span", tag("span", number(score), aria_hidden="true"), unseen(said), class_=f"chip {band(score)}")


def unseen(text: str) -> Markup:
    """Return text for those who listen to the page."""
    return tag("span", text, class_="unseen")


def bar(score: float) -> Markup:
    """Return a score as a bar. Its number stands beside it."""
    drawn = (
        tag("rect", class_="track", width=100, height=4, rx=2),
        tag("rect", class_=f"fill {band(score)}", width=score, height=4, rx=2),
    )
    return tag("svg", drawn, class_="bar", viewBox="0 0 100 4", preserveAspectRatio="none", aria_hidden="true")


def ring(score: float, letter: str) -> Markup:
    """Return the score of the server, large."""
    around = 326.7  # of a circle with radius 52
    drawn = (
        tag("circle", class_="track", cx=60, cy=60, r=52),
        tag(
            "circle",
            class_=f"arc {band(score)}",
            cx=60,
            cy=60,
            r=52,
            stroke_dasharray=f"{around * score / 100:.1f} {around}",
            transform="rotate(-90 60 60)",
        ),
    )
    return tag(
        "div",
        tag("svg", drawn, viewBox="0 0 120 120", aria_hidden="true"),
        tag("span", letter, class_="letter", aria_hidden="true"),
        tag("span", number(score), class_="points", aria_hidden="true"),
        unseen(f"Grade {letter}, score {number(score)} of 100"),
        class_="ring",
    )


def passage(text: str, *, id: str | None = None) -> Markup:
    """Return a text of a server; what is long is folded, and the rest a click away."""
    text = visible(text)
    if len(text) <= _READ_AT_ONCE:
        return tag("pre", text, id=id)
    whole = tag("summary", f"Show all {counted(len(text), 'character')}")
    return tag(
        "div",
        tag("pre", text[:_READ_AT_ONCE] + "…"),
        tag("details", whole, tag("pre", text, id=id), class_="more"),
        class_="long",
    )


def copy_button(target: str, what: str) -> Markup:
    """Return a button that copies the text of an element. It shows itself only where scripts run."""
    return tag("button", "Copy", unseen(f" {what}"), type="button", class_="copy", data_copy=target, hidden=True)
