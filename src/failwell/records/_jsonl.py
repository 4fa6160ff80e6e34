"""Records as lines of JSON in a file: `JsonlSink` appends them, as many processes may, `JsonlReader` reads them."""

import os
import stat
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import Any, cast

from failwell.records._reader import ALL, RecordFilter, Unreadable
from failwell.records._record import Record, decode_line, encode_line

try:
    import fcntl as _locks
except ImportError:  # Windows: there nothing keeps two processes from writing at the same time
    _locks = None  # type: ignore[assignment]  # the module or nothing

LONGEST_LINE = 1 << 20
_LINES_LOOKED_AT = 20
_LOCK_TRIES, _LOCK_PAUSE = (0 if _locks is None else 100), 0.01


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

    If the file was moved or deleted, a new one is created in its place. Many processes may append to one file: each
    batch begins on a line of its own, and a line for which the disk has no room is taken back.
    """

    def __init__(self, path: str, *, file: int | None = None) -> None:
        self._path = path
        self._file = file
        self._process = os.getpid()
        self._is_cut_off = False
        self._written: dict[int, Record] = {}

    def write(self, batch: Sequence[Record], /) -> None:
        """Append one line a record, in one piece. If a disk fills up, the same batch continues where it stopped."""
        file = self._open()
        rest = [record for record in batch if id(record) not in self._written]
        lines = [encode_line(record) + b"\n" for record in rest]
        with _locked(file) as is_alone:
            if lines and _ends_within_a_line(file, self._path, unless_known=self._is_cut_off):
                lines[0] = b"\n" + lines[0]
            written = self._append(file, b"".join(lines))
            ends = list(accumulate(map(len, lines)))
            complete = max((end for end in ends if end <= written), default=0)
            self._is_cut_off = written > complete and not (is_alone and _take_back(file, written - complete))
        for record, end in zip(rest, ends, strict=True):
            if complete < end:
                raise OSError("nothing more can be written to the file")
            self._written[id(record)] = record
        for record in batch:
            self._written.pop(id(record), None)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        if self._file is not None and self._path and self._is_outdated(self._file):
            self.close()
        if self._file is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(self._path, flags, 0o600)
            self._process = os.getpid()
        return self._file

    def _is_outdated(self, file: int) -> bool:
        """Return whether to open the path again: it names another file, or the lock is that of another process."""
        return _was_replaced(file, self._path) or self._process != os.getpid()

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


@contextmanager
def _locked(file: int) -> Generator[bool]:
    """Keep other processes from appending meanwhile, and yield whether that works.

    Who can't get the lock within a second goes on without it: another process may have been stopped.
    """
    locks = cast(Any, _locks)
    is_alone = False
    for _ in range(_LOCK_TRIES):
        try:
            locks.flock(file, locks.LOCK_EX | locks.LOCK_NB)
            is_alone = True
            break
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE)
        except OSError:  # a file system or a device without locks
            break
    try:
        yield is_alone
    finally:
        if is_alone:
            with suppress(OSError):
                locks.flock(file, locks.LOCK_UN)


def _take_back(file: int, count: int) -> bool:
    """Cut the last bytes of a file off, which were written just now; return whether that was possible."""
    found = os.fstat(file)
    try:
        os.ftruncate(file, found.st_size - count)
    except OSError:  # a pipe, a device
        return False
    return stat.S_ISREG(found.st_mode)


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


def _ends_within_a_line(file: int, path: str, *, unless_known: bool) -> bool:
    """Return whether the last line has no end, because a process died while it wrote; what is known otherwise."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        return unless_known
    if found.st_size == 0:
        return False
    try:
        with open(path, "rb") as same:  # the file itself may be open for writing only
            same.seek(-1, os.SEEK_END)
            return same.read(1) != b"\n"
    except OSError:
        return unless_known


class JsonlReader:
    """Reads the lines of a file. A line that was cut off is skipped, and one that is being written is left for later.

    Raises:
        Unreadable: the file cannot be read, or is another program's.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = 0
        with self._readable(), open(path, "rb") as file:
            lines = [line for _ in range(_LINES_LOOKED_AT) if (line := file.readline(LONGEST_LINE)).strip()]
        # A process may have died within a line, so that one of several is enough.
        if lines and lines[0].endswith(b"\n") and not any(map(decode_line, lines)):
            raise Unreadable(f"{path!r} contains no events: it seems to belong to another program")

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
