"""`Tally`: what became of the calls of each tool, in a few lines for the operator."""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from failwell.proxy.events import Happening

_WORDS = {
    "failure": "failed",
    "unflagged": "failed unflagged",
    "flipped": "failed unflagged, flagged here",
    "refused": "refused",
    "retry": "retried",
    "recovered": "recovered by retrying",
}
_WELL = ("begun", "success")
_LONGEST_NAME = 100


class Tally:
    """Counts happenings per tool."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, int]] = {}
        self._lock = Lock()

    def __call__(self, happening: "Happening") -> None:
        """Count a happening."""
        if happening.tool is None or happening.event in _WELL:
            return
        names = [str(happening.event)]
        if happening.event == "failure" and happening.failure is not None:
            names.append(happening.failure.type)
        with self._lock:
            seen = self._seen.setdefault(happening.tool, {})
            for name in names:
                seen[name] = seen.get(name, 0) + 1

    def counts(self) -> dict[str, dict[str, int]]:
        """Return what was counted, by tool."""
        with self._lock:
            return {tool: dict(counts) for tool, counts in self._seen.items()}

    def add(self, others: Mapping[str, Mapping[str, int]]) -> None:
        """Add what another process counted."""
        with self._lock:
            for tool, counts in others.items():
                seen = self._seen.setdefault(tool, {})
                for name, count in counts.items():
                    seen[name] = seen.get(name, 0) + count

    def lines(self, calls: Mapping[str, int]) -> Iterator[str]:
        """Yield one line for all calls, and one for each tool that anything happened to."""
        total = sum(calls.values())
        if not total:
            return
        seen = self.counts()
        failed = sum(counts.get("failure", 0) for counts in seen.values())
        yield f"{_number(total, 'call')}, {failed} failed"
        for tool, counts in sorted(seen.items()):
            told = [f"{counts[name]} {word}" for name, word in _WORDS.items() if name in counts]
            types = [f"{name} {count}" for name, count in sorted(counts.items()) if name.isupper()]
            kinds = f" ({', '.join(types)})" if types else ""
            yield f"  {_shown(tool)}: {_number(calls.get(tool, 0), 'call')}, {', '.join(told)}{kinds}"


def _shown(tool: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in tool[:_LONGEST_NAME])


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
