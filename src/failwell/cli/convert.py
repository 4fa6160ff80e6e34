"""`failwell convert`: write a failure in another dialect."""

from typing import Annotated

import typer

import failwell as fw
from failwell.cli.completion import dialect_names
from failwell.cli.read import ServerDialect, ToolName, Unflagged, analyse, parse_lines, parse_payload
from failwell.cli.streams import Misuse, PayloadFile, check_dialect, read_payload, write_json


def convert(
    context: typer.Context,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="The format to write: compact, envelope, flat, meta or xml.",
            autocompletion=dialect_names,
            metavar="NAME",
        ),
    ],
    file: PayloadFile = None,
    dialect: ServerDialect = None,
    unflagged: Unflagged = False,
    tool: ToolName = None,
    text: Annotated[bool, typer.Option("--text", help="Print only the text that a model sees.")] = False,
) -> None:
    """Convert a failure to another error format.

    Takes the same input as `failwell read`, except a server. Exits with 1 if the input is not a failure.

    Example: failwell convert --to xml --text < result.json
    """
    check_dialect(to)
    check_dialect(dialect)
    payload = read_payload(context.obj, file)
    if lines := parse_lines(payload):
        raise Misuse(f"convert takes one failure, but the input has {len(lines)} recorded lines: give one of them")
    call = parse_payload(payload, tool=tool)
    failure = analyse(call, dialect=dialect, unflagged=unflagged).failure
    if failure is None:
        context.obj.stderr.write("failwell: nothing to convert: the input is not a failure\n")
        raise typer.Exit(1)
    result = fw.encode(failure, to)
    if text:
        context.obj.stdout.write(result["content"][0]["text"] + "\n")
    else:
        write_json(context.obj.stdout, result)
