"""The command line on streams of its own."""

import io
import subprocess
import sys
from typing import Any, NamedTuple

from failwell import cli

RATE_LIMITED = '{"error":"rate_limited","message":"Slow down","details":{"retry_after":60}}'
SUCCESS = '{"content":[{"type":"text","text":"hello"}],"isError":false}'


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Bytes(io.TextIOWrapper):
    """A stdin whose bytes are given."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw), encoding="utf-8")


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def run(*argv: str, stdin: str | bytes = "", stdout: Any = None) -> Ran:
    stdout, stderr = stdout or io.StringIO(), io.StringIO()
    given = Bytes(stdin) if isinstance(stdin, bytes) else io.StringIO(stdin)
    code = cli.run(argv, stdin=given, stdout=stdout, stderr=stderr)
    return Ran(code, stdout.getvalue(), stderr.getvalue())


def output(*argv: str, stdin: str | bytes = "") -> str:
    """Return what a command writes, which must succeed without a complaint."""
    ran = run(*argv, stdin=stdin)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def refusal(*argv: str, stdin: str | bytes = "") -> str:
    """Return what is wrong, which must be one line, with nothing else written and exit code 2."""
    ran = run(*argv, stdin=stdin)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("failwell: ")
    return ran.err.removeprefix("failwell: ").rstrip("\n")


def run_without(absent: tuple[str, ...], *argv: str) -> Ran:
    """Run a command in a process of its own where some libraries are not installed."""
    program = f"import sys; sys.modules |= dict.fromkeys({absent!r}); from failwell.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *argv], capture_output=True, text=True, timeout=60, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)
