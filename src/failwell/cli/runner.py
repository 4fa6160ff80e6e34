"""The command line, from the arguments to the exit code.

0: done. 1: the payload is not a failure. 2: misuse or bad input, with one line on stderr that says what is wrong.
"""

import contextlib
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from failwell import __version__

_NEEDED = ("typer", "rich")
_INSTALL = "the command line needs typer and rich: pip install 'failwell[cli]'"


def main() -> None:
    """Run the command that the process was started with, and exit."""
    # What the library logs is for servers; here it would stand between the lines of an answer.
    logging.getLogger("failwell").addHandler(logging.NullHandler())
    stdout, stderr = _output(sys.stdout), _output(sys.stderr)
    sys.exit(run(sys.argv[1:], stdin=sys.stdin or io.StringIO(), stdout=stdout, stderr=stderr))


def _output(stream: TextIO | None) -> TextIO:
    """Return a stream that takes any text: what it cannot spell is escaped, and a closed one swallows it."""
    if stream is None:
        return io.StringIO()
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return stream


def run(argv: Sequence[str], *, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run one command on the given streams and return its exit code."""
    try:
        from failwell.cli import commands, streams
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in _NEEDED:
            raise
        if list(argv) == ["--version"]:
            stdout.write(f"failwell {__version__}\n")
            return 0
        stderr.write(f"failwell: {_INSTALL}\n")
        return 2
    try:
        # Help is written by the parser, which knows no streams but the process's.
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            code = commands.perform(argv, stdin=stdin, stdout=stdout, stderr=stderr)
        stdout.flush()
    except streams.Misuse as misuse:
        stderr.write(f"failwell: {misuse}\n")
        return 2
    except BrokenPipeError:
        _discard_rest(stdout)
        return 0
    except OSError as failed:
        _discard_rest(stdout)
        stderr.write(f"failwell: cannot write: {failed.strerror}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _discard_rest(stdout: TextIO) -> None:
    """Keep Python from writing at exit what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
