"""`failwell policy`: propose, check and show a policy file, and print its JSON Schema."""

import asyncio
import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from failwell._json import is_object
from failwell.advice import Hints, has_promises, is_read_verb, matching
from failwell.cli import install_line
from failwell.cli.streams import Misuse, bad_server_misuse, interrupt_on_signals, write_json
from failwell.policy_file import BadPolicyFile, PolicyFile, policy_schema, user_policy_path
from failwell.proxy.recorder import name_of

_LONGEST_NAME = 128

app = typer.Typer(
    help="""Propose, check and show a policy file.

    A policy file holds what you know about servers and tools, and how to call them.

    Example: failwell policy init -- python server.py
    """,
    no_args_is_help=True,
)

_File = Annotated[
    Path | None, typer.Argument(help="The policy file [default: the one in your configuration folder].", metavar="FILE")
]


@app.command()
def init(
    context: typer.Context,
    *,
    name: Annotated[
        str | None, typer.Option("--name", help="The name of the server; defaults to its own.", metavar="NAME")
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", help="Maximum duration of the server's start.", metavar="SECONDS", min=0.01)
    ] = 30.0,
    command: Annotated[
        list[str] | None, typer.Argument(help="The server: a command after --, or a URL.", metavar="COMMAND")
    ] = None,
) -> None:
    """Print a proposed policy file for a server, without calling its tools.

    Whatever would allow a call to be repeated is only proposed in comments: remove the # where you agree.

    Example: failwell policy init -- python server.py > policy.toml
    """
    if not command:
        raise Misuse("no server given: use failwell policy init -- COMMAND or failwell policy init URL")
    try:
        from failwell.check import peers, session  # only here: other commands need no server
    except ImportError:
        raise Misuse(install_line("policy init")) from None

    async def listed() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        connect = peers.connector(command, start=timeout, wait=timeout)
        opened = session.CheckSession(connect, session.CallLimits(start=timeout, call=timeout))
        try:
            await opened.open()
            return opened.server, opened.tools
        finally:
            await opened.close()

    with interrupt_on_signals():
        try:
            server, tools = asyncio.run(listed())
        except peers.BadServer as bad:
            raise bad_server_misuse(command, bad) from None
    info = server.get("serverInfo")
    own = info.get("name") if is_object(info) else None
    text = proposal(
        name or (own if isinstance(own, str) and own else "server"), tools, proxied=name or name_of(command)
    )
    PolicyFile.parse(text)  # whatever the names of tools are made of, what is written can be read
    context.obj.stdout.write(text)


@app.command()
def check(context: typer.Context, file: _File = None) -> None:
    """Check a policy file; exits with 1 and names each wrong line.

    Example: failwell policy check policy.toml
    """
    try:
        found = PolicyFile.load(_existing(file))
    except BadPolicyFile as bad:
        context.obj.stderr.write(f"{bad}\n")
        raise typer.Exit(1) from None
    tools = len(found.tools) + sum(len(server.tools) for server in found.servers.values())
    servers = len(found.servers)
    counted = f"{servers} {'server' if servers == 1 else 'servers'} and {tools} {'tool' if tools == 1 else 'tools'}"
    context.obj.stdout.write(f"The file is valid: {counted}.\n")


@app.command()
def show(
    context: typer.Context,
    file: _File = None,
    *,
    server: Annotated[str, typer.Option("--server", help="The server.", metavar="NAME")] = "",
    tool: Annotated[str | None, typer.Option("--tool", help="One of its tools.", metavar="NAME")] = None,
) -> None:
    """Print what a policy file says about a server or a tool, as JSON.

    Example: failwell policy show policy.toml --server github --tool get_issue
    """
    try:
        found = PolicyFile.load(_existing(file))
    except BadPolicyFile as bad:
        raise Misuse(str(bad.args[0]).partition("\n")[0]) from None
    said = found.server(server) if tool is None else found.tool(server, tool)
    rules = {key: value for key, value in msgspec.to_builtins(said).items() if value not in (None, {})}
    write_json(context.obj.stdout, rules)
    if server and not list(matching(found.servers, server)):
        named = ", ".join(found.servers) or "none"
        context.obj.stderr.write(f"failwell: the file has nothing about a server {server[:80]!r}; it names: {named}\n")


