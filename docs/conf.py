"""How the pages become a site: `make docs`. The pages stay plain Markdown that a code host shows too."""

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import failwell

if TYPE_CHECKING:
    from sphinx.application import Sphinx

API = ("failwell", "client", "codes", "dialects", "metrics", "records", "retry", "server", "testing")

NAVIGATION = {
    "Tutorials": {
        "start/server": "Protect a server",
        "start/agent": "Add failwell to an agent",
        "start/proxy": "Use the proxy",
        "start/check": "Check a server",
        "start/demo": "Run the demo",
    },
    "How-to guides": {
        "howto/servers": "Protect servers",
        "howto/guard": "Guard individual tools",
        "howto/idempotency": "Prevent duplicate effects",
        "howto/testing": "Test how tools fail",
        "howto/agents": "Configure an agent",
        "howto/reading": "Read errors",
        "howto/retrying": "Retry safely",
        "howto/policy_file": "Write a policy file",
        "howto/proxy": "Configure the proxy",
        "howto/hosts": "Add the proxy to your hosts",
        "howto/gateways": "Use failwell in a gateway",
        "howto/check": "Configure the check",
        "howto/operations": "Run it in production",
        "howto/fleet": "Run proxies on several hosts",
        "howto/limits": "Share retry limits",
        "howto/events": "Record events",
        "howto/monitoring": "Monitor with Prometheus",
        "howto/recovery": "Measure recovery",
        "howto/dashboard": "Use the dashboard",
        "howto/migration": "Migrate from one of the five formats",
        "howto/migration_fastmcp": "Migrate from fastmcp's middleware",
        "howto/migration_tenacity": "Migrate from tenacity",
    },
    "Integrations": {"integrations/index": "SDKs and frameworks"},
    "Reference": {
        "reference/api/index": "API",
        **{f"reference/api/{name}": f"API: {name}" for name in API},
        "reference/grades": "Grades of the check",
        "reference/cli": "Command line",
        "reference/codes": "Error codes",
        "reference/errors": "Exceptions to raise",
        "reference/mapping": "How exceptions are classified",
        "reference/what_read_understands": "Errors that `read` understands",
        "reference/advice": "What the model reads",
        "reference/what_clients_get": "What clients receive",
        "reference/dialects/compact": "Format: compact",
        "reference/dialects/envelope": "Format: envelope",
        "reference/dialects/flat": "Format: flat",
        "reference/dialects/meta": "Format: meta",
        "reference/dialects/xml": "Format: xml",
        "reference/dialects/limits": "Limits of each format",
        "reference/bounds": "Size and time limits",
        "reference/contracts": "Differences from the five formats",
        "reference/check_servers": "Check results for published servers",
        "reference/benchmarks": "Benchmarks",
    },
    "Explanation": {
        "explanation/concepts": "What a failure says",
        "explanation/guarantees": "Guarantees and proofs",
        "explanation/security": "Security and redaction",
    },
    "Project": {
        "examples/index": "Examples",
        "examples/tasks": "A server before and after",
        "examples/hosts": "Hosts with the proxy",
        "changes": "Changelog",
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
REPOSITORY = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"][
    "Repository"
]
LINK = re.compile(r"(?<=\]\()(?!https?:|#)[^)#\s]+")
TITLED = re.compile(r'^```(\w+) title="([^"]+)"$', re.MULTILINE)

project = "failwell"
project_copyright = "failwell contributors"
release = failwell.__version__
extensions = ["myst_parser"]
# Records of decisions are for those who change the code; they read them in the repository.
exclude_patterns = ["data", "decisions", "pictures"]
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


def brought(name: str) -> str:
    """Return the page that another one stands for, its links as they lead from there."""
    file = DOCS.parent / STANDS_FOR[name]
    return LINK.sub(lambda link: os.path.relpath(file.parent / link[0], (DOCS / name).parent), _text(file))


def led(name: str, text: str) -> str:
    """Return a page whose links lead to pages of the site, or to the repository for what the site does not have."""
    here = (DOCS / name).parent
    pages = {(DOCS.parent / other).resolve(): DOCS / f"{page}.md" for page, other in STANDS_FOR.items()}

    def lead(link: re.Match[str]) -> str:
        target = (here / link[0]).resolve()
        target = pages.get(target, target)
        if target.is_relative_to(DOCS) and target.relative_to(DOCS).parts[0] != "decisions":
            return os.path.relpath(target, here)
        return f"{REPOSITORY}/blob/main/{target.relative_to(DOCS.parent)}"

    return LINK.sub(lead, text)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def prepare(app: "Sphinx", name: str, source: list[str]) -> None:
    """Give a page what a code host would show as it is: the side bar, lists of a folder, names above code."""
    text = source[0]
    if name in STANDS_FOR:
        text = brought(name)
    text = led(name, text)
    text = TITLED.sub(r"```{code-block} \1\n:caption: \2\n", text)
    if name == app.config.root_doc:
        text += navigation()
    if name == "integrations/index":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    source[0] = text


def setup(app: "Sphinx") -> dict[str, bool]:
    """Take part in the build, which may read and write several pages at once."""
    app.connect("source-read", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
