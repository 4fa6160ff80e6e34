"""`failwell check`: from the options to the report on the terminal, its files and the exit code."""

import asyncio
import importlib
import json
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from failwell.check.report import SERVER, ProposedChange, Report, ToolReport
from failwell.cli import install_line
from failwell.cli.console import page
from failwell.cli.streams import (
    AsJson,
    Misuse,
    Streams,
    bad_server_misuse,
    decode_text,
    interrupt_on_signals,
    read_file,
)
from failwell.policy_file import BadPolicyFile, PolicyFile
from failwell.proxy.recorder import name_of
from failwell.redact.scrubber import clean

_COLOURS = {"A": "green", "B": "green", "C": "yellow", "D": "yellow", "F": "red", None: "dim"}
_CALL_TIMEOUT = 10.0
_MOST_NAMED = 3
_MOST_WORSE = 20
_LONGEST_ARGUMENTS = 200
_ENDINGS = {
    "refused": "refused",
    "unflagged": "an error, sent as a success",
    "accepted": "accepted",
    "hung": "no answer",
    "crashed": "ended the server",
}
_REPORTS = {name: f"failwell.check.reports.{name}" for name in ("junit", "sarif", "html")}
"""The modules that write reports: each has `write(report) -> str`."""

Value = TypeVar("Value")


def check(
    context: typer.Context,
    *,
    as_json: AsJson = False,
    allow_writes: Annotated[
        str,
        typer.Option(
            "--allow-writes",
            help="Tools that may be called with valid arguments.",
            metavar="TOOL,…",
            show_default=False,
        ),
    ] = "",
    values: Annotated[
        Path | None,
        typer.Option("--values", help="A TOML file with valid values for arguments of tools.", metavar="FILE"),
    ] = None,
    probes: Annotated[
        Path | None, typer.Option("--probes", help="A TOML file with your own calls that must fail.", metavar="FILE")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", help="The policy file; defaults to the one in your configuration folder.", metavar="FILE"
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="Fail only on regressions from this file; created if missing.", metavar="FILE"),
    ] = None,
    update_baseline: Annotated[bool, typer.Option("--update-baseline", help="Replace the baseline.")] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(
            "--fail-under", help="Fail only if the score is lower than this.", metavar="SCORE", min=0, max=100
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            help="Maximum duration of a call; defaults to the policy, else to 10.",
            metavar="SECONDS",
            min=0.01,
        ),
    ] = None,
    start_timeout: Annotated[
        float,
        typer.Option("--start-timeout", help="Maximum duration of the server's start.", metavar="SECONDS", min=0.01),
    ] = 30.0,
    overlapping: Annotated[
        int, typer.Option("--overlapping", help="Maximum number of concurrent calls.", metavar="N", min=1)
    ] = 8,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML to this file.", metavar="FILE")] = None,
    sarif: Annotated[Path | None, typer.Option("--sarif", help="Write SARIF to this file.", metavar="FILE")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write an HTML report to this file.", metavar="FILE")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="The server: a command after --, or a URL.", metavar="COMMAND")
    ] = None,
) -> None:
    """Test how well the tools of a server fail.

    Tools that are not marked read-only only get calls that must fail validation; each call is checked against the
    schema before it is sent. Exits with 1 if there are findings, and with 2 if the server can't be checked.

    Example: failwell check -- python server.py

    Example: failwell check --baseline failwell.json -- python server.py
    """
    if not command:
        raise Misuse("no server given: use failwell check -- COMMAND or failwell check URL")
    if update_baseline and baseline is None:
        raise Misuse("--update-baseline needs --baseline FILE")
    reports = {"junit": junit, "sarif": sarif, "html": html}
    _check_writable({**reports, "baseline": baseline})
    try:
        from failwell.check import peers, runner, session
        from failwell.check.probes import user_probes
    except ImportError:
        raise Misuse(install_line("check")) from None
    known = _read_policy(policy)
    server = name_of(command)
    seconds = timeout or known.server(server).timeout or _CALL_TIMEOUT
    limits = session.CallLimits(start=start_timeout, call=seconds, overlapping=overlapping)
    plan = runner.CheckPlan(
        allow_writes=frozenset(name.strip() for name in allow_writes.split(",") if name.strip()),
        values=_parse_file(values, user_probes.read_values) if values is not None else {},
        probes=_parse_file(probes, user_probes.read_probes) if probes is not None else (),
        limits=limits,
        read_only=partial(_is_read_only, known, server),
    )
    streams: Streams = context.obj
    before = _read_baseline(baseline) if not update_baseline else None
    with show_progress(streams.stderr) as progress, interrupt_on_signals():
        try:
            connect = peers.connector(command, start=limits.start, wait=limits.call)
            report = asyncio.run(runner.check(connect, plan, target=" ".join(command), progress=progress))
        except peers.BadServer as bad:
            raise bad_server_misuse(command, bad) from None
    report = _compare(report, baseline, before, streams.stderr)
    for name, file in reports.items():
        if file is not None:
            _write(file, importlib.import_module(_REPORTS[name]).write(report))
    if as_json:
        streams.stdout.write(json.dumps(msgspec.to_builtins(report), indent=2) + "\n")
    else:
        show(streams.stdout, report)
    is_good = report.is_clean if fail_under is None else _reaches(report, fail_under) and not report.worse
    if not is_good:
        raise typer.Exit(1)


