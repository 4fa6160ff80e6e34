"""`failwell check`: from the options to the report, its files and the exit code."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

import msgspec
import typer

from failwell.cli import check_table
from failwell.cli.ending import ended_as_by_interrupt
from failwell.cli.payloads import Misuse, Streams, address_in, decoded, from_file, misuse_of

_NEEDED = "checking a server needs jsonschema-rs: pip install 'failwell[cli,validation]'"
_REPORTS = {name: f"failwell.check.reports.{name}" for name in ("junit", "sarif", "html")}
"""The modules that write reports: each has `write(report) -> str`."""

Value = TypeVar("Value")


def check(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")] = False,
    allow_writes: Annotated[
        str, typer.Option("--allow-writes", help="Tools, with commas, that may be called in earnest.", metavar="TOOL,…")
    ] = "",
    values: Annotated[
        Path | None, typer.Option("--values", help="TOML: valid values for the fields of tools.", metavar="FILE")
    ] = None,
    probes: Annotated[
        Path | None, typer.Option("--probes", help="TOML: your own calls that must fail.", metavar="FILE")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="Fail only on what got worse than this file; made if absent.", metavar="FILE"),
    ] = None,
    update_baseline: Annotated[bool, typer.Option("--update-baseline", help="Write the baseline anew.")] = False,
    fail_under: Annotated[
        float | None,
        typer.Option("--fail-under", help="Fail only if the score is lower.", metavar="SCORE", min=0, max=100),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds after which a call is cut off.", metavar="SECONDS", min=0.01)
    ] = 10.0,
    start_timeout: Annotated[
        float,
        typer.Option("--start-timeout", help="Seconds that the server may take to start.", metavar="SECONDS", min=0.01),
    ] = 30.0,
    overlapping: Annotated[
        int, typer.Option("--overlapping", help="So many calls at the same time.", metavar="N", min=1)
    ] = 8,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML to this file.", metavar="FILE")] = None,
    sarif: Annotated[Path | None, typer.Option("--sarif", help="Write SARIF to this file.", metavar="FILE")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page for people to this file.", metavar="FILE")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="Behind --: a server to start; or the URL of one.", metavar="COMMAND")
    ] = None,
) -> None:
    """Provoke a server's tools, and see how well they fail.

    Tools that are not marked read-only only get calls that must fail validation, proven against their schema before
    they are sent. Exits with 1 if something was found, with 2 if the server cannot be checked.

    Example: failwell check -- python server.py

    Example: failwell check --baseline failwell.json -- python server.py
    """
    if not command:
        raise Misuse("say which server to check: failwell check -- COMMAND, or failwell check URL")
    if update_baseline and baseline is None:
        raise Misuse("--update-baseline needs --baseline FILE")
    reports = {"junit": junit, "sarif": sarif, "html": html}
    _check_places({**reports, "baseline": baseline})
    try:
        from failwell.check import own_probes, peers, running, session
    except ImportError:
        raise Misuse(_NEEDED) from None
    limits = session.Limits(start=start_timeout, call=timeout, overlapping=overlapping)
    plan = running.Plan(
        allow_writes=frozenset(name.strip() for name in allow_writes.split(",") if name.strip()),
        values=_from(values, own_probes.read_values) if values is not None else {},
        own=_from(probes, own_probes.read_probes) if probes is not None else (),
        limits=limits,
    )
    streams: Streams = context.obj
    before = _baseline(baseline) if not update_baseline else None
    with check_table.progress(streams.stderr) as progress, ended_as_by_interrupt():
        try:
            report = running.checked(_connecting(command, limits), plan, target=" ".join(command), progress=progress)
        except peers.BadServer as bad:
            raise misuse_of(command, bad) from None
    report = _compared(report, baseline, before, streams.stderr)
    for name, file in reports.items():
        if file is not None:
            _write(file, importlib.import_module(_REPORTS[name]).write(report))
    if as_json:
        streams.stdout.write(json.dumps(msgspec.to_builtins(report), indent=2) + "\n")
    else:
        check_table.show(streams.stdout, report)
    is_good = report.is_clean if fail_under is None else report.score >= fail_under and not report.worse
    if not is_good:
        raise typer.Exit(1)


def _connecting(command: list[str], limits: Any) -> Callable[[], Any]:
    from failwell.check.peers import http, stdio

    address = address_in(command)
    if address is None:
        return lambda: stdio.StdioPeer.start(command)

    async def connect() -> Any:
        return http.HttpPeer(address, start=limits.start, wait=limits.call)

    return connect


def _check_places(files: dict[str, Path | None]) -> None:
    """Refuse files that cannot be written, before anything is sent to a server.

    Raises:
        Misuse: a file has no folder, or it is an option that was taken for one.
    """
    for option, file in files.items():
        if file is not None and str(file).startswith("-"):
            raise Misuse(f"--{option} needs a file, not {str(file)!r}")
        if file is not None and not file.parent.is_dir():
            raise Misuse(f"cannot write {str(file)!r}: there is no folder {str(file.parent)!r}")


def _from(file: Path, read: Callable[[str], Value]) -> Value:
    try:
        return read(decoded(from_file(file)))
    except ValueError as wrong:
        raise Misuse(f"{file}: {' '.join(str(wrong).split())}") from None


def _baseline(file: Path | None) -> dict[str, str] | None:
    from failwell.check import baseline

    return _from(file, baseline.read) if file is not None and file.exists() else None


def _compared(report: Any, file: Path | None, before: dict[str, str] | None, stderr: TextIO) -> Any:
    """Return the report with what got worse, or write the first baseline."""
    from failwell.check import baseline

    if file is None:
        return report
    if before is None:
        _write(file, baseline.written(report))
        stderr.write(f"failwell: wrote the baseline {file}: later runs fail only on what got worse\n")
        return msgspec.structs.replace(report, worse=())
    if better := baseline.improved(report, before):
        stderr.write(f"failwell: {better} grades are better than the baseline: keep them with --update-baseline\n")
    return msgspec.structs.replace(report, worse=baseline.compared(report, before))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as failed:
        raise Misuse(f"cannot write {str(file)!r}: {failed.strerror}") from None
