"""How the pages become a site: `make docs`. The pages stay plain Markdown that a code host shows too."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import failwell

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAVIGATION = {
    "Start here": {
        "start/server": "A server",
        "start/agent": "An agent",
        "start/proxy": "The proxy",
        "start/check": "The check",
        "demo": "The demo",
    },
    "Concepts": {
        "concepts": "Three questions, six types",
        "codes": "All codes",
        "security": "What never leaves",
    },
    "Servers": {
        "servers": "Adopt it",
        "errors": "What to raise",
        "guard": "Guard a tool",
        "idempotency": "Effects that happen once",
        "routing": "Several actions as one tool",
        "mapping": "What exceptions become",
        "testing": "Test how tools fail",
        "what_clients_get": "What clients get",
    },
    "Agents": {
        "agents": "Adopt it",
        "reading": "Read a failure",
        "what_read_understands": "What `read` understands",
        "retrying": "What is retried",
        "advice": "What the agent is told",
        "stacks": "What each stack gets",
    },
    "In between": {
        "proxy": "The proxy",
        "check": "The check",
        "check_servers": "How real servers fare",
    },
    "Integrations": {"integrations/index": "SDKs and frameworks"},
    "Examples": {
        "examples/index": "All of them",
        "examples/tasks": "A server before and after",
        "examples/hosts": "Hosts with the proxy",
    },
    "Dialects": {
        "dialects/compact": "compact",
        "dialects/envelope": "envelope",
        "dialects/flat": "flat",
        "dialects/meta": "meta",
        "dialects/xml": "xml",
        "dialects/limits": "What each cannot say",
    },
    "Move": {
        "migration": "From one of five contracts",
        "migration_fastmcp": "From fastmcp's middlewares",
        "migration_tenacity": "From tenacity",
    },
    "Operate": {
        "operations": "Logs, bounds, exit codes",
        "fleet": "A fleet",
        "limits": "Shared limits",
        "telemetry": "Events",
        "recovery": "Recovery",
        "dashboard": "Dashboard",
    },
    "Reference": {
        "cli": "Command line",
        "benchmarks": "Benchmarks",
        "decisions/index": "Design decisions",
        "changes": "Changes",
        "contributing": "Contributing",
    },
}
"""The side bar: pages and what they are called there. A page that is not here fails the tests and the site."""

STANDS_FOR = {
    "changes": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "examples/index": "examples/README.md",
    "examples/hosts": "examples/hosts/README.md",
    "examples/tasks": "examples/tasks/README.md",
}
"""Pages that only link to a page elsewhere in the repository; the site shows that one in their place."""

DOCS = Path(__file__).parent
LINK = re.compile(r"(?<=\]\()(?!https?:|#)[^)#\s]+")
TITLED = re.compile(r'^```(\w+) title="([^"]+)"$', re.MULTILINE)

project = "failwell"
project_copyright = "failwell contributors"
release = failwell.__version__
extensions = ["myst_parser"]
exclude_patterns = ["data", "pictures"]
html_static_path = ["_site"]

# Anchors as code hosts make them, so that a link works in both places.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = "failwell"
html_favicon = "_site/favicon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(DOCS / "_site" / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def navigation() -> str:
    """Return the side bar as MyST writes it."""
    lines: list[str] = []
    for caption, pages in NAVIGATION.items():
        named = [f"{title} <{page}>" for page, title in pages.items() if (DOCS / f"{page}.md").exists()]
        lines += ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *named, "```"]
    return "\n".join(lines) + "\n"


def records() -> str:
    """Return a list of all decision records, by the heading of each."""
    headings = {
        record.name: record.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for record in sorted((DOCS / "decisions").glob("[0-9]*.md"))
    }
    return "\n".join(f"- [{heading}]({name})" for name, heading in headings.items())


def brought(name: str) -> str:
    """Return the page that another one stands for, its links as they lead from there."""
    file = DOCS.parent / STANDS_FOR[name]
    here = (DOCS / name).parent
    pages = {(DOCS.parent / other).resolve(): DOCS / f"{page}.md" for page, other in STANDS_FOR.items()}

    def lead(link: re.Match[str]) -> str:
        target = (file.parent / link[0]).resolve()
        return os.path.relpath(pages.get(target, target), here)

    return LINK.sub(lead, file.read_text(encoding="utf-8"))


def prepare(app: "Sphinx", name: str, source: list[str]) -> None:
    """Give a page what a code host would show as it is: the side bar, lists of a folder, names above code."""
    text = source[0]
    if name in STANDS_FOR:
        text = brought(name)
    text = TITLED.sub(r"```{code-block} \1\n:caption: \2\n", text)
    if name == app.config.root_doc:
        text += navigation()
    if name == "integrations/index":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    if name == "decisions/index":
        text += f"\n{records()}\n"
    elif name.startswith("decisions/"):
        text = f"---\norphan: true\n---\n{text}"  # their index lists them; in the side bar they would hide the rest
    source[0] = text


def setup(app: "Sphinx") -> dict[str, bool]:
    """Take part in the build, which may read and write several pages at once."""
    app.connect("source-read", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
