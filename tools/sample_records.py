"""Sample records of agents at work, made up and always the same: for the dashboard's pictures, tests and benchmark."""

import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import failwell as fw
from failwell.records import Record, failure_fields


class ToolFault(NamedTuple):
    """How a tool fails: in which share of all calls, with what, and what becomes of it."""

    share: float
    failure: fw.Failure
    decision: str
    retried: float = 0.0
    recovered: float = 0.8
    repeated: float = 0.0


def _limited(seconds: int) -> fw.Failure:
    message = f"Only 30 requests a minute are allowed; wait {seconds} seconds."
    return fw.Failure(code="RATE_LIMITED", message=message, retry_after=seconds)


def _missing(what: str, *actions: str) -> fw.Failure:
    return fw.Failure(
        code="NOT_FOUND", message=f"There is no {what}.", actions=actions, suggestion=f"Call {actions[0]}."
    )


def _failure(code: str, message: str, **more: Any) -> fw.Failure:
    return fw.Failure(code=code, message=message, **more)


_NO_COMMITS = _failure(
    "VALIDATION_FAILED",
    "The branch 'fix/login' has no commits that 'main' does not have.",
    fields=(fw.FieldProblem(path="head", message="must be a branch with new commits"),),
)
_NO_COLUMN = _failure("VALIDATION_FAILED", 'There is no column "user_name"; did you mean "username"?')
_MAY_NOT = _failure("FORBIDDEN", "You may not write to this repository.")
_TOO_LONG = _failure("TIMEOUT", "The query took longer than 30 seconds.", outcome="unknown")
_NO_ANSWER = _failure("UPSTREAM_ERROR", "The payment provider did not answer.", outcome="unknown")
_NOT_SETTLED = _failure("CONFLICT", "Payment pay_3311 is being settled.")
_DEPLOYED = _failure("SERVICE_UNAVAILABLE", "Billing is being deployed.")
_NO_DOCS = _missing("file docs/setup.md in acme/web", "list_files")
_NO_TABLE = _missing("table orders_2025", "list_tables")
_NO_CHANNEL = _missing("channel #releases-eu", "list_channels")
_NO_FILE = _missing("file /srv/app/config.yml", "list_directory")

TOOLS: dict[tuple[str, str], tuple[tuple[str, ...], int, tuple[ToolFault, ...]]] = {
    ("github", "search_issues"): (("query", "repo"), 14, (ToolFault(0.10, _limited(12), "retry", 0.7, 0.75),)),
    ("github", "create_pull_request"): (
        ("repo", "title", "head", "base"),
        6,
        (
            ToolFault(0.16, _NO_COMMITS, "fix_input", recovered=0.55, repeated=0.35),
            ToolFault(0.03, _MAY_NOT, "escalate", recovered=0.1),
        ),
    ),
    ("github", "get_file"): (("repo", "path"), 16, (ToolFault(0.05, _NO_DOCS, "use", recovered=0.75),)),
    ("github", "list_files"): (("repo", "path"), 8, ()),
    ("postgres", "run_query"): (
        ("sql",),
        15,
        (ToolFault(0.07, _NO_COLUMN, "fix_input", recovered=0.82), ToolFault(0.03, _TOO_LONG, "verify", recovered=0.4)),
    ),
    ("postgres", "describe_table"): (("table",), 9, (ToolFault(0.02, _NO_TABLE, "use", recovered=0.9),)),
    ("slack", "post_message"): (
        ("channel", "text"),
        8,
        (ToolFault(0.05, _limited(5), "retry", 0.9, 0.9), ToolFault(0.04, _NO_CHANNEL, "use", recovered=0.8)),
    ),
    ("billing", "refund_payment"): (
        ("payment_id", "amount"),
        4,
        (ToolFault(0.09, _NO_ANSWER, "verify", recovered=0.35), ToolFault(0.05, _NOT_SETTLED, "wait", recovered=0.6)),
    ),
    ("billing", "get_invoice"): (("invoice_id",), 7, (ToolFault(0.03, _DEPLOYED, "retry", 0.7, 0.8),)),
    ("filesystem", "read_file"): (("path",), 13, (ToolFault(0.04, _NO_FILE, "use", recovered=0.8),)),
    ("filesystem", "list_directory"): (("path",), 6, ()),
}
"""By server and tool: names of arguments, how often it is called, and how it fails."""

_DAY = 86_400.0
_ENOUGH = "two tries are enough for this tool"
_OUTAGE = ("postgres", "run_query"), 2.3 * _DAY, 8.0 * 3600
"""A tool that failed more than usual, for how long, so long ago."""


def sessions(seed: int, *, until: float, days: float, count: int) -> Iterator[list[Record]]:
    """Yield the records of so many sessions, the oldest first, spread over days before a time."""
    rng = random.Random(seed)
    begun = sorted(until - days * _DAY * _rhythm(rng, days) for _ in range(count))
    known = {
        tool_key: [(fault, failure_fields(fault.failure)) for fault in faults]
        for tool_key, (_, _, faults) in TOOLS.items()
    }
    for number, start in enumerate(begun):
        yield list(_Session(rng, f"{seed}-{number:06x}", start, until, known).records())


