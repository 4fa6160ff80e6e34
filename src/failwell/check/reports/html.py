"""One HTML page that holds all it needs: no request leaves it, and it can be read without JavaScript."""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import TypeAlias

from failwell.check.report import SERVER, GradeResult, ProbeResult, ProposedChange, Regression, Report, ToolReport
from failwell.check.reports.text import as_json, count_text, grade_address, in_words, number, safe_text, visible

_VOID = frozenset(("input", "link", "meta", "rect", "circle"))


class Markup(str):
    """HTML that needs no escaping any more."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
Attribute = str | int | float | bool | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element. Attributes are named as in Python: `class_`, `aria_label`; None leaves one out."""
    written = "".join(map(_attribute, attributes.items()))
    if name in _VOID:
        return Markup(f"<{name}{written}>") if name in ("input", "link", "meta") else Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join_html(children)}</{name}>")


def join_html(children: Child) -> Markup:
    """Return children as one piece of HTML."""
    if children is None:
        return Markup()
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return Markup(escape(safe_text(children)))
    return Markup("".join(map(join_html, children)))


def _attribute(item: tuple[str, Attribute]) -> str:
    name, value = item
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(safe_text(str(value)))}"'


_BANDS = ((75.0, "good"), (40.0, "fair"), (0.0, "poor"))
_READ_AT_ONCE = 900


def band(score: float | None) -> str:
    """Return whether a score is `good`, `fair` or `poor`; `none` without one."""
    return "none" if score is None else next(name for least, name in _BANDS if score >= least)


def chip(score: float | None) -> Markup:
    """Return a score as a small mark."""
    said = "not graded" if score is None else f"score {number(score)} of 100"
    return tag(
        "span", tag("span", number(score), aria_hidden="true"), visually_hidden(said), class_=f"chip {band(score)}"
    )


def visually_hidden(text: str) -> Markup:
    """Return text for those who listen to the page."""
    return tag("span", text, class_="unseen")


def bar(score: float) -> Markup:
    """Return a score as a bar. Its number stands beside it."""
    drawing = (
        tag("rect", class_="track", width=100, height=4, rx=2),
        tag("rect", class_=f"fill {band(score)}", width=score, height=4, rx=2),
    )
    return tag("svg", drawing, class_="bar", viewBox="0 0 100 4", preserveAspectRatio="none", aria_hidden="true")


def ring(score: float | None, letter: str | None) -> Markup:
    """Return the score of the server, large."""
    around = 326.7  # of a circle with radius 52
    drawing = (
        tag("circle", class_="track", cx=60, cy=60, r=52),
        tag(
            "circle",
            class_=f"arc {band(score)}",
            cx=60,
            cy=60,
            r=52,
            stroke_dasharray=f"{around * (score or 0) / 100:.1f} {around}",
            transform="rotate(-90 60 60)",
        ),
    )
    return tag(
        "div",
        tag("svg", drawing, viewBox="0 0 120 120", aria_hidden="true"),
        tag("span", letter, class_="letter", aria_hidden="true"),
        tag("span", number(score), class_="points", aria_hidden="true"),
        visually_hidden(f"Grade {letter}, score {number(score)} of 100" if letter else "No grade"),
        class_="ring",
    )


def passage(text: str, *, id: str | None = None) -> Markup:
    """Return a text of a server; what is long is folded, and the rest a click away."""
    text = visible(text)
    if len(text) <= _READ_AT_ONCE:
        return tag("pre", text, id=id)
    whole = tag("summary", f"Show all {count_text(len(text), 'character')}")
    return tag(
        "div",
        tag("pre", text[:_READ_AT_ONCE] + "…"),
        tag("details", whole, tag("pre", text, id=id), class_="more"),
        class_="long",
    )


def copy_button(target: str, what: str) -> Markup:
    """Return a button that copies the text of an element. It shows itself only where scripts run."""
    return tag(
        "button", "Copy", visually_hidden(f" {what}"), type="button", class_="copy", data_copy=target, hidden=True
    )


_ENDINGS = {
    "refused": "refused",
    "unflagged": "sent as a success",
    "accepted": "accepted",
    "hung": "no answer in time",
    "crashed": "the server ended",
}
_EFFECTS = {True: "read-only", False: "may change something"}
_CHANNEL_NAMES = {"call": "call", "text": "text", "machine": "data"}


