"""The table of commands, and the parser that runs the one that was asked for.

To add a command, write a module with its name and a function with its name in it, and add a row here.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.main import get_command

import failwell as fw
from failwell._spelling import did_you_mean
from failwell.cli import check, codes, completion, convert, dashboard, demo, events, explain, proxy, read, schema
from failwell.cli.streams import Misuse, Streams

app = typer.Typer(
    name="failwell",
    help="MCP tools that fail well: watch, check and proxy servers; look codes up; read failures and convert them.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


# In the order of the help.
app.command("codes")(codes.codes)
app.command("explain")(explain.explain)
app.command("read")(read.read)
app.command("convert")(convert.convert)
app.command("schema")(schema.schema)
app.command("demo")(demo.demo)
app.command("check")(check.check)
app.command("dashboard")(dashboard.dashboard)
app.command("events")(events.events)
app.command("proxy", **proxy.PARSED_BY_THE_PROXY)(proxy.proxy)

# The parser's errors: typer brought click along as a package of its own until it took the code in.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]


def run_command(argv: Sequence[str], *, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run a command and return its exit code.

    Raises:
        Misuse: the arguments or the payload are not what the command takes.
    """
    command: Any = get_command(app)
    if not argv and completion.is_requested():
        return completion.respond(command)
    if argv and not argv[0].startswith("-") and argv[0] not in command.commands:
        choices = f"choose one of {', '.join(command.commands)}"
        raise Misuse(f"there is no command {argv[0]!r}: {choices}{did_you_mean(argv[0], command.commands)}")
    try:
        with command.make_context("failwell", list(argv), obj=Streams(stdin, stdout, stderr)) as context:
            code = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except _ParserError as error:
        _raise_misuse(error, command.commands.get(argv[0]))
    except SystemExit as ended:  # installing and showing the completion end so
        return 2 if ended.code else 0
    return code if isinstance(code, int) else 0


def _raise_misuse(error: Exception, command: Any) -> NoReturn:
    text = getattr(error, "format_message", error.__str__)()
    example = f"; write it like: {examples(command)[0]}" if command else ""
    help_of = f"failwell {command.name}" if command else "failwell"
    raise Misuse(" ".join(f"{text.rstrip('.')}{example}; see {help_of} --help".split())) from None


def examples(command: Any) -> list[str]:
    """Return the examples in the help of a command."""
    return re.findall(r"^ *Example: (.+)$", command.help, re.MULTILINE)
