"""The standard library, made to fail."""

import asyncio
import base64
import concurrent.futures
import configparser
import csv
import errno
import gzip
import importlib
import io
import ipaddress
import json
import lzma
import multiprocessing
import os
import pickle
import queue
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tomllib
import xml.etree.ElementTree as ET
import xml.sax
import zipfile
import zlib
import zoneinfo
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from failwell import from_exception
from tests.exceptions import loopback
from tests.exceptions.caught import caught, judgement

Step = Callable[[Path], object]


def _full_descriptors(folder: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))
    try:
        os.open(folder, os.O_RDONLY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def _full_device(folder: Path) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        full.write(b"x")


def _loop_of_links(folder: Path) -> None:
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "loop").read_text()


def _full_pipe(folder: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        while True:
            os.write(writing, b"x" * 65536)
    finally:
        os.close(reading)
        os.close(writing)


def _broken_pipe(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        os.write(writing, b"x")
    finally:
        os.close(writing)


def _filled(folder: Path) -> Path:
    (folder / "filled").mkdir()
    (folder / "filled" / "file").write_text("x")
    return folder / "filled"


FILES: dict[str, tuple[Step, str, str]] = {
    "read a file that is not there": (lambda folder: (folder / "none").read_text(), "NOT_FOUND", "FILE_NOT_FOUND"),
    "make what exists": (lambda folder: folder.mkdir(), "CONFLICT", "ALREADY_EXISTS"),
    "read a directory": (lambda folder: folder.read_text(), "VALIDATION", "WRONG_PATH_KIND"),
    "list a file": (lambda folder: os.listdir(_filled(folder) / "file"), "VALIDATION", "WRONG_PATH_KIND"),
    "follow a loop": (_loop_of_links, "VALIDATION", "WRONG_PATH_KIND"),
    "remove what is filled": (lambda folder: _filled(folder).rmdir(), "CONFLICT", "NOT_EMPTY"),
    "write to a full device": (_full_device, "INTERNAL", "DISK_FULL"),
    "use too many files": (_full_descriptors, "TRANSIENT", "RESOURCE_EXHAUSTED"),
    "write to a full pipe": (_full_pipe, "TRANSIENT", "RESOURCE_EXHAUSTED"),
    "write to a broken pipe": (_broken_pipe, "TRANSIENT", "CONNECTION_LOST"),
    "use too long a name": (lambda folder: (folder / ("x" * 300)).read_text(), "VALIDATION", "INVALID_ARGUMENT"),
    "signal no process": (lambda folder: os.kill(2**22 + 7, 0), "NOT_FOUND", "NOT_FOUND"),
    "copy onto itself": (lambda folder: shutil.copy(*[_filled(folder) / "file"] * 2), "VALIDATION", "INVALID_ARGUMENT"),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_files(what: str, tmp_path: Path) -> None:
    step, type_, code = FILES[what]

    failure = from_exception(caught(step, tmp_path))

    assert (failure.type, failure.code) == (type_, code)
    assert str(tmp_path) not in repr(failure)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EACCES, "FORBIDDEN"),
        (errno.EPERM, "FORBIDDEN"),
        (errno.EROFS, "READ_ONLY"),
        (errno.EDQUOT, "DISK_FULL"),
        (errno.EBUSY, "RESOURCE_BUSY"),
        (errno.EHOSTUNREACH, "CONNECTION_FAILED"),
        (errno.ENETUNREACH, "CONNECTION_FAILED"),
        (errno.ETIMEDOUT, "TIMEOUT"),
        (errno.EMFILE, "RESOURCE_EXHAUSTED"),
        (errno.EFBIG, "PAYLOAD_TOO_LARGE"),
    ],
)
def test_error_numbers_that_no_test_can_provoke(number: int, code: str) -> None:
    assert from_exception(OSError(number, os.strerror(number))).code == code


def test_an_error_number_is_named_in_the_details_and_nothing_else_is() -> None:
    failure = from_exception(OSError(errno.ENOSPC, "hunter2", "/home/hunter2/x"))

    assert failure.details == {"errno": "ENOSPC"}
    assert "hunter2" not in repr(failure)


