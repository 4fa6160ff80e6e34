// The page: asks for what the address says, shows it, and keeps it current.

import { Refusal, ask, asked, onMove, takeTarget, view } from "./address.js";
import { code, el, notice, refill, say } from "./elements.js";
import { feed, prepend } from "./feed.js";
import { draw, figures } from "./figures.js";
import { filters } from "./filters.js";
import { details } from "./details.js";
import { counted, happened, subject } from "./words.js";

const LOOK_AGAIN = 3000;
const COUNT_AGAIN = 12000;

const content = document.getElementById("content");
const bar = document.getElementById("filters");
let shown = null; // the overview that is on the page
let asking = null; // the request under way, which a newer one ends
let paused = false;
let drawn = 0; // when the figures were last asked for
let newest = 0;

async function show({ keep = false } = {}) {
  asking?.abort();
  asking = new AbortController();
  const { failure } = view();
  try {
    if (failure) await showStory(failure, asking.signal);
    else await showOverview(asking.signal, keep);
    if (!shown?.left || failure) notice(shown && !failure ? twice(shown) : "");
  } catch (failed) {
    if (failed.name === "AbortError") return;
    complain(failed);
  }
}

async function showOverview(signal, keep) {
  drawn = Date.now();
  const found = await ask("/api/overview", asked(), signal);
  shown = found;
  newest = found.newest ?? 0;
  document.title = `${found.store}: failwell dashboard`;
  document.getElementById("store").textContent = found.store;
  live();
  if (found.state === "nothing") {
    bar.replaceChildren();
    refill(content, empty(found));
    return;
  }
  refill(bar, filters(found.choices));
  refill(content, el("div", { class: "figures" }, figures(found)), found.totals.calls ? feed(found) : null);
  draw(content, found);
  lead(takeTarget());
  if (found.left) notice(`Still counting: ${counted(found.left, "event")} to go. The figures will keep growing until then.`);
  if (!keep) say(found.totals.calls ? `${counted(found.totals.calls, "call")}, ${found.totals.failed} failed.` : "Nothing to show.");
}

// Leads to the part of the page that a figure is about.
function lead(target) {
  const heading = target && document.getElementById(target);
  heading?.focus({ preventScroll: true });
  heading?.scrollIntoView({ block: "start" });
}

async function showStory(number, signal) {
  const found = await ask("/api/details", new URLSearchParams({ failure: number }), signal);
  shown = null;
  bar.replaceChildren();
  content.replaceChildren(details(found));
  document.title = `${subject(found.record)} ${happened(found.record)}: failwell dashboard`;
  document.getElementById("title").focus();
  scrollTo(0, 0);
  live();
}

// A server and a proxy in front of it both report a call.
function twice({ choices, totals }) {
  const sources = choices?.source ?? [];
  return sources.length > 1 && !view().source && totals?.calls ? "More than one source writes to this store, so a call may be counted twice. Choose one under “Seen by”." : "";
}

function complain(failed) {
  const text = failed instanceof Refusal ? failed.message : "The dashboard is not responding. Is it still running?";
  if (shown) {
    notice(text, "poor");
    return;
  }
  refill(content, el("section", { class: "empty" }, el("h1", null, "This can't be shown"), el("p", null, text), el("p", { class: "ways" }, el("a", { href: "/", class: "button" }, "Start over"))));
}

function empty({ address }) {
  const ways = [
    ["A server you can't modify", `failwell proxy --events ${address} -- COMMAND`],
    ["Your own server", `fw.protect(server, observers=[fw.records.Recorder("${address}")])`],
    ["An agent", `fw.install(hook=fw.records.Recorder("${address}"))`],
  ];
  return el("section", { class: "empty" }, el("h1", null, "No events yet"),
    el("p", null, "Record to this store in one of these ways, and make a call. It will appear here."),
    el("dl", { class: "commands" }, ways.map(([who, how]) => el("div", null, el("dt", null, who), el("dd", null, el("pre", { tabindex: "0" }, code(how)))))));
}

function live() {
  const place = document.getElementById("live");
  if (view().failure) return place.replaceChildren();
  const toggle = () => { paused = !paused; live(); say(paused ? "Paused." : "Resumed."); if (!paused) show({ keep: true }); };
  refill(place, el("span", { class: paused ? "dot off" : "dot", "aria-hidden": "true" }), el("span", null, paused ? "paused" : "live"),
    el("button", { type: "button", onclick: toggle, "data-key": "pause" }, paused ? "Resume" : "Pause"));
}

async function lookAgain() {
  const isWatched = document.visibilityState === "visible" && !paused && !view().failure && !view().before;
  if (isWatched) {
    try {
      if (!shown || shown.state === "nothing" || shown.left) await show({ keep: true });
      else await follow();
    } catch (failed) {
      if (failed.name !== "AbortError") complain(failed);
    }
  }
  setTimeout(lookAgain, shown?.left ? LOOK_AGAIN / 6 : LOOK_AGAIN);
}

async function follow() {
  const before = shown;
  const parameters = asked();
  parameters.delete("range");
  parameters.set("after", newest);
  const found = await ask("/api/feed", parameters);
  if (shown !== before) return;
  notice(twice(shown));
  const isNew = found.newest > newest;
  newest = Math.max(newest, found.newest);
  if (found.reload) return show({ keep: true });
  const added = !view().verdict && found.rows.length && document.getElementById("records") ? prepend(found.rows, Date.now() / 1000) : 0;
  if (added) say(`${counted(added, "new event")} in the list.`);
  if (isNew) shown.isOld = true;
  if (shown.isOld && Date.now() - drawn > COUNT_AGAIN && !content.contains(document.activeElement?.closest("select"))) await show({ keep: true });
}

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width || !shown?.series) return;
  width = innerWidth;
  draw(content, shown);
});
onMove(() => show());
await show();
setTimeout(lookAgain, LOOK_AGAIN);