def _reaches(report: Report, least: float) -> bool:
    """Tell whether a score was shown to be high enough: what was not shown is not reached."""
    return report.score is not None and report.score >= least


def _read_policy(file: Path | None) -> PolicyFile:
    try:
        return PolicyFile.load(file)
    except BadPolicyFile as bad:
        raise Misuse(" ".join(str(bad).split())) from None


def _is_read_only(policy: PolicyFile, server: str, tool: str) -> bool | None:
    """Return whether the operator says that a tool changes nothing; None: the operator says nothing of it."""
    said = policy.tool(server, tool).read_only
    return False if said is None and policy.server(server).trust_annotations is False else said


def _check_writable(files: dict[str, Path | None]) -> None:
    """Refuse files that cannot be written, before anything is sent to a server.

    Raises:
        Misuse: a file has no folder, or it is an option that was taken for one.
    """
    for option, file in files.items():
        if file is not None and str(file).startswith("-"):
            raise Misuse(f"--{option} needs a file, not {str(file)!r}")
        if file is not None and not file.parent.is_dir():
            raise Misuse(f"cannot write {str(file)!r}: there is no folder {str(file.parent)!r}")


def _parse_file(file: Path, read: Callable[[str], Value]) -> Value:
    try:
        return read(decode_text(read_file(file)))
    except ValueError as wrong:
        raise Misuse(f"{file}: {' '.join(str(wrong).split())}") from None


def _read_baseline(file: Path | None) -> dict[str, str] | None:
    from failwell.check import baseline

    return _parse_file(file, baseline.read) if file is not None and file.exists() else None


def _compare(report: Any, file: Path | None, before: dict[str, str] | None, stderr: TextIO) -> Any:
    """Return the report with what got worse, or write the first baseline."""
    from failwell.check import baseline

    if file is None:
        return report
    if before is None:
        _write(file, baseline.write(report))
        stderr.write(f"failwell: wrote the baseline {file}: later runs fail only on regressions\n")
        return msgspec.structs.replace(report, worse=())
    if better := baseline.find_improvements(report, before):
        count = len(better)
        stderr.write(f"failwell: {count} grades are better than the baseline: keep them with --update-baseline\n")
    return msgspec.structs.replace(report, worse=baseline.find_regressions(report, before), better=better)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as failed:
        raise Misuse(f"cannot write {str(file)!r}: {failed.strerror}") from None


@contextmanager
def show_progress(stderr: TextIO) -> Generator[Callable[[int, int], None] | None]:
    """Give a function that shows how far a check is, on a terminal."""
    if not stderr.isatty():
        yield None
        return

    def show_count(done: int, total: int) -> None:
        stderr.write(f"\r{done} of {total} calls")
        stderr.flush()

    try:
        yield show_count
    finally:
        stderr.write("\r\x1b[K")
        stderr.flush()


def show(stdout: TextIO, report: Report) -> None:
    """Show a report."""
    with page(stdout) as console:
        console.print(_headline(report))
        console.print()
        console.print(_tools_table(report))
        console.print()
        console.print(_totals_text(report))
        if report.worse:
            _print_regressions(console, report)
        for number, change in enumerate(report.changes, 1):
            console.print()
            _print_change(console, number, change)
        if report.proxied is not None:
            console.print()
            _print_proxied(console, report)
        if any(not tool.read_only and tool.probes for tool in report.tools if tool.name != SERVER):
            console.print()
            _print_sent_to_writers(console, report)
        if report.not_probed:
            console.print()
            _print_not_probed(console, report)


