"""One HTML page that holds all it needs: no request leaves it, and it can be read without JavaScript."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from failwell.check.report import Report
from failwell.check.reports.page import calls, matrix, summary
from failwell.check.reports.page.markup import Markup, joined, tag


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
    numbers = calls.numbered(report)
    body = tag(
        "body",
        tag("a", "Skip to the changes", href="#changes", class_="skip"),
        summary.header(report),
        tag(
            "main",
            summary.worse(report),
            summary.changes(report),
            matrix.table(report, numbers),
            calls.listing(report, numbers),
            summary.not_probed(report),
        ),
        tag("footer", tag("p", "Made by ", tag("code", "failwell check"), ". This page holds all it needs.")),
        tag("p", class_="unseen", id="said", role="status", aria_live="polite"),
        tag("script", script),
    )
    return joined(("", Markup("<!doctype html>\n"), tag("html", head, body, lang="en"))) + "\n"


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
