"""The command line on streams of its own."""

import io
from typing import NamedTuple

from failwell import cli


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run(*argv: str, stdin: str = "") -> Ran:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = cli.run(argv, stdin=io.StringIO(stdin), stdout=stdout, stderr=stderr)
    return Ran(code, stdout.getvalue(), stderr.getvalue())


def refusal(*argv: str, stdin: str = "") -> str:
    """Return what is wrong, which must be one line, with nothing else written and exit code 2."""
    ran = run(*argv, stdin=stdin)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("failwell: ")
    return ran.err.removeprefix("failwell: ").rstrip("\n")
