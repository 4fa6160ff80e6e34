"""`failwell demo`: scene by scene while it happens, then the score."""

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

from failwell.cli.completion import dialect_names
from failwell.cli.panels import console_for, page
from failwell.cli.streams import Misuse, Streams, dialect_named, write_json
from failwell.demo.play import SIDES, Played, Score, unseen
from failwell.demo.scenes import SCENES, Course, Scene, Step, shown

_INDENT = 4
_TITLE = "One MCP server that fails in every way, twice: as servers are written today, and with fw.protect(server)."
_INTRODUCTION = (
    "An agent without a model acts only on what the errors say. Both servers are real processes, and all side effects "
    "are counted by them. ✓ it got what it wanted, – it handed the failure over at once, ✗ harm was done."
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


class Watching(NamedTuple):
    """What a play tells of: a step, and a scene that both sides are done with."""

    stepped: Callable[[str, Scene, Step], None]
    done: Callable[[Played], None]


@contextmanager
def watching(stdout: TextIO, *, in_full: bool) -> Generator[Watching]:
    """Show the title and every scene when it is over; on a terminal also the one that is being played."""
    with page(stdout) as console:
        print_opening(console)
    stdout.flush()
    if not stdout.isatty() or os.environ.get("TERM") == "dumb":
        yield _plainly(stdout, in_full=in_full)
        return
    console = console_for(stdout, stdout)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield _lively(live, in_full=in_full)


def show_score(stdout: TextIO, scores: dict[str, Score]) -> None:
    """Show how each side fared."""
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


def print_scene(console: Console, number: int, played: Played, *, in_full: bool = False) -> None:
    """Print a scene with what each side got, did and reached."""
    console.print(_heading(number, played.scene), no_wrap=True, overflow="ellipsis")
    courses = [played.courses[side] for side in SIDES]
    console.print(_columns(*(_got(course, in_full=in_full) for course in courses)))
    console.print(_columns(*(_what_came(course) for course in courses)))


def print_score(console: Console, scores: dict[str, Score]) -> None:
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


def _plainly(stdout: TextIO, *, in_full: bool) -> Watching:
    numbers = _numbers()

    def done(played: Played) -> None:
        with page(stdout) as console:
            print_scene(console, next(numbers), played, in_full=in_full)
        stdout.flush()

    return Watching(unseen, done)


def _lively(live: Live, *, in_full: bool) -> Watching:
    numbers = _numbers()
    steps: dict[tuple[str, str], list[Step]] = {}
    over: list[str] = []

    def refresh() -> None:
        scene = SCENES[len(over)] if len(over) < len(SCENES) else None
        live.update(_underway(len(over) + 1, scene, steps) if scene else Text(), refresh=True)

    def stepped(side: str, scene: Scene, step: Step) -> None:
        steps.setdefault((side, scene.title), []).append(step)
        refresh()

    def done(played: Played) -> None:
        over.append(played.scene.title)
        refresh()
        print_scene(live.console, next(numbers), played, in_full=in_full)

    refresh()
    return Watching(stepped, done)


def _underway(number: int, scene: Scene, steps: dict[tuple[str, str], list[Step]]) -> RenderableType:
    ways = [_way(steps.get((side, scene.title), ())) for side in SIDES]
    return Group(_heading(number, scene), _columns(*(way if way.plain else Text("…", "dim") for way in ways)))


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
    return Text.assemble((f"{number:>2}. {scene.title}", "bold"), (f"  {scene.tool}({shown(scene.arguments)})", "dim"))


def _got(course: Course, *, in_full: bool) -> Text:
    first = course.steps[0]
    style = "red" if course.secrets else "cyan"
    if in_full:
        return Text(first.text, style, overflow="fold")
    return Text(first.got, style, no_wrap=True, overflow="ellipsis")


def _what_came(course: Course) -> Text:
    verdict = _verdict(course)
    between = "\n" if verdict.plain.startswith("✗") else "  "
    return Text.assemble(_way(course.steps, misled=course.ending == "misled"), between, verdict)


def _way(steps: Sequence[Step], *, misled: bool = False) -> Text:
    return Text(" ".join(f"→ {step.decided}" for step in steps if step.failed or misled))


def _verdict(course: Course) -> Text:
    calls = f"{len(course.steps)} call{'s' if len(course.steps) > 1 else ''}"
    harm = [
        words
        for words, happened in (
            ("took an error for the answer", course.ending == "misled"),
            (f"happened {course.effects} times", course.duplicates),
            ("password seen", course.secrets),
            (f"{course.wasted} wasted", course.wasted),
        )
        if happened
    ]
    mark, colour = ("✓", "green") if course.recovered else ("–", "yellow") if not harm else ("✗", "red")
    return Text(f"{mark} {', '.join((calls, *harm))}", colour)


def _colour(name: str, number: int, all_numbers: list[int]) -> str:
    """Return the colour of a number: that of the better side, or of the worse."""
    if name == "calls" or len(set(all_numbers)) == 1:
        return ""
    best = max(all_numbers) if name == "recovered" else min(all_numbers)
    return "green" if number == best else "red"


_NEEDED = "the demo needs the mcp SDK: pip install 'failwell[demo]'"


def demo(
    context: typer.Context,
    *,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            help="What the protected server speaks; shows all texts in full.",
            autocompletion=dialect_names,
            metavar="NAME",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")] = False,
) -> None:
    """Watch a server fail in every way, bare and with failwell.

    An agent without a model acts on what it is told, and the score shows what came of it. Both servers are started
    for real, on this machine and without a network; it takes some seconds.

    Example: failwell demo

    Example: failwell demo --json --dialect xml
    """  # fmt: skip
    if dialect is not None:
        dialect_named(dialect)
    try:
        from failwell.demo import play
    except ImportError:
        raise Misuse(_NEEDED) from None
    streams: Streams = context.obj
    spoken = dialect or "compact"
    try:
        if as_json:
            played = asyncio.run(play.play(spoken))
            write_json(streams.stdout, play.as_json(spoken, played))
            return
        with watching(streams.stdout, in_full=dialect is not None) as seen:
            played = asyncio.run(play.play(spoken, stepped=seen.stepped, done=seen.done))
        show_score(streams.stdout, play.scores(played))
    except play.Stuck as stuck:
        raise Misuse(str(stuck)) from None
