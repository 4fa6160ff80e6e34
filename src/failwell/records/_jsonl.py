"""Records as lines of JSON in a file: `JsonlSink` appends them, as many processes may, `JsonlReader` reads them."""

import os
import stat
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate

from failwell.records._reader import ALL, RecordFilter, Unreadable
from failwell.records._record import Record, decode_line, encode_line

LONGEST_LINE = 1 << 20


def open_sink(address: str) -> "JsonlSink":
    """Return the sink of a file, at an address such as `jsonl:/var/log/calls.jsonl`.

    Raises:
        ValueError: it names no file.
    """
    path = address.partition(":")[2]
    if not path:
        raise ValueError("jsonl: needs the path of a file, such as jsonl:calls.jsonl")
    return JsonlSink(path)


def open_reader(address: str) -> "JsonlReader":
    """Return the reader of a file.

    Raises:
        Unreadable: the file cannot be read.
    """
    return JsonlReader(address.partition(":")[2])


class JsonlSink:
    """Appends records to a file, which only its owner may read if it is created here.

    If the file was moved or deleted, a new one is created in its place.
    """

    def __init__(self, path: str, *, file: int | None = None) -> None:
        self._path = path
        self._file = file
        self._is_cut_off = file is not None and _ends_within_a_line(file, path)
        self._written: dict[int, Record] = {}

    def write(self, batch: Sequence[Record], /) -> None:
        """Append one line a record, in one piece. If a disk fills up, the same batch continues where it stopped."""
        file = self._open()
        rest = [record for record in batch if id(record) not in self._written]
        lines = [encode_line(record) + b"\n" for record in rest]
        if self._is_cut_off and lines:
            lines[0] = b"\n" + lines[0]
        written = self._append(file, b"".join(lines))
        self._is_cut_off = False
        for record, end in zip(rest, accumulate(map(len, lines)), strict=True):
            if written < end:
                self._is_cut_off = True
                raise OSError("the file takes no more")
            self._written[id(record)] = record
        for record in batch:
            self._written.pop(id(record), None)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        if self._file is not None and self._path and _was_replaced(self._file, self._path):
            self.close()
        if self._file is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(self._path, flags, 0o600)
            self._is_cut_off = _ends_within_a_line(self._file, self._path)
        return self._file

    def _append(self, file: int, data: bytes) -> int:
        """Write and return how many bytes were written; raise if there were none."""
        total = 0
        while total < len(data):
            try:
                total += os.write(file, data[total:])
            except OSError:
                if not total:
                    raise
                break
        return total


def _was_replaced(file: int, path: str) -> bool:
    """Return whether the path has been moved, deleted or given to another file since it was opened."""
    opened = os.fstat(file)
    if not stat.S_ISREG(opened.st_mode):
        return False
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return True
    return (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino)


def _ends_within_a_line(file: int, path: str) -> bool:
    """Return whether the last line has no end, because a process died while it wrote; True if that is unknown."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        return False
    try:
        with open(path, "rb") as same:
            same.seek(-1, os.SEEK_END)
            return same.read(1) != b"\n"
    except OSError:
        return True


class JsonlReader:
    """Reads the lines of a file. A line that was cut off is skipped, and one that is being written is left for later.

    Raises:
        Unreadable: the file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = 0
        with self._readable():
            open(path, "rb").close()

    def newest(self, most: int, which: RecordFilter = ALL) -> list[Record]:
        """Return the last records; `fresh` continues after them."""
        self._position = 0
        return list(deque(self.fresh(which), most))

    def records(self, which: RecordFilter = ALL) -> Iterator[Record]:
        """Yield all records."""
        with open(self._path, "rb") as file:
            while line := file.readline(LONGEST_LINE):
                if (record := decode_line(line)) is not None and which.matches(record):
                    yield record

    def fresh(self, which: RecordFilter = ALL) -> list[Record]:
        """Return the records that were written since the last call of `fresh` or `newest`."""
        with self._readable():
            return list(filter(which.matches, self._complete_lines()))

    def sessions(self, which: RecordFilter = ALL) -> Iterator[list[Record]]:
        """Yield the records of one session after the other."""
        by_session: dict[str, list[Record]] = {}
        for record in self.records(which):
            by_session.setdefault(record.session, []).append(record)
        yield from by_session.values()

    def close(self) -> None:
        """Nothing is kept open."""

    def _complete_lines(self) -> Iterator[Record]:
        with open(self._path, "rb") as file:
            if file.seek(0, os.SEEK_END) < self._position:
                self._position = 0  # the file was replaced
            file.seek(self._position)
            while (line := file.readline(LONGEST_LINE)) and (line.endswith(b"\n") or len(line) == LONGEST_LINE):
                self._position += len(line)
                if (record := decode_line(line)) is not None:
                    yield record

    @contextmanager
    def _readable(self) -> Generator[None]:
        try:
            yield
        except OSError as failed:
            raise Unreadable(f"cannot read {self._path!r}: {failed.strerror}") from None
