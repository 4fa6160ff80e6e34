// Two small charts, drawn by hand. Each has its numbers in a table beside it.

import { el, svg } from "./elements.js";
import { counted, date, number, percent, time, whenExactly } from "./words.js";

const HEIGHT = 168;
const LEFT = 40;
const BOTTOM = 22;
const TOP = 8;

export function failureChart(series, width, marks) {
  const top = nice(Math.max(0.01, ...series.bars.map((bar) => bar.failure_rate ?? 0)));
  const parts = (bar) => [["poor", (bar.failure_rate ?? 0) / top]];
  const about = (bar) => `${number(bar.failed)} of ${counted(bar.calls, "call")} failed (${percent(bar.failure_rate)})`;
  return chart({ series, width, marks, top, parts, about, label: "Share of calls that failed, over time" });
}

export function recoveryChart(series, width, marks) {
  const parts = (bar) => bar.recovery_rate === null ? [] : [["good", bar.recovery_rate], ["poor", 1 - bar.recovery_rate]];
  const about = (bar) => `${number(bar.recovered)} of ${counted(bar.recovered + bar.stuck, "failure")} recovered (${percent(bar.recovery_rate)})`;
  return chart({ series, width, marks, top: 1, parts, about, label: "Share of failures that agents recovered from, over time" });
}

function chart({ series, width, marks, top, parts, about, label }) {
  const inner = Math.max(width - LEFT - 4, 40);
  const step = inner / series.bars.length;
  const high = HEIGHT - BOTTOM - TOP;
  const bars = series.bars.map((bar, place) => {
    let below = HEIGHT - BOTTOM;
    const drawn = parts(bar).map(([kind, part]) => {
      const tall = Math.max(part * high, part > 0 ? 1.5 : 0);
      below -= tall;
      return svg("rect", { class: kind, x: LEFT + place * step + step * 0.12, y: below, width: step * 0.76, height: tall, rx: Math.min(2, step * 0.2) });
    });
    const area = svg("rect", { class: "area", x: LEFT + place * step, y: TOP, width: step, height: high });
    return svg("g", null, svg("title", null, `${span(bar, series)}: ${about(bar)}`), area, drawn);
  });
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": `${label}. The table below has the numbers.` },
    lines(top, width, high), bars, flags(series, marks, step), dates(series, step, width));
}

function lines(top, width, high) {
  return [0, 0.5, 1].map((part) => {
    const y = HEIGHT - BOTTOM - part * high;
    return svg("g", { "aria-hidden": "true" },
      svg("line", { class: "grid", x1: LEFT, x2: width, y1: y, y2: y }),
      svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, percent(top * part)));
  });
}

// Deployments and the like: a line where each happened, with its text.
function flags(series, marks, step) {
  const start = series.bars[0].time;
  return marks.map(({ time: at, text }) => {
    const x = LEFT + ((at - start) / series.seconds) * step;
    return svg("g", { class: "flag" }, svg("title", null, `${whenExactly(at)}: ${text}`),
      svg("rect", { class: "area", x: x - 5, y: TOP, width: 10, height: HEIGHT - BOTTOM - TOP }),
      svg("line", { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }), svg("path", { d: `M ${x} ${TOP} l 7 3.5 l -7 3.5 z` }));
  });
}

function dates(series, step, width) {
  const every = Math.ceil(series.bars.length / Math.max(2, Math.floor((width - LEFT) / 78)));
  const marked = series.bars.map((bar, place) => [bar, place]).filter(([, place]) => place % every === 0);
  return marked.map(([bar, place], index) => {
    const x = LEFT + (place + 0.5) * step;
    const isLast = x > width - 26;
    return isLast && index ? null : svg("text", { x: Math.max(x, LEFT + 14), y: HEIGHT - 5, "text-anchor": "middle", "aria-hidden": "true" }, mark(bar, series));
  });
}

const mark = (bar, series) => series.seconds < 21600 ? time(bar.time).slice(0, 5) : date(bar.time);

function span(bar, series) {
  if (series.seconds < 3600) return `${whenExactly(bar.time)}, ${counted(series.seconds / 60, "minute")}`;
  return series.seconds < 86400 ? `${whenExactly(bar.time)}, ${counted(series.seconds / 3600, "hour")}` : `${whenExactly(bar.time)}, ${counted(series.seconds / 86400, "day")}`;
}

function nice(value) {
  return [0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2, 0.24, 0.3, 0.4, 0.5, 0.6, 0.8, 1].find((step) => step >= value) ?? 1;
}

export function seriesTable(series) {
  const filled = series.bars.filter((bar) => bar.calls || bar.failures).reverse();
  const row = (bar) => el("tr", null, el("th", { scope: "row" }, span(bar, series)),
    [number(bar.calls), number(bar.failed), percent(bar.failure_rate), number(bar.failures), percent(bar.recovery_rate)].map((text) => el("td", null, text)));
  return el("details", { class: "numbers" }, el("summary", null, "Both charts as a table"),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures over time" },
      el("table", null, el("caption", null, "Figures over time, the newest first"),
        el("thead", null, el("tr", null, ["From", "Calls", "Failed", "Failure rate", "Failures", "Recovered"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", null, filled.map(row)))));
}

// A share as a bar; its number is beside it.
export function bar(part, kind) {
  return svg("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "track", width: 100, height: 4, rx: 2 }),
    svg("rect", { class: kind, width: Math.max(part * 100, part > 0 ? 1 : 0), height: 4, rx: 2 }));
}