def number_calls(report: Report) -> dict[str, int]:
    """Return a number for each call, by which the page refers to it."""
    return {probe.id: number for number, probe in enumerate(report.probes(), 1)}


def calls_section(report: Report, numbers: dict[str, int]) -> Markup:
    """Return all calls, tool by tool, the worst first."""
    return tag(
        "section",
        tag("h2", "Every call", id="calls"),
        _call_controls(),
        (_tool(tool, numbers) for tool in report.tools if tool.probes),
    )


def _call_controls() -> Markup:
    def choice(value: str, words: str, *, checked: bool) -> Markup:
        return tag("label", tag("input", type="radio", name="show", id=f"show-{value}", checked=checked), f" {words}")

    chosen = (choice("all", "all calls", checked=True), choice("short", "only what fell short", checked=False))
    buttons = (
        tag("button", words, type="button", data_fold=fold, hidden=True)
        for fold, words in (("open", "Open all"), ("close", "Close all"))
    )
    return tag("div", tag("fieldset", tag("legend", "Show"), chosen), tag("p", buttons), class_="controls")


def _tool(tool: ToolReport, numbers: dict[str, int]) -> Markup:
    probes = sorted(tool.probes, key=lambda probe: 101.0 if probe.score is None else probe.score)
    worst = probes[0] if probes[0].failed else None
    effect = "calls to tools that do not exist" if tool.name == SERVER else _EFFECTS[tool.read_only]
    return tag(
        "section",
        tag("h3", tag("code", tool.name), " ", chip(tool.score)),
        tag("p", f"{effect} · {count_text(len(probes), 'call')}", class_="quiet"),
        (_call(probe, numbers[probe.id], is_open=probe is worst) for probe in probes),
        class_="tool",
    )


def _call(probe: ProbeResult, number: int, *, is_open: bool) -> Markup:
    fell_short = f"{count_text(len(probe.failed), 'thing')} fell short" if probe.failed else "fails well"
    text = "not graded" if probe.score is None else fell_short
    line = (
        chip(probe.score),
        tag("span", tag("strong", in_words(probe.probe)), f" {probe.violates}", class_="what"),
        tag("span", f"{_ENDINGS[probe.ending]} · {text}", class_="quiet"),
    )
    return tag(
        "details",
        tag("summary", line),
        tag("div", _body(probe, number), id=f"call-{number}", class_="body"),
        class_=f"call {'short' if probe.failed else 'fine'}",
        open=is_open,
    )


def _body(probe: ProbeResult, number: int) -> list[Markup]:
    said = tag("div", tag("h4", "The server said"), passage(probe.text or "(nothing)", id=f"said-{number}"))
    better = f"better-{number}"
    parts = [said]
    if probe.failed and probe.better:
        head = (tag("h4", "It should have said"), copy_button(better, "what it should have said"))
        parts.append(tag("div", tag("div", head, class_="head"), passage(probe.better, id=better)))
    found = [tag("div", parts, class_="beside")]
    if probe.failed:
        shortcomings = sorted(probe.failed, key=lambda result: -result.weight)
        found.append(tag("ul", map(_shortcoming, shortcomings), class_="shortcomings"))
    reached = ", ".join(in_words(result.grade) for result in probe.grades if result.passed)
    found.append(tag("dl", _facts(probe), _fact("Reached", reached or "nothing"), class_="facts"))
    return found


def _shortcoming(result: GradeResult) -> Markup:
    where = tag("span", _CHANNEL_NAMES[result.channel], class_="channel")
    name = tag("strong", tag("a", in_words(result.grade), href=grade_address(result.grade)))
    return tag("li", where, " ", name, f": {result.reason}")


def _facts(probe: ProbeResult) -> list[Markup]:
    mended = passage(as_json(probe.repaired)) if probe.repaired is not None else "The error does not say."
    rows = (
        ("Sent", passage(as_json(probe.arguments))),
        ("An agent would send next", mended if probe.schema_violation or probe.repaired is not None else None),
        ("Code for programs", tag("code", probe.code) if probe.code else "none"),
        ("Took", f"{probe.seconds * 1000:,.0f} ms"),
    )
    return [_fact(name, value) for name, value in rows if value is not None]


def _fact(name: str, value: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value))


_LEGEND = "Scores from 0 to 100; a dash where no such call was made. A score leads to its worst call."


