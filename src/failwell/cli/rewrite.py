"""`failwell rewrite`, for help and tests only: the command itself starts without this module."""

import contextlib
import io
from typing import Any

import typer

from failwell.proxy import rewrite as rewriting

PARSED_BY_ITSELF: dict[str, Any] = {
    "add_help_option": False,
    "context_settings": {"ignore_unknown_options": True, "allow_extra_args": True},
}
"""How the command is registered: a gateway starts it for every call, so it parses its options without this parser."""


def rewrite(context: typer.Context) -> None:
    """Structure the failure in one answer, for gateways.

    Example: failwell rewrite --tool search < result.json
    """
    stdin, stdout = context.obj.stdin, context.obj.stdout
    written = io.BytesIO()
    with contextlib.redirect_stdout(stdout):
        given = getattr(stdin, "buffer", None) or io.BytesIO(stdin.read().encode())
        code = rewriting.run(context.args, stdin=given, stdout=written)
    stdout.write(written.getvalue().decode("utf-8", "backslashreplace"))
    raise typer.Exit(code)
