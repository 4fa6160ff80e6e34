"""`failwell events`: list, follow, export, summarize, mark and prune the events of a store."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, TextIO

import msgspec
import typer
from rich.text import Text

from failwell._spelling import did_you_mean
from failwell.cli import completion
from failwell.cli.codes import find_type
from failwell.cli.console import Cell, fits, list_table, list_width, page
from failwell.cli.streams import Misuse, Streams, write_json
from failwell.event import FAILED, SUCCEEDED
from failwell.records._addresses import READABLE
from failwell.records._reader import SHOWN, RecordFilter, RecordReader, Unreadable, open_reader
from failwell.records._record import Record, encode_line, redact
from failwell.records._recovery import Recovery, Summary
from failwell.records._retention import format_size, parse_seconds
from failwell.records._sink import open_sink
from failwell.redact.scrubber import clean

_HEADERS = ("time (UTC)", "source", "server", "tool", "kind", "code", "next", "seconds", "message")
_LESS_IMPORTANT = ("seconds", "source", "next", "server", "code")
_NUMBERS = frozenset(("seconds", "failures", "recovered", "wasted", "lost"))
_LESS_IMPORTANT_SUMS = ("lost", "wasted", "server", "failures")
_COLOURS = {**dict.fromkeys(SUCCEEDED, "green"), **dict.fromkeys(FAILED, "red"), "lost": "red", "died": "red"}
_CODE = _HEADERS.index("code")
_LONGEST = 200
_LONGEST_MARK = 200
_TAIL = 10
_MOST_BEFORE = 50
"""To the columns of how many earlier events `tail` keeps."""
_MARK = "mark"
_POLL = 0.5
_PAGE = 1000
_FARTHEST = 400 * 366 * 86_400.0
_NO_PRUNING = "only sqlite: and postgresql: stores can be pruned; rotate JSON lines files like logs"
_LOOKS_IN_VAIN = 20


def events(
    context: typer.Context,
    action: Annotated[
        str,
        typer.Argument(
            help="list, tail, export, summary, mark or prune.",
            metavar="ACTION",
            autocompletion=completion.event_actions,
        ),
    ] = "list",
    label: Annotated[str | None, typer.Argument(help="mark: what happened, such as a version.", metavar="TEXT")] = None,
    *,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", help="The store: sqlite:///FILE, postgresql://HOST/DATABASE or jsonl:FILE.", metavar="URL"
        ),
    ] = None,
    server: Annotated[str | None, typer.Option("--server", help="Only events of this server.", metavar="NAME")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Only events of this tool.", metavar="TOOL")] = None,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type", help="Only failures of this type.", metavar="TYPE", autocompletion=completion.type_names
        ),
    ] = None,
    code: Annotated[
        str | None,
        typer.Option(
            "--code", help="Only failures with this code.", metavar="CODE", autocompletion=completion.code_names
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Only events of this session.", metavar="NAME")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", help="Only events seen by guard, client or proxy.", metavar="SOURCE"),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only events of this agent.", metavar="NAME")] = None,
    show: Annotated[
        str, typer.Option("--show", help="list, tail, export: failures, retries, servers or all.", metavar="WHAT")
    ] = "all",
    since: Annotated[
        str | None, typer.Option("--since", help="Only events since then: 24h, or 2026-11-16T08:00.", metavar="WHEN")
    ] = None,
    most: Annotated[int, typer.Option("--most", help="list: show the last N events.", metavar="N", min=1)] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    form: Annotated[str, typer.Option("--to", help="export: jsonl or csv.", metavar="FORM")] = "jsonl",
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", help="prune: delete events older than this, such as 30d.", metavar="SPAN"),
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", help="prune: delete all but the newest N events.", metavar="N", min=0)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="prune: delete them, instead of only counting them.")] = False,
) -> None:
    """List, follow, export, summarize, mark and prune recorded events.

    The summary shows whether agents recovered from failures, and what the failures cost. A mark, such as a
    deployment, shows on the charts of the dashboard.

    Example: failwell events --store sqlite:///calls.db --tool find --since 24h

    Example: failwell events tail --store sqlite:///calls.db --show failures

    Example: failwell events export --store sqlite:///calls.db > calls.jsonl

    Example: failwell events summary --store sqlite:///calls.db

    Example: failwell events mark "billing 2.3 deployed" --store sqlite:///calls.db

    Example: failwell events prune --store sqlite:///calls.db --older-than 30d
    """
    act = _ACTIONS.get(action)
    if act is None and action != _MARK:
        names = (*_ACTIONS, _MARK)
        raise Misuse(f"unknown action {action[:40]!r}: choose one of {', '.join(names)}{did_you_mean(action, names)}")
    if store is None:
        raise Misuse(f"no store given: use --store {READABLE}")
    given: dict[str, Any] = {
        "to": form != "jsonl",
        "older-than": older_than,
        "keep": keep is not None,
        "yes": yes,
    }
    for option, action_of in _ONLY_FOR.items():
        if given[option] and action != action_of:
            raise Misuse(f"--{option} is for {action_of}: failwell events {action_of} --store URL")
    if label is not None and action != _MARK:
        raise Misuse(f"unexpected argument {label[:40]!r}: only mark takes a text")
    if label is None and action == _MARK:
        raise Misuse('a mark needs a text: failwell events mark "billing 2.3 deployed" --store URL')
    if form not in _EXPORT_FORMATS:
        raise Misuse(f"unknown --to {form[:40]!r}: choose one of {', '.join(_EXPORT_FORMATS)}")
    kinds = SHOWN.get(show)
    if kinds is None:
        raise Misuse(f"unknown --show {show[:40]!r}: choose one of {', '.join(SHOWN)}{did_you_mean(show, SHOWN)}")
    wanted = {
        "server": server,
        "tool": tool,
        "type": find_type(type_) if type_ else None,
        "code": code,
        "source": source,
        "agent": agent,
        "session": session,
    }
    options = _EventsOptions(
        streams=context.obj,
        which=RecordFilter(
            since=None if since is None else _parse_time(since),
            equal={name: value for name, value in wanted.items() if value is not None},
            kinds=kinds,
        ),
        most=most,
        as_json=as_json,
        form=form,
        older_than=None if older_than is None else _parse_span(older_than),
        keep=keep,
        yes=yes,
    )
    if label is not None or act is None:
        _mark(store, label or "", options)
        return
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
    elif found:
        _show(stdout, found)
    else:
        stdout.write("No events match.\n" if options.which != RecordFilter() else "There are no events yet.\n")


def _tail(reader: RecordReader, options: _EventsOptions) -> None:
    """Show the last events, then each new one, until it is interrupted; a store may be away for a moment."""
    stdout = options.streams.stdout
    found = reader.newest(min(options.most, _TAIL), options.which)
    if options.as_json:
        _write_lines(options, found)
    else:
        _show(stdout, found)
    before = deque(found, maxlen=_MOST_BEFORE)
    failed = 0
    while True:
        stdout.flush()
        time.sleep(_POLL)
        try:
            news = reader.fresh(options.which)
        except Unreadable as away:
            failed += 1
            if failed == _LOOKS_IN_VAIN:
                raise
            if failed == 1:
                options.streams.stderr.write(f"failwell: {away}; trying again\n")
            continue
        failed = 0
        if options.as_json:
            _write_lines(options, news)
        elif news:
            _show(stdout, news, before=before, has_header=False)
            before.extend(news)


def _mark(store: str, label: str, options: _EventsOptions) -> None:
    """Write a mark into a store: something that happened beside the calls, such as a deployment."""
    made = redact(Record(time=time.time(), source="recorder", kind="mark", reason=label[:_LONGEST_MARK]))
    try:
        reader = open_reader(store)  # refuses what is no store of ours before anything is written to it
        reader.newest(1)
        reader.close()
        sink = open_sink(store)
    except (Unreadable, ValueError, ImportError) as refused:
        raise Misuse(str(refused)) from None
    try:
        sink.write([made])
    except Exception as failed:  # whatever a database or a disk may say
        raise Misuse(f"the mark cannot be written: {_first_line(failed)}") from None
    finally:
        sink.close()
    if options.as_json:
        _write_lines(options, [made])
    else:
        options.streams.stdout.write(f"Marked {_format_time(made.time)} UTC: {_safe(made.reason)}\n")


def _first_line(failed: Exception) -> str:
    return _safe(str(getattr(failed, "orig", None) or failed).partition("\n")[0]) or type(failed).__name__


def _export(reader: RecordReader, options: _EventsOptions) -> None:
    _EXPORT_FORMATS[options.form](reader.records(options.which), options)


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
    of_session = ("session", "source", "agent")  # what is the same for all that happens in a session
    whole = RecordFilter(since=options.which.since, equal={name: equal[name] for name in of_session if name in equal})
    found = summarize(reader.sessions(whole), {name: equal[name] for name in equal if name not in of_session})
    if options.as_json:
        write_json(options.streams.stdout, msgspec.to_builtins(found))
    else:
        _show_summary(options.streams.stdout, found)
        gone: tuple[int, float] | None = getattr(reader, "pruned_before", lambda: None)()
        if gone is not None:
            moment = _format_time(gone[1])
            options.streams.stdout.write(
                f"{_counted(gone[0], 'event')} up to {moment} were pruned and are not included.\n"
            )


def _prune(reader: RecordReader, options: _EventsOptions) -> None:
    if options.older_than is None and options.keep is None:
        raise Misuse("say what to delete: --older-than 30d, or --keep 1000000 for all but the newest, or both")
    if options.which != RecordFilter():
        raise Misuse("prune takes no filters: it deletes the oldest events, whatever they contain")
    prunable: Any = reader
    if not hasattr(prunable, "prune"):
        raise Misuse(_NO_PRUNING)
    from failwell.records._retention import Retention

    now, stdout = time.time(), options.streams.stdout
    retention = Retention(age=options.older_than, count=options.keep)
    if not options.yes:
        count: int = prunable.count_prunable(retention, now)
        if options.as_json:
            write_json(stdout, {"would_delete": count, "deleted": 0})
        else:
            stdout.write(f"{_counted(count, 'event')} would be deleted. Add --yes to delete them.\n")
        return
    before: int = prunable.size()
    gone: int = prunable.prune(retention, now)
    after: int = prunable.size()
    if options.as_json:
        write_json(stdout, {"would_delete": gone, "deleted": gone, "bytes_before": before, "bytes_after": after})
    else:
        sizes = f"{format_size(before)} before, {format_size(after)} now"
        stdout.write(f"{_counted(gone, 'event')} deleted. Size of the store: {sizes}.\n")


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


_ACTIONS: dict[str, Callable[[RecordReader, _EventsOptions], None]] = {
    "list": _list,
    "tail": _tail,
    "export": _export,
    "summary": _summary,
    "prune": _prune,
}
_EXPORT_FORMATS: dict[str, Callable[[Iterator[Record], _EventsOptions], None]] = {
    "jsonl": lambda found, options: _write_lines(options, found),
    "csv": _write_csv,
}
_ONLY_FOR = {"to": "export", "older-than": "prune", "keep": "prune", "yes": "prune"}


def _show(stdout: TextIO, found: Iterable[Record], *, before: Iterable[Record] = (), has_header: bool = True) -> None:
    """List events, the oldest first, in the columns of those *before*. A code without a column is in the message."""
    rows, earlier = [tuple(_cells(record)) for record in found], [tuple(_cells(record)) for record in before]
    with page(stdout) as console:
        width = list_width(stdout, console)
        if not fits("code", _HEADERS, [*rows, *earlier], width=width, drop=_LESS_IMPORTANT):
            rows = [(*row[:-1], _joined(row[_CODE], row[-1])) for row in rows]
        table = list_table(
            *(_HEADERS, rows),
            width=width,
            drop=_LESS_IMPORTANT,
            right=_NUMBERS,
            has_header=has_header,
            before=earlier,
        )
        console.print(table)


def _joined(code: Cell, message: Cell) -> str:
    return ": ".join(filter(None, map(str, (code, message))))


def _show_summary(stdout: TextIO, found: Summary) -> None:
    """Show what became of failures, those that stay broken first, and the figures of all sessions."""
    overall = found.overall
    if found.rows:
        rows = [
            (
                _safe(one.server),
                _safe(one.tool),
                _safe(one.code),
                f"{one.failures:,}",
                _percent(one.rate),
                f"{one.calls_wasted:,}",
                f"{one.seconds_lost:,.1f} s",
                ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in one.verdicts.items()),
            )
            for one in found.rows
        ]
        headers = ("server", "tool", "code", "failures", "recovered", "wasted", "lost", "how")
        _print(stdout, headers, rows, drop=_LESS_IMPORTANT_SUMS)
        stdout.write("\n")
    if not overall.calls:
        stdout.write("There are no calls to summarize.\n")
        return
    stdout.write(
        f"{_counted(overall.sessions, 'session')}, {_counted(overall.calls, 'call')}, {overall.failed:,} failed.\n"
    )
    if overall.failures:
        stdout.write(
            f"{_recovered(overall)}\n"
            f"{_counted(overall.calls_wasted, 'wasted call')}, {overall.seconds_lost:,.1f} seconds lost,"
            f" {_counted(overall.turns_saved, 'turn')} saved,"
            f" {_counted(overall.duplicates_avoided, 'duplicate')} avoided.\n"
        )


def _recovered(overall: Recovery) -> str:
    """Return the sentence about recovery. Failures that agents moved on from are not in the rate."""
    moved_on = overall.verdicts["moved_on"]
    judged = overall.failures - moved_on
    if not judged:
        return f"Agents moved on from {_counted(moved_on, 'failure')}."
    sentence = (
        f"Agents recovered from {overall.recovered:,} of {_counted(judged, 'failure')} ({_percent(overall.rate)})"
    )
    return f"{sentence}; after {moved_on:,} more, they moved on." if moved_on else f"{sentence}."


def _print(stdout: TextIO, headers: Sequence[str], rows: Sequence[Sequence[Cell]], **how: Any) -> None:
    with page(stdout) as console:
        width = list_width(stdout, console)
        console.print(list_table(headers, rows, width=width, right=_NUMBERS, **how))


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.0%}"


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
        raise Misuse(f"--since {text[:40]!r} is not a time: use 24h, 30d or 2026-11-16T08:00") from None
