// The newest records, and what comes in while one looks.

import { link, view } from "./address.js";
import { el, unseen } from "./elements.js";
import { exports } from "./figures.js";
import { DECISIONS, GOOD, HELPED, KINDS, instant } from "./words.js";

const SHOWN = { failures: "failures", retries: "retries", servers: "servers and breakers", all: "everything" };
const TITLES = { failures: "Latest failures", retries: "Latest retries and fallbacks", servers: "What became of servers", all: "Latest records" };
const MOST = 100;

export function feed(found) {
  const { show, before } = view();
  const rows = found.feed.rows;
  return el("section", { class: "feed" },
    el("div", { class: "head" }, el("h2", { id: "feed" }, before ? "Earlier" : TITLES[show]),
      el("nav", { "aria-label": "Which records" }, el("ul", { class: "tabs" }, Object.entries(SHOWN).map(([name, words]) =>
        el("li", null, link({ show: name }, { "aria-current": show === name ? "true" : null }, words))))),
      exports("records")),
    rows.length ? null : el("p", { class: "quiet none" }, show === "failures" ? "No failure. New ones appear here by themselves." : "None. New ones appear here by themselves."),
    el("ol", { class: "records", id: "records", "aria-labelledby": "feed" }, rows.map((row) => item(row, found.now))),
    el("p", { class: "pages" }, before ? link({}, null, "Back to the newest") : null,
      found.feed.older ? link({ before: rows.at(-1).number }, null, "Show earlier ones") : null));
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
  const kind = GOOD.has(row.kind) ? "good" : HELPED.has(row.kind) ? "fair" : "poor";
  return el("li", { "data-number": row.number, class: more },
    el("span", { class: "when" }, instant(row.time, now)),
    el("span", { class: "who" }, el("strong", null, row.tool || "–"), row.server ? el("span", { class: "quiet" }, row.server) : null),
    el("span", { class: `chip ${kind}` }, row.code ?? row.type ?? KINDS[row.kind] ?? row.kind),
    link({ failure: row.number }, { class: "what" }, row.message ?? KINDS[row.kind] ?? row.kind, unseen(`, story of ${row.tool || "the server"}`)),
    row.decision ? el("span", { class: "then" }, "→ ", DECISIONS[row.decision] ?? row.decision) : el("span", { class: "then" }, row.message ? KINDS[row.kind] ?? "" : ""));
}
