"""`failwell proxy`, for help, completion and tests only: the command itself starts without this module."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from failwell.cli.completion import dialect_names
from failwell.cli.streams import Misuse
from failwell.proxy import command, options

# The parser is click, on its own or inside of typer, as the version goes.
_PARSER = typer.BadParameter.__module__.rpartition(".")[0]


class ProxyCommand(TyperCommand):
    """A command that completes the options of the proxy, which the proxy parses by itself."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what the word may become: a dialect behind `--dialect`, else an option."""
        item = import_module(f"{_PARSER}.shell_completion").CompletionItem
        if ctx.args[-1:] == ["--dialect"]:
            return [item(name) for name in dialect_names(incomplete)]
        return [item(one.name, help=one.help) for one in options.OPTIONS if one.name.startswith(incomplete)]


PARSED_BY_THE_PROXY: dict[str, Any] = {
    "cls": ProxyCommand,
    "add_help_option": False,
    "context_settings": {"ignore_unknown_options": True, "allow_extra_args": True},
}
"""How the command is registered: it takes all options, and hands them to the proxy."""


def proxy(context: typer.Context) -> None:
    """Put failwell in front of a server you can't modify.

    Example: failwell proxy --retry -- npx some-server
    """
    try:
        chosen = options.parse(context.args)
    except options.BadOption as misuse:
        raise Misuse(str(misuse)) from None
    if chosen.help:
        context.obj.stdout.write(options.help_text())
        raise typer.Exit
    code = command.main(context.args)
    raise typer.Exit(code if code >= 0 else 128 - code)
