"""The pictures of the page on benchmarks, as SVG drawn from the results."""

import math
from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape

from bench.judging import Verdict, bound
from bench.reporting import words
from bench.results import Results

_MET, _MISSED, _OURS, _THEIRS = "#1f7a4d", "#c2410c", "#1f7a4d", "#8a8f98"
_WIDTH, _LEFT, _RIGHT, _TOP, _LINE = 960, 430, 190, 56, 20
_LEAST, _MOST = 0.01, 10.0
_TICKS = {0.01: "1/100", 0.1: "1/10", 1.0: "goal", 10.0: "10 ×"}


def goals(verdicts: list[Verdict]) -> str:
    """Return a bar for each goal: how much of what was allowed was used. Bars that cross the line missed it."""
    drawn = [(verdict, share) for verdict in verdicts if (share := _share_of_goal(verdict)) is not None]
    height = _TOP + _LINE * len(drawn) + 20
    lines = [_title("Seen beside the goal: shorter is better")]
    for tick, text in _TICKS.items():
        colour, width = ("#222", 2) if tick == 1 else ("#dddddd", 1)
        x = _log(tick)
        lines.append(
            f'<line x1="{x}" y1="{_TOP - 4}" x2="{x}" y2="{height - 16}" stroke="{colour}" stroke-width="{width}"/>'
        )
        lines.append(f'<text x="{x}" y="{_TOP - 10}" text-anchor="middle" fill="#444">{text}</text>')
    for place, (verdict, share) in enumerate(drawn):
        y = _TOP + place * _LINE
        label = f"{words.seen(verdict).partition(' (')[0]}, goal {verdict.row.goal}"
        colour = _MET if verdict.is_met else _MISSED
        lines += _bar(y, _short(verdict.row.says), _log(share), colour, label)
    return _picture(height, lines)


def retry_engines(results: Results) -> str:
    """Return what a call that succeeds costs through each engine, sync and async."""
    figures = results["retries"].figures if "retries" in results else []
    bars: list[tuple[str, float, str]] = []
    for kind, what in (("sync", "call, success"), ("async", "acall, success")):
        rows = [figure for figure in figures if figure["what"] == what]
        ours = min((row["value"] for row in rows), default=0.0)
        bars.append((f"failwell, {kind}", ours, _OURS))
        bars += [
            (f"{row['beside']}, {kind}", row["beside_value"], _THEIRS) for row in rows if row["beside"] != "bare call"
        ]
    height = _TOP + _LINE * len(bars)
    top = max((value for _, value, _ in bars), default=1.0) or 1.0
    lines = [_title("Microseconds of a call that succeeds, through each retry engine")]
    for place, (name, value, colour) in enumerate(bars):
        end = _LEFT + (_WIDTH - _LEFT - _RIGHT) * value / top
        lines += _bar(_TOP - 14 + place * _LINE, name, end, colour, words.with_unit(value, "µs"))
    return _picture(height, lines)


_PANEL_WIDTH, _PANEL_HEIGHT, _COLUMNS = 310, 220, 3


def growth(results: Results) -> str:
    """Return a panel for each curve: what one call costs on more and more, both axes logarithmic."""
    figures = results["growth"].figures if "growth" in results else []
    slopes = {one["what"].removeprefix("slope: "): one for one in figures if one["what"].startswith("slope: ")}
    curves = {
        name: [(int(one["beside"].replace(",", "")), one["value"]) for one in figures if one["what"] == name]
        for name in slopes
    }
    lines = [_title("Microseconds per call as the load grows (both axes logarithmic)")]
    for place, (name, points) in enumerate(curves.items()):
        left = 16 + place % _COLUMNS * _PANEL_WIDTH
        top = 44 + place // _COLUMNS * _PANEL_HEIGHT
        lines += _panel(left, top, f"{name}: slope {slopes[name]['value']:.2f}", points)
    return _picture(64 + math.ceil(len(curves) / _COLUMNS) * _PANEL_HEIGHT, lines)


def _panel(left: int, top: int, name: str, points: list[tuple[int, float]]) -> Iterator[str]:
    width, height = _PANEL_WIDTH - 60, _PANEL_HEIGHT - 80
    x_of, y_of = (
        _scale(min(values), max(values), length)
        for values, length in (([size for size, _ in points], width), ([cost for _, cost in points], height))
    )
    yield f'<text x="{left}" y="{top + 14}" fill="#222">{escape(name)}</text>'
    yield f'<rect x="{left}" y="{top + 24}" width="{width}" height="{height}" fill="none" stroke="#dddddd"/>'
    at = [(round(left + x_of(size), 1), round(top + 24 + height - y_of(cost), 1)) for size, cost in points]
    path = " ".join(f"{x},{y}" for x, y in at)
    yield f'<polyline points="{path}" fill="none" stroke="{_OURS}" stroke-width="2"/>'
    for (x, y), (size, cost) in zip(at, points, strict=True):
        yield f'<circle cx="{x}" cy="{y}" r="3" fill="{_OURS}"/>'
        yield f'<text x="{x}" y="{y - 6}" text-anchor="middle" fill="#444">{words.number(cost)}</text>'
        yield f'<text x="{x}" y="{top + height + 40}" text-anchor="middle" fill="#444">{size:,}</text>'


def _scale(least: float, most: float, length: float) -> Callable[[float], float]:
    """Return where a value stands on a logarithmic axis of at least three decades, so that what is flat looks flat."""
    low = math.log10(max(least, 1e-9))
    decades = max(math.log10(max(most, 1e-9)) - low, 3.0)
    return lambda value: (math.log10(max(value, 1e-9)) - low) / decades * (length - 40) + 20


def _share_of_goal(verdict: Verdict) -> float | None:
    if verdict.row.goal is None or verdict.seen is None or verdict.row.unit == "%":
        return None
    _, goal = bound(verdict.row.goal)
    if goal == 0:
        return None
    return goal / verdict.seen if verdict.row.goal.startswith("≥") else verdict.seen / goal


def _log(share: float) -> float:
    """Return where a share of the goal stands on the axis, which is logarithmic."""
    part = math.log(min(max(share, _LEAST), _MOST) / _LEAST) / math.log(_MOST / _LEAST)
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * part, 1)


def _short(says: str, most: int = 66) -> str:
    text = says.replace("`", "")
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _title(text: str) -> str:
    return f'<text x="16" y="24" font-size="15" fill="#222">{text}</text>'


def _bar(y: float, name: str, end: float, colour: str, label: str) -> Iterator[str]:
    yield f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end" fill="#222">{escape(name)}</text>'
    yield f'<rect x="{_LEFT}" y="{y + 4}" width="{max(end - _LEFT, 2):.1f}" height="12" rx="2" fill="{colour}"/>'
    yield f'<text x="{_WIDTH - _RIGHT + 12}" y="{y + 14}" fill="#444">{escape(label)}</text>'


def _picture(height: int, lines: list[str]) -> str:
    form = 'font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {form}>'
    paper = f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, paper, *lines, "</svg>"]) + "\n"
