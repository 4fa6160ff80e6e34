// What is shown stands in the address: it can be sent to somebody, and the back button leads back.

import { el } from "./elements.js";

const DEFAULTS = {
  range: "7d", server: "", tool: "", type: "", code: "", source: "", agent: "", session: "", verdict: "",
  by: "tool", sort: "stuck", show: "failures", before: "", failure: "",
};

export const FILTERS = ["server", "tool", "type", "code", "source", "agent", "session", "verdict"];

let listener = () => {};
let target = null;

export function onMove(callback) {
  listener = callback;
  addEventListener("popstate", () => listener());
}

export function view() {
  const found = new URLSearchParams(location.search);
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, found.get(name) || value]));
}

// What the server is asked with: also names that it will refuse, so that it says why.
export const asked = () => new URLSearchParams(location.search);

export function href(changes) {
  const wanted = { ...view(), before: "", failure: "", ...changes };
  const chosen = Object.entries(wanted).filter(([name, value]) => value && value !== DEFAULTS[name]);
  return `?${new URLSearchParams(chosen)}`;
}

export function move(changes, to = null) {
  history.pushState(null, "", href(changes));
  target = to;
  listener();
}

// The id of what the last click leads to, once: the page shows it after it has been filled.
export function takeTarget() {
  const found = target;
  target = null;
  return found;
}

export function link(changes, attributes, ...children) {
  const { to = null, ...rest } = attributes ?? {};
  const go = (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    move(changes, to);
  };
  return el("a", { href: href(changes), onclick: go, ...rest }, ...children);
}

export const cleared = () => Object.fromEntries(FILTERS.map((name) => [name, ""]));

export const isFiltered = () => FILTERS.some((name) => view()[name]);

export class Refusal extends Error {}

export async function ask(path, parameters, signal) {
  const answer = await fetch(`${path}?${parameters}`, { credentials: "same-origin", cache: "no-store", signal });
  const found = await answer.json();
  if (!answer.ok) throw new Refusal(found.error ?? "this could not be shown");
  return found;
}
