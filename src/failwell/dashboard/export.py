"""Export of a view as CSV, safe to open in a spreadsheet, or as JSON."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

TYPES = {"csv": "text/csv; charset=utf-8; header=present", "json": "application/json"}
_DANGEROUS = tuple("=+-@|\t\r\n\uff1d\uff0b\uff0d\uff20")


def as_csv(names: Sequence[str], rows: Iterable[dict[str, Any]]) -> bytes:
    """Return rows as CSV, with a line of names, times as UTC, and every text made harmless."""
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(name, row.get(name)) for name in names])
    return written.getvalue().encode("utf-8", "replace")


def as_json(rows: Iterable[dict[str, Any]]) -> bytes:
    """Return rows as one array."""
    return msgspec.json.format(msgspec.json.encode(list(rows)), indent=1)


def _cell(name: str, value: Any) -> Any:
    if name == "time":
        return _moment(value)
    if isinstance(value, str):
        # A sheet evaluates a cell that begins so, also behind spaces; one that begins with an apostrophe is text.
        return f"'{value}" if value.lstrip(" \u00a0\ufeff").startswith(_DANGEROUS) else value
    return "" if value is None else value


def _moment(seconds: float) -> str | float:
    """Return a time in UTC; one that is outside the calendar as a number, which no sheet takes for a formula."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return seconds
