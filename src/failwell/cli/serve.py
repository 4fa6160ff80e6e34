"""`failwell serve`: an MCP server for agents that explains codes, reads errors, converts them and checks servers.

It never starts what a model names: `check` takes only names from the operator's policy file, and starts what the user's
own hosts are configured to start under that name.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import failwell as fw
from failwell._json import LONGEST_JSON, write_json
from failwell._spelling import did_you_mean
from failwell.cli import install_line
from failwell.cli.codes import code_entry
from failwell.cli.read import RecordedCall, analyse
from failwell.cli.streams import Misuse
from failwell.dialects import DIALECTS
from failwell.hosts import locations
from failwell.hosts.document import BadConfig
from failwell.hosts.files import read_config
from failwell.hosts.servers import Server
from failwell.policy_file import BadPolicyFile, PolicyFile
from failwell.redact.scrubber import clean

if TYPE_CHECKING:
    from mcp.server import MCPServer

_LONGEST_REASON = 300
_MOST_CHANGES = 3


def serve(
    *,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="The policy file; only servers named in it can be checked.", metavar="FILE"),
    ] = None,
) -> None:
    """Serve explanations of errors to agents, as an MCP server.

    Speaks MCP on standard input and output, with the tools explain_code, read_error, convert_error and check_server.
    The last takes only names from your policy file, and starts what your hosts start under that name.

    Example: failwell serve

    Example: failwell serve --policy failwell.toml
    """
    try:
        known = PolicyFile.load(policy)
    except BadPolicyFile as bad:
        raise Misuse(" ".join(str(bad).split())) from None
    try:
        server = make_server(frozenset(known.servers))
    except ImportError:
        raise Misuse(install_line("serve")) from None
    server.run("stdio")


def make_server(checkable: frozenset[str]) -> "MCPServer":
    """Return the server; *checkable* are the names of servers that may be checked.

    Raises:
        ImportError: the mcp SDK is not installed.
    """
    from mcp.types import ToolAnnotations

    if TYPE_CHECKING or find_spec("mcp.server.mcpserver"):
        from mcp.server import MCPServer
    else:  # version 1 of the SDK
        from mcp.server.fastmcp import FastMCP as MCPServer

    server = MCPServer("failwell", log_level="CRITICAL")

    def explain_code(code: str) -> str:
        """Say what an error code means, whether a retry can help, and what to do: codes of any known format."""
        try:
            return write_json(code_entry(fw.codes.explain(code)))
        except LookupError as unknown:
            raise _failure("NOT_FOUND", str(unknown.args[0])) from None

    def read_error(error: str, tool: str | None = None, arguments: dict[str, Any] | None = None) -> str:
        """Read an error of a tool call: its type and code, whether it took effect, and what to do next.

        `error` is the text that the tool returned, a result or a JSON-RPC response as JSON.
        """
        reading = analyse(
            RecordedCall(answer=_bounded(error), tool=tool, arguments=arguments), dialect=None, unflagged=True
        )
        return write_json(reading.as_json())

    def convert_error(error: str, to: str) -> str:
        """Write an error in one of the formats compact, envelope, flat, meta or xml, as an MCP result."""
        if to not in DIALECTS:
            choices = f"choose one of {', '.join(DIALECTS)}{did_you_mean(to, DIALECTS)}"
            raise _failure("INVALID_ARGUMENT", f"There is no format {to[:40]!r}: {choices}")
        failure = fw.read(_bounded(error), unflagged=True)
        if failure is None:
            raise _failure("INVALID_ARGUMENT", "The text is not an error.")
        return write_json(fw.encode(failure, to))

    async def check_server(name: str) -> str:
        """Grade how well a configured server fails, and say what to change. Only names from the policy file work."""
        if name not in checkable:
            listed = f" It names: {', '.join(sorted(checkable))}." if checkable else ""
            raise _failure(
                "FORBIDDEN",
                f"The operator's policy file does not name a server {name[:80]!r}.{listed}",
                suggestion=f"{'Choose a name from the list, or ask' if listed else 'Ask'} the operator to add it.",
            )
        return write_json(await _checked(name))

    for tool, is_read_only in (
        (explain_code, True), (read_error, True), (convert_error, True), (check_server, False)
    ):  # fmt: skip
        hints = {"readOnlyHint": is_read_only, "openWorldHint": not is_read_only}
        server.tool(annotations=ToolAnnotations.model_validate(hints))(tool)
    fw.protect(server)
    return server


def _failure(code: str, message: str, suggestion: str | None = None) -> fw.ToolFailure:
    return fw.ToolFailure(message, code=code, suggestion=suggestion)


def _bounded(text: str) -> str:
    if len(text) > LONGEST_JSON:
        raise _failure("PAYLOAD_TOO_LARGE", f"At most {LONGEST_JSON:,} characters are read.")
    return text


def find_configured(name: str) -> Server | None:
    """Return a server from the user's own files: one of a project could start anything."""
    for location in locations.find_files(home=Path.home(), platform=sys.platform, environ=os.environ):
        try:
            servers = read_config(location).servers
        except BadConfig:
            continue
        for server in servers:
            if server.name == name and (server.proxied.command if server.proxied else server.command):
                return server
    return None


async def _checked(name: str) -> dict[str, Any]:
    try:
        from failwell.check import peers, runner
    except ImportError:
        raise _failure("CONFIG_ERROR", install_line("check")) from None
    server = find_configured(name)
    if server is None:
        raise _failure("NOT_FOUND", f"No host of this machine starts a server {name!r} by a command.")
    command = server.proxied.command if server.proxied else server.command or []
    plan = runner.CheckPlan()
    try:
        connect = peers.connector(command, start=plan.limits.start, wait=plan.limits.call, env=server.environment)
        found = await runner.check(connect, plan, target=name)
    except peers.BadServer as bad:
        raise _failure("UPSTREAM_ERROR", clean(str(bad), _LONGEST_REASON)) from None
    return {
        "score": found.score,
        "grade": found.grade,
        "doubt": found.doubt,
        "channels": found.channels,
        "changes": [{"title": one.title, "why": one.why, "up_to": one.gain} for one in found.changes[:_MOST_CHANGES]],
        "with_proxy": None if found.proxied is None else found.proxied.score,
    }
