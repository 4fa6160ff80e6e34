"""The commands: `codes`, `explain`, `read`, `convert`, `schema`, `demo`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import msgspec
import typer
from typer.main import get_command

import failwell as fw
from failwell import dialects
from failwell.cli import checking, demo, glossary, panels, proxying, readings, stage
from failwell.cli.payloads import Misuse, Streams, decoded, from_file, json_object, payload
from failwell.codes import TYPES, Type
from failwell.suggest import did_you_mean

# The parser's errors: typer brought click along as a package of its own until it took the code in.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]

_app = typer.Typer(
    name="failwell",
    help="MCP tools that fail well: look codes up, read failures, convert them.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
File = Annotated[Path | None, typer.Option("--file", "-f", help="Read the payload from this file, not from stdin.")]
Spoken = Annotated[
    str | None, typer.Option("--dialect", help="What the server speaks: its exact shapes count even if not flagged.")
]
Unflagged = Annotated[bool, typer.Option("--unflagged", help="Look for a failure even if `isError` is false.")]
Tool = Annotated[str | None, typer.Option("--tool", help="The tool that was called.")]


def perform(argv: Sequence[str], *, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run a command and return its exit code.

    Raises:
        Misuse: the arguments or the payload are not what the command takes.
    """
    command = get_command(_app)
    try:
        with command.make_context("failwell", list(argv), obj=Streams(stdin, stdout, stderr)) as context:
            code = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except _ParserError as refused:
        _refuse(refused)
    return code if isinstance(code, int) else 0


def _refuse(refused: Exception) -> NoReturn:
    text = getattr(refused, "format_message", refused.__str__)()
    context = getattr(refused, "ctx", None)
    help_of = context.command_path if context else "failwell"
    raise Misuse(" ".join(f"{text.rstrip('.')}; see {help_of} --help".split())) from None


@_app.callback(invoke_without_command=True)
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


@_app.command()
def codes(
    context: typer.Context,
    *,
    type_: Annotated[str | None, typer.Option("--type", help="Only codes of this type, such as TRANSIENT.")] = None,
    as_json: AsJson = False,
) -> None:
    """List all codes: what each means, and whether a retry can help.

    Example: failwell codes --type TRANSIENT
    """
    entries = [glossary.entry(row) for row in glossary.rows(_type_named(type_) if type_ else None)]
    if as_json:
        _write_json(context.obj.stdout, entries)
    else:
        panels.show_codes(context.obj.stdout, entries)


@_app.command()
def explain(
    context: typer.Context,
    code: Annotated[str, typer.Argument(help="A code in any spelling, or one of the six types.", metavar="CODE")],
    *,
    as_json: AsJson = False,
) -> None:
    """Say what a code means, what an agent should do, and what it is called in each dialect.

    Example: failwell explain rate_limited
    """
    name = code.upper()
    try:
        row = fw.catalog.explain(code)
    except LookupError as unknown:
        raise Misuse(unknown.args[0]) from None
    is_type_only = name in TYPES and row.code != name
    entry = glossary.type_entry(_type_named(code)) if is_type_only else glossary.entry(row)
    if as_json:
        _write_json(context.obj.stdout, entry)
    else:
        panels.show_entry(context.obj.stdout, entry)


