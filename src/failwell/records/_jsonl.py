"""Records as lines of JSON in a file that any number of processes append to."""

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import accumulate

from failwell.records._record import Record, decode, encode

LONGEST_LINE = 1 << 20


def open_address(address: str) -> "JsonlSink":
    """Return the file at an address such as `jsonl:/var/log/calls.jsonl`.

    Raises:
        ValueError: it names no file.
    """
    path = address.partition(":")[2]
    if not path:
        raise ValueError("jsonl: needs the path of a file, such as jsonl:calls.jsonl")
    return JsonlSink(path)


class JsonlSink:
    """Appends records to a file, which only its owner may read if it is made here.

    A file that was moved or deleted is left, and another one made in its place.
    """

    def __init__(self, path: str, *, file: int | None = None) -> None:
        self._path = path
        self._file = file
        self._is_torn = file is not None and _ends_within_a_line(file, path)
        self._done: dict[int, Record] = {}

    def write(self, batch: Sequence[Record], /) -> None:
        """Append one line a record, in one piece. What a full disk took is not written again with the same batch."""
        file = self._opened()
        rest = [record for record in batch if id(record) not in self._done]
        lines = [encode(record) + b"\n" for record in rest]
        if self._is_torn and lines:
            lines[0] = b"\n" + lines[0]
        written = self._append(file, b"".join(lines))
        self._is_torn = False
        for record, end in zip(rest, accumulate(map(len, lines)), strict=True):
            if written < end:
                self._is_torn = True
                raise OSError("the file takes no more")
            self._done[id(record)] = record
        for record in batch:
            self._done.pop(id(record), None)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int:
        if self._file is not None and self._path and _is_elsewhere(self._file, self._path):
            self.close()
        if self._file is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(self._path, flags, 0o600)
            self._is_torn = _ends_within_a_line(self._file, self._path)
        return self._file

    def _append(self, file: int, data: bytes) -> int:
        """Write and return how many bytes were taken; none is an error of its own."""
        total = 0
        while total < len(data):
            try:
                total += os.write(file, data[total:])
            except OSError:
                if not total:
                    raise
                break
        return total


def read_lines(path: str) -> Iterator[Record]:
    """Yield the records in a file; lines that are none, or were cut off, are passed over."""
    with open(path, "rb") as file:
        while line := file.readline(LONGEST_LINE):
            if (record := decode(line)) is not None:
                yield record


def _is_elsewhere(file: int, path: str) -> bool:
    """Return whether another file, or none, has the name under which this one was opened."""
    is_now = os.fstat(file)
    if not stat.S_ISREG(is_now.st_mode):
        return False
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return True
    return (named.st_dev, named.st_ino) != (is_now.st_dev, is_now.st_ino)


def _ends_within_a_line(file: int, path: str) -> bool:
    """Return whether a process was ended while it wrote the last line, or whether nobody can tell."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        return False
    try:
        with open(path, "rb") as same:
            same.seek(-1, os.SEEK_END)
            return same.read(1) != b"\n"
    except OSError:
        return True
