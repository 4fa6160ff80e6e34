"""`failwell hosts`: list, wrap, unwrap and check the servers of all hosts on this machine."""

import asyncio
import difflib
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.text import Text

from failwell._spelling import did_you_mean
from failwell.cli import completion, install_line
from failwell.cli.console import WIDEST, Cell, list_table, list_width, page
from failwell.cli.streams import AsJson, Misuse, Streams, interrupt_on_signals, write_json
from failwell.hosts import launcher, locations
from failwell.hosts.document import BadConfig, Splice, apply
from failwell.hosts.files import Config, Edit, HostState, edited, read_config
from failwell.hosts.servers import HEADER_VARIABLE, Server, find_servers, wrap
from failwell.proxy import options as proxy_options
from failwell.redact.scrubber import clean

_LONGEST_SHOWN = 26  # characters of a command, where a terminal bounds the table
_DROPPED = ("file", "starts")
_LONGEST = 200
_LONGEST_DIFF = 20_000
_HIDDEN = ("env", "headers", "http_headers")
_SIGN_IN = "the host may sign in to it; if it does not, add --signed-out"
_ASKS = ("${input:", "${env:", "${workspaceFolder")


class _Request(NamedTuple):
    """What was asked for."""

    streams: Streams
    names: frozenset[str]
    configs: tuple[Config, ...]
    state: HostState
    is_project: bool
    yes: bool
    signed_out: bool
    as_json: bool
    start: list[str] | None
    options: list[str]

    def chosen(self) -> Iterator[tuple[Config, list[Server]]]:
        for config in self.configs:
            if config.location.is_project == self.is_project:
                wanted = [server for server in config.servers if not self.names or server.name in self.names]
                if wanted:
                    yield config, wanted


