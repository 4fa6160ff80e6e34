"""Records of agents at work, made up and always the same: for the dashboard's pictures, tests and benchmark."""

import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import failwell as fw
from failwell.records import Record, failure_fields


class Ill(NamedTuple):
    """How a tool fails: which part of all calls, with what, and what becomes of it."""

    part: float
    failure: fw.Failure
    decision: str
    settled_below: float = 0.0
    got_over: float = 0.8
    repeated: float = 0.0


def _limited(seconds: int) -> fw.Failure:
    message = f"Only 30 requests a minute are allowed; wait {seconds} seconds."
    return fw.Failure(code="RATE_LIMITED", message=message, retry_after=seconds)


def _missing(what: str, *actions: str) -> fw.Failure:
    return fw.Failure(
        code="NOT_FOUND", message=f"There is no {what}.", actions=actions, suggestion=f"Call {actions[0]}."
    )


def _said(code: str, message: str, **more: Any) -> fw.Failure:
    return fw.Failure(code=code, message=message, **more)


_NO_COMMITS = _said(
    "VALIDATION_FAILED",
    "The branch 'fix/login' has no commits that 'main' does not have.",
    fields=(fw.FieldProblem(path="head", message="must be a branch with new commits"),),
)
_NO_COLUMN = _said("VALIDATION_FAILED", 'There is no column "user_name"; did you mean "username"?')
_MAY_NOT = _said("FORBIDDEN", "You may not write to this repository.")
_TOO_LONG = _said("TIMEOUT", "The query took longer than 30 seconds.", outcome="unknown")
_NO_ANSWER = _said("UPSTREAM_ERROR", "The payment provider did not answer.", outcome="unknown")
_SETTLING = _said("CONFLICT", "Payment pay_3311 is being settled.")
_DEPLOYED = _said("SERVICE_UNAVAILABLE", "Billing is being deployed.")
_NO_DOCS = _missing("file docs/setup.md in acme/web", "list_files")
_NO_TABLE = _missing("table orders_2025", "list_tables")
_NO_CHANNEL = _missing("channel #releases-eu", "list_channels")
_NO_FILE = _missing("file /srv/app/config.yml", "list_directory")

TOOLS: dict[tuple[str, str], tuple[tuple[str, ...], int, tuple[Ill, ...]]] = {
    ("github", "search_issues"): (("query", "repo"), 14, (Ill(0.10, _limited(12), "retry", 0.7, 0.75),)),
    ("github", "create_pull_request"): (
        ("repo", "title", "head", "base"),
        6,
        (
            Ill(0.16, _NO_COMMITS, "fix_input", got_over=0.55, repeated=0.35),
            Ill(0.03, _MAY_NOT, "escalate", got_over=0.1),
        ),
    ),
    ("github", "get_file"): (("repo", "path"), 16, (Ill(0.05, _NO_DOCS, "use", got_over=0.75),)),
    ("github", "list_files"): (("repo", "path"), 8, ()),
    ("postgres", "run_query"): (
        ("sql",),
        15,
        (Ill(0.07, _NO_COLUMN, "fix_input", got_over=0.82), Ill(0.03, _TOO_LONG, "verify", got_over=0.4)),
    ),
    ("postgres", "describe_table"): (("table",), 9, (Ill(0.02, _NO_TABLE, "use", got_over=0.9),)),
    ("slack", "post_message"): (
        ("channel", "text"),
        8,
        (Ill(0.05, _limited(5), "retry", 0.9, 0.9), Ill(0.04, _NO_CHANNEL, "use", got_over=0.8)),
    ),
    ("billing", "refund_payment"): (
        ("payment_id", "amount"),
        4,
        (Ill(0.09, _NO_ANSWER, "verify", got_over=0.35), Ill(0.05, _SETTLING, "wait", got_over=0.6)),
    ),
    ("billing", "get_invoice"): (("invoice_id",), 7, (Ill(0.03, _DEPLOYED, "retry", 0.7, 0.8),)),
    ("filesystem", "read_file"): (("path",), 13, (Ill(0.04, _NO_FILE, "use", got_over=0.8),)),
    ("filesystem", "list_directory"): (("path",), 6, ()),
}
"""By server and tool: names of arguments, how often it is called, and how it fails."""

_DAY = 86_400.0
_ENOUGH = "two tries are enough for this tool"
_OUTAGE = ("postgres", "run_query"), 2.3 * _DAY, 8.0 * 3600
"""A tool that failed more than usual, for how long, so long ago."""