@_app.command()
def read(
    context: typer.Context,
    *,
    file: File = None,
    dialect: Spoken = None,
    unflagged: Unflagged = False,
    tool: Tool = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="What the tool was called with, as JSON.")
    ] = None,
    schema_file: Annotated[Path | None, typer.Option("--schema", help="A file with the tool's input schema.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="The tool changes nothing.")] = False,
    idempotent: Annotated[bool, typer.Option("--idempotent", help="The tool may run twice.")] = False,
    as_json: AsJson = False,
    command: Annotated[
        list[str] | None, typer.Argument(help="Behind --: a server to start and to call --tool of.", metavar="COMMAND")
    ] = None,
) -> None:
    """Read a failure: what it is, by which rule, what an agent should do about it and why, and how to mend the call.

    Takes an MCP result, a JSON-RPC response, or an error's bare text; or a file of recorded lines, each one of these or
    an object with `raw`, `tool`, `arguments` and `inputSchema`. Exits with 1 if nothing in the payload is a failure.

    With a command behind --, that server is started and the tool is called for real.

    Example: failwell read --idempotent < result.json
    """
    if dialect is not None:
        _dialect_named(dialect)
    hints: Any = {"read_only": read_only, "idempotent": idempotent} if read_only or idempotent else None
    sent = json_object("--arguments", arguments) if arguments is not None else None
    calls = None
    if command:
        call = readings.made(command, tool, sent)
        found = [readings.found_in(call, dialect=dialect, unflagged=unflagged, hints=hints)]
    elif (calls := readings.lines_of(text := payload(context.obj, file))) is None:
        known = json_object(str(schema_file), decoded(from_file(schema_file))) if schema_file is not None else None
        call = readings.Recorded(answer=text, tool=tool, arguments=sent, schema=known)
        found = [readings.found_in(call, dialect=dialect, unflagged=unflagged, hints=hints)]
    else:
        found = [readings.found_in(call, dialect=dialect, unflagged=unflagged, hints=hints) for call in calls]
    if as_json:
        shown = [one.as_json() for one in found]
        _write_json(context.obj.stdout, shown[0] if calls is None else shown)
    elif calls is None:
        panels.show_found(context.obj.stdout, found[0])
    else:
        panels.show_all(context.obj.stdout, found)
    if all(one.failure is None for one in found):
        raise typer.Exit(1)


@_app.command()
def convert(
    context: typer.Context,
    *,
    to: Annotated[str, typer.Option("--to", help="The dialect to write: compact, envelope, flat, meta or xml.")],
    file: File = None,
    dialect: Spoken = None,
    unflagged: Unflagged = False,
    tool: Tool = None,
    text: Annotated[bool, typer.Option("--text", help="Write only the text that a model sees.")] = False,
) -> None:
    """Write a failure of any form as an MCP result in another dialect.

    Takes what `read` takes. Exits with 1 if the payload is not a failure.

    Example: failwell convert --to xml --text < result.json
    """
    _dialect_named(to)
    failure = _failure_in(payload(context.obj, file), dialect=dialect, unflagged=unflagged, tool=tool)
    if failure is None:
        context.obj.stderr.write("failwell: nothing to convert: the payload is not a failure\n")
        raise typer.Exit(1)
    result = fw.encode(failure, to)
    if text:
        context.obj.stdout.write(result["content"][0]["text"] + "\n")
    else:
        _write_json(context.obj.stdout, result)


@_app.command()
def schema(
    context: typer.Context,
    dialect: Annotated[
        str, typer.Argument(help="compact, envelope, flat, or meta (the schema of its `_meta`).", metavar="DIALECT")
    ],
) -> None:
    """Write the JSON Schema of a dialect.

    Example: failwell schema compact > compact.schema.json
    """
    json_schema = getattr(_dialect_named(dialect), "json_schema", None)
    if json_schema is None:
        having = [name for name, module in dialects.DIALECTS.items() if hasattr(module, "json_schema")]
        raise Misuse(f"{dialect} is not JSON and has no JSON Schema: choose one of {', '.join(having)}")
    _write_json(context.obj.stdout, json_schema())


@_app.command("demo")
def show_demo(
    context: typer.Context,
    *,
    dialect: Annotated[str | None, typer.Option("--dialect", help="Show this dialect only, in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """Watch a server fail in every way, and what an agent decides with and without structure.

    Example: failwell demo --dialect xml
    """
    if dialect is not None:
        _dialect_named(dialect)
    scenes = demo.play((dialect,) if dialect else tuple(dialects.DIALECTS))
    if as_json:
        _write_json(context.obj.stdout, {"scenes": msgspec.to_builtins(scenes), "score": demo.score(scenes)})
    else:
        stage.show_demo(context.obj.stdout, scenes, demo.score(scenes), in_full=dialect is not None)


_app.command("check")(checking.check)
_app.command("proxy", add_help_option=False, context_settings=proxying.TAKES_ALL)(proxying.proxy)


def _type_named(name: str) -> Type:
    by_name: dict[str, Type] = {type_: type_ for type_ in TYPES}
    found = by_name.get(name.upper())
    if found is None:
        raise Misuse(f"unknown type {name!r}: choose one of {', '.join(TYPES)}{did_you_mean(name, TYPES)}")
    return found


def _dialect_named(name: str) -> dialects.Dialect:
    try:
        return dialects.get(name)
    except ValueError as unknown:
        raise Misuse(str(unknown)) from None


def _failure_in(payload: str, *, dialect: str | None, **how: Any) -> fw.Failure | None:
    if dialect is not None:
        _dialect_named(dialect)
    failure = fw.read(payload, dialect=dialect, **how)
    return None if failure is None else fw.canonical(failure)


def _write_json(stdout: TextIO, value: Any) -> None:
    is_unicode = (getattr(stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    stdout.write(json.dumps(value, indent=2, ensure_ascii=not is_unicode) + "\n")
