// The figures of a view: one sentence, the totals, both charts, how failures ended, and the worst first.

import { asked, cleared, isFiltered, link, view } from "./address.js";
import { bar, failureChart, recoveryChart, seriesTable } from "./charts.js";
import { docs, el, unseen } from "./elements.js";
import { GROUPINGS, RANGES, VERDICTS, VERDICT_COLOURS, change, counted, duration, instant, number, percent, term } from "./words.js";

export function figures(found) {
  const { totals } = found;
  if (!totals.calls && !totals.failures) return nothingHere();
  return [headline(found), tiles(found), totals.failed || totals.failures ? pictures(found) : null, messages(found), groups(found)];
}

function nothingHere() {
  const range = view().range;
  return el("section", { class: "empty" }, el("h1", null, "Nothing to show here"),
    el("p", null, `No ${isFiltered() ? "matching " : ""}calls were recorded${range === "all" ? "" : ` in the last ${RANGES[range]}`}.`),
    el("p", { class: "ways" }, range === "all" ? null : link({ range: "all" }, { class: "button" }, "Show all time"),
      isFiltered() ? link(cleared(), { class: "button" }, "Clear all filters") : null));
}

function headline({ totals }) {
  const range = view().range;
  const where = range === "all" ? "" : ` in the last ${RANGES[range]}`;
  const first = totals.failed
    ? [el("strong", null, percent(totals.failure_rate)), ` of ${counted(totals.calls, "call")} failed${where}.`]
    : [`None of ${counted(totals.calls, "call")} failed${where}.`];
  const second = totals.recovery_rate !== null
    ? [" Agents recovered from ", el("strong", null, percent(totals.recovery_rate)), ` of ${counted(totals.recovered + totals.stuck, "failure")}.`,
      totals.moved_on ? ` After ${number(totals.moved_on)} more, they moved on.` : ""]
    : [];
  return el("section", { class: "headline" }, el("h1", { class: "unseen" }, "How tools fail, and whether agents recover"), el("p", null, first, second));
}

// A tile is a figure: what it means, how it changed against the period before, and a link to what it counts.
function tiles(found) {
  const { totals, words, lost } = found;
  const before = found.before ?? {};
  const rows = [
    ["failed", "failed calls", totals.failed, `${percent(totals.failure_rate)} of ${number(totals.calls)}`, before.failed, { show: "failures", verdict: "" }],
    ["recovered", "failures recovered", totals.recovered, `${percent(totals.recovery_rate)} of ${number(totals.recovered + totals.stuck)}`, before.recovered, { verdict: "recovered" }, "good"],
    ["not_recovered", "not recovered", totals.stuck, "unresolved or only repeated", before.stuck, { verdict: "stuck" }],
    ["moved_on", "moved on", totals.moved_on, "not in the recovery rate", before.moved_on, { verdict: "moved_on" }, "neutral"],
    ["turns_saved", "turns saved", totals.turns_saved, "resolved before the model saw them", before.turns_saved, { verdict: "saved" }, "good"],
    ["calls_wasted", "wasted calls", totals.calls_wasted, "failed calls that didn't help", before.calls_wasted, { sort: "wasted", by: "tool" }],
    ["time_lost", "agent time lost", totals.seconds_lost, "in failed calls and waiting", before.seconds_lost, { sort: "time", by: "tool" }],
    ["latency", "median latency", totals.p50, totals.p95 === null ? "unknown" : `95th percentile ${took(totals.p95)}`, before.p50, { sort: "p95", by: "tool" }],
    ["duplicates_avoided", "duplicates avoided", totals.duplicates_avoided, "possibly done, not repeated", before.duplicates_avoided, { verdict: "duplicates_avoided" }, "good"],
  ];
  if (lost) rows.push(["lost", "events lost", lost, "the recorder's buffer was full", null, { show: "servers", verdict: "" }]);
  return el("section", { "aria-label": "Totals" }, el("dl", { class: "tiles" }, rows.map(([name, label, value, beside, earlier, changes, growth]) =>
    el("div", null, el("dt", null, term(label, words[name])),
      el("dd", null, link(changes, { class: "figure", "aria-label": `${label}: ${shown(name, value)}, show what it counts`, to: changes.sort ? "worst" : "feed" }, shown(name, value)), before.calls ? delta(value, earlier, growth) : null),
      el("dd", { class: "beside" }, beside)))));
}

