"""`CallSummary`: a few lines for the operator on how the calls of each tool ended."""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from failwell.proxy.bounds import MAX_COUNTED_TOOLS, MAX_TOOL_NAME_CHARACTERS

if TYPE_CHECKING:
    from failwell.event import Event

_WORDS = {
    "failure": "failed",
    "unflagged": "failed unflagged",
    "flipped": "failed unflagged, flagged here",
    "refused": "refused",
    "retry": "retried",
    "recovered": "recovered by retrying",
}
_OTHERS = "other tools"


def counted_name(tool: str, counts: Mapping[str, object]) -> str:
    """Return the name that a tool is counted under: its own, unless that is too long or there are too many."""
    name = tool[:MAX_TOOL_NAME_CHARACTERS]
    return name if name in counts or len(counts) < MAX_COUNTED_TOOLS else _OTHERS


class CallSummary:
    """Counts events per tool."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}
        self._lock = Lock()

    def __call__(self, event: "Event") -> None:
        """Count an event."""
        if event.kind not in _WORDS:
            return
        names = [str(event.kind)]
        if event.kind == "failure" and event.failure is not None:
            names.append(event.failure.type)
        with self._lock:
            counts = self._counts.setdefault(counted_name(event.tool, self._counts), {})
            for name in names:
                counts[name] = counts.get(name, 0) + 1

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the counts by tool, and by kind of event or type of failure."""
        with self._lock:
            return {tool: dict(counts) for tool, counts in self._counts.items()}

    def add(self, others: Mapping[str, Mapping[str, int]]) -> None:
        """Add what another process counted."""
        with self._lock:
            for tool, counts in others.items():
                own = self._counts.setdefault(counted_name(tool, self._counts), {})
                for name, count in counts.items():
                    own[name] = own.get(name, 0) + count

    def lines(self, calls: Mapping[str, int]) -> Iterator[str]:
        """Yield one line for all calls, and one for each tool with anything but successes."""
        total = sum(calls.values())
        if not total:
            return
        by_tool = self.counts()
        failed = sum(counts.get("failure", 0) for counts in by_tool.values())
        yield f"{_number(total, 'call')}, {failed} failed"
        for tool, counts in sorted(by_tool.items()):
            words = [f"{counts[name]} {word}" for name, word in _WORDS.items() if name in counts]
            types = [f"{name} {count}" for name, count in sorted(counts.items()) if name.isupper()]
            kinds = f" ({', '.join(types)})" if types else ""
            yield f"  {_printable(tool)}: {_number(calls.get(tool, 0), 'call')}, {', '.join(words)}{kinds}"


def _printable(tool: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in tool[:MAX_TOOL_NAME_CHARACTERS])


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
