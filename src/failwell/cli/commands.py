"""The commands `codes`, `explain`, `read`, `convert` and `schema`, beside those that have a module of their own."""

from pathlib import Path
from typing import Annotated, Any

import typer

import failwell as fw
from failwell.cli import checking, completing, dashboards, demo, events, glossary, panels, proxying, readings
from failwell.cli.payloads import (
    Misuse,
    dialect_named,
    json_object,
    payload,
    write_json,
)
from failwell.codes import TYPES, Type
from failwell.dialects import DIALECTS
from failwell.suggest import did_you_mean

app = typer.Typer(
    name="failwell",
    help="MCP tools that fail well: watch, check and proxy servers; look codes up; read failures and convert them.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
File = Annotated[
    Path | None, typer.Option("--file", "-f", help="Read the payload from this file, not from stdin.", metavar="FILE")
]
Spoken = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        help="What the server speaks: its exact shapes count even if not flagged.",
        autocompletion=completing.dialect_names,
        metavar="NAME",
    ),
]
Unflagged = Annotated[bool, typer.Option("--unflagged", help="Look for a failure even if `isError` is false.")]
Tool = Annotated[str | None, typer.Option("--tool", help="The tool that was called.", metavar="TOOL")]


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        context.obj.stdout.write(f"failwell {fw.__version__}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.obj.stdout.write(context.get_help() + "\n")
        raise typer.Exit


@app.command()
def codes(
    context: typer.Context,
    *,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type",
            help="Only codes of this type, such as TRANSIENT.",
            autocompletion=completing.type_names,
            metavar="TYPE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all codes: what each means, and whether a retry can help.

    Example: failwell codes --type TRANSIENT
    """
    entries = [glossary.entry(row) for row in glossary.rows(_type_named(type_) if type_ else None)]
    if as_json:
        write_json(context.obj.stdout, entries)
    else:
        panels.show_codes(context.obj.stdout, entries)


@app.command()
def explain(
    context: typer.Context,
    code: Annotated[
        str,
        typer.Argument(
            help="A code in any spelling, or one of the six types.",
            autocompletion=completing.code_names,
            metavar="CODE",
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Say what a code means, and what an agent should do about it.

    Says what it is called in each dialect too.

    Example: failwell explain rate_limited
    """
    name = code.upper()
    try:
        row = fw.catalog.explain(code)
    except LookupError as unknown:
        text: str = unknown.args[0]
        raise Misuse(text if text.endswith("?") else f"{text}; failwell codes lists them all") from None
    is_type_only = name in TYPES and row.code != name
    entry = glossary.type_entry(_type_named(code)) if is_type_only else glossary.entry(row)
    if as_json:
        write_json(context.obj.stdout, entry)
    else:
        panels.show_entry(context.obj.stdout, entry)


@app.command()
def read(
    context: typer.Context,
    *,
    file: File = None,
    dialect: Spoken = None,
    unflagged: Unflagged = False,
    tool: Tool = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="What the tool was called with.", metavar="JSON")
    ] = None,
    schema_file: Annotated[
        Path | None, typer.Option("--schema", help="The tool's input schema.", metavar="FILE")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="The tool changes nothing.")] = False,
    idempotent: Annotated[bool, typer.Option("--idempotent", help="The tool may run twice.")] = False,
    as_json: AsJson = False,
    command: Annotated[
        list[str] | None,
        typer.Argument(help="Behind --: a server to start and to call --tool of; or its URL.", metavar="COMMAND"),
    ] = None,
) -> None:
    """Read a failure: what it is, what to do, how to mend the call.

    Takes an MCP result, a JSON-RPC response, or an error's bare text; or a file of recorded lines, each one of these or
    an object with `raw`, `tool`, `arguments` and `inputSchema`, or a record of failwell's own. Exits with 1 if nothing
    in the payload is a failure.

    With a command behind --, that server is started and the tool is called for real; so it is with the URL of one.

    Example: failwell read --idempotent < result.json

    Example: failwell read --tool add --arguments '{"n": 5}' -- python server.py
    """
    if dialect is not None:
        dialect_named(dialect)
    hints: Any = {"read_only": read_only, "idempotent": idempotent} if read_only or idempotent else None
    sent = json_object("--arguments", arguments, example='{"path": "a.txt"}') if arguments is not None else None
    calls = None
    if command:
        if file is not None:
            raise Misuse("there is a command and a --file: read takes one of them")
        call = readings.made(command, tool, sent)
        found = [readings.found_in(call, dialect=dialect, unflagged=unflagged, hints=hints)]
    elif (calls := readings.lines_of(text := payload(context.obj, file))) is None:
        known = readings.schema_in(schema_file) if schema_file is not None else None
        call = readings.single(text, tool=tool, arguments=sent, schema=known)
        found = [readings.found_in(call, dialect=dialect, unflagged=unflagged, hints=hints)]
    else:
        found = [readings.found_in(call, dialect=dialect, unflagged=unflagged, hints=hints) for call in calls]
    if as_json:
        shown = [one.as_json() for one in found]
        write_json(context.obj.stdout, shown[0] if calls is None else shown)
    elif calls is None:
        panels.show_found(context.obj.stdout, found[0])
    else:
        panels.show_all(context.obj.stdout, found)
    if all(one.failure is None for one in found):
        raise typer.Exit(1)


