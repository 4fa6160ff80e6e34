"""The load on the server over time as an SVG picture, drawn from the recorded figures."""

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 380, 60, 40, 20, 70
COLOURS = {
    "limits of its own": "#d9822b",
    "shared limits": "#1f7a4d",
    "no retry": "#8a8f98",
    "tenacity": "#d9822b",
    "stamina": "#c23b5a",
    "failwell": "#1f7a4d",
    "failwell, 6 attempts": "#2c6fbb",
}


def picture(found: dict[str, Any]) -> str:
    """Return the picture."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: dict[str, Any]) -> Iterator[str]:
    ends = found["phases"][-1]["until"]
    top = _rounded_up(max(max(client["load"]) for client in found["clients"].values()))

    def x(seconds: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * seconds / ends, 1)

    def y(load: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * load / top, 1)

    form = 'font-family="sans-serif" font-size="12"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {form}>'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    begins = 0.0
    for index, phase in enumerate(found["phases"]):
        band = "#f3f4f6" if index % 2 else "#ffffff"
        left, right = x(begins), x(phase["until"])
        yield f'<rect x="{left}" y="{TOP}" width="{right - left:.1f}" height="{HEIGHT - TOP - BOTTOM}" fill="{band}"/>'
        middle = f'x="{(left + right) / 2:.1f}" y="{TOP - 8}" text-anchor="middle"'
        yield f'<text {middle} fill="#444">{phase["name"]}</text>'
        begins = phase["until"]
    for part in range(5):
        load = top * part / 4
        yield f'<line x1="{LEFT}" y1="{y(load)}" x2="{WIDTH - RIGHT}" y2="{y(load)}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y(load) + 4}" text-anchor="end" fill="#444">{load:,.0f}</text>'
    yield f'<text x="{LEFT}" y="16" fill="#222">calls per second that reach the server</text>'
    for seconds in range(0, int(ends) + 1, 60):
        place = f'x="{x(seconds)}" y="{HEIGHT - BOTTOM + 16}"'
        yield f'<text {place} text-anchor="middle" fill="#444">{seconds} s</text>'
    step = found["seconds_per_point"]
    for index, (name, client) in enumerate(found["clients"].items()):
        points = " ".join(f"{x(n * step + step / 2)},{y(load)}" for n, load in enumerate(client["load"]))
        yield f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>'
        place = LEFT + index * 150
        yield f'<rect x="{place}" y="{HEIGHT - 30}" width="12" height="12" fill="{COLOURS[name]}"/>'
        yield f'<text x="{place + 18}" y="{HEIGHT - 20}" fill="#222">{escape(name)}</text>'
    yield "</svg>"


def _rounded_up(load: float) -> float:
    step = 10 ** max(len(str(int(load))) - 1, 0) / 2
    return -(-load // step) * step
