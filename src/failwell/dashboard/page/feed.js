// The newest events, and those that arrive meanwhile.

import { link, view } from "./address.js";
import { el, unseen } from "./elements.js";
import { exports } from "./figures.js";
import { DECISIONS, GOOD, KINDS, LABELS, VERDICTS, VERDICT_COLOURS, VERDICT_GROUPS, colour, duration, happened, instant, subject } from "./words.js";

const SHOWN = { failures: "failed calls", retries: "retries", servers: "servers, breakers and marks", all: "all events" };
const TITLES = { failures: "Latest failed calls", retries: "Latest retries and fallbacks", servers: "Servers, breakers and marks", all: "Latest events" };
const MOST = 100;

export function feed(found) {
  const { show, before, verdict } = view();
  const title = verdict ? `Failures: ${VERDICT_GROUPS[verdict] ?? VERDICTS[verdict]}` : TITLES[show];
  const rows = found.feed.rows;
  return el("section", { class: "feed" },
    el("div", { class: "head" }, el("h2", { id: "feed", tabindex: "-1" }, before ? `${title}, earlier` : title),
      el("nav", { "aria-label": "Which events" }, el("ul", { class: "tabs" }, Object.entries(SHOWN).map(([name, words]) =>
        el("li", null, link({ show: name, verdict: "" }, { "aria-current": show === name && !verdict ? "true" : null }, words))))),
      exports("records")),
    rows.length ? null : el("p", { class: "quiet none" }, verdict ? "None." : show === "failures" ? "No failed calls. New ones will appear here." : "None. New ones will appear here."),
    el("ol", { class: "records", id: "records", "aria-labelledby": "feed" }, rows.map((row) => item(row, found.now))),
    el("p", { class: "pages" }, before ? link({}, null, "Back to the newest") : null,
      found.feed.older ? link({ before: found.feed.next ?? rows.at(-1).number }, null, "Show earlier") : null));
}

export function prepend(rows, now) {
  const list = document.getElementById("records");
  const known = new Set([...list.children].map((one) => one.dataset.number));
  const fresh = rows.filter((row) => !known.has(String(row.number)));
  list.prepend(...fresh.map((row) => item(row, now, "fresh")));
  while (list.children.length > MOST) list.lastElementChild.remove();
  list.parentElement.querySelector(".none")?.remove();
  return fresh.length;
}

function item(row, now, more = "") {
  if (row.kind === "mark") return marked(row, now, more);
  const kind = row.verdict ? VERDICT_COLOURS[row.verdict] ?? "good" : colour(row);
  return el("li", { "data-number": row.number, class: more },
    el("span", { class: "when" }, instant(row.time, now)),
    el("span", { class: "who" }, el("strong", null, row.tool || "–"), row.server ? el("span", { class: "quiet" }, row.server) : null),
    el("span", { class: `chip ${kind}` }, row.code ?? row.type ?? LABELS[row.kind] ?? row.kind),
    link({ failure: row.number }, { class: "what" }, row.message ?? summary(row), unseen(`, details of ${subject(row)}`)),
    row.verdict ? el("span", { class: "then" }, VERDICTS[row.verdict]) : row.decision ? el("span", { class: "then" }, "→ ", DECISIONS[row.decision] ?? row.decision) : el("span", { class: "then" }, row.message ? KINDS[row.kind] ?? "" : ""));
}

// The summary of an event without a message: what happened, and how long it took.
const summary = (row) => `${subject(row)} ${happened(row)}${GOOD.has(row.kind) && row.elapsed !== null ? ` in ${duration(row.elapsed)}` : ""}`;

function marked(row, now, more) {
  return el("li", { "data-number": row.number, class: more }, el("span", { class: "when" }, instant(row.time, now)),
    el("span", { class: "who" }, el("strong", null, "–")), el("span", { class: "chip neutral" }, "mark"), el("span", { class: "what" }, row.reason ?? ""));
}