def matrix_section(report: Report, numbers: dict[str, int]) -> Markup:
    """Return the matrix."""
    rows = list(dict.fromkeys(probe.probe for probe in report.probes()))
    heads = (tag("th", tag("span", words), scope="col") for words in ("tool", "score", *map(in_words, rows)))
    lines = (
        tag(
            "tr",
            tag("th", tag("code", tool.name), scope="row"),
            tag("td", chip(tool.score)),
            (_cell(tool.name, row, [probe for probe in tool.probes if probe.probe == row], numbers) for row in rows),
        )
        for tool in report.tools
    )
    drawing = tag(
        "table",
        tag("thead", tag("tr", heads)),
        tag("tbody", lines),
    )
    return tag(
        "section",
        tag("h2", "Tools and probes", id="matrix"),
        tag("div", drawing, class_="scroll", tabindex=0, role="region", aria_labelledby="matrix"),
        tag("p", _LEGEND, class_="quiet"),
    )


def _cell(tool: str, row: str, probes: list[ProbeResult], numbers: dict[str, int]) -> Markup:
    scored = [(probe.score, probe) for probe in probes if probe.score is not None]
    if not scored:
        return tag("td", tag("span", "–", aria_hidden="true"), visually_hidden("none"), class_="none")
    mean = sum(score for score, _ in scored) / len(scored)
    worst = min(scored, key=lambda pair: pair[0])[1]
    said = f"{tool}, {in_words(row)}: {number(mean)} of 100, {count_text(len(scored), 'call')}"
    link = tag("a", f"{int(mean)}", href=f"#call-{numbers[worst.id]}", aria_label=said, class_=f"cell {band(mean)}")
    return tag("td", link)


_VERDICTS = {
    "A": "Agents can act on nearly every failure of this server.",
    "B": "Agents can act on most failures of this server.",
    "C": "Agents have to guess at many failures of this server.",
    "D": "Agents have to guess at most failures of this server.",
    "F": "Agents can't act on the failures of this server.",
}
_CHANNELS = {
    "call": ("The call itself", "flagged as an error, fast, and fixable"),
    "text": ("Text for the model", "what is wrong, what is expected, what to do"),
    "machine": ("Data for programs", "type, code, field and retry without guessing"),
}
_PARTS = (
    ("#changes", "What to change"),
    ("#matrix", "Tools and probes"),
    ("#calls", "Every call"),
    ("#left", "Not probed"),
)


def header_section(report: Report) -> Markup:
    """Return who was checked, and how well it did."""
    server = report.server
    version = f"version {server.version}" if server.version else ""
    facts = [part for part in (version, server.sdk) if part not in ("", "unknown")]
    calls = f"{count_text(report.totals.probes, 'call')} in {report.seconds:.1f} s"
    return tag(
        "header",
        tag(
            "div",
            ring(report.score, report.grade),
            tag(
                "div",
                tag("p", "failwell check", class_="kicker"),
                tag("h1", "How well ", tag("span", server.name or "the server", class_="name"), " fails"),
                tag("p", report.doubt or _VERDICTS.get(report.grade or "", ""), class_="verdict"),
                tag("p", tag("code", server.target), class_="target") if server.target else None,
                tag("p", " · ".join((*facts, calls)), class_="quiet"),
            ),
            class_="hero",
        ),
        _channels(report),
        _totals(report),
        tag("nav", tag("ul", (tag("li", tag("a", words, href=to)) for to, words in _PARTS)), aria_label="On this page"),
    )


def _channels(report: Report) -> Markup:
    def channel(name: str, score: float) -> Markup:
        title, about = _CHANNELS.get(name, (in_words(name), ""))
        points = tag("span", number(score), visually_hidden(" of 100"), class_="points")
        return tag("li", tag("p", tag("strong", title), points), bar(score), tag("p", about, class_="quiet"))

    found = (channel(name, score) for name, score in report.channels.items())
    return tag("section", tag("h2", "Where it looks", class_="unseen"), tag("ul", found, class_="channels"))


def _totals(report: Report) -> Markup:
    totals = report.totals
    rows = (
        ("provoked", f"{totals.probes:,}"),
        ("sent as success", f"{totals.unflagged:,}"),
        ("accepted though wrong", f"{totals.accepted:,}"),
        ("without answer", f"{totals.hung:,}"),
        ("ended the server", f"{totals.crashed:,}"),
        ("fixable from the error", f"{totals.repairable:,} of {totals.schema_violations:,}"),
    )
    cells = (tag("div", tag("dt", name), tag("dd", value)) for name, value in rows)
    return tag("section", tag("h2", "Calls", class_="unseen"), tag("dl", cells, class_="totals"))