def _headline(report: Report) -> Text:
    about = " ".join(part for part in (report.server.name, report.server.version) if part)
    channels = ", ".join(f"{name} {value:g}" for name, value in report.channels.items())
    if report.score is None or report.grade is None:
        return Text.assemble((report.doubt or "not enough for a grade", "bold yellow"), f"  {about}")
    return Text.assemble(
        (f"{report.score:g}", "bold"), " of 100  ", (report.grade, f"bold {_COLOURS[report.grade]}"), f"  {about}",
        (f"  ({channels})", "dim"),
    )  # fmt: skip


def _tools_table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("tool", "score", "", "calls", "what failed most"):
        table.add_column(header, justify="right" if header in ("score", "calls") else "left", overflow="fold")
    for tool in report.tools:
        score = Text(f"{tool.score:g}" if tool.score is not None else "-", _COLOURS[tool.grade])
        table.add_row(tool.name, score, tool.grade or "", str(len(tool.probes)), _most_failed(tool))
    return table


def _most_failed(tool: ToolReport) -> str:
    counts = Counter(result.grade for probe in tool.probes for result in probe.failed)
    return ", ".join(f"{name} {count}×" for name, count in counts.most_common(_MOST_NAMED))


def _totals_text(report: Report) -> Text:
    totals = report.totals
    endings = [f"{count} {name}" for name, count in (
        ("sent as a success", totals.unflagged), ("accepted", totals.accepted), ("hung", totals.hung),
        ("crashed the server", totals.crashed),
        ("not graded, because the server's backend is unreachable", totals.backend_away)) if count]  # fmt: skip
    share = totals.repairable_share
    repairable = f"{share:.0%} of the schema violations can be fixed from the error alone" if share is not None else ""
    return Text("; ".join(part for part in (f"{totals.probes} calls graded", *endings, repairable) if part))


def _print_regressions(console: Console, report: Report) -> None:
    worse = report.worse or ()
    console.print()
    console.print(Text(f"{len(worse)} worse than the baseline", "bold red"))
    for one in worse[:_MOST_WORSE]:
        console.print(Text(f"  {one.probe}: {one.what}"))


def _print_change(console: Console, number: int, change: ProposedChange) -> None:
    console.print(Text.assemble((f"{number}. {change.title}", "bold"), (f"  up to +{change.gain:g}", "green")))
    tools = ", ".join(change.subjects[:_MOST_NAMED])
    more = f" and {len(change.subjects) - _MOST_NAMED} more" if len(change.subjects) > _MOST_NAMED else ""
    console.print(Padding(Text(f"{change.why} For {tools}{more}."), (0, 0, 0, 3)))
    for line in change.snippet.splitlines():
        console.print(Text(f"      {line}", "cyan"), soft_wrap=True)  # code that is wrapped cannot be copied


def _print_proxied(console: Console, report: Report) -> None:
    proxied = report.proxied
    assert proxied is not None
    console.print(Text.assemble(("Without changing the server", "bold"), (f"  +{proxied.gain:g}", "green")))
    said = f"Measured on the answers above: {proxied.command} in front gives {proxied.score:g}."
    console.print(Padding(Text(said), (0, 0, 0, 3)))
    target = report.server.target
    words = f"--url {target}" if "://" in target.split(" ")[0] else f"-- {target}"
    console.print(Text(f"      {proxied.command} {words}", "cyan"), soft_wrap=True)
    if report.server.sdk in ("fastmcp", "mcp"):
        console.print(Padding(Text("To build it into the server instead: failwell.protect(server)."), (0, 0, 0, 3)))


def _print_sent_to_writers(console: Console, report: Report) -> None:
    """Print each call that was made to a tool that is not marked as read-only."""
    console.print(Text("Sent to tools that may change something", "bold"))
    for tool in report.tools:
        if tool.name != SERVER and not tool.read_only:
            sent = Counter[str]()
            for probe in tool.probes:
                arguments = clean(json.dumps(probe.arguments, ensure_ascii=False), _LONGEST_ARGUMENTS)
                sent[f"{tool.name} {arguments}: {_ENDINGS[probe.ending]}"] += probe.times
            for line, count in sent.items():
                console.print(Text(f"  {line}{f' ({count}×)' if count > 1 else ''}", "dim"), soft_wrap=True)


def _print_not_probed(console: Console, report: Report) -> None:
    reasons = Counter(one.reason for one in report.not_probed)
    console.print(Text("Not sent", "bold"))
    for reason, count in reasons.most_common():
        whole = [one.tool for one in report.not_probed if one.reason == reason and one.probe is None]
        names = f" ({', '.join(whole[:_MOST_NAMED])}{', …' if len(whole) > _MOST_NAMED else ''})" if whole else ""
        console.print(Text(f"  {count}× {reason}{names}", "dim"))
