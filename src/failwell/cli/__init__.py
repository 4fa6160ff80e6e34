"""The command line: one module per command, named after it; `commands` has the table.

`run` returns the exit code. 0: done. 1: there is a finding, or the payload is not a failure. 2: misuse or bad input,
with one line on stderr that says what is wrong.
"""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

__all__ = ["EXTRAS", "install_line", "main", "run"]

_LONGEST_SENTENCE = 2000
_NEEDED = ("typer", "rich")
EXTRAS = {
    "codes": "cli",
    "explain": "cli",
    "read": "cli",
    "convert": "cli",
    "schema": "cli",
    "demo": "demo",
    "check": "cli,validation",
    "dashboard": "dashboard",
    "events": "cli",
    "policy": "cli",
    "policy init": "cli,validation",
    "hosts": "cli",
    "hosts check": "cli,validation",
    "serve": "cli,mcp,validation",
}
"""The extras that each command needs; `proxy` and `rewrite` need none."""


def main() -> None:
    """Run the command that the process was started with, and exit.

    A proxy is part of every start of a host, and gateways rewrite each answer: these load nothing of other commands.
    """
    if sys.argv[1:2] == ["proxy"]:
        from failwell.proxy.command import run_and_exit

        run_and_exit(sys.argv[2:])
    if sys.argv[1:2] == ["rewrite"]:
        from failwell.proxy import rewrite

        sys.exit(rewrite.main())
    import io
    import logging

    # What the library logs is for servers; here it would stand between the lines of an answer.
    logging.getLogger("failwell").addHandler(logging.NullHandler())
    stdout, stderr = _output(sys.stdout), _output(sys.stderr)
    sys.exit(run(sys.argv[1:], stdin=sys.stdin or io.StringIO(), stdout=stdout, stderr=stderr))


def run(argv: "Sequence[str]", *, stdin: "TextIO", stdout: "TextIO", stderr: "TextIO") -> int:
    """Run one command on the given streams and return its exit code."""
    import contextlib

    try:
        from failwell.cli import commands, streams
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in _NEEDED:
            raise
        return _run_without_parser(argv, stdout, stderr)
    try:
        # Help is written by the parser, which knows no streams but the process's.
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            code = commands.run_command(argv, stdin=stdin, stdout=stdout, stderr=stderr)
        stdout.flush()
    except streams.Misuse as misuse:
        stderr.write(f"failwell: {_redacted(str(misuse))}\n")
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


def _redacted(sentence: str) -> str:
    """Return a sentence without the secrets of what it quotes, such as the password in an address."""
    from failwell.redact.scrubber import clean

    return clean(sentence, _LONGEST_SENTENCE)


def _run_without_parser(argv: "Sequence[str]", stdout: "TextIO", stderr: "TextIO") -> int:
    if list(argv) == ["--version"]:
        from failwell import __version__

        stdout.write(f"failwell {__version__}\n")
        return 0
    words = [word for word in argv if not word.startswith("-")]
    known = next((name for name in (" ".join(words[:2]), *words[:1]) if name in EXTRAS), None)
    if words and known is None:
        from failwell._spelling import did_you_mean

        names = [name for name in (*EXTRAS, "proxy", "rewrite") if " " not in name]
        meant = did_you_mean(words[0], names) or f": choose one of {', '.join(names)}"
        stderr.write(f"failwell: {_redacted(f'unknown command {words[0]!r}{meant}')}\n")
    else:
        stderr.write(f"failwell: {install_line(known or '')}\n")
    return 2


def install_line(command: str = "") -> str:
    """Return the one line that makes a command work, or all of them: run as a tool, or installed."""
    package = f"'failwell[{EXTRAS.get(command, 'cli')}]'"
    name = f"failwell {command}".rstrip()
    how = f"uvx --from {package} {name} …, or pip install {package}"
    if command:
        return f"{name} needs more than is installed: {how}"
    return f"only failwell proxy and failwell rewrite work as installed; for the other commands: {how}"


def _output(stream: "TextIO | None") -> "TextIO":
    """Return a stream that takes any text: what it cannot spell is escaped, and a closed one swallows it."""
    if stream is None:
        import io

        return io.StringIO()
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return stream


def _discard_rest(stdout: "TextIO") -> None:
    """Keep Python from writing at exit what could not be written."""
    import contextlib

    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
