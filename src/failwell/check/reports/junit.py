"""JUnit XML: each tool is a suite, each provoked call a test, each call that was not made a skipped test."""

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from failwell.check.report import NotProbed, ProbeResult, Report
from failwell.check.reports.text import as_json, number, safe_text

_LONGEST_TEXT = 4000
_NO_ANSWER = ("hung", "crashed")


def write(report: Report) -> str:
    """Return a report as JUnit XML.

    A test fails if the call did not fail well; compared with a baseline, if it got worse.
    """
    worse = None if report.worse is None else _by_probe(report)
    root = Element("testsuites", {"name": "failwell check"})
    suites = [
        _suite(tool.name, report, tool.probes, [left for left in report.not_probed if left.tool == tool.name], worse)
        for tool in report.tools
    ]
    root.extend(suites)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{report.seconds:.3f}")
    indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(root, encoding='unicode')}\n"


def _by_probe(report: Report) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for worse in report.worse or ():
        found.setdefault(worse.probe, []).append(worse.what)
    return found


def _suite(
    name: str,
    report: Report,
    probes: Iterable[ProbeResult],
    left_out: Iterable[NotProbed],
    worse: dict[str, list[str]] | None,
) -> Element:
    where = f"{report.server.name or 'server'}.{name}"
    cases = [_case(where, probe, worse) for probe in probes]
    cases += [_skipped(where, left) for left in left_out]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    seconds = sum(float(case.get("time", "0")) for case in cases)
    suite = Element("testsuite", {"name": safe_text(where), **{key: str(count) for key, count in counts.items()}})
    suite.set("time", f"{seconds:.3f}")
    score = next((tool.score for tool in report.tools if tool.name == name), None)
    properties = SubElement(suite, "properties")
    for key, value in (
        ("score", number(score)),
        ("server.score", number(report.score)),
        ("server.grade", report.grade or ""),
    ):
        SubElement(properties, "property", {"name": f"failwell.{key}", "value": value})
    suite.extend(cases)
    return suite


def _case(where: str, probe: ProbeResult, worse: dict[str, list[str]] | None) -> Element:
    name = probe.id.removeprefix(f"{probe.tool}/")
    case = Element("testcase", {"classname": safe_text(where), "name": safe_text(name), "time": f"{probe.seconds:.3f}"})
    found = _findings(probe)
    broken = found if worse is None else worse.get(probe.id, [])
    if broken:
        kind = "error" if probe.ending in _NO_ANSWER else "failure"
        finding = SubElement(case, kind, {"message": safe_text(broken[0]), "type": probe.ending})
        finding.text = safe_text(_explained(probe, broken))
    elif found:
        SubElement(case, "system-out").text = safe_text("\n".join(("Not worse than the baseline:", *found)))
    return case


def _findings(probe: ProbeResult) -> list[str]:
    """Return what fell short, what counts most first."""
    return [f"{result.grade}: {result.reason}" for result in sorted(probe.failed, key=lambda one: -one.weight)]


def _explained(probe: ProbeResult, broken: list[str]) -> str:
    parts = (
        ("Call", f"{probe.violates}\n{as_json(probe.arguments)}"),
        ("Fell short", "\n".join(f"- {what}" for what in broken)),
        ("The server said", safe_text(probe.text, _LONGEST_TEXT) or "(nothing)"),
        ("It should have said", safe_text(probe.better, _LONGEST_TEXT)),
    )
    return "\n".join(f"{title}:\n{text}\n" for title, text in parts if text)


def _skipped(where: str, left: NotProbed) -> Element:
    case = Element(
        "testcase", {"classname": safe_text(where), "name": safe_text(left.probe or "all calls"), "time": "0.000"}
    )
    SubElement(case, "skipped", {"message": safe_text(left.reason)})
    return case
