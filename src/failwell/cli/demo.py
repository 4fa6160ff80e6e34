"""`failwell demo`: from the options to the play, and to what is shown of it."""

import asyncio
from typing import Annotated

import typer

from failwell.cli.completing import dialect_names
from failwell.cli.payloads import Misuse, Streams, dialect_named, write_json

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
        from failwell.cli import stage
        from failwell.demo import playing, score
    except ImportError:
        raise Misuse(_NEEDED) from None
    streams: Streams = context.obj
    spoken = dialect or "compact"
    try:
        if as_json:
            played = asyncio.run(playing.play(spoken))
            write_json(streams.stdout, score.as_json(spoken, played))
            return
        with stage.watching(streams.stdout, in_full=dialect is not None) as seen:
            played = asyncio.run(playing.play(spoken, stepped=seen.stepped, done=seen.done))
        stage.show_score(streams.stdout, score.scores(played))
    except playing.Stuck as stuck:
        raise Misuse(str(stuck)) from None
