"""Every provoked call: what the server said beside what it should have said."""

from failwell.check.report import Graded, ProbeResult, Report, ToolReport
from failwell.check.reports.page.markup import Markup, tag
from failwell.check.reports.page.parts import chip, copy_button, passage
from failwell.check.reports.shown import as_json, counted, in_words

_ENDINGS = {
    "refused": "refused",
    "unflagged": "sent as a success",
    "accepted": "accepted",
    "hung": "no answer in time",
    "crashed": "the server ended",
}
_SERVER = "(server)"
_EFFECTS = {True: "read-only", False: "may change something"}
_CHANNELS = {"call": "call", "text": "text", "machine": "data"}


def numbered(report: Report) -> dict[str, int]:
    """Return a number for each call, by which the page refers to it."""
    return {probe.id: number for number, probe in enumerate(report.probes(), 1)}


def listing(report: Report, numbers: dict[str, int]) -> Markup:
    """Return all calls, tool by tool, the worst first."""
    return tag(
        "section",
        tag("h2", "Every call", id="calls"),
        _controls(),
        (_tool(tool, numbers) for tool in report.tools if tool.probes),
    )


def _controls() -> Markup:
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
    effect = "calls to tools that do not exist" if tool.name == _SERVER else _EFFECTS[tool.read_only]
    return tag(
        "section",
        tag("h3", tag("code", tool.name), " ", chip(tool.score)),
        tag("p", f"{effect} · {counted(len(probes), 'call')}", class_="quiet"),
        (_call(probe, numbers[probe.id], is_open=probe is worst) for probe in probes),
        class_="tool",
    )


def _call(probe: ProbeResult, number: int, *, is_open: bool) -> Markup:
    fell_short = f"{counted(len(probe.failed), 'thing')} fell short" if probe.failed else "fails well"
    told = "not graded" if probe.score is None else fell_short
    line = (
        chip(probe.score),
        tag("span", tag("strong", in_words(probe.probe)), f" {probe.violates}", class_="what"),
        tag("span", f"{_ENDINGS[probe.ending]} · {told}", class_="quiet"),
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
        shortcomings = sorted(probe.failed, key=lambda graded: -graded.weight)
        found.append(tag("ul", map(_shortcoming, shortcomings), class_="shortcomings"))
    reached = ", ".join(in_words(graded.grade) for graded in probe.grades if graded.passed)
    found.append(tag("dl", _facts(probe), _fact("Reached", reached or "nothing"), class_="facts"))
    return found


def _shortcoming(graded: Graded) -> Markup:
    where = tag("span", _CHANNELS[graded.channel], class_="channel")
    return tag("li", where, " ", tag("strong", in_words(graded.grade)), f": {graded.reason}")


def _facts(probe: ProbeResult) -> list[Markup]:
    mended = passage(as_json(probe.repaired)) if probe.repaired is not None else "The error does not tell."
    rows = (
        ("Sent", passage(as_json(probe.arguments))),
        ("An agent would send next", mended if probe.schema_violation or probe.repaired is not None else None),
        ("Code for programs", tag("code", probe.code) if probe.code else "none"),
        ("Took", f"{probe.seconds * 1000:,.0f} ms"),
    )
    return [_fact(name, value) for name, value in rows if value is not None]


def _fact(name: str, value: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value))