def sessions(seed: int, *, until: float, days: float, count: int) -> Iterator[list[Record]]:
    """Yield the records of so many sessions, the oldest first, spread over days before a time."""
    chance = random.Random(seed)
    begun = sorted(until - days * _DAY * _rhythm(chance, days) for _ in range(count))
    known = {place: [(ill, failure_fields(ill.failure)) for ill in ills] for place, (_, _, ills) in TOOLS.items()}
    for number, start in enumerate(begun):
        yield list(_Session(chance, f"{seed}-{number:06x}", start, until, known).records())


def _rhythm(chance: random.Random, days: float) -> float:
    """Return how long ago, as a part of the whole, by day more often than by night."""
    while True:
        ago = chance.random()
        hour = (ago * days * 24) % 24
        if chance.random() < 0.35 + 0.65 * (0.5 + 0.5 * math.cos((hour - 3) / 24 * 2 * math.pi)):
            return ago


class _Session:
    def __init__(self, chance: random.Random, name: str, start: float, until: float, known: Any) -> None:
        self.chance, self.name, self.time, self.until, self.known = chance, name, start, until, known
        self.calls = 0
        self.is_lost = False

    def records(self) -> Iterator[Record]:
        places = list(TOOLS)
        weights = [often for _, often, _ in TOOLS.values()]
        for place in self.chance.choices(places, weights, k=self.chance.randint(3, 14)):
            self.time += self.chance.uniform(2, 25)
            if self.time > self.until:
                return
            ill, what = self._ill(place)
            if ill is None:
                yield self._end(place, "success")
                continue
            self.is_lost = False
            yield from self._trouble(place, ill, what)
            if self.is_lost and self.chance.random() < 0.6:
                return

    def _ill(self, place: tuple[str, str]) -> tuple[Ill | None, Any]:
        tool, ago, seconds = _OUTAGE
        is_out = place == tool and ago - seconds < self.until - self.time < ago
        if is_out and self.chance.random() < 0.7:
            return self.known[place][-1]
        return next((one for one in self.known[place] if self.chance.random() < one[0].part), (None, None))

    def _trouble(self, place: tuple[str, str], ill: Ill, what: Any) -> Iterator[Record]:
        if self.chance.random() < ill.settled_below:
            wait = ill.failure.retry_after or 1.5
            yield self._record(place, "retry", what, elapsed=0.4, delay=wait)
            self.time += wait
            yield self._record(place, "recovered", attempt=2, elapsed=wait + 0.9)
            return
        digest = f"{self.chance.getrandbits(64):016x}"
        is_over = self.chance.random() < ill.got_over
        self.is_lost = not is_over
        times = 3 if not is_over and self.chance.random() < ill.repeated else self.chance.choice((1, 1, 1, 2))
        told = {"decision": ill.decision, "arguments": digest, "text": _text(ill.failure)}
        for _ in range(times):
            if ill.decision == "retry":
                wait = ill.failure.retry_after or 1.5
                yield self._record(place, "retry", what, elapsed=0.4, delay=wait)
                self.time += wait
                yield self._record(place, "failure", what, attempt=2, elapsed=wait + 0.7, reason=_ENOUGH, **told)
            else:
                yield self._end(place, "failure", what, **told)
            self.time += self.chance.uniform(2, 9)
        if is_over:
            for action in ill.failure.actions[:1]:
                if (place[0], action) in TOOLS:
                    yield self._end((place[0], action), "success")
                    self.time += self.chance.uniform(1, 5)
            yield self._end(place, "success")

    def _end(self, place: tuple[str, str], kind: Any, what: Any = None, **values: Any) -> Record:
        self.calls += 1
        return self._record(place, kind, what, elapsed=round(self.chance.uniform(0.05, 1.6), 3), **values)

    def _record(self, place: tuple[str, str], kind: Any, what: Any = None, **values: Any) -> Record:
        if kind == "retry":
            self.calls += 1
        return Record(
            time=round(min(self.time, self.until), 3),
            source="proxy",
            kind=kind,
            session=self.name,
            server=place[0],
            tool=place[1],
            call=str(self.calls),
            names=TOOLS[place][0],
            **{**(what or {}), **values},
        )


def _text(failure: fw.Failure) -> str:
    text: str = fw.encode(failure)["content"][0]["text"]
    return text


def happenings(until: float) -> list[Record]:
    """Return some of what befalls servers: one that ended and was started again, a breaker that opened and closed."""
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
