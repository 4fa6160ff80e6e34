"""Photographs of the dashboard from a store that is filled with made-up records. Needs chromium."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from failwell.dashboard.access import Access
from failwell.dashboard.data import DashboardData
from failwell.dashboard.server import listening
from failwell.records import Record, open_sink
from tools import sample_records

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SIZE = {"width": 1280, "height": 1120}
_NOW = 1_794_063_600.0
_SESSIONS, _DAYS = 3000, 28
_STORY = "?tool=search_issues&code=RATE_LIMITED"


def draw(path: Path) -> None:
    """Serve the dashboard, look at what the file is named for, and keep what is seen."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser: install one of {', '.join(_BROWSERS)}")
    scheme = "dark" if path.stem.endswith("dark") else "light"
    has_details = path.stem.endswith("details")
    with (
        tempfile.TemporaryDirectory() as folder,
        _serving(f"sqlite:///{folder}/calls.db") as address,
        sync_playwright() as playwright,
    ):
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport=_SIZE, color_scheme=scheme, timezone_id="UTC", reduced_motion="reduce")
        page.goto(address)
        page.locator("svg.chart").first.wait_for()
        if has_details:
            page.goto(f"{address}{_STORY}")
            page.locator("#records .what").nth(1).click()
            page.locator(".details").wait_for()
        page.screenshot(path=path, full_page=has_details)
        opened.close()


@contextmanager
def _serving(store: str) -> Iterator[str]:
    """Fill a store, serve it in another thread, and give its address."""
    sink = open_sink(store)
    for session in sample_records.sessions(7, until=_NOW, days=_DAYS, count=_SESSIONS):
        sink.write(session)
    deployed = Record(time=_NOW - 2.9 * 86_400, source="recorder", kind="mark", reason="postgres 17.1 deployed")
    sink.write([*sample_records.server_events(_NOW), deployed])
    sink.close()
    source = DashboardData(store, clock=lambda: _NOW)
    while source.count():
        pass
    loop, ready, ports = asyncio.new_event_loop(), threading.Event(), list[int]()
    ended = asyncio.Event()

    async def serve() -> None:
        async with listening(source, Access("127.0.0.1", None), "127.0.0.1", 0) as port:
            ports.append(port)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait(30)
    try:
        yield f"http://127.0.0.1:{ports[0]}/"
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(30)
        loop.close()
        source.close()
