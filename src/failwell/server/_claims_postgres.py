"""`PostgresClaims`: claims in a PostgreSQL database, for a fleet of servers: `pip install 'failwell[postgres]'`."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from failwell.server._claims_sql import CREATE, CREATE_INDEX, SqlClaims

try:
    import psycopg
except ImportError as missing:
    raise ImportError("this needs psycopg: pip install 'failwell[postgres]'") from missing

_PATIENCE = 5
_MOST_IDLE = 4
_DUPLICATE = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable)


class PostgresClaims(SqlClaims):
    """Claims in a PostgreSQL database: `postgresql://user:password@host/database`."""

    now = "extract(epoch FROM clock_timestamp())::double precision"
    value = "%s"
    errors = (psycopg.Error, OSError)

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self._idle: list[psycopg.Connection[Any]] = []
        self._process = os.getpid()
        self._is_made = False
        self._lock = Lock()

    @contextmanager
    def transaction(self) -> Generator[psycopg.Connection[Any]]:
        """Yield a connection inside a transaction."""
        connection = self._taken()
        try:
            with connection.transaction():
                yield connection
        except BaseException:
            connection.close()  # the next one gets a sound one
            raise
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _taken(self) -> psycopg.Connection[Any]:
        with self._lock:
            if self._process != os.getpid():  # a fork must not use its parent's connections
                self._idle, self._process = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        connection = psycopg.connect(self._address, autocommit=True, connect_timeout=_PATIENCE)
        if not self._is_made:
            try:
                connection.execute(CREATE.format(number="DOUBLE PRECISION", bytes="BYTEA"))
                connection.execute(CREATE_INDEX)
            except _DUPLICATE:  # another process made it at the same moment
                pass
            except BaseException:
                connection.close()
                raise
            self._is_made = True
        return connection
