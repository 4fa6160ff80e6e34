"""Records as lines of JSON in a file that any number of processes append to."""

import os
import stat
from collections.abc import Iterator, Sequence

from failwell.telemetry.record import Record, decode, encode

LONGEST_LINE = 1 << 20


def open_address(address: str) -> "Lines":
    """Return the file at an address such as `jsonl:/var/log/calls.jsonl`.

    Raises:
        ValueError: it names no file.
    """
    path = address.partition(":")[2]
    if not path:
        raise ValueError("jsonl: needs the path of a file, such as jsonl:calls.jsonl")
    return Lines(path)


class Lines:
    """Appends records to a file, which only its owner may read if it is made here."""

    def __init__(self, path: str, *, file: int | None = None) -> None:
        self._path = path
        self._file = file
        self._is_torn = False

    def write(self, batch: Sequence[Record], /) -> None:
        """Append one line a record, in one piece."""
        if self._file is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(self._path, flags, 0o600)
            self._is_torn = _ends_within_a_line(self._file)
        data = b"".join(encode(record) + b"\n" for record in batch)
        if self._is_torn:
            data = b"\n" + data
        self._append(self._file, data)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, file: int, data: bytes) -> None:
        self._is_torn = True
        while data:
            data = data[os.write(file, data) :]
        self._is_torn = False


def read_lines(path: str) -> Iterator[Record]:
    """Yield the records in a file; lines that are none, or were cut off, are passed over."""
    with open(path, "rb") as file:
        while line := file.readline(LONGEST_LINE):
            if (record := decode(line)) is not None:
                yield record


def _ends_within_a_line(file: int) -> bool:
    """Return whether a process was ended while it wrote the last line."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        return False
    return os.pread(file, 1, found.st_size - 1) != b"\n"
