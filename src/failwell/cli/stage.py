"""The demo as people see it: every scene with its answers, then the score."""

from collections.abc import Mapping
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from failwell.cli.demo import TODAY, Answer, Scene
from failwell.cli.panels import page, step
from failwell.dialects import json_text

_SHOWN_IN_FULL = "too many requests"
_INDENT = 4
_INTRODUCTION = (
    'Each call below fails. The line "today" is what most servers send: the text of the exception. The lines after it '
    "are the same failure as failwell sends it, in each dialect. After the arrow stands what an agent decides to do: "
    "✓ is right, ✗ is not."
)
_NOTE = (
    "Some clients drop _meta. Without the copy of the failure that failwell puts there an agent still has the text, "
    "and the dialect meta says the least in it."
)


def show_demo(stdout: TextIO, scenes: list[Scene], score: Mapping[str, Mapping[str, int]], *, in_full: bool) -> None:
    """Show each scene with its answers, then how often an agent decided right."""
    with page(stdout) as console:
        console.print(Text("A server fails in every way. What does an agent do about it?", "bold"))
        console.print(_INTRODUCTION)
        for number, scene in enumerate(scenes, 1):
            console.print()
            console.print(_heading(number, scene), no_wrap=True, overflow="ellipsis")
            if in_full or scene.title == _SHOWN_IN_FULL:
                _print_in_full(console, scene)
            else:
                console.print(_answers(scene))
        console.print()
        console.print(_score_table(score))
        console.print()
        if not in_full:
            console.print(_NOTE)
            console.print()
        console.print(Text("Next: failwell demo --dialect xml · failwell codes · failwell explain TIMEOUT", "dim"))


def _heading(number: int, scene: Scene) -> Text:
    arguments = ", ".join(f"{name}={value!r}" for name, value in scene.arguments.items())
    hints = "  read-only" if scene.hints.get("readOnlyHint") else ""
    return Text.assemble((f"{number:>2}. {scene.title}", "bold"), f"  {scene.tool}({arguments})", (hints, "dim"))


def _answers(scene: Scene) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=_INDENT + 8, style="dim", no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(width=22, no_wrap=True)
    for name, answer in scene.answers.items():
        shown = Text(" ".join(answer.text.split()), "red" if answer.leaks else "")
        if name != TODAY:
            shown.no_wrap, shown.overflow = True, "ellipsis"
        table.add_row(" " * _INDENT + name, shown, _verdict(answer))
    table.add_row(" " * _INDENT + "because", Text(_reason(scene), "dim"), "")
    return table


def _print_in_full(console: Console, scene: Scene) -> None:
    for name, answer in scene.answers.items():
        console.print(Text.assemble(" " * _INDENT, (f"{name}  ", "dim"), _verdict(answer)))
        console.print(Padding(Text(answer.text, overflow="fold"), (0, 0, 0, _INDENT + 2)))
        if beside := {key: value for key, value in answer.result.get("_meta", {}).items() if "/" not in key}:
            console.print(Padding(Text(f"_meta {json_text.write(beside)}", "dim"), (0, 0, 0, _INDENT + 2)))
    console.print(Padding(Text(f"because  {_reason(scene)}", "dim"), (0, 0, 0, _INDENT)))


def _reason(scene: Scene) -> str:
    decided = list(scene.answers.values())[-1].decision
    return decided.reason if decided else ""


def _score_table(score: Mapping[str, Mapping[str, int]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    for header in ("", "right decisions", "without our _meta", "passwords sent"):
        table.add_column(header, justify="right" if header else "left")
    for name, counts in score.items():
        of = f" of {counts['of']}"
        right = Text(f"{counts['right']}{of}", "red" if name == TODAY else "green")
        table.add_row(name, right, f"{counts['right_from_text']}{of}", str(counts["leaks"]))
    return table


def _verdict(answer: Answer) -> Text:
    mark = ("✓", "green") if answer.right else ("✗", "red")
    return Text.assemble(("→ ", "dim"), step(answer.decision) if answer.decision else "carry on", " ", mark)
