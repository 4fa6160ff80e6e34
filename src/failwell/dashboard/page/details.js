// The details of one event, usually a failure.

import { cleared, link } from "./address.js";
import { code, docs, el, unseen } from "./elements.js";
import { DECISIONS, SOURCES, colour, counted, duration, happened, subject, whenExactly } from "./words.js";

const OUTCOMES = {
  not_executed: "the tool did not run", rejected: "the tool rejected the call without doing anything",
  unknown: "it is unknown whether it took effect", executed: "it took effect",
};

export function details({ record, call, before, next, resolution, explained }) {
  return el("article", { class: "details" },
    el("p", { class: "back" }, link({}, null, "← Back to all figures")),
    el("header", null,
      el("h1", { tabindex: "-1", id: "title" }, el("span", { class: "name" }, subject(record)), ` ${title(record)}`),
      el("p", { class: "quiet" }, whenExactly(record.time), record.server ? [" · ", record.server] : null, " · seen by ", SOURCES[record.source] ?? record.source),
      record.message ? el("p", { class: "message" }, record.message) : record.kind === "mark" ? el("p", { class: "message" }, record.reason) : null),
    ending(resolution),
    el("div", { class: "columns" },
      el("div", null, sentText(record), decided(record), tries(call, record)),
      el("div", null, facts(record, explained), around(before, next, record))),
    whole(record));
}

const title = (record) => (record.code ?? record.type) ? `failed: ${record.code ?? record.type}` : happened(record);

function ending(found) {
  if (!found) return null;
  const more = [
    counted(found.calls, "failed call"), found.retries ? counted(found.retries, "retry").replace("retrys", "retries") : null,
    found.by ? `named by the failure: ${found.by}` : null, `${duration(found.seconds_lost)} lost`,
    found.calls_wasted ? `${counted(found.calls_wasted, "call")} wasted` : null,
    found.duplicates_avoided ? "it may have taken effect, and was not made again" : null,
  ].filter(Boolean).join(" · ");
  const [kind, title] = found.recovered ? ["good", "The agent recovered"] : found.stuck ? ["poor", "The agent has not recovered"] : ["neutral", "The agent moved on"];
  return el("section", { class: `ending ${kind}` }, el("h2", null, title), el("p", null, found.words), el("p", null, more));
}

const part = (title, ...rest) => el("section", { class: "card" }, el("h2", null, title), ...rest);

function sentText(record) {
  if (!record.type) return null;
  return part("What the agent was sent", record.text === null
    ? el("p", { class: "quiet" }, "Unknown: only servers and proxies record this text.")
    : el("pre", { tabindex: "0" }, record.text));
}

function decided(record) {
  if (!record.decision) return null;
  const suggestion = record.failure?.suggestion;
  return part("What the agent should do", el("p", null, el("strong", null, DECISIONS[record.decision] ?? record.decision), " ", code(record.decision)),
    record.advice ? el("p", null, record.advice) : null,
    el("p", { class: "quiet" }, suggestion ? ["The agent was told: “", suggestion, "”"] : "The message had no next step."));
}

function tries(call, record) {
  if (!call.length) return null;
  const first = call[0].time;
  return part("The call, try by try", el("ol", { class: "line" }, call.map((one) => step(one, first, one.number === record.number))));
}

function around(before, next, record) {
  if (!record.call && !next.length) return null;
  const row = (one) => step(one, record.time, false, true);
  return [
    before.length ? part("What the agent did before", el("ol", { class: "line" }, before.map(row))) : null,
    part("What the agent did next", next.length ? el("ol", { class: "line" }, next.map(row)) : el("p", { class: "quiet" }, "Nothing more was recorded in this session.")),
  ];
}

function step(one, from, isThis, leads = false) {
  const kind = colour(one);
  const offset = one.time - from;
  const isRetry = one.kind === "retry";
  const tool = el("strong", null, subject(one));
  return el("li", { class: kind, "aria-current": isThis ? "true" : null },
    el("span", { class: "when" }, offset >= 0 ? `+${duration(offset)}` : `−${duration(-offset)}`),
    el("span", null, leads && kind === "poor" ? link({ failure: one.number }, null, tool, unseen(", its details")) : tool, ` ${isRetry ? "failed" : happened(one)}`,
      one.code && kind === "poor" ? [" ", code(one.code)] : null,
      isRetry ? `, retried${one.delay === null ? "" : ` after ${duration(one.delay)}`}` : null));
}

function facts(record, explained) {
  const rows = [
    ["Type and code", [record.type, record.code].filter((one, place, all) => one && all.indexOf(one) === place).join(", ")],
    ["What the code means", explained ? [explained.title, explained.step ? `. ${explained.step}` : "", explained.docs ? [" ", docs(record.code, explained.docs)] : null] : null],
    ["Did it take effect?", OUTCOMES[record.outcome] ?? record.outcome],
    ["Could the same call succeed later?", { true: "yes", false: "no" }[record.retryable] ?? (record.type ? "unknown" : null)],
    ["Why it was not retried", record.kind === "failure" ? record.reason : null],
    ["Agent", record.agent],
    ["Took", record.elapsed === null ? null : duration(record.elapsed)],
    ["Arguments", record.names.length ? [record.names.map((name, place) => [place ? ", " : "", code(name)]), el("span", { class: "quiet" }, " (values are never stored)")] : null],
    ["Log id", record.id ? code(record.id) : null],
    ["Session", record.session ? link({ ...cleared(), session: record.session, show: "all", range: "all" }, null, record.session) : null],
    ...Object.entries(record.details).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  ].filter(([, value]) => value);
  return part("Details", el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value)))));
}

function whole(record) {
  if (!record.failure) return null;
  return el("details", { class: "numbers" }, el("summary", null, "The whole failure as JSON"), el("pre", { tabindex: "0" }, JSON.stringify(record.failure, null, 2)));
}
