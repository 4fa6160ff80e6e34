"""The commands `codes`, `explain`, `read`, `convert`, `schema` and `proxy`; the others have a module of their own."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.main import get_command

import failwell as fw
from failwell._spelling import did_you_mean
from failwell.cli import check, completion, dashboard, demo, events, panels
from failwell.cli.codes import code_entry, code_rows, type_entry
from failwell.cli.read import found_in, lines_of, made, schema_in, single
from failwell.cli.streams import Misuse, Streams, dialect_named, json_object, payload, write_json
from failwell.codes import TYPES, Type
from failwell.dialects import DIALECTS
from failwell.proxy import command, options

TAKES_ALL = {"ignore_unknown_options": True, "allow_extra_args": True}


def proxy(context: typer.Context) -> None:
    """Stand in front of a server and make its failures structured.

    Example: failwell proxy --retry -- npx some-server
    """
    try:
        chosen = options.parse(context.args)
    except options.BadOption as misuse:
        raise Misuse(str(misuse)) from None
    if chosen.help:
        context.obj.stdout.write(options.help_text())
        raise typer.Exit
    raise typer.Exit(command.main(context.args))


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
        autocompletion=completion.dialect_names,
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
            autocompletion=completion.type_names,
            metavar="TYPE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all codes: what each means, and whether a retry can help.

    Example: failwell codes --type TRANSIENT
    """
    entries = [code_entry(row) for row in code_rows(_type_named(type_) if type_ else None)]
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
            autocompletion=completion.code_names,
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
        row = fw.codes.explain(code)
    except LookupError as unknown:
        text: str = unknown.args[0]
        raise Misuse(text if text.endswith("?") else f"{text}; failwell codes lists them all") from None
    is_type_only = name in TYPES and row.code != name
    entry = type_entry(_type_named(code)) if is_type_only else code_entry(row)
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
        call = made(command, tool, sent)
        found = [found_in(call, dialect=dialect, unflagged=unflagged, hints=hints)]
    elif (calls := lines_of(text := payload(context.obj, file))) is None:
        known = schema_in(schema_file) if schema_file is not None else None
        call = single(text, tool=tool, arguments=sent, schema=known)
        found = [found_in(call, dialect=dialect, unflagged=unflagged, hints=hints)]
    else:
        found = [found_in(call, dialect=dialect, unflagged=unflagged, hints=hints) for call in calls]
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
            autocompletion=completion.dialect_names,
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
    if lines := lines_of(given):
        raise Misuse(f"convert takes one failure, and the payload holds {len(lines)} recorded lines: give one of them")
    call = single(given, tool=tool)
    failure = found_in(call, dialect=dialect, unflagged=unflagged).failure
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
            autocompletion=completion.schema_names,
            metavar="DIALECT",
        ),
    ],
) -> None:
    """Write the JSON Schema of a dialect.

    Example: failwell schema compact > compact.schema.json
    """
    json_schema = getattr(DIALECTS.get(dialect), "json_schema", None)
    if json_schema is None:
        having = list(completion.schema_names(""))
        why = "is not JSON and has no JSON Schema" if dialect in DIALECTS else "is no dialect"
        raise Misuse(f"{dialect} {why}: choose one of {', '.join(having)}{did_you_mean(dialect, having)}")
    write_json(context.obj.stdout, json_schema())


app.command("demo")(demo.demo)
app.command("check")(check.check)
app.command("dashboard")(dashboard.dashboard)
app.command("events")(events.events)
app.command("proxy", cls=completion.ProxyCommand, add_help_option=False, context_settings=TAKES_ALL)(proxy)


def _type_named(name: str) -> Type:
    by_name: dict[str, Type] = {type_: type_ for type_ in TYPES}
    found = by_name.get(name.upper())
    if found is None:
        raise Misuse(f"unknown type {name!r}: choose one of {', '.join(TYPES)}{did_you_mean(name, TYPES)}")
    return found


# The parser's errors: typer brought click along as a package of its own until it took the code in.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]


def perform(argv: Sequence[str], *, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run a command and return its exit code.

    Raises:
        Misuse: the arguments or the payload are not what the command takes.
    """
    command: Any = get_command(app)
    if not argv and completion.is_asked():
        return completion.answer(command)
    if argv and not argv[0].startswith("-") and argv[0] not in command.commands:
        choices = f"choose one of {', '.join(command.commands)}"
        raise Misuse(f"there is no command {argv[0]!r}: {choices}{did_you_mean(argv[0], command.commands)}")
    try:
        with command.make_context("failwell", list(argv), obj=Streams(stdin, stdout, stderr)) as context:
            code = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except _ParserError as refused:
        _refuse(refused, command.commands.get(argv[0]))
    except SystemExit as ended:  # installing and showing the completion end so
        return 2 if ended.code else 0
    return code if isinstance(code, int) else 0


def _refuse(refused: Exception, command: Any) -> NoReturn:
    text = getattr(refused, "format_message", refused.__str__)()
    example = f"; write it like: {examples(command)[0]}" if command else ""
    help_of = f"failwell {command.name}" if command else "failwell"
    raise Misuse(" ".join(f"{text.rstrip('.')}{example}; see {help_of} --help".split())) from None


def examples(command: Any) -> list[str]:
    """Return the examples in the help of a command."""
    return re.findall(r"^ *Example: (.+)$", command.help, re.MULTILINE)