@app.command()
def convert(
    context: typer.Context,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="The dialect to write: compact, envelope, flat, meta or xml.",
            autocompletion=completing.dialect_names,
            metavar="NAME",
        ),
    ],
    file: File = None,
    dialect: Spoken = None,
    unflagged: Unflagged = False,
    tool: Tool = None,
    text: Annotated[bool, typer.Option("--text", help="Write only the text that a model sees.")] = False,
) -> None:
    """Write a failure of any form as a result in another dialect.

    Takes one payload of those that `read` takes, from a file or stdin; it starts no server. Exits with 1 if the payload
    is not a failure.

    Example: failwell convert --to xml --text < result.json
    """
    dialect_named(to)
    if dialect is not None:
        dialect_named(dialect)
    given = payload(context.obj, file)
    if lines := readings.lines_of(given):
        raise Misuse(f"convert takes one failure, and the payload holds {len(lines)} recorded lines: give one of them")
    call = readings.single(given, tool=tool)
    failure = readings.found_in(call, dialect=dialect, unflagged=unflagged).failure
    if failure is None:
        context.obj.stderr.write("failwell: nothing to convert: the payload is not a failure\n")
        raise typer.Exit(1)
    result = fw.encode(failure, to)
    if text:
        context.obj.stdout.write(result["content"][0]["text"] + "\n")
    else:
        write_json(context.obj.stdout, result)


@app.command()
def schema(
    context: typer.Context,
    dialect: Annotated[
        str,
        typer.Argument(
            help="compact, envelope, flat, or meta (the schema of its `_meta`).",
            autocompletion=completing.schema_names,
            metavar="DIALECT",
        ),
    ],
) -> None:
    """Write the JSON Schema of a dialect.

    Example: failwell schema compact > compact.schema.json
    """
    json_schema = getattr(DIALECTS.get(dialect), "json_schema", None)
    if json_schema is None:
        having = list(completing.schema_names(""))
        why = "is not JSON and has no JSON Schema" if dialect in DIALECTS else "is no dialect"
        raise Misuse(f"{dialect} {why}: choose one of {', '.join(having)}{did_you_mean(dialect, having)}")
    write_json(context.obj.stdout, json_schema())


app.command("demo")(demo.demo)
app.command("check")(checking.check)
app.command("dashboard")(dashboards.dashboard)
app.command("events")(events.events)
app.command("proxy", cls=completing.ProxyCommand, add_help_option=False, context_settings=proxying.TAKES_ALL)(
    proxying.proxy
)


def _type_named(name: str) -> Type:
    by_name: dict[str, Type] = {type_: type_ for type_ in TYPES}
    found = by_name.get(name.upper())
    if found is None:
        raise Misuse(f"unknown type {name!r}: choose one of {', '.join(TYPES)}{did_you_mean(name, TYPES)}")
    return found