@app.command()
def schema(context: typer.Context) -> None:
    """Print the JSON Schema of a policy file, for editors.

    Example: failwell policy schema > policy.schema.json
    """
    write_json(context.obj.stdout, policy_schema())


def _existing(file: Path | None) -> Path:
    path = user_policy_path() if file is None else file
    if file is None and not path.is_file():
        raise Misuse(f"there is no policy file at {str(path)!r}: name one, or write one with failwell policy init")
    if not path.exists():
        raise Misuse(f"cannot read {str(path)!r}: there is no such file; failwell policy init writes one")
    return path


def proposal(server: str, tools: list[dict[str, Any]], *, proxied: str | None = None) -> str:
    """Return a policy file that changes nothing yet, and proposes in comments what the operator may know better.

    It says so if a proxy in front of the server would call it something else, *proxied*.
    """
    return "\n".join(_lines(server, tools, proxied or server)) + "\n"


def _lines(server: str, tools: list[dict[str, Any]], proxied: str) -> Iterator[str]:
    section = f"servers.{_quoted(glob.escape(_sound(server) or 'server'))}"
    yield "# A failwell policy file. A line takes effect when you remove its #, and you vouch for what it says:"
    yield "# a tool marked read-only or idempotent is called again even if the first call may have taken effect."
    yield "# Keys: failwell policy schema. Check: failwell policy check FILE."
    yield ""
    if proxied != server and _sound(proxied):
        yield f"# A proxy calls this server {_quoted(proxied)}: use that name here, or start the proxy with --name."
    yield f"[{section}]"
    yield "# Treat a rate limit or a refused connection that the server reports in plain text as not executed."
    yield "# trust_inferred = true"
    if any(_is_proposed(tool) for tool in tools):
        yield "# Tools without annotations are read-only if their names begin with get, list, search, read or describe."
        yield "# trust_read_verbs = true"
    for tool in {name: tool for tool in tools if (name := _sound(tool["name"]))}.values():
        yield ""
        yield f"[{section}.tools.{_quoted(glob.escape(tool['name']))}]"
        yield from _tool_lines(tool)


def _tool_lines(tool: dict[str, Any]) -> Iterator[str]:
    hints = Hints.of(_annotations(tool))
    if hints.repeatable:
        yield f"# The server says that it is {'read-only' if hints.read_only else 'idempotent'}."
    elif has_promises(_annotations(tool)):
        yield "# The server says that it changes something, but not that it may run twice."
    elif _is_proposed(tool):
        yield "# The server says nothing about it, but its name suggests that it only reads."
        yield "# read_only = true"
    else:
        yield "# The server says nothing about it, so it is not known to be safe to run twice."


def _is_proposed(tool: dict[str, Any]) -> bool:
    return is_read_verb(tool["name"]) and not has_promises(_annotations(tool))


def _annotations(tool: dict[str, Any]) -> dict[str, Any] | None:
    found = tool.get("annotations")
    return found if is_object(found) else None


def _quoted(name: str) -> str:
    """Return a name as a key of TOML. A server may call itself and its tools anything, with line ends in it too."""
    letters = (f"\\U{ord(letter):08x}" if _is_escaped(letter) else letter for letter in name)
    return f'"{"".join(letters)}"'


def _sound(name: str) -> str | None:
    """Return a name that can stand in a file: not a very long one, and nothing that is no text."""
    is_text = name.encode(errors="ignore").decode() == name
    return name if is_text and len(name) <= _LONGEST_NAME else None


def _is_escaped(letter: str) -> bool:
    return letter in '"\\' or not letter.isprintable()
