"""`SqlClaims`: claims in a table, the same statements for every database; `SqliteClaims`: in a SQLite file."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from failwell.server._claims import ClaimState, Entry, StoreDown

_PATIENCE = 5.0
_PRUNED_EVERY = 256
_MOST_PRUNED = 1000

# `?` stands for a value and `{now}` for the store's clock; a subclass has its own spelling of both.
CREATE = """
CREATE TABLE IF NOT EXISTS failwell_claims (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_ends {number} NOT NULL,
    expires {number} NOT NULL,
    result {bytes}
)"""
CREATE_INDEX = "CREATE INDEX IF NOT EXISTS failwell_claims_expires ON failwell_claims (expires)"
_IS_FORGOTTEN = "expires <= {now} AND NOT (state = 'running' AND lease_ends > {now})"
_FORGET = f"DELETE FROM failwell_claims WHERE key = ? AND {_IS_FORGOTTEN}"
_INSERT = (
    "INSERT INTO failwell_claims (key, fingerprint, state, owner, lease_ends, expires) "
    "VALUES (?, ?, 'running', ?, {now} + ?, {now} + ?) ON CONFLICT (key) DO NOTHING"
)
_SELECT = "SELECT fingerprint, state, owner, lease_ends - {now}, result FROM failwell_claims WHERE key = ?"
_TAKE_OVER = (
    "UPDATE failwell_claims SET state = 'running', owner = ?, lease_ends = {now} + ? WHERE key = ? AND owner = ? "
    "AND (state = 'unknown' OR (state = 'running' AND lease_ends <= {now}))"
)
_RENEW = "UPDATE failwell_claims SET lease_ends = {now} + ? WHERE key = ? AND owner = ? AND state = 'running'"
_SETTLE = (
    "UPDATE failwell_claims SET state = ?, result = ?, expires = {now} + ? WHERE key = ? AND owner = ? "
    "AND (state <> 'done' OR ? = 'done')"
)
_SETTLE_IN = "UPDATE failwell_claims SET state = 'done' WHERE key = ? AND owner = ? AND state = 'running'"
_RELEASE = "DELETE FROM failwell_claims WHERE key = ? AND owner = ? AND state = 'running'"
_PRUNE = (
    "DELETE FROM failwell_claims WHERE key IN "
    f"(SELECT key FROM failwell_claims WHERE {_IS_FORGOTTEN} LIMIT {_MOST_PRUNED})"
)


class SqlClaims:
    """Claims in the table `failwell_claims`, which is made when it is first needed.

    A subclass connects, and says what its database calls the time and a value.
    """

    now: str
    value: str
    errors: tuple[type[Exception], ...]

    def __init__(self) -> None:
        self._claims = 0

    @contextmanager
    def transaction(self) -> Generator[Any]:
        """Yield what executes statements, all of them or none."""
        raise NotImplementedError
        yield

    def claim(self, key: str, fingerprint: str, owner: str, *, lease: float, retention: float) -> Entry | None:
        """Claim a free or expired key and return None; otherwise return the existing claim."""
        with self._safely() as execute:
            self._claims += 1
            if self._claims % _PRUNED_EVERY == 1:
                execute(_PRUNE)
            execute(_FORGET, key)
            if execute(_INSERT, key, fingerprint, owner, lease, retention).rowcount == 1:
                return None
            row = execute(_SELECT, key).fetchone()
        if row is None:  # it was released just now
            return self.claim(key, fingerprint, owner, lease=lease, retention=retention)
        found, state, holder, left, result = row
        kept = None if result is None else bytes(result)
        return Entry(fingerprint=found, state=state, owner=holder, lease=float(left), result=kept)

    def take_over(self, key: str, owner: str, previous: str, *, lease: float) -> bool:
        """Take over a claim that *previous* left unsettled, and return whether that worked."""
        return self._is_changed(_TAKE_OVER, owner, lease, key, previous)

    def renew(self, key: str, owner: str, *, lease: float) -> bool:
        """Extend the lease of a running call, and return whether *owner* still has the claim."""
        return self._is_changed(_RENEW, lease, key, owner)

    def settle(self, key: str, owner: str, state: ClaimState, result: bytes | None, *, retention: float) -> bool:
        """Store the outcome of the call, and return whether *owner* still had the claim."""
        return self._is_changed(_SETTLE, state, result, retention, key, owner, state)

    def release(self, key: str, owner: str) -> bool:
        """Delete the claim of a call that had no effect, and return whether *owner* still had it."""
        return self._is_changed(_RELEASE, key, owner)

    def settle_in(self, connection: Any, key: str, owner: str) -> bool:
        """Mark the claim as done in the tool's own transaction, and return whether the claim is still valid.

        *connection* is one of the database's driver, or of SQLAlchemy.
        """
        execute = getattr(connection, "exec_driver_sql", None) or connection.execute
        changed: int = execute(self._spelled(_SETTLE_IN), (key, owner)).rowcount
        return changed == 1

    def close(self) -> None:
        """Close the connection."""

    def _is_changed(self, statement: str, *values: Any) -> bool:
        with self._safely() as execute:
            changed: int = execute(statement, *values).rowcount
        return changed == 1

    def _spelled(self, statement: str) -> str:
        return statement.replace("{now}", self.now).replace("?", self.value)

    @contextmanager
    def _safely(self) -> Generator[Any]:
        try:
            with self.transaction() as connection:

                def execute(statement: str, *values: Any) -> Any:
                    return connection.execute(self._spelled(statement), values)

                yield execute
        except self.errors as exc:
            raise StoreDown(type(exc).__name__) from exc


class SqliteClaims(SqlClaims):
    """Claims in a SQLite file, for servers on one machine: `sqlite:///effects.db`. Only its owner may read the file."""

    now = "((julianday('now') - 2440587.5) * 86400.0)"
    value = "?"
    errors = (sqlite3.Error, OSError)

    def __init__(self, address: str) -> None:
        super().__init__()
        path = address.removeprefix("sqlite:///")
        if path == address or not path:
            raise ValueError("a SQLite store needs a file, such as sqlite:///effects.db")
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Yield the connection inside a transaction that writes."""
        with self._lock:
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None or self._process != os.getpid():
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(self._path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")  # a claim that a power cut forgets is no claim
            connection.execute(CREATE.format(number="REAL", bytes="BLOB"))
            connection.execute(CREATE_INDEX)
            self._connection, self._process = connection, os.getpid()
        return self._connection
