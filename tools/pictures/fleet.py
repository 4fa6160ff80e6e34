"""The architecture of a fleet: agents, proxies on several hosts, what they share, and the server behind them."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT = 880, 470

# Its own background in both: a page may be light while the system is dark.
_STYLE = """
  .page { fill: #ffffff }
  text { font: 14px system-ui, sans-serif; fill: #24292f }
  .small { font-size: 12px; fill: #57606a }
  .host { fill: none; stroke: #8c959f; stroke-dasharray: 5 4 }
  .box { fill: #f6f8fa; stroke: #57606a }
  .ours { fill: #dafbe1; stroke: #1a7f37 }
  .store { fill: #fff1e5; stroke: #bc4c00 }
  .way { stroke: #57606a; stroke-width: 1.6; fill: none; marker-end: url(#tip) }
  .limits { stroke: #bc4c00; stroke-width: 1.6; fill: none; marker-end: url(#tip); marker-start: url(#tip) }
  .events { stroke: #0969da; stroke-width: 1.6; fill: none; stroke-dasharray: 2 4; marker-end: url(#tip) }
  #tip path { fill: #6e7781 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 }
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .box { fill: #161b22; stroke: #9198a1 }
    .ours { fill: #12261e; stroke: #3fb950 }
    .store { fill: #2d1f12; stroke: #f0883e }
    .way { stroke: #9198a1 }
    .limits { stroke: #f0883e }
    .events { stroke: #58a6ff }
  }
"""


class Box(NamedTuple):
    """A part of the picture: where it is, how it looks, and what it says."""

    x: int
    y: int
    width: int
    height: int
    kind: str
    lines: tuple[str, ...]


class Way(NamedTuple):
    """An arrow along points, and what it says at a place."""

    kind: str
    points: tuple[tuple[int, int], ...]
    says: str = ""
    at: tuple[int, int] = (0, 0)


BOXES = (
    Box(20, 60, 120, 60, "box", ("agents", "of host A")),
    Box(20, 250, 120, 60, "box", ("agents", "of host B")),
    Box(215, 55, 170, 32, "ours", ("proxy, worker 1",)),
    Box(215, 97, 170, 32, "ours", ("proxy, worker 2",)),
    Box(215, 245, 170, 32, "ours", ("proxy, worker 1",)),
    Box(215, 287, 170, 32, "ours", ("proxy, worker 2",)),
    Box(690, 150, 165, 70, "box", ("MCP server", "that may fail")),
    Box(460, 158, 150, 56, "store", ("Redis or Valkey", "budget, breaker, guard")),
    Box(215, 395, 170, 50, "store", ("event store", "PostgreSQL or SQLite")),
    Box(460, 395, 150, 50, "ours", ("dashboard",)),
)
HOSTS = (Box(200, 30, 200, 112, "host", ("host A",)), Box(200, 220, 200, 112, "host", ("host B",)))
WAYS = (
    Way("way", ((140, 90), (196, 90)), "MCP", (152, 82)),
    Way("way", ((140, 280), (196, 280)), "MCP", (152, 272)),
    Way("way", ((402, 75), (772, 75), (772, 146)), "calls, and the retries that are allowed", (430, 67)),
    Way("way", ((402, 300), (772, 300), (772, 224)), "calls, and the retries that are allowed", (430, 318)),
    Way("limits", ((404, 120), (520, 154)), "one round trip a step", (480, 128)),
    Way("limits", ((404, 250), (520, 218)), "local limits while it is away", (462, 250)),
    Way("events", ((300, 334), (300, 391)), "events, in batches", (308, 368)),
    Way("events", ((387, 420), (456, 420))),
)


def picture() -> str:
    """Return the picture."""
    return "\n".join(_lines()) + "\n"


def draw(path: Path) -> None:
    """Write the picture."""
    path.write_text(picture(), encoding="utf-8")


def _lines() -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title">'
    yield '<title id="title">Agents call a server through proxies on several hosts, which share their limits</title>'
    yield f"<style>{_STYLE}</style>"
    yield '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    yield 'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z"/></marker></defs>'
    yield f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>'
    for host in HOSTS:
        yield _rectangle(host, corner=10)
        yield f'<text class="small" x="{host.x + 10}" y="{host.y + 17}">{host.lines[0]}</text>'
    for way in WAYS:
        points = " ".join(f"{x},{y}" for x, y in way.points)
        yield f'<polyline class="{way.kind}" points="{points}"/>'
        if way.says:
            yield f'<text class="small" x="{way.at[0]}" y="{way.at[1]}">{escape(way.says)}</text>'
    for box in BOXES:
        yield _rectangle(box, corner=6)
        top = box.y + box.height / 2 + 5 - 9 * (len(box.lines) - 1)
        for index, line in enumerate(box.lines):
            kind = ' class="small"' if index else ""
            place = f'x="{box.x + box.width / 2:g}" y="{top + 18 * index:g}" text-anchor="middle"'
            yield f"<text{kind} {place}>{escape(line)}</text>"
    yield "</svg>"


def _rectangle(box: Box, *, corner: int) -> str:
    size = f'width="{box.width}" height="{box.height}" rx="{corner}"'
    return f'<rect class="{box.kind}" x="{box.x}" y="{box.y}" {size}/>'
