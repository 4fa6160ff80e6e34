"""`RecordReader`: reads records back from a store; `open_reader`: the reader of the store at an address."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct

from failwell.event import BESIDE_CALLS, FAILED
from failwell.records._addresses import READABLE, store_kind
from failwell.records._record import Record

SHOWN: dict[str, frozenset[str]] = {
    "failures": frozenset(FAILED),
    "retries": frozenset(("retry", "recovered", "repaired", "verified", "fallback")),
    "servers": frozenset(BESIDE_CALLS),
    "all": frozenset(),
}
"""Kinds of records, by the name of what they show; all of them where there are none."""


class Unreadable(Exception):
    """The store cannot be read; the text says why in one line."""


class RecordFilter(Struct, frozen=True, kw_only=True):
    """Which records to read: from a time on, of some kinds, and only those whose fields have the given values.

    A failure without a code is found by its type.
    """

    since: float | None = None
    equal: dict[str, str] = {}
    kinds: frozenset[str] = frozenset()

    def matches(self, record: Record) -> bool:
        """Return whether a record is one of them."""
        if self.since is not None and record.time < self.since:
            return False
        if self.kinds and record.kind not in self.kinds:
            return False
        return all(_value(record, name) == value for name, value in self.equal.items())


def _value(record: Record, name: str) -> Any:
    return record.code or record.type if name == "code" else getattr(record, name)


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
        raise Unreadable(f"not a store that can be read: use {READABLE}")
    opener: Callable[[str], RecordReader] = import_module(kind.reader).open_reader
    return opener(address)
