"""The matrix of tools and probes: each cell is a score, and leads to its worst call."""

from failwell.check.report import ProbeResult, Report
from failwell.check.reports.page.markup import Markup, tag
from failwell.check.reports.page.parts import band, chip, unseen
from failwell.check.reports.shown import counted, in_words, number

_LEGEND = "Scores from 0 to 100; a dash where no such call was made. A score leads to its worst call."


def table(report: Report, numbers: dict[str, int]) -> Markup:
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
    drawn = tag(
        "table",
        tag("thead", tag("tr", heads)),
        tag("tbody", lines),
    )
    return tag(
        "section",
        tag("h2", "Tools and probes", id="matrix"),
        tag("div", drawn, class_="scroll", tabindex=0, role="region", aria_labelledby="matrix"),
        tag("p", _LEGEND, class_="quiet"),
    )


def _cell(tool: str, row: str, probes: list[ProbeResult], numbers: dict[str, int]) -> Markup:
    scored = [(probe.score, probe) for probe in probes if probe.score is not None]
    if not scored:
        return tag("td", tag("span", "–", aria_hidden="true"), unseen("none"), class_="none")
    mean = sum(score for score, _ in scored) / len(scored)
    worst = min(scored, key=lambda pair: pair[0])[1]
    said = f"{tool}, {in_words(row)}: {number(mean)} of 100, {counted(len(scored), 'call')}"
    link = tag("a", f"{int(mean)}", href=f"#call-{numbers[worst.id]}", aria_label=said, class_=f"cell {band(mean)}")
    return tag("td", link)
