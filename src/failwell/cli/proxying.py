"""The command `proxy` as the help lists it. The entry point starts a proxy before any of this is loaded."""

import typer

from failwell.cli.payloads import Misuse
from failwell.proxy import entry, options

TAKES_ALL = {"ignore_unknown_options": True, "allow_extra_args": True}


def proxy(context: typer.Context) -> None:
    """Stand in front of a server and make its failures structured.

    Example: failwell proxy --retry -- npx some-server
    """
    try:
        chosen = options.parse(context.args)
    except options.Misuse as misuse:
        raise Misuse(str(misuse)) from None
    if chosen.help:
        context.obj.stdout.write(options.help_text())
        raise typer.Exit
    raise typer.Exit(entry.main(context.args))
