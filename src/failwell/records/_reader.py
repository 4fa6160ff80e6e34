"""Reading records back, wherever they are: `open_reading` finds them by the address of their sink."""

from collections import deque
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct

from failwell.records._jsonl import LONGEST_LINE, read_lines
from failwell.records._record import Record, decode

_SQL = "failwell.records._store"


class Unreadable(Exception):
    """There is nothing to be read there, or nobody can; the text is one line that says why."""


class Choice(Struct, frozen=True, kw_only=True):
    """Which records: from a time on, and those whose fields are equal to what is given."""

    since: float | None = None
    equal: dict[str, str] = {}

    def takes(self, record: Record) -> bool:
        """Return whether it is one of them."""
        if self.since is not None and record.time < self.since:
            return False
        return all(getattr(record, name) == value for name, value in self.equal.items())


ALL = Choice()


class RecordReader(Protocol):
    """Gives records in the order in which they were written. Every method may raise `Unreadable`."""

    def newest(self, choice: Choice, most: int) -> list[Record]:
        """Return the last of them, and go on with `fresh` from there."""
        ...

    def each(self, choice: Choice) -> Iterator[Record]:
        """Yield all of them."""
        ...

    def fresh(self, choice: Choice) -> list[Record]:
        """Return those that were written since this, or `newest`, was asked."""
        ...

    def sessions(self, choice: Choice) -> Iterator[list[Record]]:
        """Yield what `recovery` needs of them, one session after the other."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def open_reader(address: str) -> RecordReader:
    """Return what reads the records at an address such as `sqlite:///calls.db`, `postgresql://…` or `jsonl:FILE`.

    Raises:
        Unreadable: there is nothing to be read, or no such address.
        ImportError: the library that it needs is not installed.
    """
    scheme, _, path = address.partition(":")
    if scheme == "jsonl":
        return JsonlReader(path)
    if scheme in ("sqlite", "postgresql", "postgres", "postgresql+psycopg"):
        opener: Callable[[str], RecordReader] = import_module(_SQL).open_address
        return opener(address)
    raise Unreadable("records are read from sqlite:///FILE, postgresql://HOST/DATABASE or jsonl:FILE")


class JsonlReader:
    """Reads lines of JSON; one that was cut off is passed over, and one that is being written is left for later.

    Raises:
        Unreadable: the file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._guarded(lambda: open(path, "rb").close())

    def newest(self, choice: Choice, most: int) -> list[Record]:
        """Return the last of them, and go on with `fresh` from there."""
        self._at = 0
        return list(deque(self.fresh(choice), most))

    def each(self, choice: Choice) -> Iterator[Record]:
        """Yield all of them."""
        return filter(choice.takes, read_lines(self._path))

    def fresh(self, choice: Choice) -> list[Record]:
        """Return those that were written since this, or `newest`, was asked."""
        found: list[Record] = []
        self._guarded(lambda: found.extend(filter(choice.takes, self._whole_lines())))
        return found

    def sessions(self, choice: Choice) -> Iterator[list[Record]]:
        """Yield what `recovery` needs of them, one session after the other."""
        by_session: dict[str, list[Record]] = {}
        for record in self.each(choice):
            by_session.setdefault(record.session, []).append(record)
        yield from by_session.values()

    def close(self) -> None:
        """Nothing is kept open."""

    def _whole_lines(self) -> Iterator[Record]:
        with open(self._path, "rb") as file:
            if file.seek(0, 2) < self._at:
                self._at = 0  # it was made anew
            file.seek(self._at)
            while (line := file.readline(LONGEST_LINE)) and (line.endswith(b"\n") or len(line) == LONGEST_LINE):
                self._at += len(line)
                if (record := decode(line)) is not None:
                    yield record

    def _guarded(self, read: Callable[[], Any]) -> None:
        try:
            read()
        except OSError as failed:
            raise Unreadable(f"cannot read {self._path!r}: {failed.strerror}") from None