DATA: dict[str, tuple[Callable[[], object], str]] = {
    "json": (lambda: json.loads('{"secret": hunter2}'), "PARSE_ERROR"),
    "toml": (lambda: tomllib.loads("secret = hunter2"), "PARSE_ERROR"),
    "xml": (lambda: ET.fromstring("<hunter2>"), "PARSE_ERROR"),
    "sax": (lambda: xml.sax.parseString(b"<hunter2>", xml.sax.ContentHandler()), "PARSE_ERROR"),
    "csv": (lambda: list(csv.reader(['"hunter2" x'], strict=True)), "PARSE_ERROR"),
    "utf-8": (lambda: b"hunter2\xff".decode(), "ENCODING_ERROR"),
    "ascii": (lambda: "hunter2é".encode("ascii"), "ENCODING_ERROR"),
    "base64": (lambda: base64.b64decode("hunter2", validate=True), "PARSE_ERROR"),
    "struct": (lambda: struct.unpack("i", b"hunter2"), "PARSE_ERROR"),
    "pickle": (lambda: pickle.loads(b"hunter2"), "PARSE_ERROR"),
    "pickle, cut": (lambda: pickle.loads(b""), "INTERNAL_ERROR"),
    "zlib": (lambda: zlib.decompress(b"hunter2"), "PARSE_ERROR"),
    "gzip": (lambda: gzip.decompress(b"hunter2"), "PARSE_ERROR"),
    "gzip, cut": (lambda: gzip.decompress(gzip.compress(b"hunter2")[:-9]), "INTERNAL_ERROR"),
    "lzma": (lambda: lzma.decompress(b"hunter2"), "PARSE_ERROR"),
    "zip": (lambda: zipfile.ZipFile(io.BytesIO(b"hunter2")), "PARSE_ERROR"),
    "tar": (lambda: tarfile.TarFile(fileobj=io.BytesIO(b"hunter2" * 200)), "PARSE_ERROR"),
    "pattern": (lambda: re.compile("(hunter2"), "PARSE_ERROR"),
    "address": (lambda: ipaddress.IPv4Address("hunter2"), "INVALID_ARGUMENT"),
    "zone": (lambda: zoneinfo.ZoneInfo("Mars/hunter2"), "NOT_FOUND"),
    "module": (lambda: importlib.import_module("hunter2"), "CONFIG_ERROR"),
    "section": (lambda: configparser.ConfigParser().get("hunter2", "x"), "CONFIG_ERROR"),
    "ini": (lambda: configparser.ConfigParser().read_string("hunter2"), "CONFIG_ERROR"),
    "seek": (lambda: io.RawIOBase().seek(1), "METHOD_NOT_ALLOWED"),
}  # fmt: skip


@pytest.mark.parametrize("what", DATA)
def test_data(what: str) -> None:
    step, code = DATA[what]

    failure = from_exception(caught(step))

    assert failure.code == code
    assert "hunter2" not in repr(failure)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("exit 3", ("INTERNAL", "PROCESS_FAILED", "unknown")),
        ("kill -9 $$", ("INTERNAL", "PROCESS_FAILED", "unknown")),
        ("exit 124", ("TRANSIENT", "PROCESS_TIMEOUT", "unknown")),
        ("no-such-program-hunter2", ("INTERNAL", "CONFIG_ERROR", "unknown")),
    ],
)
def test_programs_that_fail(command: str, expected: tuple[str, str, str]) -> None:
    exc = caught(lambda: subprocess.run(["sh", "-c", command], check=True, capture_output=True))

    assert judgement(exc) == expected
    assert "hunter2" not in repr(from_exception(exc))


def test_a_program_that_takes_too_long() -> None:
    exc = caught(lambda: subprocess.run(["sleep", "5"], timeout=0.01))

    assert judgement(exc) == ("TRANSIENT", "PROCESS_TIMEOUT", "unknown")


