"""The top of the page: score, channels, what to change, what got worse, and what was not probed."""

from failwell.check.report import Change, Report
from failwell.check.reports.page.markup import Markup, tag
from failwell.check.reports.page.parts import bar, copy_button, ring, unseen
from failwell.check.reports.shown import counted, in_words, number

_VERDICTS = {
    "A": "Agents can act on nearly every failure of this server.",
    "B": "Agents can act on most failures of this server.",
    "C": "Agents have to guess at many failures of this server.",
    "D": "Agents have to guess at most failures of this server.",
    "F": "Agents are left alone with the failures of this server.",
}
_CHANNELS = {
    "call": ("The call itself", "flagged as an error, soon, and mendable"),
    "text": ("Text for the model", "what is wrong, what is expected, what to do"),
    "machine": ("Data for programs", "type, code, field and retry without guessing"),
}
_PARTS = (
    ("#changes", "What to change"),
    ("#matrix", "Tools and probes"),
    ("#calls", "Every call"),
    ("#left", "Not probed"),
)


def header(report: Report) -> Markup:
    """Return who was checked, and how well it did."""
    server = report.server
    version = f"version {server.version}" if server.version else ""
    facts = [part for part in (version, server.sdk) if part not in ("", "unknown")]
    calls = f"{counted(report.totals.probes, 'call')} in {report.seconds:.1f} s"
    return tag(
        "header",
        tag(
            "div",
            ring(report.score, report.grade),
            tag(
                "div",
                tag("p", "failwell check", class_="kicker"),
                tag("h1", "How well ", tag("span", server.name or "the server", class_="name"), " fails"),
                tag("p", _VERDICTS.get(report.grade, ""), class_="verdict"),
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
        points = tag("span", number(score), unseen(" of 100"), class_="points")
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
        ("mendable from the error", f"{totals.repairable:,} of {totals.schema_violations:,}"),
    )
    cells = (tag("div", tag("dt", name), tag("dd", value)) for name, value in rows)
    return tag("section", tag("h2", "Calls", class_="unseen"), tag("dl", cells, class_="totals"))


def worse(report: Report) -> Markup | None:
    """Return what got worse since the baseline; None if there was none to compare with."""
    if report.worse is None:
        return None
    found = (tag("li", tag("code", one.probe), " ", tag("span", one.what)) for one in report.worse)
    told = tag("ul", found, class_="plain") if report.worse else tag("p", "Nothing got worse.")
    return tag("section", tag("h2", "Since the baseline", id="worse"), told)


def changes(report: Report) -> Markup:
    """Return the changes that raise the score most, each with code to copy."""
    listed = tag("ol", (_change(number, one) for number, one in enumerate(report.changes, 1)), class_="changes")
    nothing = tag("p", "Nothing: every call failed as it should.")
    return tag(
        "section",
        tag("h2", "What to change", id="changes", tabindex=-1),
        listed if report.changes else nothing,
    )


def _change(place: int, change: Change) -> Markup:
    snippet = f"fix-{place}"
    tools = f"{', '.join(change.tools[:5])}{' and others' if len(change.tools) > 5 else ''}"
    gain = tag("span", f"+{number(change.gain)}", unseen(" points"), class_="gain")
    caption = (tag("span", f"{change.language} · {change.sdk}"), copy_button(snippet, f"the code: {change.title}"))
    code = tag("pre", tag("code", change.snippet), id=snippet)
    return tag(
        "li",
        tag("h3", change.title, " ", gain),
        tag("p", change.why),
        tag("figure", tag("figcaption", caption), code),
        tag("p", f"Mends {', '.join(map(in_words, change.cures))} in {tools}.", class_="quiet"),
    )


def not_probed(report: Report) -> Markup:
    """Return the calls that were not made, by reason."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for left in report.not_probed:
        by_reason.setdefault(left.reason, {}).setdefault(left.tool, []).append(left.probe or "all calls")
    found = (
        tag("li", tag("p", tag("strong", reason)), tag("ul", (_left(tool, probes) for tool, probes in tools.items())))
        for reason, tools in by_reason.items()
    )
    told = tag("ul", found, class_="plain") if by_reason else tag("p", "Every call that could be made was made.")
    return tag("section", tag("h2", "Not probed, and why", id="left"), told)


def _left(tool: str, probes: list[str]) -> Markup:
    return tag("li", tag("code", tool), ": ", ", ".join(probes))
