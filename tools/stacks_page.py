"""The page that shows what agents of each stack see when tools fail, from what the tests of the stacks recorded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).parent.parent / "docs" / "data" / "stacks.json"
_LONGEST_CELL = 160
_SUCCESS = "a success"
_WAYS = {"bare": "without", "installed": "`install()`", "adapted": "adapter"}

_INTRODUCTION = """\
# Agent stacks

An agent gets all of this with one line, whatever it is built with:

```text
import failwell as fw

fw.install()
```

Every tool call of the process is then read, waited out and made again where that is safe, and what is left reaches the
model as one text with the next step. The application gets the `Failure` from a hook, `fw.install(hook=…)`: an
event of the kind `failure` holds it. Where a stack has a place of its own for this, an adapter does the same for one
agent and puts the failure there:

| stack | one line | where the application finds the `Failure` |
|---|---|---|
| mcp `ClientSession` | `fw.wrap(session)` | `result.failure` |
| fastmcp `Client` | `fw.wrap(client)` | `error.failure` of the `ToolError` |
| LangChain, LangGraph | `MultiServerMCPClient(…, tool_interceptors=[fail_well()])` | `message.artifact["failure"]` |
| pydantic-ai | `MCPToolset(…, process_tool_call=fail_well())` | hook |
| OpenAI agents | `server = fail_well(MCPServerStdio(…))` | `failure_of(item)` for an item of `result.new_items` |
| Google ADK | `App(…, plugins=[fail_well()])` | hook |
| Strands | `Agent(…, plugins=[fail_well()])` | `fw.read(event.result)`, or a tool result of `agent.messages` |

`fail_well` comes from `failwell.integrations.langchain`, `.pydantic_ai`, `.openai_agents`, `.google_adk` or `.strands`,
and takes a `Caller` where the defaults do not do: `fail_well(fw.client.Caller(fw.Policy(attempts=5), hook=…))`.

What to know beside that:

- **LangChain**: the first interceptor is the outermost one. Let `fail_well()` be the last, so that one which asks a
  person first asks once and not before each try.
- **pydantic-ai**: the adapter raises `ModelRetry` only if the input is to be corrected, and `ToolFailed` otherwise, so
  that a failing tool does not use up the budget of retries and end the run. By itself it sees
  the text of an error only; with `install()` beside it, it sees all that the server said.
- **Google ADK** shows a model the whole result. With `install()` that includes the failure in `_meta`; with the plugin
  the model gets the text alone. LlamaIndex shows the whole result too and has no place for an adapter.
- **Microsoft's agent framework** shows models `Error: Function failed.` for every error. Beside `install()`, set
  `function_invocation_configuration={"include_detailed_errors": True}` on the chat client.
- **DSPy** shows models a traceback, and our text behind it.

## What was seen

Generated from `docs/data/stacks.json`. `make matrix` lets an agent of every stack call each tool of one server over
standard streams once, with a model that follows a script, and compares. A cell says how often the server was called
without failwell, with `fw.install()`, and with the adapter if there is one; **lost** means that the run ended with an
exception. Below it is what the models saw; frames of tracebacks are left out.

"""


def page() -> str:
    """Return the page."""
    rows = json.loads(_RECORDED.read_text(encoding="utf-8"))
    return _INTRODUCTION + "\n".join([*_summary(rows), *_sections(rows)]) + "\n"


def _summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    cases = _cases(rows)
    yield f"| stack | {' | '.join(cases)} |"
    yield "|---" * (len(cases) + 1) + "|"
    for stack in _stacks(rows):
        cells = [_counts([row for row in rows if _stack(row) == stack and row["case"] == case]) for case in cases]
        yield f"| {stack} | {' | '.join(cells)} |"


def _counts(rows: list[dict[str, Any]]) -> str:
    return " → ".join(f"{row['calls']}{'' if row['survived'] else ' **lost**'}" for row in rows)


def _sections(rows: list[dict[str, Any]]) -> Iterator[str]:
    for case in _cases(rows):
        yield f"\n## {case[0].upper()}{case[1:]}\n"
        yield "| stack | | the model saw | the application got |\n|---|---|---|---|"
        for row in rows:
            if row["case"] == case:
                way = _WAYS[row["mode"]]
                yield f"| {_stack(row)} | {way} | {_cell(row['model'])} | {_cell(row['application'])} |"


def _stack(row: dict[str, Any]) -> str:
    return f"{row['package']} {row['version']}"


def _stacks(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(map(_stack, rows)))


def _cases(rows: list[dict[str, Any]]) -> list[str]:
    """Return the failures, in the order of the tests."""
    return [case for case in dict.fromkeys(row["case"] for row in rows) if case != _SUCCESS]


def _cell(text: str | None) -> str:
    if text is None:
        return "–"
    line = " ".join(text.split()) or " "
    if len(line) > _LONGEST_CELL:
        line = line[:_LONGEST_CELL].rstrip() + " …"
    return f"`{line.replace('|', chr(92) + '|').replace('`', chr(39))}`"
