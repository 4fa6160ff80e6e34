"""`failwell events`: list, follow, export, summarize and prune the records of a store."""

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, TextIO

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from failwell._spelling import did_you_mean
from failwell.cli import completion
from failwell.cli.console import WIDEST, page
from failwell.cli.streams import Misuse, Streams, write_json
from failwell.event import FAILED, SUCCEEDED
from failwell.records._addresses import READABLE
from failwell.records._reader import RecordFilter, RecordReader, Unreadable, open_reader
from failwell.records._record import Record, encode_line, redact
from failwell.records._recovery import VERDICTS, Summary
from failwell.records._retention import format_size, parse_seconds
from failwell.redact.scrubber import clean

_HEADERS = ("time (UTC)", "source", "server", "tool", "kind", "code", "next", "seconds", "message")
_NUMBERS = frozenset(("seconds", "troubles", "recovered", "calls wasted", "seconds wasted"))
_COLOURS = {**dict.fromkeys(SUCCEEDED, "green"), **dict.fromkeys(FAILED, "red"), "lost": "red", "died": "red"}
_LONGEST = 200
_POLL = 0.5
_PAGE = 1000
_FARTHEST = 400 * 366 * 86_400.0
_NO_PRUNING = "only sqlite: and postgresql: stores are pruned; rotate a file of lines as you rotate logs"


def events(
    context: typer.Context,
    action: Annotated[
        str,
        typer.Argument(
            help="list, export, summary or prune; list unless told.",
            metavar="ACTION",
            autocompletion=completion.event_actions,
        ),
    ] = "list",
    *,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", help="Where the records are: sqlite:///FILE, postgresql://…, jsonl:FILE.", metavar="URL"
        ),
    ] = None,
    server: Annotated[str | None, typer.Option("--server", help="Only of this server.", metavar="NAME")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Only of this tool.", metavar="TOOL")] = None,
    type_: Annotated[
        str | None,
        typer.Option("--type", help="Only of this type.", metavar="TYPE", autocompletion=completion.type_names),
    ] = None,
    code: Annotated[
        str | None,
        typer.Option("--code", help="Only with this code.", metavar="CODE", autocompletion=completion.code_names),
    ] = None,
    session: Annotated[str | None, typer.Option("--session", help="Only of this session.", metavar="NAME")] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only from then on: 24h, or 2026-11-16T08:00.", metavar="WHEN")
    ] = None,
    most: Annotated[int, typer.Option("--most", help="list: the last N.", metavar="N", min=1)] = 50,
    follow: Annotated[bool, typer.Option("--follow", help="list: go on with what is written from now on.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="list, summary: write JSON, for programs.")] = False,
    form: Annotated[str, typer.Option("--to", help="export: jsonl (unless told) or csv.", metavar="FORM")] = "jsonl",
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="prune: what is older than this, such as 30d.", metavar="SPAN")
    ] = None,
    keep: Annotated[int | None, typer.Option("--keep", help="prune: all but the newest N.", metavar="N", min=0)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="prune: do it; else only say what would go.")] = False,
) -> None:
    """List, follow, export, sum up and prune what was recorded.

    The summary tells what became of failures: whether agents recovered, and what it cost.

    Example: failwell events --store sqlite:///calls.db --tool find --since 24h

    Example: failwell events export --store sqlite:///calls.db > calls.jsonl

    Example: failwell events summary --store sqlite:///calls.db

    Example: failwell events prune --store sqlite:///calls.db --older-than 30d
    """
    act = _ACTIONS.get(action)
    if act is None:
        choices = ", ".join(_ACTIONS)
        raise Misuse(f"events cannot {action[:40]!r}: choose one of {choices}{did_you_mean(action, _ACTIONS)}")
    if store is None:
        raise Misuse(f"say where the records are: --store {READABLE}")
    given: dict[str, Any] = {
        "follow": follow,
        "to": form != "jsonl",
        "older-than": older_than,
        "keep": keep is not None,
        "yes": yes,
    }
    for option, action_of in _ONLY_FOR.items():
        if given[option] and action != action_of:
            raise Misuse(f"--{option} is for {action_of}: failwell events {action_of} --store URL")
    wanted = {"server": server, "tool": tool, "type": type_ and type_.upper(), "code": code, "session": session}
    options = _EventsOptions(
        streams=context.obj,
        which=RecordFilter(
            since=None if since is None else _parse_time(since),
            equal={name: value for name, value in wanted.items() if value is not None},
        ),
        most=most,
        follow=follow,
        as_json=as_json,
        form=form,
        older_than=None if older_than is None else _parse_span(older_than),
        keep=keep,
        yes=yes,
    )
    try:
        reader = open_reader(store)
    except Unreadable as refused:
        raise Misuse(str(refused)) from None
    except ImportError as missing:
        raise Misuse(str(missing)) from None
    try:
        act(reader, options)
    except Unreadable as refused:
        raise Misuse(str(refused)) from None
    finally:
        reader.close()