def _rhythm(rng: random.Random, days: float) -> float:
    """Return how long ago, as a share of the whole, by day more often than by night."""
    while True:
        ago = rng.random()
        hour = (ago * days * 24) % 24
        if rng.random() < 0.35 + 0.65 * (0.5 + 0.5 * math.cos((hour - 3) / 24 * 2 * math.pi)):
            return ago


class _Session:
    def __init__(self, rng: random.Random, name: str, start: float, until: float, known: Any) -> None:
        self.rng, self.name, self.time, self.until, self.known = rng, name, start, until, known
        self.calls = 0
        self.agent = rng.choice(("claude-code 2.4", "claude-code 2.4", "cursor 3.1", ""))
        self.is_lost = False

    def records(self) -> Iterator[Record]:
        tool_keys = list(TOOLS)
        weights = [weight for _, weight, _ in TOOLS.values()]
        for tool_key in self.rng.choices(tool_keys, weights, k=self.rng.randint(3, 14)):
            self.time += self.rng.uniform(2, 25)
            if self.time > self.until:
                return
            fault, description = self._choose_fault(tool_key)
            if fault is None:
                yield self._end(tool_key, "success", arguments=f"{self.rng.getrandbits(64):016x}")
                continue
            self.is_lost = False
            yield from self._failures(tool_key, fault, description)
            if self.is_lost and self.rng.random() < 0.6:
                return

    def _choose_fault(self, tool_key: tuple[str, str]) -> tuple[ToolFault | None, Any]:
        tool, ago, seconds = _OUTAGE
        is_out = tool_key == tool and ago - seconds < self.until - self.time < ago
        if is_out and self.rng.random() < 0.7:
            return self.known[tool_key][-1]
        return next((one for one in self.known[tool_key] if self.rng.random() < one[0].share), (None, None))

    def _failures(self, tool_key: tuple[str, str], fault: ToolFault, description: Any) -> Iterator[Record]:
        if self.rng.random() < fault.retried:
            wait = fault.failure.retry_after or 1.5
            yield self._record(tool_key, "retry", description, elapsed=0.4, delay=wait)
            self.time += wait
            yield self._record(tool_key, "recovered", attempt=2, elapsed=wait + 0.9)
            return
        digest = f"{self.rng.getrandbits(64):016x}"
        is_over = self.rng.random() < fault.recovered
        self.is_lost = not is_over
        times = 3 if not is_over and self.rng.random() < fault.repeated else self.rng.choice((1, 1, 1, 2))
        advice = fw.decide(fault.failure).reason
        details = {
            "decision": fault.decision,
            "advice": advice,
            "arguments": digest,
            "text": _text(fault.failure),
            "agent": self.agent,
        }
        for _ in range(times):
            if fault.decision == "retry":
                wait = fault.failure.retry_after or 1.5
                yield self._record(tool_key, "retry", description, elapsed=0.4, delay=wait)
                self.time += wait
                yield self._record(
                    tool_key, "failure", description, attempt=2, elapsed=wait + 0.7, reason=_ENOUGH, **details
                )
            else:
                yield self._end(tool_key, "failure", description, **details)
            self.time += self.rng.uniform(2, 9)
        if is_over:
            for action in fault.failure.actions[:1]:
                if (tool_key[0], action) in TOOLS:
                    yield self._end((tool_key[0], action), "success")
                    self.time += self.rng.uniform(1, 5)
            is_same = fault.decision in ("retry", "wait", "verify")
            yield self._end(tool_key, "success", arguments=digest if is_same else f"{self.rng.getrandbits(64):016x}")

    def _end(self, tool_key: tuple[str, str], kind: Any, description: Any = None, **values: Any) -> Record:
        self.calls += 1
        return self._record(tool_key, kind, description, elapsed=round(self.rng.uniform(0.05, 1.6), 3), **values)

    def _record(self, tool_key: tuple[str, str], kind: Any, description: Any = None, **values: Any) -> Record:
        if kind == "retry":
            self.calls += 1
        return Record(
            time=round(min(self.time, self.until), 3),
            source="proxy",
            kind=kind,
            session=self.name,
            server=tool_key[0],
            tool=tool_key[1],
            call=str(self.calls),
            names=TOOLS[tool_key][0],
            **{**(description or {}), **values},
        )


def _text(failure: fw.Failure) -> str:
    text: str = fw.encode(failure)["content"][0]["text"]
    return text


def server_events(until: float) -> list[Record]:
    """Return events of servers: one that ended and was started again, a breaker that opened and closed."""
    rows: tuple[tuple[float, Any, str, str, dict[str, Any]], ...] = (
        (5400.0, "died", "postgres", "", {"details": {"exit_code": 137}}),
        (5398.0, "restarted", "postgres", "", {}),
        (2200.0, "breaker", "billing", "refund_payment", {"reason": "opened"}),
        (1900.0, "breaker", "billing", "refund_payment", {"reason": "closed"}),
    )
    return [
        Record(time=until - ago, source="proxy", kind=kind, server=server, tool=tool, **more)
        for ago, kind, server, tool, more in rows
    ]
