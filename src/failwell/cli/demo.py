"""`failwell demo`: scene by scene while it runs, then the score."""

import asyncio
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, NamedTuple, TextIO

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from failwell.cli import install_line
from failwell.cli.completion import dialect_names
from failwell.cli.console import console_for, page
from failwell.cli.streams import AsJson, Misuse, Streams, check_dialect, write_json
from failwell.demo.scenes import (
    SCENES,
    SIDES,
    AgentRun,
    AgentStep,
    DemoScore,
    Scene,
    SceneResult,
    arguments_text,
    ignore,
)

_INDENT = 4
_TITLE = "One MCP server fails in the same ways twice: on its own, and with fw.protect(server)."
_INTRODUCTION = (
    "A mechanical agent, without a model, acts only on what the errors say. Both servers are real processes that count "
    "their side effects. ✓ it recovered, – it handed the failure over at once, ✗ it did harm."
)
_HEADINGS = {"bare": "bare: the text of the exception", "failwell": "with failwell"}
_ROWS = (
    ("recovered without a model", "recovered"),
    ("calls made", "calls"),
    ("calls wasted", "wasted"),
    ("side effects repeated", "duplicates"),
    ("passwords seen", "secrets"),
)
_NEXT = "Next: failwell demo --dialect xml · failwell demo --json · failwell check -- COMMAND"


