// The bar that chooses what is shown.

import { FILTERS, cleared, isFiltered, link, move, view } from "./address.js";
import { el, unseen } from "./elements.js";
import { RANGES, SHORT_RANGES, SOURCES, VERDICTS, VERDICT_GROUPS } from "./words.js";

const LABELS = { server: "Server", tool: "Tool", type: "Type", code: "Code", source: "Seen by", agent: "Agent" };

export function filters(choices) {
  return el("form", { class: "filters", role: "search", "aria-label": "What is shown", onsubmit: (event) => event.preventDefault() },
    el("nav", { "aria-label": "How far back" }, el("ul", { class: "ranges" }, Object.entries(RANGES).map(range))),
    el("div", { class: "selects" }, Object.keys(LABELS).map((name) => select(name, choices[name] ?? []))),
    chips());
}

function range([name, words]) {
  const current = view().range === name;
  return el("li", null, link({ range: name }, { "aria-current": current ? "true" : null, "aria-label": words }, SHORT_RANGES[name]));
}

function select(name, found) {
  const chosen = view()[name];
  const values = chosen && !found.includes(chosen) ? [chosen, ...found] : found;
  const choose = (event) => move({ [name]: event.target.value });
  return el("label", { for: `filter-${name}` }, el("span", null, LABELS[name]),
    el("select", { id: `filter-${name}`, onchange: choose, class: chosen ? "chosen" : null },
      el("option", { value: "" }, "all"),
      values.map((value) => el("option", { value, selected: value === chosen }, name === "source" ? SOURCES[value] ?? value : value))));
}

function chips() {
  if (!isFiltered()) return null;
  const { session, verdict } = view();
  return el("p", { class: "chips" },
    session ? ["one session: ", el("code", null, session), " "] : null,
    verdict ? ["failures: ", el("strong", null, VERDICT_GROUPS[verdict] ?? VERDICTS[verdict] ?? verdict), " "] : null,
    link(cleared(), { class: "clear" }, "Clear all filters", unseen(` (${FILTERS.filter((name) => view()[name]).join(", ")})`)));
}
