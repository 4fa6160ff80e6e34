"""`RecordReader`: reads records back from a store; `open_reader`: the reader of the store at an address."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Protocol

from msgspec import Struct

from failwell.records._addresses import READABLE, store_kind
from failwell.records._record import Record


class Unreadable(Exception):
    """The store cannot be read; the text says why in one line."""


class RecordFilter(Struct, frozen=True, kw_only=True):
    """Which records to read: from a time on, and only those whose fields have the given values."""

    since: float | None = None
    equal: dict[str, str] = {}

    def matches(self, record: Record) -> bool:
        """Return whether a record is one of them."""
        if self.since is not None and record.time < self.since:
            return False
        return all(getattr(record, name) == value for name, value in self.equal.items())


ALL = RecordFilter()


class RecordReader(Protocol):
    """Reads records in the order in which they were written. Every method may raise `Unreadable`."""

    def newest(self, most: int, which: RecordFilter = ALL) -> list[Record]:
        """Return the last records; `fresh` continues after them."""
        ...

    def records(self, which: RecordFilter = ALL) -> Iterator[Record]:
        """Yield all records."""
        ...

    def fresh(self, which: RecordFilter = ALL) -> list[Record]:
        """Return the records that were written since the last call of `fresh` or `newest`."""
        ...

    def sessions(self, which: RecordFilter = ALL) -> Iterator[list[Record]]:
        """Yield the records of one session after the other, with the fields that `recovery` needs."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


def open_reader(address: str) -> RecordReader:
    """Return the reader of the store at `sqlite:///FILE`, `postgresql://HOST/DATABASE` or `jsonl:FILE`.

    Raises:
        Unreadable: there is nothing to be read, or no such address.
        ImportError: the library that it needs is not installed.
    """
    kind = store_kind(address)
    if kind is None or kind.reader is None:
        raise Unreadable(f"records are read from {READABLE}")
    opener: Callable[[str], RecordReader] = import_module(kind.reader).open_reader
    return opener(address)