def demo(
    context: typer.Context,
    *,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            help="The error format of the protected server; shows all texts in full.",
            autocompletion=dialect_names,
            metavar="NAME",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a bare server with a protected one, failure by failure.

    Both servers run on this machine, without a network. A mechanical agent (no model) acts on what they answer, and the
    score shows the result. It takes a few seconds.

    Example: failwell demo

    Example: failwell demo --json --dialect xml
    """  # fmt: skip
    check_dialect(dialect)
    try:
        from failwell.demo import runner
    except ImportError:
        raise Misuse(install_line("demo")) from None
    streams: Streams = context.obj
    dialect_used = dialect or "compact"
    try:
        if as_json:
            results = asyncio.run(runner.run_demo(dialect_used))
            write_json(streams.stdout, runner.as_json(dialect_used, results))
            return
        with show_progress(streams.stdout, in_full=dialect is not None) as display:
            results = asyncio.run(runner.run_demo(dialect_used, on_step=display.on_step, on_scene=display.on_scene))
        show_score(streams.stdout, runner.scores(results))
    except runner.DemoFailed as failed:
        raise Misuse(str(failed)) from None


class DemoDisplay(NamedTuple):
    """What is called while the demo runs: with a step of an agent, and with a scene that both sides are done with."""

    on_step: Callable[[str, Scene, AgentStep], None]
    on_scene: Callable[[SceneResult], None]


@contextmanager
def show_progress(stdout: TextIO, *, in_full: bool) -> Generator[DemoDisplay]:
    """Show the title and every scene when it is over; on a terminal also the one that is running."""
    with page(stdout) as console:
        print_opening(console)
    stdout.flush()
    if not stdout.isatty() or os.environ.get("TERM") == "dumb":
        yield _plain_display(stdout, in_full=in_full)
        return
    console = console_for(stdout, stdout)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield _live_display(live, in_full=in_full)


def show_score(stdout: TextIO, scores: dict[str, DemoScore]) -> None:
    """Show the score of each side."""
    with page(stdout) as console:
        print_score(console, scores)
        console.print()
        console.print(Text(_NEXT, "dim"))


def print_opening(console: Console) -> None:
    """Print what there is to see, and the heads of the columns."""
    console.print(Text(_TITLE, "bold"))
    console.print(Text(_INTRODUCTION))
    console.print()
    console.print(_columns(*(Text(_HEADINGS[side], "bold") for side in SIDES)))


def print_scene(console: Console, number: int, result: SceneResult, *, in_full: bool = False) -> None:
    """Print a scene with what each side got, did and reached."""
    console.print(_heading(number, result.scene), no_wrap=True, overflow="ellipsis")
    runs = [result.runs[side] for side in SIDES]
    console.print(_columns(*(_first_answer_text(run, in_full=in_full) for run in runs)))
    console.print(_columns(*(_result_text(run) for run in runs)))


def print_score(console: Console, scores: dict[str, DemoScore]) -> None:
    """Print the score as a table."""
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    for header in ("", *SIDES):
        table.add_column(header, justify="right" if header else "left")
    for words, name in _ROWS:
        numbers = {side: getattr(score, name) for side, score in scores.items()}
        of = {side: f" of {score.scenes}" if name == "recovered" else "" for side, score in scores.items()}
        colours = {side: _colour(name, numbers[side], list(numbers.values())) for side in SIDES}
        table.add_row(words, *(Text(f"{numbers[side]}{of[side]}", colours[side]) for side in SIDES))
    console.print()
    console.print(Padding(table, (0, 0, 0, _INDENT)))


def _plain_display(stdout: TextIO, *, in_full: bool) -> DemoDisplay:
    numbers = _numbers()

    def on_scene(result: SceneResult) -> None:
        with page(stdout) as console:
            print_scene(console, next(numbers), result, in_full=in_full)
        stdout.flush()

    return DemoDisplay(ignore, on_scene)


def _live_display(live: Live, *, in_full: bool) -> DemoDisplay:
    numbers = _numbers()
    steps: dict[tuple[str, str], list[AgentStep]] = {}
    finished: list[str] = []

    def refresh() -> None:
        scene = SCENES[len(finished)] if len(finished) < len(SCENES) else None
        live.update(_current_scene(len(finished) + 1, scene, steps) if scene else Text(), refresh=True)

    def on_step(side: str, scene: Scene, step: AgentStep) -> None:
        steps.setdefault((side, scene.title), []).append(step)
        refresh()

    def on_scene(result: SceneResult) -> None:
        finished.append(result.scene.title)
        refresh()
        print_scene(live.console, next(numbers), result, in_full=in_full)

    refresh()
    return DemoDisplay(on_step, on_scene)


def _current_scene(number: int, scene: Scene, steps: dict[tuple[str, str], list[AgentStep]]) -> RenderableType:
    decisions = [_decisions_text(steps.get((side, scene.title), ())) for side in SIDES]
    return Group(_heading(number, scene), _columns(*(text if text.plain else Text("…", "dim") for text in decisions)))


def _numbers() -> Iterator[int]:
    return iter(range(1, len(SCENES) + 1))


def _columns(*cells: RenderableType) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=_INDENT - 2)
    for _ in cells:
        table.add_column(ratio=1)
    table.add_row("", *cells)
    return table


def _heading(number: int, scene: Scene) -> Text:
    return Text.assemble(
        (f"{number:>2}. {scene.title}", "bold"), (f"  {scene.tool}({arguments_text(scene.arguments)})", "dim")
    )


def _first_answer_text(run: AgentRun, *, in_full: bool) -> Text:
    first = run.steps[0]
    style = "red" if run.secrets else "cyan"
    if in_full:
        return Text(first.text, style, overflow="fold")
    return Text(first.got, style, no_wrap=True, overflow="ellipsis")


def _result_text(run: AgentRun) -> Text:
    verdict = _verdict_text(run)
    between = "\n" if verdict.plain.startswith("✗") else "  "
    return Text.assemble(_decisions_text(run.steps, misled=run.ending == "misled"), between, verdict)


def _decisions_text(steps: Sequence[AgentStep], *, misled: bool = False) -> Text:
    return Text(" ".join(f"→ {step.decided}" for step in steps if step.failed or misled))


def _verdict_text(run: AgentRun) -> Text:
    calls = f"{len(run.steps)} call{'s' if len(run.steps) > 1 else ''}"
    harm = [
        words
        for words, happened in (
            ("took an error for the answer", run.ending == "misled"),
            (f"happened {run.effects} times", run.duplicates),
            ("password seen", run.secrets),
            (f"{run.wasted} wasted", run.wasted),
        )
        if happened
    ]
    mark, colour = ("✓", "green") if run.recovered else ("–", "yellow") if not harm else ("✗", "red")
    return Text(f"{mark} {', '.join((calls, *harm))}", colour)


def _colour(name: str, number: int, all_numbers: list[int]) -> str:
    """Return the colour of a number: that of the better side, or of the worse."""
    if name == "calls" or len(set(all_numbers)) == 1:
        return ""
    best = max(all_numbers) if name == "recovered" else min(all_numbers)
    return "green" if number == best else "red"