class _EventsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command."""

    streams: Streams
    which: RecordFilter
    most: int
    follow: bool
    as_json: bool
    form: str
    older_than: float | None
    keep: int | None
    yes: bool


def _list(reader: RecordReader, options: _EventsOptions) -> None:
    stdout = options.streams.stdout
    found = reader.newest(options.most, options.which)
    if options.as_json:
        _write_lines(options, found)
    elif found or options.follow:
        _show(stdout, found)
    else:
        stdout.write("No records match.\n" if options.which != RecordFilter() else "There are no records yet.\n")
    while options.follow:
        stdout.flush()
        time.sleep(_POLL)
        news = reader.fresh(options.which)
        if options.as_json:
            _write_lines(options, news)
        elif news:
            _show(stdout, news, has_header=False)


def _export(reader: RecordReader, options: _EventsOptions) -> None:
    writer = _EXPORT_FORMATS.get(options.form)
    if writer is None:
        raise Misuse(f"--to {options.form[:40]!r} is no form: choose one of {', '.join(_EXPORT_FORMATS)}")
    writer(reader.records(options.which), options)


def _write_lines(options: _EventsOptions, found: Any) -> None:
    for record in map(redact, found):
        options.streams.stdout.write(encode_line(record).decode("utf-8", "replace") + "\n")


def _write_csv(found: Iterator[Record], options: _EventsOptions) -> None:
    from failwell.dashboard.export import as_csv

    names = Record.__struct_fields__
    head = as_csv(names, ()).decode()
    options.streams.stdout.write(head)
    while page := list(islice(found, _PAGE)):
        text = as_csv(names, map(_row, map(redact, page))).decode()
        options.streams.stdout.write(text.removeprefix(head))


def _row(record: Record) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in record.__struct_fields__}
    for name in ("names", "failure", "details"):
        row[name] = msgspec.json.encode(row[name]).decode() if row[name] else None
    return row


def _summary(reader: RecordReader, options: _EventsOptions) -> None:
    from failwell.records._recovery import summarize

    equal = options.which.equal
    whole = RecordFilter(since=options.which.since, equal={name: equal[name] for name in ("session",) if name in equal})
    found = summarize(reader.sessions(whole), {name: value for name, value in equal.items() if name != "session"})
    if options.as_json:
        write_json(options.streams.stdout, msgspec.to_builtins(found))
    else:
        _show_summary(options.streams.stdout, found)
        gone: tuple[int, float] | None = getattr(reader, "pruned_before", lambda: None)()
        if gone is not None:
            moment = _format_time(gone[1])
            options.streams.stdout.write(f"{_record_count(gone[0])} up to {moment} were pruned, and are not in this.\n")


def _prune(reader: RecordReader, options: _EventsOptions) -> None:
    if options.older_than is None and options.keep is None:
        raise Misuse("say what may go: --older-than 30d, or --keep 1000000, or both")
    if options.which != RecordFilter():
        raise Misuse("prune takes no filters: it deletes the oldest records, whatever they say")
    prunable: Any = reader
    if not hasattr(prunable, "prune"):
        raise Misuse(_NO_PRUNING)
    from failwell.records._retention import Retention

    now, stdout = time.time(), options.streams.stdout
    retention = Retention(age=options.older_than, count=options.keep)
    if not options.yes:
        count: int = prunable.count_prunable(retention, now)
        stdout.write(f"{_record_count(count)} would be deleted. Nothing was; to do it, add --yes.\n")
        return
    before: int = prunable.size()
    gone: int = prunable.prune(retention, now)
    stdout.write(
        f"{_record_count(gone)} deleted. The store had {format_size(before)}, now {format_size(prunable.size())}.\n"
    )


def _record_count(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


_ACTIONS: dict[str, Callable[[RecordReader, _EventsOptions], None]] = {
    "list": _list,
    "export": _export,
    "summary": _summary,
    "prune": _prune,
}
_EXPORT_FORMATS: dict[str, Callable[[Iterator[Record], _EventsOptions], None]] = {
    "jsonl": lambda found, options: _write_lines(options, found),
    "csv": _write_csv,
}
_ONLY_FOR = {"follow": "list", "to": "export", "older-than": "prune", "keep": "prune", "yes": "prune"}


def _show(stdout: TextIO, found: Iterable[Record], *, has_header: bool = True) -> None:
    """List records, the oldest first."""
    table = _table(*_HEADERS, has_header=has_header)
    for record in found:
        table.add_row(*_cells(record))
    _print(stdout, table)


def _show_summary(stdout: TextIO, found: Summary) -> None:
    """Show what became of failures, those that stay broken first, and the figures of all sessions."""
    overall = found.overall
    if found.sums:
        table = _table("server", "tool", "code", "troubles", "recovered", "calls wasted", "seconds wasted", "how")
        for one in found.sums:
            table.add_row(
                _safe(one.server),
                _safe(one.tool),
                _safe(one.code),
                f"{one.failures:,}",
                f"{one.recovered / one.failures:.0%}",
                f"{one.calls_wasted:,}",
                f"{one.seconds_wasted:,.1f}",
                ", ".join(f"{verdict} {one.verdicts[verdict]:,}" for verdict in VERDICTS if verdict in one.verdicts),
            )
        _print(stdout, table)
        stdout.write("\n")
    rate = "no trouble" if overall.rate is None else f"{overall.rate:.0%} of troubles ended well"
    stdout.write(
        f"{overall.sessions:,} sessions, {overall.calls:,} calls, {overall.failed:,} failed; {rate}.\n"
        f"{overall.calls_wasted:,} calls and {overall.seconds_wasted:,.1f} seconds wasted,"
        f" {overall.turns_saved:,} turns saved, {overall.duplicates_prevented:,} duplicates prevented.\n"
    )


def _table(*headers: str, has_header: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=has_header)
    for header in headers:
        table.add_column(
            header,
            no_wrap=header not in ("message", "how"),
            overflow="ellipsis",
            justify="right" if header in _NUMBERS else "left",
        )
    return table


def _print(stdout: TextIO, table: Table) -> None:
    with page(stdout) as console:
        if not stdout.isatty():
            console.width = WIDEST
        console.print(table)


def _cells(record: Record) -> Iterable[str | Text]:
    yield _format_time(record.time)
    yield record.source
    yield _safe(record.server)
    yield _safe(record.tool)
    yield Text(record.kind, _COLOURS.get(record.kind, "yellow"))
    yield _safe(record.code or record.type)
    yield _safe(record.decision)
    yield "" if record.elapsed is None else f"{record.elapsed:.3f}"
    yield _safe(record.message or record.reason)


def _format_time(seconds: float) -> str:
    """Return a time in UTC, to the second; one that is outside the calendar as a number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _safe(text: str | None) -> str:
    """Return a text that is safe to print: a file of records may hold anything."""
    return clean(" ".join((text or "").split()), _LONGEST)


def _parse_span(text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as bad:
        raise Misuse(str(bad)) from None


def _parse_time(text: str) -> float:
    """Return seconds since 1970: a span before now, or a moment, which is one of UTC unless it says otherwise."""
    try:
        return time.time() - min(parse_seconds(text), _FARTHEST)
    except ValueError:
        pass  # not a span
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Misuse(f"--since {text[:40]!r} is no time: write it like 24h, 30d or 2026-11-16T08:00") from None