const shown = (name, value) => name === "time_lost" ? duration(value) : name === "latency" ? took(value) : number(value);
const took = (seconds) => seconds === null ? "–" : seconds >= 120 ? "> 2 min" : duration(seconds);

function delta(value, earlier, growth = "poor") {
  const found = change(value ?? 0, earlier ?? 0);
  if (!found) return null;
  const kind = growth === "neutral" ? "neutral" : (growth === "good") === found.rose ? "good" : "poor";
  return el("span", { class: `delta ${kind}` }, found.text, unseen(" compared with the period before"));
}

function pictures(found) {
  const card = (title, about, ...rest) => el("section", { class: "card" }, el("h2", null, title), el("p", { class: "quiet" }, about), ...rest);
  return el("div", { class: "pictures" },
    card("Failure rate", "share of all calls", el("div", { class: "drawn", "data-chart": "failure" })),
    card("Recovery rate", [el("span", { class: "key good" }), "recovered ", el("span", { class: "key poor" }), "not recovered"], el("div", { class: "drawn", "data-chart": "recovery" })),
    card("How failures ended", term("what is a failure?", found.words.failure), verdicts(found)),
    el("div", { class: "wide" }, marksList(found), seriesTable(found.series)));
}

// What the marks in the charts say: pointing at one is not the only way to find out.
function marksList({ marks, now }) {
  if (!marks.length) return null;
  const shown = marks.slice(-MOST_MARKS).reverse();
  const rest = marks.length - shown.length;
  return el("ul", { class: "marks", "aria-label": "Marks, the newest first" },
    shown.map((one) => el("li", null, el("span", { class: "flagged", "aria-hidden": "true" }, "⚑"), instant(one.time, now), " ", one.text)),
    rest ? el("li", null, link({ show: "servers", verdict: "" }, { to: "feed" }, `and ${counted(rest, "earlier mark")}`)) : null);
}

const MOST_MARKS = 5;
const DRAWN = { failure: failureChart, recovery: recoveryChart };

export function draw(place, found) {
  for (const one of place.querySelectorAll(".drawn")) {
    one.replaceChildren();
    one.append(DRAWN[one.dataset.chart](found.series, Math.max(220, Math.floor(one.clientWidth)), found.marks));
  }
}

function verdicts({ verdicts: counts, verdict_words: words, totals }) {
  const shown = Object.keys(VERDICTS).filter((name) => counts[name]);
  if (!shown.length) return el("p", { class: "quiet" }, "No failures.");
  return el("ul", { class: "verdicts" }, shown.map((name) => {
    const kind = VERDICT_COLOURS[name] ?? "good";
    return el("li", null, term(VERDICTS[name], words[name]), bar(counts[name] / totals.failures, kind),
      link({ verdict: name }, { class: "count", to: "feed", "aria-label": `${VERDICTS[name]}: show these ${counts[name]}` }, number(counts[name])));
  }));
}