def test_a_program_that_is_not_there() -> None:
    assert judgement(caught(subprocess.run, ["/no/such/program"])) == ("NOT_FOUND", "FILE_NOT_FOUND", "rejected")


def _exit_hard() -> None:
    os._exit(1)


def _fail_to_connect() -> None:
    raise ConnectionRefusedError(errno.ECONNREFUSED, "hunter2")


def test_a_worker_process_that_dies_and_one_that_passes_its_error_on() -> None:
    context = multiprocessing.get_context("spawn" if sys.platform == "darwin" else "forkserver")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        passed_on = caught(pool.submit(_fail_to_connect).result)
        died = caught(pool.submit(_exit_hard).result)

    assert judgement(passed_on) == ("TRANSIENT", "CONNECTION_REFUSED", "not_executed")
    assert judgement(died) == ("INTERNAL", "WORKER_CRASHED", "unknown")


async def _queue_full() -> None:
    full: asyncio.Queue[int] = asyncio.Queue(1)
    full.put_nowait(1)
    full.put_nowait(2)


async def _read_exactly_from(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(b"\r\n\r\n")
        await reader.readexactly(100)
    finally:
        writer.close()


async def _time_out() -> None:
    async with asyncio.timeout(0):
        await asyncio.Event().wait()


def test_waiting() -> None:
    full: queue.Queue[int] = queue.Queue(1)
    full.put(1)
    never: concurrent.futures.Future[int] = concurrent.futures.Future()

    assert judgement(caught(asyncio.run, _time_out())) == ("TRANSIENT", "TIMEOUT", "unknown")
    assert judgement(caught(asyncio.run, asyncio.wait_for(asyncio.sleep(9), 0))) == ("TRANSIENT", "TIMEOUT", "unknown")
    assert judgement(caught(never.result, 0)) == ("TRANSIENT", "TIMEOUT", "unknown")
    assert judgement(caught(full.put_nowait, 2)) == ("TRANSIENT", "SERVER_BUSY", "not_executed")
    assert judgement(caught(queue.Queue().get_nowait)) == ("TRANSIENT", "TIMEOUT", "not_executed")
    assert judgement(caught(asyncio.run, _queue_full())) == ("TRANSIENT", "SERVER_BUSY", "not_executed")


def test_streams_that_end_early(serve: Any) -> None:
    url = serve(loopback.sending(b"short"))

    assert judgement(caught(asyncio.run, _read_exactly_from(url))) == ("TRANSIENT", "CONNECTION_LOST", "unknown")


def test_a_pipe_whose_other_end_is_gone() -> None:
    ours, theirs = multiprocessing.Pipe()
    theirs.close()
    with closing(ours):
        assert judgement(caught(ours.recv)) == ("TRANSIENT", "CONNECTION_LOST", "unknown")


SCHEMA = """
create table people (
    id integer primary key, name text unique not null, age integer check (age > 0), boss references people
);
insert into people values (1, 'ada', 36, null);
pragma foreign_keys = on;
"""
SQL = {
    "insert into people values (1, 'hunter2', 1, null)": ("CONFLICT", "ALREADY_EXISTS", "rejected"),
    "insert into people values (2, 'ada', 1, null)": ("CONFLICT", "ALREADY_EXISTS", "rejected"),
    "insert into people values (3, null, 1, null)": ("VALIDATION", "CONSTRAINT_VIOLATION", "rejected"),
    "insert into people values (3, 'hunter2', -1, null)": ("VALIDATION", "CONSTRAINT_VIOLATION", "rejected"),
    "insert into people values (3, 'hunter2', 1, 77)": ("VALIDATION", "FOREIGN_KEY_VIOLATION", "rejected"),
    "insert into people values ('hunter2', 'x', 1, null)": ("VALIDATION", "INVALID_ARGUMENT", "rejected"),
    "select hunter2 from people": ("NOT_FOUND", "COLUMN_NOT_FOUND", "rejected"),
    "select 1 from hunter2": ("NOT_FOUND", "TABLE_NOT_FOUND", "rejected"),
    "selec hunter2": ("VALIDATION", "QUERY_ERROR", "rejected"),
    "select zeroblob(2000000000)": ("VALIDATION", "PAYLOAD_TOO_LARGE", "rejected"),
    "select ?": ("INTERNAL", "INTERNAL_ERROR", "unknown"),
}


@pytest.mark.parametrize("statement", SQL)
def test_sqlite(statement: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(SCHEMA)
        exc = caught(database.execute, statement)

    assert judgement(exc) == SQL[statement]
    assert "hunter2" not in repr(from_exception(exc))


def test_sqlite_locked_read_only_full_broken_and_absent(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as one:
        one.executescript(SCHEMA)
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as two:
            one.execute("begin exclusive")
            locked = caught(two.execute, "insert into people values (9, 'x', 1, null)")
            one.execute("rollback")
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as readers:
            read_only = caught(readers.execute, "insert into people values (9, 'x', 1, null)")
        one.execute("pragma max_page_count = 5")
        full = caught(
            one.execute,
            "insert into people select value, value, 1, null from json_each(?)",
            (json.dumps([*range(2, 9999)]),),
        )
    (tmp_path / "broken.db").write_bytes(b"this is not a database" * 100)
    with closing(sqlite3.connect(tmp_path / "broken.db")) as broken:
        not_one = caught(broken.execute, "select 1 from people")

    assert judgement(locked) == ("TRANSIENT", "LOCK_TIMEOUT", "not_executed")
    assert judgement(read_only) == ("PERMISSION", "READ_ONLY", "rejected")
    assert judgement(full) == ("INTERNAL", "DISK_FULL", "rejected")
    assert judgement(not_one) == ("VALIDATION", "PARSE_ERROR", "rejected")
    assert judgement(caught(sqlite3.connect, tmp_path / "no" / "x.db")) == ("NOT_FOUND", "FILE_NOT_FOUND", "rejected")


def test_a_query_that_is_interrupted_was_undone() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.set_progress_handler(lambda: 1, 1)
        exc = caught(lambda: database.execute("select count(*) from json_each('[1,2,3]')").fetchall())

    assert judgement(exc) == ("TRANSIENT", "QUERY_TIMEOUT", "not_executed")


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("database is locked", "LOCK_TIMEOUT"),
        ("database table is locked: hunter2", "LOCK_TIMEOUT"),
        ("locking protocol", "LOCK_TIMEOUT"),
        ("no such table: hunter2", "TABLE_NOT_FOUND"),
        ("no such column: hunter2", "COLUMN_NOT_FOUND"),
        ("UNIQUE constraint failed: hunter2.id", "ALREADY_EXISTS"),
        ("FOREIGN KEY constraint failed", "FOREIGN_KEY_VIOLATION"),
        ("NOT NULL constraint failed: hunter2.id", "CONSTRAINT_VIOLATION"),
        ("attempt to write a readonly database", "READ_ONLY"),
        ("unable to open database file", "FILE_NOT_FOUND"),
        ("database or disk is full", "DISK_FULL"),
        ("disk I/O error", "INTERNAL_ERROR"),
        ("database disk image is malformed", "INTERNAL_ERROR"),
        ("file is not a database", "PARSE_ERROR"),
        ('near "hunter2": syntax error', "QUERY_ERROR"),
    ],
)
def test_sqlite_is_known_by_its_sentences_where_a_driver_does_not_name_the_error(sentence: str, code: str) -> None:
    assert from_exception(sqlite3.OperationalError(sentence)).code == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Local: Queue full", ("SERVER_BUSY", True, "not_executed")),
        ("exports exist", ("INTERNAL_ERROR", None, "unknown")),
    ],
)
def test_a_full_queue_of_a_kafka_producer_is_told_from_other_buffers(text: str, expected: tuple[Any, ...]) -> None:
    found = from_exception(BufferError(text))

    assert (found.code, found.retryable, found.outcome) == expected