def hosts(
    context: typer.Context,
    action: Annotated[
        str,
        typer.Argument(
            help="list, wrap, unwrap or check.",
            metavar="ACTION",
            autocompletion=completion.host_actions,
        ),
    ] = "list",
    names: Annotated[
        list[str] | None, typer.Argument(help="Only servers with these names.", metavar="NAME", show_default=False)
    ] = None,
    *,
    host: Annotated[
        str | None,
        typer.Option("--host", help="Only this host.", metavar="HOST", autocompletion=completion.host_names),
    ] = None,
    project: Annotated[
        bool, typer.Option("--project", help="wrap, unwrap, check: use the files in this folder.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="wrap, unwrap: write the changes, instead of only showing them.")
    ] = False,
    signed_out: Annotated[
        bool, typer.Option("--signed-out", help="wrap: include URLs without headers that the host doesn't sign in to.")
    ] = False,
    command: Annotated[
        str | None,
        typer.Option(
            "--command", help="wrap: the command that starts failwell, such as 'uvx failwell'.", metavar="WORDS"
        ),
    ] = None,
    options: Annotated[
        str, typer.Option("--options", help="wrap: options of the proxy, such as '--retry'.", metavar="WORDS")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Put the proxy in front of the servers of your MCP hosts.

    Supports Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Gemini CLI and Codex. Only the lines that start a
    server change, and unwrap restores the file byte for byte. Nothing is written without --yes.

    Example: failwell hosts

    Example: failwell hosts wrap github --yes

    Example: failwell hosts unwrap --yes

    Example: failwell hosts check --host cursor
    """  # fmt: skip
    act = _ACTIONS.get(action)
    if act is None:
        choices = ", ".join(_ACTIONS)
        raise Misuse(f"unknown action {action[:40]!r}: choose one of {choices}{did_you_mean(action, _ACTIONS)}")
    known = [row.name for row in locations.HOSTS]
    if host is not None and host not in known:
        raise Misuse(f"unknown host {host[:40]!r}: choose one of {', '.join(known)}{did_you_mean(host, known)}")
    where: dict[str, Any] = {"home": Path.home(), "platform": sys.platform, "environ": os.environ}
    streams: Streams = context.obj
    found = [one for one in locations.find_files(**where, project=Path.cwd()) if host in (None, one.host.name)]
    configs, broken = _read_all(found, streams)
    _check_names(names or (), configs)
    act(
        _Request(
            streams=streams,
            names=frozenset(names or ()),
            configs=configs,
            state=HostState(locations.state_folder(**where)),
            is_project=project,
            yes=yes,
            signed_out=signed_out,
            as_json=as_json,
            start=None if command is None else _words("--command", command),
            options=_proxy_options(options),
        )
    )
    if broken:
        raise typer.Exit(2)


def _read_all(found: Iterable[locations.Location], streams: Streams) -> tuple[tuple[Config, ...], int]:
    """Return the files that can be read, and how many cannot, which are named."""
    configs: list[Config] = []
    broken = 0
    for location in found:
        try:
            configs.append(read_config(location))
        except BadConfig as bad:
            broken += 1
            streams.stderr.write(
                f"failwell: {_short(location.file)}: {clean(str(bad), _LONGEST)}; the file was left unchanged\n"
            )
    return tuple(configs), broken


def _check_names(names: Sequence[str], configs: Sequence[Config]) -> None:
    known = sorted({server.name for config in configs for server in config.servers})
    for name in names:
        if name not in known:
            raise Misuse(f"no host has a server {name[:80]!r}{did_you_mean(name, known)}; failwell hosts lists them")


def _words(option: str, text: str) -> list[str]:
    try:
        found = shlex.split(text)
    except ValueError:
        found = []
    if not found:
        raise Misuse(f"{option} must be words as in a shell, such as 'uvx failwell'")
    return found


def _proxy_options(text: str) -> list[str]:
    found = _words("--options", text) if text.strip() else []
    try:
        chosen = proxy_options.parse([*found, "--", "server"])
    except proxy_options.BadOption as wrong:
        raise Misuse(f"--options: {wrong}") from None
    if chosen.command != ["server"] or chosen.help:
        raise Misuse("--options takes options of the proxy, such as '--retry', not a command")
    return found


def _list(request: _Request) -> None:
    rows = [
        (config, server)
        for config in request.configs
        for server in config.servers
        if not request.names or server.name in request.names
    ]
    if request.as_json:
        write_json(request.streams.stdout, [_as_json(config, server) for config, server in rows])
        return
    if not rows:
        request.streams.stdout.write("No host on this machine has a server configured.\n")
        return
    with page(request.streams.stdout) as console:
        width = list_width(request.streams.stdout, console)
        cells = [_cells(config, server, is_narrow=width < WIDEST) for config, server in rows]
        console.print(list_table(("host", "server", "starts", "file", "proxy"), cells, width=width, drop=_DROPPED))


def _cells(config: Config, server: Server, *, is_narrow: bool) -> tuple[Cell, ...]:
    starts = Text(_starts(server))
    if is_narrow:
        starts.truncate(_LONGEST_SHOWN, overflow="ellipsis")
    colour = "green" if server.proxied else "" if server.obstacle is None else "yellow"
    return (
        config.location.host.title,
        _name(server),
        starts,
        Text(f"{_short(config.location.file)}:{server.line}", "dim"),
        Text(_proxy_state(server), colour),
    )


def _wrap(request: _Request) -> None:
    planned: list[tuple[Config, list[Edit]]] = []
    for config, servers in request.chosen():
        edits: list[Edit] = []
        for server in servers:
            try:
                edits.append(Edit(server, tuple(_wrapped(request, server, is_project=config.location.is_project))))
            except BadConfig as obstacle:
                request.streams.stderr.write(f"failwell: {_name(server)} ({config.location.host.title}): {obstacle}\n")
        planned.append((config, edits))
    _carry_out(request, planned, is_back=False)


def _wrapped(request: _Request, server: Server, *, is_project: bool) -> Iterable[Any]:
    if server.obstacle is not None:
        raise BadConfig(server.obstacle)
    if server.may_sign_in and not request.signed_out:
        raise BadConfig(_SIGN_IN)
    is_url = server.command is None
    start = request.start or (launcher.portable_command if is_project else launcher.local_command)(is_url=is_url)
    return wrap(server, start, request.options)


def _unwrap(request: _Request) -> None:
    planned: list[tuple[Config, list[Edit]]] = []
    for config, servers in request.chosen():
        edits: list[Edit] = []
        for server in servers:
            if server.proxied is None:
                continue
            try:
                edits.append(request.state.edit_back(config.location.file, server))
            except BadConfig as obstacle:
                request.streams.stderr.write(f"failwell: {_name(server)} ({config.location.host.title}): {obstacle}\n")
        planned.append((config, edits))
    _carry_out(request, planned, is_back=True)


def _carry_out(request: _Request, planned: Sequence[tuple[Config, list[Edit]]], *, is_back: bool) -> None:
    stdout, stderr = request.streams.stdout, request.streams.stderr
    count = sum(len(edits) for _, edits in planned)
    for config, edits in planned:
        for line in _diff(config, edits):
            stdout.write(line + "\n")
    if not request.is_project and (left := _left_alone(request, is_back=is_back)):
        stderr.write(f"failwell: without --project, servers in project files are left alone: {', '.join(left)}\n")
    done = "removed from" if is_back else "put in front of"
    if not count:
        stdout.write("Nothing to change.\n")
        return
    if not request.yes:
        stdout.write(f"Nothing was written. With --yes, the proxy is {done} {count} {_servers(count)}.\n")
        return
    failed = False
    for config, edits in planned:
        if edits:
            try:
                backup = request.state.write(config, edits, is_back=is_back)
            except BadConfig as refused:
                failed = True
                stderr.write(f"failwell: {_short(config.location.file)}: {refused}\n")
                continue
            names = ", ".join(_name(edit.server) for edit in edits)
            stdout.write(f"{_short(config.location.file)}: the proxy was {done} {names}; backup: {_short(backup)}\n")
    if failed:
        raise typer.Exit(2)
    stdout.write("Restart the host to restart its servers.\n")


def _left_alone(request: _Request, *, is_back: bool) -> list[str]:
    """Return the names of the servers in files of the project that would change with --project."""
    chosen = request._replace(is_project=True).chosen()
    return [_name(server) for _, servers in chosen for server in servers if (server.proxied is not None) is is_back]


def _diff(config: Config, edits: Sequence[Edit]) -> Iterator[str]:
    """Yield the lines that change, server by server: a file may be one long line. Values of variables stay hidden."""
    if not edits:
        return
    new = edited(config.text, edits)
    after = {server.keys: server for server in find_servers(config.location.host, new)}
    for edit in edits:
        server = edit.server
        yield f"--- {config.location.host.title}: {_name(server)} ({_short(config.location.file)}:{server.line})"
        old_lines, new_lines = (_shown(one).splitlines() for one in (server, after[server.keys]))
        changed = difflib.unified_diff(old_lines, new_lines, n=0, lineterm="")
        yield from (_clean_line(line) for line in changed if not line.startswith(("---", "+++", "@@")))


def _clean_line(line: str) -> str:
    """Return a line without secrets; the variable that a header comes from is none."""
    parts = re.split(rf"({HEADER_VARIABLE}\d+)", line)
    return "".join(clean(part, _LONGEST_DIFF) if place % 2 == 0 else part for place, part in enumerate(parts))


def _shown(server: Server) -> str:
    start, end = server.span
    hidden = [
        Splice(node.start - start, node.end - start, '"…"')
        for key in _HIDDEN
        if (table := server.node.members.get(key)) is not None
        for node in table.members.values()
    ]
    return apply(server.text[start:end], hidden)


def _check(request: _Request) -> None:
    try:
        from failwell.check import peers, runner
    except ImportError:
        raise Misuse(install_line("hosts check")) from None
    plan = runner.CheckPlan()
    results: list[dict[str, Any]] = []
    for config, servers in request.chosen():
        for server in servers:
            command = _behind(server)
            if command is None:
                results.append({**_as_json(config, server), "reason": "only the host can start it or sign in to it"})
                continue
            folder = None if not config.location.is_project else Path.cwd()
            try:
                with interrupt_on_signals():
                    connect = peers.connector(
                        command, start=plan.limits.start, wait=plan.limits.call, cwd=folder, env=server.environment
                    )
                    report = asyncio.run(runner.check(connect, plan, target=" ".join(command)))
            except peers.BadServer as bad:
                results.append({**_as_json(config, server), "reason": clean(str(bad), _LONGEST)})
                continue
            found = {"grade": report.grade, "score": report.score, "calls": report.totals.probes}
            results.append({**_as_json(config, server), **found, "change": _first_change(report)})
    if request.as_json:
        write_json(request.streams.stdout, results)
    else:
        _show_grades(request, results)


def _show_grades(request: _Request, results: Sequence[dict[str, Any]]) -> None:
    if not results:
        request.streams.stdout.write("There is no server to check.\n")
        return
    with page(request.streams.stdout) as console:
        width = list_width(request.streams.stdout, console)
        rows = [_grade_cells(row) for row in results]
        headers = ("host", "server", "grade", "score", "calls", "what helps most")
        console.print(list_table(headers, rows, width=width, drop=("calls", "score")))
        console.print()
        console.print(Text("failwell check -- COMMAND shows what was found in one server.", "dim"))


def _grade_cells(row: dict[str, Any]) -> tuple[str, ...]:
    score = row.get("score")
    return (
        row["host"],
        clean(row["name"], _LONGEST),
        row.get("grade") or "-",
        f"{score:g}" if score is not None else "",
        str(row.get("calls", "")),
        row.get("change") or row.get("reason") or "",
    )


def _first_change(report: Any) -> str:
    return report.changes[0].title if report.changes else ""


def _behind(server: Server) -> list[str] | None:
    """Return what starts the server itself, or its URL; None if the host has to fill something in."""
    proxied = server.proxied
    command = proxied.command if proxied is not None else server.command
    url = proxied.url if proxied is not None else server.url
    texts = [*(command or ()), url or "", *server.environment.values()]
    if any(mark in text for mark in _ASKS for text in texts):
        return None
    if command:
        return command
    has_headers = bool(server.environment) or any(key in server.node.members for key in _HIDDEN)
    return [url] if url and not has_headers and server.obstacle is None else None


def _as_json(config: Config, server: Server) -> dict[str, Any]:
    return {
        "host": config.location.host.name,
        "name": server.name,
        "file": str(config.location.file),
        "line": server.line,
        "scope": "project" if config.location.is_project or "projects" in server.keys else "user",
        "transport": "stdio" if server.command and not (server.proxied and server.proxied.url) else "url",
        "starts": _starts(server),
        "proxied": server.proxied is not None,
        "obstacle": None if server.proxied else server.obstacle or (_SIGN_IN if server.may_sign_in else None),
    }


def _name(server: Server) -> str:
    return clean(server.name, _LONGEST)


def _starts(server: Server) -> str:
    proxied = server.proxied
    if proxied is not None:
        return clean(proxied.url or shlex.join(proxied.command), _LONGEST)
    return clean(shlex.join(server.command) if server.command else server.url or "-", _LONGEST)


def _proxy_state(server: Server) -> str:
    if server.proxied is not None:
        return "in front"
    if server.obstacle is not None:
        return f"not possible: {server.obstacle}"
    return "no; the host may sign in" if server.may_sign_in else "no"


def _short(file: Path) -> str:
    try:
        return f"~/{file.relative_to(Path.home()).as_posix()}"
    except ValueError:
        return str(file)


def _servers(count: int) -> str:
    return "server" if count == 1 else "servers"


_ACTIONS = {"list": _list, "wrap": _wrap, "unwrap": _unwrap, "check": _check}
