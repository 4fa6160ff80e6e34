"""The page that shows how often agents of each framework call a tool that fails, as its tests recorded it."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).parent.parent / "docs" / "data" / "stacks.json"
_CONNECTIONS = _RECORDED.with_name("connections.json")
_SUCCESS = "a success"

_INTRODUCTION = """\
# Agent frameworks compared

How often each framework calls a failing tool, without and with failwell, and what else to know.

`fw.install()` works with all of them. The frameworks with [a page of their own](index.md) also have an adapter,
`fail_well()`, which does the same for one agent and hands the `Failure` to the application. It takes a `Caller` if
you want other settings: `fail_well(fw.client.Caller(fw.Policy(attempts=5), hook=…))`.

- **LlamaIndex** shows the model the whole result, including the failure in `_meta`.
- **OpenAI agents** list the tools of each server before each turn. If a server has died in the meantime, the adapter
  returns its last list, and the run continues; with `install()` alone, it ends.
- **Microsoft's agent framework** shows the model `Error: Function failed.` for every error. In addition to
  `install()`, set `function_invocation_configuration={"include_detailed_errors": True}` on the chat client.
- **DSPy** shows the model a traceback, followed by failwell's text.
- **CrewAI** 1.15.30 repeats tool calls over HTTP, even those that succeed, with and without failwell: closing its own
  connection fails after each call ("no running event loop"), and it takes that for a failure of the tool. In our run,
  a tool that was called once ran six times. So it is missing from the second part. Over stdio it doesn't do that.

## Calls per failure

A cell shows how many calls reached the server, without failwell → with `fw.install()`. The adapter is shown only where
it differs. Frameworks with equal results share a row. **lost** means that the run ended with an exception.

"""


_CONNECTIONS_INTRODUCTION = """
## When the connection fails

The same over a real connection that fails. "Reads" is a tool with `readOnlyHint`, "acts" one without. A cell shows the
calls that reached the server / how often the tool ran. **hangs** means that the run had not ended after 15 seconds;
with failwell, a call to a server that hangs has `Policy(timeout=2)`. The machine was busy with other things, which
adds to the delays.

"""
_SEEN_INTRODUCTION = """
## What the model saw

The most frequent text among the frameworks, for each failure that a retry didn't resolve. All texts are in
`docs/data/connections.json`.

"""
_LONGEST_TEXT = 200
_RESULTS = ("3 tickets found", "Sent.")
_MODES = {"bare": "without failwell", "installed": "`fw.install()`", "adapted": "the adapter, where there is one"}


def page() -> str:
    """Return the page."""
    rows = json.loads(_RECORDED.read_text(encoding="utf-8"))
    connections = json.loads(_CONNECTIONS.read_text(encoding="utf-8"))
    parts = [_INTRODUCTION, *_lines(_summary(rows)), _CONNECTIONS_INTRODUCTION, *_lines(_survivors(connections))]
    for transport in dict.fromkeys(row["transport"] for row in connections):
        found = [row for row in connections if row["transport"] == transport]
        parts += (f"\n### Over {transport}\n\n", *_lines(_faults(found)))
    return "".join((*parts, _SEEN_INTRODUCTION, *_lines(_texts(connections))))


def _lines(lines: Iterator[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _faults(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of one transport: a line per framework, a column per failure."""
    faults = list(dict.fromkeys(row["fault"] for row in rows))
    yield f"| stack | {' | '.join(faults)} |"
    yield "|---" * (len(faults) + 1) + "|"
    cells = {
        stack: [
            _compared([_ending(row) for row in rows if (_stack(row), row["fault"]) == (stack, fault)])
            for fault in faults
        ]
        for stack in _stacks(rows)
    }
    yield from _grouped(cells)


def _survivors(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how many runs survived in each mode, and how well the delays that a server asks for were kept."""
    yield "| | runs that survived | second calls after `Retry-After: 1` | tools that act, run twice |"
    yield "|---|---|---|---|"
    for mode, title in _MODES.items():
        found = [row for row in rows if row["mode"] == mode]
        survived = sum(row["survived"] for row in found)
        gaps = [row["gap"] for row in found if row["gap"] is not None]
        waited = f"{len(gaps)}, {min(gaps):g} to {max(gaps):g} s later than asked" if gaps else "none"
        repeated = sum(row["effects"] > 1 for row in found if row["fault"].endswith("acts"))
        if any(gap < 0 for gap in gaps) or (repeated and mode != "bare"):
            raise ValueError(f"a call of {title} came too soon, or a tool ran twice, and the page must not hide it")
        yield f"| {title} | {survived} of {len(found)} | {waited} | {repeated} |"


def _ending(row: dict[str, Any]) -> str:
    """Return how a run ended, in one cell."""
    figures = f"{row['calls']}/{row['effects']}"
    if row["survived"]:
        return figures
    return f"{figures} **{'hangs' if row['application'] == 'hangs' else 'lost'}**"


def _texts(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| failure | without failwell | with `fw.install()` |"
    yield "|---|---|---|"
    for transport, fault in dict.fromkeys((row["transport"], row["fault"]) for row in rows):
        found = [row for row in rows if (row["transport"], row["fault"]) == (transport, fault) and row["survived"]]
        texts = [Counter(row["model"] for row in found if row["mode"] == mode) for mode in ("bare", "installed")]
        bare, installed = (seen.most_common(1)[0][0] if seen else None for seen in texts)
        if installed is None or not installed.startswith(_RESULTS):
            yield f"| {transport}: {fault} | {_quoted(bare)} | {_quoted(installed)} |"


def _quoted(text: str | None) -> str:
    if text is None:
        return "nothing: no run survived"
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + ' …'}`"


def _summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    cases = _cases(rows)
    yield f"| stack | {' | '.join(cases)} |"
    yield "|---" * (len(cases) + 1) + "|"
    cells = {
        stack: [_counts([row for row in rows if (_stack(row), row["case"]) == (stack, case)]) for case in cases]
        for stack in _stacks(rows)
    }
    yield from _grouped(cells)


def _grouped(cells: dict[str, list[str]]) -> Iterator[str]:
    """Yield a row for all frameworks with the same cells."""
    alike = defaultdict[str, list[str]](list)
    for stack, row in cells.items():
        alike[" | ".join(row)].append(stack)
    yield from (f"| {', '.join(stacks)} | {row} |" for row, stacks in alike.items())


def _counts(rows: list[dict[str, Any]]) -> str:
    return _compared([f"{row['calls']}{'' if row['survived'] else ' **lost**'}" for row in rows])


def _compared(shown: list[str]) -> str:
    """Return a cell: without failwell, installed, and with the adapter if that is different."""
    bare, installed, *adapted = shown
    return " → ".join([bare, installed, *(other for other in adapted if other != installed)])


def _stack(row: dict[str, Any]) -> str:
    return f"{row['package']} {row['version']}"


def _stacks(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(map(_stack, rows)))


def _cases(rows: list[dict[str, Any]]) -> list[str]:
    """Return the failures, in the order of the tests."""
    return [case for case in dict.fromkeys(row["case"] for row in rows) if case != _SUCCESS]
