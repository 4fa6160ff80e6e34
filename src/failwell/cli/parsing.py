"""From the words of a command line to a command that has run, or to one line that says what is wrong with them."""

import re
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import typer
from typer.main import get_command

from failwell.cli import completing
from failwell.cli.commands import app
from failwell.cli.payloads import Misuse, Streams
from failwell.suggest import did_you_mean

# The parser's errors: typer brought click along as a package of its own until it took the code in.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]


def perform(argv: Sequence[str], *, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run a command and return its exit code.

    Raises:
        Misuse: the arguments or the payload are not what the command takes.
    """
    command: Any = get_command(app)
    if not argv and completing.is_asked():
        return completing.answer(command)
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
