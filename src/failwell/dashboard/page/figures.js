// The figures of a view: one sentence, the totals, both charts, how troubles ended, and the worst first.

import { asked, cleared, isFiltered, link, view } from "./address.js";
import { bar, failureChart, recoveryChart, seriesTable } from "./charts.js";
import { el, unseen } from "./elements.js";
import { GROUPINGS, NOT_RECOVERED, RANGES, VERDICTS, counted, duration, number, percent, term } from "./words.js";

export function figures(found) {
  const { totals, words } = found;
  if (!totals.calls && !totals.troubles) return nothingHere();
  return [headline(found), tiles(totals, words, found.lost), totals.failed || totals.troubles ? pictures(found) : null, groups(found)];
}

function nothingHere() {
  const range = view().range;
  return el("section", { class: "empty" }, el("h1", null, "Nothing to show here"),
    el("p", null, `No call ${isFiltered() ? "that you filter for " : ""}was recorded ${range === "all" ? "yet" : `in the last ${RANGES[range]}`}.`),
    el("p", { class: "ways" }, range === "all" ? null : link({ range: "all" }, { class: "button" }, "Look at all time"),
      isFiltered() ? link(cleared(), { class: "button" }, "Clear all filters") : null));
}

function headline({ totals }) {
  const range = view().range;
  const where = range === "all" ? "" : ` in the last ${RANGES[range]}`;
  const first = totals.failed
    ? [el("strong", null, percent(totals.failure_rate)), ` of ${counted(totals.calls, "call")} failed${where}.`]
    : [`No call of ${number(totals.calls)} failed${where}.`];
  const second = totals.troubles
    ? [" Agents got over ", el("strong", null, percent(totals.recovery_rate)), ` of ${counted(totals.troubles, "trouble")}.`]
    : [];
  return el("section", { class: "headline" }, el("h1", { class: "unseen" }, "How tools fail, and whether agents recover"), el("p", null, first, second));
}

function tiles(totals, words, lost) {
  const rows = [
    ["failed", "calls failed", totals.failed, `${percent(totals.failure_rate)} of all`],
    ["recovered", "troubles recovered", totals.recovered, `${percent(totals.recovery_rate)} of ${number(totals.troubles)}`],
    ["stuck", "not recovered", totals.stuck, "nothing helped"],
    ["turns_saved", "turns saved", totals.turns_saved, "settled before the model saw it"],
    ["calls_wasted", "calls wasted", totals.calls_wasted, "each took the model a turn"],
    ["time_wasted", "time wasted", duration(totals.seconds_wasted), "in failed calls and waits"],
    ["duplicates_prevented", "duplicates prevented", totals.duplicates_prevented, "not made a second time"],
  ];
  if (lost) rows.push(["lost", "records lost", lost, "the buffer was full"]);
  return el("section", { "aria-label": "Totals" }, el("dl", { class: "tiles" }, rows.map(([name, label, value, beside]) =>
    el("div", null, el("dt", null, term(label, words[name])), el("dd", null, typeof value === "number" ? number(value) : value), el("dd", { class: "beside" }, beside)))));
}

function pictures(found) {
  const card = (title, about, ...rest) => el("section", { class: "card" }, el("h2", null, title), el("p", { class: "quiet" }, about), ...rest);
  return el("div", { class: "pictures" },
    card("Failure rate", "part of all calls", el("div", { class: "drawn", "data-chart": "failure" })),
    card("Recovery rate", [el("span", { class: "key good" }), "recovered ", el("span", { class: "key poor" }), "not recovered"], el("div", { class: "drawn", "data-chart": "recovery" })),
    card("How troubles ended", term("what is a trouble?", found.words.trouble), verdicts(found)),
    el("div", { class: "wide" }, seriesTable(found.series)));
}

const DRAWN = { failure: failureChart, recovery: recoveryChart };

export function draw(place, found) {
  for (const one of place.querySelectorAll(".drawn")) {
    one.replaceChildren();
    one.append(DRAWN[one.dataset.chart](found.series, Math.max(220, Math.floor(one.clientWidth))));
  }
}

function verdicts({ verdicts: counts, verdict_words: words, totals }) {
  const shown = Object.keys(VERDICTS).filter((name) => counts[name]);
  if (!shown.length) return el("p", { class: "quiet" }, "There were none.");
  return el("ul", { class: "verdicts" }, shown.map((name) => {
    const kind = NOT_RECOVERED.has(name) ? "poor" : "good";
    return el("li", null, term(VERDICTS[name], words[name]), bar(counts[name] / totals.troubles, kind), el("span", { class: "count" }, number(counts[name])));
  }));
}

const COLUMNS = [
  ["name", "", null],
  ["calls", "Calls", (row) => number(row.calls)],
  ["failed", "Failed", (row) => number(row.failed)],
  ["rate", "Failure rate", (row) => rate(row.failure_rate, "poor")],
  ["troubles", "Troubles", (row) => number(row.troubles)],
  ["recovery", "Recovered", (row) => rate(row.recovery_rate, "good")],
  ["stuck", "Not recovered", (row) => number(row.stuck)],
  ["wasted", "Calls wasted", (row) => number(row.calls_wasted)],
];
const MEANING = { name: "", calls: "calls", failed: "failed", rate: "failed", troubles: "trouble", recovery: "recovered", stuck: "stuck", wasted: "calls_wasted" };

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
    el("th", { scope: "row" }, row.name ? link({ [by]: row.name }, null, row.name) : el("span", { class: "quiet" }, "(no name)")),
    COLUMNS.slice(1).map(([, , shown]) => el("td", null, shown(row)))));
  return el("section", { class: "groups" },
    el("div", { class: "head" }, el("h2", { id: "worst" }, "Worst first"),
      el("nav", { "aria-label": "Group by" }, el("ul", { class: "tabs" }, Object.entries(GROUPINGS).map(([name, words]) =>
        el("li", null, link({ by: name }, { "aria-current": by === name ? "true" : null }, `by ${words}`))))),
      exports("groups")),
    rows.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "worst" },
      el("table", null, el("caption", { class: "unseen" }, `Figures by ${GROUPINGS[by]}`), el("thead", null, el("tr", null, head)), el("tbody", null, rows)))
      : el("p", { class: "quiet" }, "Nothing failed."));
}

const cap = (word) => word[0].toUpperCase() + word.slice(1);

const EXPORTED = { groups: "this table", records: "these records" };

export function exports(what) {
  const path = (form) => `/export/${what}.${form}?${asked()}`;
  return el("p", { class: "exports" }, "Export ", ["csv", "json"].map((form) =>
    el("a", { href: path(form), download: "" }, form.toUpperCase(), unseen(` of ${EXPORTED[what]}`))));
}
