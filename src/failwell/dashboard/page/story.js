// The whole story of one failure.

import { cleared, link } from "./address.js";
import { code, el, unseen } from "./elements.js";
import { DECISIONS, GOOD, HELPED, KINDS, SOURCES, counted, duration, whenExactly } from "./words.js";

const OUTCOMES = {
  not_executed: "the tool did not run", rejected: "the tool refused it, nothing happened",
  unknown: "nobody knows whether it took effect", executed: "it took effect",
};

export function story({ record, call, before, next, trouble }) {
  return el("article", { class: "story" },
    el("p", { class: "back" }, link({}, null, "← Back to all figures")),
    el("header", null,
      el("h1", { tabindex: "-1", id: "title" }, el("span", { class: "name" }, record.tool || "The server"), ` ${title(record)}`),
      el("p", { class: "quiet" }, whenExactly(record.time), record.server ? [" · ", record.server] : null, " · seen by ", SOURCES[record.source] ?? record.source),
      record.message ? el("p", { class: "message" }, record.message) : null),
    ending(trouble),
    el("div", { class: "columns" },
      el("div", null, told(record), decided(record), tries(call, record)),
      el("div", null, facts(record), around(before, next, record))),
    whole(record));
}

const title = (record) => (record.code ?? record.type) ? `failed: ${record.code ?? record.type}` : KINDS[record.kind] ?? record.kind;

function ending(trouble) {
  if (!trouble) return null;
  const more = [
    counted(trouble.calls, "failed call"), trouble.retries ? counted(trouble.retries, "retry").replace("retrys", "retries") : null,
    trouble.by ? `helped: ${trouble.by}` : null, `${duration(trouble.seconds_wasted)} wasted`,
    trouble.duplicates_prevented ? "a duplicate was prevented" : null,
  ].filter(Boolean).join(" · ");
  return el("section", { class: `ending ${trouble.recovered ? "good" : "poor"}` },
    el("h2", null, trouble.recovered ? "The agent got over it" : "The agent did not get over it"),
    el("p", null, trouble.words), el("p", null, more));
}

const part = (title, ...rest) => el("section", { class: "card" }, el("h2", null, title), ...rest);

function told(record) {
  return part("What the agent was sent", record.text === null
    ? el("p", { class: "quiet" }, "Nothing is known of it: the text is recorded where it is made, by a server or a proxy.")
    : el("pre", { tabindex: "0" }, record.text));
}

function decided(record) {
  if (!record.decision && !record.reason) return null;
  return part("What it should do", record.decision ? el("p", null, el("strong", null, DECISIONS[record.decision] ?? record.decision), " ", code(record.decision)) : null,
    record.reason ? el("p", { class: "quiet" }, record.reason) : null);
}

function tries(call, record) {
  if (!call.length) return null;
  const first = call[0].time;
  return part("The call, try by try", el("ol", { class: "line" }, call.map((one) => step(one, first, one.number === record.number))));
}

function around(before, next, record) {
  const row = (one) => step(one, record.time, false, true);
  return [
    before.length ? part("Before it", el("ol", { class: "line" }, before.map(row))) : null,
    part("What the agent did next", next.length ? el("ol", { class: "line" }, next.map(row)) : el("p", { class: "quiet" }, "Nothing more was recorded of this session.")),
  ];
}

function step(one, from, isThis, leads = false) {
  const kind = GOOD.has(one.kind) ? "good" : HELPED.has(one.kind) ? "fair" : "poor";
  const offset = one.time - from;
  const isRetry = one.kind === "retry";
  const tool = el("strong", null, one.tool || "the server");
  return el("li", { class: kind, "aria-current": isThis ? "true" : null },
    el("span", { class: "when" }, offset >= 0 ? `+${duration(offset)}` : `−${duration(-offset)}`),
    el("span", null, leads && kind === "poor" ? link({ failure: one.number }, null, tool, unseen(", its story")) : tool, ` ${isRetry ? "failed" : KINDS[one.kind] ?? one.kind}`,
      one.code && kind === "poor" ? [" ", code(one.code)] : null,
      isRetry ? `, tried again${one.delay === null ? "" : ` after ${duration(one.delay)}`}` : null));
}

function facts(record) {
  const rows = [
    ["Type and code", [record.type, record.code].filter((one, place, all) => one && all.indexOf(one) === place).join(", ")],
    ["Did it happen?", OUTCOMES[record.outcome] ?? record.outcome],
    ["May the same call pass later?", { true: "yes", false: "no" }[record.retryable] ?? (record.type ? "nobody said" : null)],
    ["Took", record.elapsed === null ? null : duration(record.elapsed)],
    ["Arguments", record.names.length ? [record.names.map((name, place) => [place ? ", " : "", code(name)]), el("span", { class: "quiet" }, " (values are never kept)")] : null],
    ["In the log", record.id ? code(record.id) : null],
    ["Session", record.session ? link({ ...cleared(), session: record.session, show: "all", range: "all" }, null, record.session) : null],
    ...Object.entries(record.details).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  ].filter(([, value]) => value);
  return part("About it", el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value)))));
}

function whole(record) {
  if (!record.failure) return null;
  return el("details", { class: "numbers" }, el("summary", null, "The whole failure, as programs get it"), el("pre", { tabindex: "0" }, JSON.stringify(record.failure, null, 2)));
}