// Failed calls with the same message, apart from names and numbers in it.
function messages(found) {
  if (!found.messages.length) return null;
  const row = (one) => {
    const rose = found.before?.calls ? change(one.count, one.before) : null;
    return el("tr", null,
      el("th", { scope: "row" }, link({ failure: one.number }, { class: "what" }, one.message || one.code, unseen(", the latest of them")),
        el("span", { class: "about" }, one.tool || "–", one.server ? ` · ${one.server}` : "", " · ", link({ code: one.code }, null, one.code), " ", docs(one.code, found.docs[one.code]))),
      el("td", null, number(one.count), el("span", { class: "narrow" }, one.count === 1 ? " failed call" : " failed calls")), el("td", null, rose ? el("span", { class: `delta ${rose.rose ? "poor" : "good"}` }, rose.text) : "–"),
      el("td", null, instant(one.time, found.now)));
  };
  return el("section", { class: "messages" }, el("div", { class: "head" }, el("h2", { id: "same" }, "Most frequent messages")),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "same" },
      el("table", null, el("caption", { class: "unseen" }, "Failed calls by message"),
        el("thead", null, el("tr", null, ["Message", "Failed calls", "Change", "Last"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", null, found.messages.map(row)))));
}

const COLUMNS = [
  ["name", "", null],
  ["calls", "Calls", (row) => number(row.calls)],
  ["failed", "Failed", (row) => number(row.failed)],
  ["rate", "Failure rate", (row) => rate(row.failure_rate, "poor")],
  ["failures", "Failures", (row) => number(row.failures)],
  ["recovery", "Recovered", (row) => rate(row.recovery_rate, "good")],
  ["stuck", "Not recovered", (row) => number(row.stuck)],
  ["wasted", "Wasted calls", (row) => number(row.calls_wasted)],
  ["time", "Time lost", (row) => duration(row.seconds_lost)],
  ["p95", "p95 latency", (row) => took(row.p95)],
];
const MEANING = { name: "", calls: "calls", failed: "failed", rate: "failed", failures: "failure", recovery: "recovered", stuck: "not_recovered", wasted: "calls_wasted", time: "time_lost", p95: "latency" };

const rate = (value, kind) => el("span", { class: "rate" }, percent(value), value === null ? null : bar(value, kind));

function groups(found) {
  const { by, sort } = view();
  const head = COLUMNS.map(([name, label]) => {
    const chosen = sort === name;
    const order = name === "name" || name === "recovery" ? "ascending" : "descending";
    return el("th", { scope: "col", "aria-sort": chosen ? order : null },
      link({ sort: name }, { title: MEANING[name] ? found.words[MEANING[name]] : null }, label || cap(GROUPINGS[by]), el("span", { class: "arrow", "aria-hidden": "true" }, chosen ? (order === "ascending" ? " ▲" : " ▼") : "")));
  });
  const rows = found.groups.map((row) => el("tr", null,
    el("th", { scope: "row" }, row.name ? link({ [by]: row.name }, null, row.name) : el("span", { class: "quiet" }, by === "agent" ? "(unknown)" : "(no name)"), by === "code" ? [" ", docs(row.name, found.docs[row.name])] : null),
    COLUMNS.slice(1).map(([, , shown]) => el("td", null, shown(row)))));
  return el("section", { class: "groups" },
    el("div", { class: "head" }, el("h2", { id: "worst", tabindex: "-1" }, "Worst first"),
      el("nav", { "aria-label": "Group by" }, el("ul", { class: "tabs" }, Object.entries(GROUPINGS).map(([name, words]) =>
        el("li", null, link({ by: name }, { "aria-current": by === name ? "true" : null }, `by ${words}`))))),
      exports("groups")),
    rows.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "worst" },
      el("table", null, el("caption", { class: "unseen" }, `Figures by ${GROUPINGS[by]}`), el("thead", null, el("tr", null, head)), el("tbody", null, rows)))
      : el("p", { class: "quiet" }, "No failures."));
}

const cap = (word) => word[0].toUpperCase() + word.slice(1);

const EXPORTED = { groups: "this table", records: "these events" };

export function exports(what) {
  const path = (form) => `/export/${what}.${form}?${asked()}`;
  return el("p", { class: "exports" }, "Export ", ["csv", "json"].map((form) =>
    el("a", { href: path(form), download: "" }, form.toUpperCase(), unseen(` of ${EXPORTED[what]}`))));
}
