// Numbers, times and names as people read them.

import { el } from "./elements.js";

const whole = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const moment = new Intl.DateTimeFormat("en", { weekday: "short", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export const number = (value) => whole.format(value);

export const percent = (value) => {
  if (value === null || value === undefined) return "–";
  const shown = Math.round(value * 1e6) / 1e4;
  if (shown > 0 && shown < 0.1) return "< 0.1%";
  if (shown < 100 && shown > 99.9) return "> 99.9%";
  return `${shown < 10 && shown > 0 ? shown.toFixed(1) : Math.round(shown)}%`;
};

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 36000 ? `${(seconds / 3600).toFixed(1)} h` : `${number(Math.round(seconds / 3600))} h`;
}

export const time = (seconds) => clock.format(seconds * 1000);
export const SHORT_RANGES = { "15m": "15 min", "1h": "1 h", "6h": "6 h", "24h": "24 h", "7d": "7 d", "30d": "30 d", "90d": "90 d", all: "all" };

// How much more or less than in the period before.
export function change(now, before) {
  if (before === null || before === undefined || now === before) return null;
  if (!before) return { text: "new", rose: true };
  const part = now / before - 1;
  if (Math.abs(part) < 0.005) return null;
  return { text: `${part > 0 ? "▲" : "▼"} ${Math.abs(part) >= 9.995 ? "> 999" : Math.round(Math.abs(part) * 100)}%`, rose: part > 0 };
}

export const date = (seconds) => day.format(seconds * 1000);
export const whenExactly = (seconds) => moment.format(seconds * 1000);
export const counted = (value, word) => `${number(value)} ${word}${value === 1 ? "" : "s"}`;

export function instant(seconds, now) {
  const old = now - seconds > 86400;
  return el("time", { datetime: new Date(seconds * 1000).toISOString(), title: whenExactly(seconds) }, old ? `${date(seconds)}, ${time(seconds).slice(0, 5)}` : time(seconds));
}

export const RANGES = { "15m": "15 minutes", "1h": "hour", "6h": "6 hours", "24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days", all: "all time" };
export const GROUPINGS = { tool: "tool", server: "server", type: "type", code: "code", agent: "agent" };
export const SOURCES = { guard: "the server", client: "the agent", proxy: "the proxy", recorder: "the recorder" };

export const KINDS = {
  success: "succeeded", recovered: "succeeded after retries", failure: "failed", refused: "was not called",
  cancelled: "was cancelled",
  unflagged: "returned an error marked as a success", flipped: "returned an error marked as a success, which was turned into an error",
  retry: "failed and was retried", repaired: "was called again with corrected arguments",
  verified: "was checked for its effect", fallback: "was answered by a fallback", breaker: "has a breaker that changed",
  died: "exited", restarted: "was restarted", dropped: "wrote a line that could not be used",
  lost: "had no room for some events", mark: "was marked",
};

// What happened, in a word or two, for events that have no code.
export const LABELS = {
  success: "success", recovered: "recovered", failure: "failed", refused: "not called", cancelled: "cancelled",
  unflagged: "hidden error", flipped: "hidden error", retry: "retry", repaired: "repaired", verified: "checked", fallback: "fallback",
  breaker: "breaker", died: "server exited", restarted: "server restarted", dropped: "line dropped", lost: "events lost", mark: "mark",
};
const BREAKER = { opened: "was suspended after repeated failures", closed: "is called again" };

export const subject = (row) => row.tool || (row.source === "recorder" ? "The recorder" : "The server");
export const happened = (row) => (row.kind === "breaker" && BREAKER[row.reason]) || KINDS[row.kind] || row.kind;

export const GOOD = new Set(["success", "recovered"]);
const HELPED = new Set(["repaired", "fallback", "restarted"]);
export const colour = (row) => GOOD.has(row.kind) ? "good" : HELPED.has(row.kind) || (row.kind === "breaker" && row.reason === "closed") ? "fair" : "poor";

export const DECISIONS = {
  retry: "try the same call again", fix_input: "correct the arguments", use: "use another tool",
  wait: "wait", escalate: "tell a person", verify: "check whether it took effect", stop: "stop",
};

export const VERDICTS = {
  by_retry: "resolved by a retry", by_repair: "resolved by a repair", by_fallback: "resolved by a fallback", same_call: "same call, later",
  corrected: "corrected call", named_tool: "the tool it named", looped: "only repeated",
  moved_on: "agent moved on", unresolved: "unresolved",
};
export const VERDICT_GROUPS = { recovered: "recovered", stuck: "not recovered", moved_on: "agent moved on", saved: "resolved before the model saw them", duplicates_avoided: "possibly done, not repeated" };
export const VERDICT_COLOURS = { looped: "poor", moved_on: "neutral", unresolved: "poor" };

// A label with its meaning, for mouse, keyboard and screen reader.
let made = 0;
export function term(label, meaning) {
  const id = `meaning-${(made += 1)}`;
  const hide = (event) => event.key === "Escape" && event.currentTarget.blur();
  return el("span", { class: "term" },
    el("button", { type: "button", "aria-describedby": id, onkeydown: hide, "data-key": `term ${label}` }, label),
    el("span", { role: "tooltip", id }, meaning));
}
