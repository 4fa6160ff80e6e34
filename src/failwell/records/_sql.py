"""Records in SQLite or PostgreSQL: `pip install 'failwell[telemetry]'`, and `failwell[postgres]` for the latter.

A batch is one transaction: after a crash it is there as a whole or not at all.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from threading import Lock
from typing import Any
from weakref import WeakSet

from failwell.records._addresses import STORES_BY_SCHEME
from failwell.records._pruning import READS, Pruner
from failwell.records._record import Record
from failwell.records._retention import PARAMETERS, Retention, parse_retention
from failwell.records._tables import insert_records, prepare

try:
    from sqlalchemy import URL, Engine, StaticPool, create_engine, event, make_url
    from sqlalchemy.exc import ArgumentError
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing

_DRIVERS = {scheme: kind.driver for scheme, kind in STORES_BY_SCHEME.items() if kind.driver}
_ALL = Retention()
_PATIENCE = 10
"""How many seconds a process waits for another one that writes, or for a server that does not answer."""
_WRITER_PATIENCE = 2
"""How many seconds a recorder waits for a lock. It tries again later, and a fork has to wait meanwhile."""
_FORK_PATIENCE = 5.0
_LONGEST_LOG = 16 * 2**20
_POSTGRESQL_OPTIONS = {
    "connect_timeout": _PATIENCE,
    # A server that vanishes silently is given up after half a minute, and not after hours.
    "keepalives_idle": _PATIENCE,
    "keepalives_interval": _PATIENCE,
    "keepalives_count": 2,
    "tcp_user_timeout": 3 * _PATIENCE * 1000,
}


def open_sink(address: str) -> "SqlSink":
    """Return the sink at an address such as `sqlite:///calls.db` or `postgresql://user:password@host/database`.

    Raises:
        ValueError: it is not the address of a store.
        ImportError: the driver is not installed.
    """
    return SqlSink(*parse_address(address))


def url_of(address: str) -> URL:
    """Return the URL of a store with the driver that we use, without its retention.

    Raises:
        ValueError: it is not the address of a store.
        ImportError: the driver is not installed.
    """
    return parse_address(address)[0]


def parse_address(address: str) -> tuple[URL, Retention]:
    """Return the URL of a store with the driver that we use, and its retention.

    Raises:
        ValueError: it is not the address of a store, or the limits are invalid.
        ImportError: the driver is not installed.
    """
    try:
        url = make_url(_quoted(address))
    except (ArgumentError, ValueError):
        raise ValueError("a store needs an address such as sqlite:///calls.db or postgresql://host/database") from None
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    kind = STORES_BY_SCHEME.get(url.get_backend_name())
    for package, extra in kind.packages if kind else ():
        if find_spec(package) is None:
            raise ImportError(f"this needs {package}: pip install 'failwell[{extra}]'")
    if url.get_backend_name() == "sqlite" and not url.database:
        raise ValueError("a SQLite store needs a file, such as sqlite:///calls.db")
    is_file = url.get_backend_name() == "sqlite"
    return url.difference_update_query(PARAMETERS), parse_retention(url.query, is_file=is_file)


def _quoted(address: str) -> str:
    """Return an address whose password may hold an @, as people write it: else a part of it is taken for the host."""
    scheme, sign, rest = address.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    return f"{scheme}{sign}{user.replace('@', '%40')}{at}{host}{slash}{path}"


def connect(url: URL, *, is_writer: bool = False, patience: int = _PATIENCE) -> Engine:
    """Return an engine for a store. Only its owner may read a SQLite file, and writers never wait for readers."""
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_size=1, pool_pre_ping=True, connect_args=_POSTGRESQL_OPTIONS)
    if is_writer:
        _make_private(url.database or "")
    pool: dict[str, Any] = {"poolclass": StaticPool} if is_writer else {}
    engine = create_engine(url, connect_args={"timeout": patience, "check_same_thread": False}, **pool)
    event.listen(engine, "connect", _begin_ourselves)
    if is_writer:
        event.listen(engine, "connect", _enable_incremental_vacuum)
        event.listen(engine, "connect", _write_ahead)
        event.listen(engine, "begin", _on_begin)
    return engine


class SqlSink:
    """Writes records to the tables of a database; it connects with the first batch, and again after a fork.

    A fork waits until the current batch is written, but not for long. If it can't wait, the child gets a new
    connection to PostgreSQL, but can't write to a SQLite file: it would trust locks that only the parent holds.
    """

    def __init__(self, url: URL, retention: Retention = _ALL) -> None:
        self._url = url
        self._pruner = Pruner(retention)
        self._engine: Engine | None = None
        self._is_file = url.get_backend_name() == "sqlite"
        self._file: tuple[int, int] | None = None
        self._lock = Lock()
        self._fork_turn = Lock()
        self._is_unsafe = self._is_locked_by_fork = False
        _all.add(self)

    def write(self, batch: Sequence[Record], /) -> None:
        """Insert a batch."""
        if self._is_unsafe:
            raise OSError("the process was forked while a batch was written")
        with self._fork_turn:
            pass  # a fork that waits for the batch before comes first
        with self._lock:
            if self._file != (_file_id(self._url) if self._is_file else None):
                self._disconnect()  # the file was deleted or replaced: what is written to the old one would be lost
            if self._engine is None:
                self._engine = self._connect()
            with self._engine.begin() as connection:
                insert_records(connection, batch)
            self._pruner.after_batch(self._engine)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._disconnect()

    def before_fork(self, until: float) -> None:
        """Let a batch that is being written end, and disconnect: SQLite breaks if two processes share a connection."""
        self._fork_turn.acquire()
        self._is_locked_by_fork = self._lock.acquire(timeout=max(until - time.monotonic(), 0.0))
        if self._is_locked_by_fork:
            self._disconnect()

    def after_fork(self, *, is_child: bool) -> None:
        """Go on."""
        self._fork_turn.release()
        if self._is_locked_by_fork:
            self._lock.release()
        elif is_child:
            _abandoned.append(self._engine)  # to close it would end the connection of the parent
            self._engine, self._lock = None, Lock()
            self._is_unsafe = self._is_file

    def _connect(self) -> Engine:
        engine = connect(self._url, is_writer=True, patience=_WRITER_PATIENCE)
        if self._is_file:
            self._file = _file_id(self._url)
        else:
            event.listen(engine, "connect", _set_lock_timeout)
        try:
            prepare(engine)
        except Exception:
            engine.dispose()
            raise
        return engine

    def _disconnect(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


_all: WeakSet[SqlSink] = WeakSet()
_fork_lock = Lock()
_forking: list[SqlSink] = []
_abandoned: list[Engine | None] = []
"""Connections of a parent, which its child must not close."""


def _before_fork() -> None:
    _fork_lock.acquire()
    _forking[:] = _all
    until = time.monotonic() + _FORK_PATIENCE
    for sink in _forking:
        sink.before_fork(until)


def _after_fork(*, is_child: bool) -> None:
    for sink in _forking:
        sink.after_fork(is_child=is_child)
    _forking.clear()
    _fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=partial(_after_fork, is_child=False),
        after_in_child=partial(_after_fork, is_child=True),
    )


def _make_private(path: str) -> None:
    # A file that is there stays closed: to close it would drop the locks that SQLite holds on it in this process.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))


def _file_id(url: URL) -> tuple[int, int] | None:
    """Return what tells a file from others of the same name."""
    try:
        found = os.stat(url.database or "")
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _set_lock_timeout(connection: Any, _: Any) -> None:
    connection.execute(f"SET lock_timeout = '{_WRITER_PATIENCE}s'")
    connection.commit()


def _enable_incremental_vacuum(connection: Any, _: Any) -> None:
    # Only then can space be given back a little at a time; a file that has tables does not change by this.
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")


def _begin_ourselves(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver begins no transaction by itself; `_on_begin` does


def _write_ahead(connection: Any, _: Any) -> None:
    """Let writers and readers not wait for each other. Only writers do this: it changes the file, whoever made it."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # In this mode a crash of the machine may lose the last batch, but never the file.
    cursor.execute("PRAGMA synchronous=NORMAL")
    # Else the log beside the file stays as long as it ever was.
    cursor.execute(f"PRAGMA journal_size_limit={_LONGEST_LOG}")
    cursor.close()


def _on_begin(connection: Any) -> None:
    # Two writers that began as readers would refuse each other.
    is_reading = READS.keys() <= connection.get_execution_options().keys()
    connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")