def worse_section(report: Report) -> Markup | None:
    """Return what got worse since the baseline; None if there was none to compare with."""
    if report.worse is None:
        return None
    better = report.better or ()
    parts = [_compared("Worse", report.worse) if report.worse else tag("p", "Nothing got worse.")]
    parts.append(_compared("Better", better) if better else tag("p", "Nothing got better."))
    return tag("section", tag("h2", "Since the baseline", id="worse"), parts)


def _compared(title: str, found: Iterable[Regression]) -> Markup:
    listed = (tag("li", tag("code", one.probe), " ", tag("span", one.what)) for one in found)
    return join_html((tag("h3", title), tag("ul", listed, class_="plain")))


def changes_section(report: Report) -> Markup:
    """Return the changes that raise the score most, each with code to copy."""
    listed = tag("ol", (_change(number, one) for number, one in enumerate(report.changes, 1)), class_="changes")
    nothing = tag("p", "Nothing: every call failed as it should.")
    return tag(
        "section",
        tag("h2", "What to change", id="changes", tabindex=-1),
        listed if report.changes else nothing,
        _proxied(report),
    )


def _proxied(report: Report) -> Markup | None:
    proxied = report.proxied
    if proxied is None:
        return None
    gain = tag("span", f"+{number(proxied.gain)}", visually_hidden(" points"), class_="gain")
    said = f" in front of it gives {number(proxied.score)}, measured on the answers in this report."
    return join_html((tag("h3", "Without changing the server ", gain), tag("p", tag("code", proxied.command), said)))


def _change(place: int, change: ProposedChange) -> Markup:
    snippet = f"fix-{place}"
    tools = f"{', '.join(change.subjects[:5])}{' and others' if len(change.subjects) > 5 else ''}"
    gain = tag("span", f"up to +{number(change.gain)}", visually_hidden(" points"), class_="gain")
    caption = (tag("span", f"{change.language} · {change.sdk}"), copy_button(snippet, f"the code: {change.title}"))
    code = tag("pre", tag("code", change.snippet), id=snippet)
    return tag(
        "li",
        tag("h3", change.title, " ", gain),
        tag("p", change.why),
        tag("figure", tag("figcaption", caption), code),
        tag("p", f"Mends {', '.join(map(in_words, change.cures))} in {tools}.", class_="quiet"),
    )


def not_probed_section(report: Report) -> Markup:
    """Return the calls that were not made, by reason."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for left in report.not_probed:
        by_reason.setdefault(left.reason, {}).setdefault(left.tool, []).append(left.probe or "all calls")
    found = (
        tag(
            "li",
            tag("p", tag("strong", reason)),
            tag("ul", (_unsent_row(tool, probes) for tool, probes in tools.items())),
        )
        for reason, tools in by_reason.items()
    )
    text = tag("ul", found, class_="plain") if by_reason else tag("p", "Every call that could be made was made.")
    return tag("section", tag("h2", "Not probed, and why", id="left"), text)


def _unsent_row(tool: str, probes: list[str]) -> Markup:
    return tag("li", tag("code", tool), ": ", ", ".join(probes))


def write(report: Report) -> str:
    """Return a report as a page."""
    style, script = _resource("page.css"), _resource("page.js")
    named = report.server.name or "The server"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{report.grade}: how well {named} fails"),
        tag("link", rel="icon", href="data:,"),
        tag("style", style),
    )
    numbers = number_calls(report)
    body = tag(
        "body",
        tag("a", "Skip to the changes", href="#changes", class_="skip"),
        header_section(report),
        tag(
            "main",
            worse_section(report),
            changes_section(report),
            matrix_section(report, numbers),
            calls_section(report, numbers),
            not_probed_section(report),
        ),
        tag("footer", tag("p", "Made by ", tag("code", "failwell check"), ". This page is self-contained.")),
        tag("p", class_="unseen", id="said", role="status", aria_live="polite"),
        tag("script", script),
    )
    return join_html(("", Markup("<!doctype html>\n"), tag("html", head, body, lang="en"))) + "\n"


@cache
def _resource(name: str) -> Markup:
    return Markup((files("failwell.check.reports.page") / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Return what the page may do: its own style and script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
