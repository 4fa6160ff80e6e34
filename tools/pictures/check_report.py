"""A photograph of the page that `failwell check --html` writes about the server on docs/start/check.md.

Needs chromium.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

_PAGE = Path(__file__).parents[2] / "docs" / "start" / "check.md"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SIZE = {"width": 1000, "height": 800}


def draw(path: Path) -> None:
    """Check the first server of the page, open the report in a browser, and keep what is seen of it."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser: install one of {', '.join(_BROWSERS)}")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        _check(Path(folder), report)
        with sync_playwright() as playwright:
            opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = opened.new_page(viewport=_SIZE, device_scale_factor=1.5)
            page.goto(report.as_uri())
            page.screenshot(path=path)
            opened.close()


def _check(folder: Path, report: Path) -> None:
    server = re.search(r'^```python title="server.py"\n(.*?)^```$', _PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if server is None:
        raise SystemExit(f"{_PAGE.name} shows no server")
    (folder / "server.py").write_text(server[1], encoding="utf-8")
    command = (sys.executable, "-m", "failwell", "check", "--fail-under", "0", "--html", str(report))
    ours_first = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    subprocess.run(
        [*command, "--", "python", "server.py"], cwd=folder, env=ours_first, stdout=subprocess.DEVNULL, check=True
    )
