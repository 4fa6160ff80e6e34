"""Real PostgreSQL through every driver, and MySQL's protocol on loopback."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import asyncpg
import duckdb
import mysql.connector
import peewee
import psycopg
import psycopg2
import psycopg2.pool
import psycopg_pool
import pymysql
import pytest
import sqlalchemy
import sqlalchemy.orm
from sqlalchemy.ext.asyncio import create_async_engine

from tests.exceptions import loopback
from tests.exceptions.caught import caught
from tests.exceptions.seen import mapped, seen
from tests.exceptions.servers import Postgres, mysql_like, postgres

__all__ = ["postgres"]

SETUP = """
    create table parent (
        id int primary key, name text unique check (name <> 'planted-bad'), note text not null default ''
    );
    create table child (id int primary key, parent int references parent);
    create table booking (room int4range, exclude using gist (room with &&));
    insert into parent values (1, 'one'), (2, 'two');
    insert into child values (1, 1);
    create role pauper;
    create domain small as int check (value < 10);
"""

REFUSED = {
    "insert into parent values (1, 'planted')": "CONFLICT ALREADY_EXISTS rejected",
    "insert into parent values (9, 'one')": "CONFLICT ALREADY_EXISTS rejected",
    "insert into child values (2, 77)": "VALIDATION FOREIGN_KEY_VIOLATION rejected",
    "delete from parent where id = 1": "VALIDATION FOREIGN_KEY_VIOLATION rejected",
    "insert into parent values (3, null, null)": "VALIDATION CONSTRAINT_VIOLATION rejected",
    "insert into parent values (3, 'planted-bad')": "VALIDATION CONSTRAINT_VIOLATION rejected",
    "select 'planted'::small": "VALIDATION INVALID_ARGUMENT rejected",
    "select 12::small": "VALIDATION CONSTRAINT_VIOLATION rejected",
    "insert into booking values ('[1,3)'), ('[2,4)')": "CONFLICT CONFLICT rejected",
    "select 'planted'::int": "VALIDATION INVALID_ARGUMENT rejected",
    "select 1/0": "VALIDATION INVALID_ARGUMENT rejected",
    "select 99999999999::int": "VALIDATION OUT_OF_RANGE rejected",
    "select '2024-99-99'::date": "VALIDATION OUT_OF_RANGE rejected",
    "select 'planted'::json": "VALIDATION INVALID_ARGUMENT rejected",
    "select convert_from('\\xff'::bytea, 'UTF8')": "VALIDATION ENCODING_ERROR rejected",
    "selec planted": "VALIDATION QUERY_ERROR rejected",
    "select planted from": "VALIDATION QUERY_ERROR rejected",
    "select count(*), name from parent": "VALIDATION QUERY_ERROR rejected",
    "select id from parent, child": "VALIDATION QUERY_ERROR rejected",
    "select * from planted": "NOT_FOUND TABLE_NOT_FOUND rejected",
    "select planted from parent": "NOT_FOUND COLUMN_NOT_FOUND rejected",
    "select planted(1)": "NOT_FOUND NOT_FOUND rejected",
    "select 1::planted": "NOT_FOUND NOT_FOUND rejected",
    "drop role planted": "NOT_FOUND NOT_FOUND rejected",
    "select * from planted.thing": "NOT_FOUND TABLE_NOT_FOUND rejected",
    "create table planted.thing ()": "NOT_FOUND NOT_FOUND rejected",
    "create table parent ()": "CONFLICT ALREADY_EXISTS rejected",
    "create role pauper": "CONFLICT ALREADY_EXISTS rejected",
    "alter table parent add name text": "CONFLICT ALREADY_EXISTS rejected",
    "create schema public": "CONFLICT ALREADY_EXISTS rejected",
    "drop table parent": "CONFLICT CONFLICT rejected",
    "set local role pauper; select * from parent": "PERMISSION FORBIDDEN rejected",
    "set transaction read only; insert into parent values (5, 'planted')": "PERMISSION READ_ONLY rejected",
    "set local statement_timeout = '20ms'; select pg_sleep(5)": "TRANSIENT QUERY_TIMEOUT not_executed",
    "do $$ begin raise exception 'planted'; end $$": "VALIDATION VALIDATION_ERROR rejected",
    "do $$ declare x int; begin select id into strict x from parent where id=9; end $$": "NOT_FOUND NOT_FOUND rejected",
    "do $$ declare x int; begin select id into strict x from parent; end $$": "CONFLICT AMBIGUOUS rejected",
    "do $$ begin assert false; end $$": "INTERNAL INTERNAL_ERROR rejected",
    "do $$ begin raise sqlstate '40001'; end $$": "CONFLICT SERIALIZATION_FAILURE not_executed",
    "do $$ begin raise sqlstate '53200'; end $$": "TRANSIENT RESOURCE_EXHAUSTED not_executed",
    "do $$ begin raise sqlstate '53100'; end $$": "INTERNAL DISK_FULL unknown",
    "do $$ begin raise sqlstate '58030'; end $$": "INTERNAL UPSTREAM_ERROR unknown",
    "do $$ begin raise sqlstate 'XX001'; end $$": "INTERNAL UPSTREAM_ERROR unknown",
    "do $$ begin raise sqlstate '08007'; end $$": "TRANSIENT CONNECTION_LOST unknown",
    "copy parent from '/nonexistent/planted'": "NOT_FOUND FILE_NOT_FOUND rejected",
    "savepoint a; rollback to savepoint planted": "INTERNAL INTERNAL_ERROR rejected",
    "select lo_get(1)": "NOT_FOUND NOT_FOUND rejected",
    "select repeat('x', 1073741820) || repeat('y', 1000)": "VALIDATION PAYLOAD_TOO_LARGE rejected",
}  # fmt: skip

OF_EVERY_DRIVER = [
    "insert into parent values (1, 'planted')",
    "insert into child values (2, 77)",
    "select * from planted",
    "set local role pauper; select * from parent",
    "set local statement_timeout = '20ms'; select pg_sleep(5)",
    "do $$ begin raise sqlstate '40001'; end $$",
]


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> Postgres:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(SETUP)
    return postgres


@pytest.fixture
def connection(database: Postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.dsn) as connection:
        yield connection


@pytest.mark.parametrize("statement", REFUSED)
def test_what_postgres_refuses_is_told_by_its_sqlstate(connection: psycopg.Connection, statement: str) -> None:
    exc = caught(connection.execute, statement)

    assert seen(exc) == REFUSED[statement]


def psycopg2_runs(server: Postgres, statement: str) -> None:
    with closing(psycopg2.connect(server.dsn)) as connection, connection.cursor() as cursor:
        cursor.execute(statement)


def asyncpg_runs(server: Postgres, statement: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(f"postgresql://{server.url}")
        try:
            async with connection.transaction():
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(run())


def sqlalchemy_runs(server: Postgres, statement: str, driver: str = "psycopg") -> None:
    engine = sqlalchemy.create_engine(f"postgresql+{driver}://{server.url}")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


def sqlalchemy_psycopg2_runs(server: Postgres, statement: str) -> None:
    sqlalchemy_runs(server, statement, "psycopg2")


def peewee_runs(server: Postgres, statement: str) -> None:
    database = peewee.PostgresqlDatabase(
        "postgres", user=server.user, password=server.password, host="127.0.0.1", port=server.port
    )
    with database:
        database.execute_sql(statement)


@pytest.mark.parametrize("statement", OF_EVERY_DRIVER)
@pytest.mark.parametrize(
    "run",
    [psycopg2_runs, asyncpg_runs, sqlalchemy_runs, sqlalchemy_psycopg2_runs, peewee_runs],
    ids=lambda run: run.__name__,
)
def test_every_driver_and_mapper_tells_the_same(
    database: Postgres, run: Callable[[Postgres, str], None], statement: str
) -> None:
    exc = caught(run, database, statement)

    assert seen(exc) == REFUSED[statement]


@pytest.mark.parametrize("statement", ["select * from planted", "insert into child values (2, 77)"])
def test_sqlalchemy_with_asyncpg_tells_the_same(database: Postgres, statement: str) -> None:
    async def run() -> None:
        engine = create_async_engine(f"postgresql+asyncpg://{database.url}")
        try:
            async with engine.connect() as connection:
                await connection.exec_driver_sql(statement)
        finally:
            await engine.dispose()

    exc = caught(lambda: asyncio.run(run()))

    assert seen(exc) == REFUSED[statement]


def test_a_statement_after_a_failed_one_depends_on_that(connection: psycopg.Connection) -> None:
    caught(connection.execute, "select 1/0")

    exc = caught(connection.execute, "select 1")

    assert seen(exc) == "CONFLICT FAILED_DEPENDENCY rejected"


def test_transactions_that_wait_for_each_other_are_a_deadlock_that_may_be_tried_again(database: Postgres) -> None:
    raised: list[BaseException] = []

    def lock(connection: psycopg.Connection, number: int) -> None:
        try:
            connection.execute("update parent set note = 'x' where id = %s", (number,))
            connection.rollback()
        except psycopg.Error as exc:
            raised.append(exc)
            connection.rollback()

    with psycopg.connect(database.dsn) as one, psycopg.connect(database.dsn) as two:
        one.execute("update parent set note = 'x' where id = 1")
        two.execute("update parent set note = 'x' where id = 2")
        other = threading.Thread(target=lock, args=(two, 1))
        other.start()
        lock(one, 2)
        other.join()

    assert [seen(exc) for exc in raised] == ["CONFLICT DEADLOCK not_executed"]
    assert mapped(raised[0]).retryable is True


def test_a_lock_that_is_not_released_in_time_is_a_lock_timeout(database: Postgres) -> None:
    with psycopg.connect(database.dsn) as one, psycopg.connect(database.dsn) as two:
        one.execute("lock table parent")

        exc = caught(two.execute, "lock table parent nowait")

    assert seen(exc) == "TRANSIENT LOCK_TIMEOUT not_executed"


def test_transactions_that_cannot_be_put_in_order_may_be_tried_again(database: Postgres) -> None:
    with psycopg.connect(database.dsn) as one, psycopg.connect(database.dsn) as two:
        for connection in (one, two):
            connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            connection.execute("select sum(id) from parent").fetchone()
        one.execute("insert into parent values (10, 'ten')")
        two.execute("insert into parent values (11, 'eleven')")
        one.commit()

        exc = caught(two.commit)
        two.rollback()

    assert seen(exc) == "CONFLICT SERIALIZATION_FAILURE not_executed"
    assert mapped(exc).retryable is True


def _connects(library: Any) -> Callable[[str], None]:
    def connect(dsn: str) -> None:
        library.connect(dsn).close()

    return connect


UNCONNECTED = {
    "password=planted-wrong": "PERMISSION UNAUTHORIZED rejected",
    "dbname=planted": "NOT_FOUND NOT_FOUND rejected",
    "user=planted": "PERMISSION UNAUTHORIZED rejected",
    "hst=planted": "VALIDATION QUERY_ERROR rejected",
}


@pytest.mark.parametrize("change", UNCONNECTED)
@pytest.mark.parametrize("library", [psycopg, psycopg2], ids=lambda library: library.__name__)
def test_why_libpq_could_not_connect_is_told(database: Postgres, library: Any, change: str) -> None:
    exc = caught(_connects(library), f"{database.dsn} {change}")

    assert seen(exc) == UNCONNECTED[change]


@pytest.mark.parametrize("library", [psycopg, psycopg2], ids=lambda library: library.__name__)
def test_nothing_was_executed_where_the_connection_was_refused(library: Any) -> None:
    with loopback.refusing() as port:
        exc = caught(_connects(library), f"host=127.0.0.1 port={port} user=planted password=planted")

    assert seen(exc) == "TRANSIENT CONNECTION_REFUSED not_executed"


@pytest.mark.slow
@pytest.mark.parametrize("library", [psycopg, psycopg2], ids=lambda library: library.__name__)
def test_a_server_that_never_answers_is_a_connect_timeout(library: Any) -> None:
    with loopback.unanswering() as port:
        exc = caught(_connects(library), f"host=127.0.0.1 port={port} user=planted connect_timeout=2")

    assert seen(exc) == "TRANSIENT CONNECT_TIMEOUT not_executed"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"password": "planted-wrong"}, "PERMISSION UNAUTHORIZED rejected"),
        ({"database": "planted"}, "NOT_FOUND NOT_FOUND rejected"),
    ],
)
def test_why_asyncpg_could_not_connect_is_told(database: Postgres, options: dict[str, str], expected: str) -> None:
    exc = caught(lambda: asyncio.run(asyncpg.connect(f"postgresql://{database.url}", **options)))

    assert seen(exc) == expected


SUICIDE = "select pg_terminate_backend(pg_backend_pid())"


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda server: psycopg.connect(server.dsn).execute(SUICIDE), "TRANSIENT SERVICE_UNAVAILABLE unknown"),
        (lambda server: psycopg2_runs(server, SUICIDE), "TRANSIENT CONNECTION_LOST unknown"),
        (lambda server: asyncpg_runs(server, SUICIDE), "TRANSIENT CONNECTION_LOST unknown"),
        (lambda server: sqlalchemy_runs(server, SUICIDE), "TRANSIENT SERVICE_UNAVAILABLE unknown"),
    ],
    ids=["psycopg", "psycopg2", "asyncpg", "sqlalchemy"],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_nobody_knows_what_became_of_a_statement_whose_connection_was_cut(
    database: Postgres, run: Callable[[Postgres], None], expected: str
) -> None:
    exc = caught(run, database)

    assert seen(exc) == expected


def test_a_closed_connection_executes_nothing(database: Postgres) -> None:
    new, old = psycopg.connect(database.dsn), psycopg2.connect(database.dsn)
    new.close()
    old.close()

    assert seen(caught(new.execute, "select 1")) == "TRANSIENT CONNECTION_LOST not_executed"
    assert seen(caught(old.cursor)) == "TRANSIENT CONNECTION_LOST not_executed"


def test_a_pool_without_a_free_connection_is_a_pool_timeout(database: Postgres) -> None:
    with psycopg_pool.ConnectionPool(database.dsn, min_size=1, max_size=1, open=True) as pool, pool.connection():
        new = caught(pool.getconn, 0.05)
    old_pool = psycopg2.pool.ThreadedConnectionPool(1, 1, database.dsn)
    old_pool.getconn()
    old = caught(old_pool.getconn)
    old_pool.closeall()

    assert seen(new) == "TRANSIENT POOL_TIMEOUT not_executed"
    assert seen(old) == "TRANSIENT POOL_TIMEOUT not_executed"


class Base(sqlalchemy.orm.DeclarativeBase):
    pass


class Parent(Base):
    __tablename__ = "parent"
    id: sqlalchemy.orm.Mapped[int] = sqlalchemy.orm.mapped_column(primary_key=True)
    name: sqlalchemy.orm.Mapped[str]


def _stale(session: sqlalchemy.orm.Session) -> None:
    parent = session.get_one(Parent, 2)
    session.connection().exec_driver_sql("delete from parent where id = 2")
    parent.name = "planted"
    session.flush()


def _bound(session: sqlalchemy.orm.Session) -> None:
    session.execute(sqlalchemy.text("select :planted"))


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda session: session.get_one(Parent, 99), "NOT_FOUND NOT_FOUND rejected"),
        (lambda session: session.scalars(sqlalchemy.select(Parent)).one(), "CONFLICT AMBIGUOUS rejected"),
        (
            lambda session: session.scalars(sqlalchemy.select(Parent).where(Parent.id > 90)).one(),
            "NOT_FOUND NOT_FOUND rejected",
        ),
        (_stale, "CONFLICT CONCURRENT_MODIFICATION rejected"),
        (_bound, "INTERNAL INTERNAL_ERROR unknown"),
        (lambda session: session.add(object()), "INTERNAL INTERNAL_ERROR unknown"),
        (lambda session: session.execute("planted"), "INTERNAL INTERNAL_ERROR not_executed"),
        (
            lambda session: sqlalchemy.Table("planted", sqlalchemy.MetaData(), autoload_with=session.connection()),
            "NOT_FOUND TABLE_NOT_FOUND rejected",
        ),
    ],
    ids=["missing", "many", "none", "stale", "unbound", "unmapped", "text", "reflect"],
)
def test_sqlalchemy_tells_what_its_session_met(
    database: Postgres, use: Callable[[sqlalchemy.orm.Session], Any], expected: str
) -> None:
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://{database.url}")
    with sqlalchemy.orm.Session(engine) as session:
        exc = caught(use, session)
    engine.dispose()

    assert seen(exc) == expected


def test_a_full_pool_of_sqlalchemy_and_an_unknown_dialect_never_reach_a_database(database: Postgres) -> None:
    engine = sqlalchemy.create_engine(
        f"postgresql+psycopg://{database.url}", pool_size=1, max_overflow=0, pool_timeout=0.05
    )
    with engine.connect():
        full = caught(engine.connect)
    engine.dispose()

    assert seen(full) == "TRANSIENT POOL_TIMEOUT not_executed"
    assert seen(caught(sqlalchemy.create_engine, "planted://")) == "INTERNAL CONFIG_ERROR not_executed"


MYSQL_ERRORS = {
    (1062, "23000"): "CONFLICT ALREADY_EXISTS rejected",
    (1452, "23000"): "VALIDATION FOREIGN_KEY_VIOLATION rejected",
    (1048, "23000"): "VALIDATION CONSTRAINT_VIOLATION rejected",
    (1064, "42000"): "VALIDATION QUERY_ERROR rejected",
    (1146, "42S02"): "NOT_FOUND TABLE_NOT_FOUND rejected",
    (1054, "42S22"): "NOT_FOUND COLUMN_NOT_FOUND rejected",
    (1142, "42000"): "PERMISSION FORBIDDEN rejected",
    (1205, "HY000"): "TRANSIENT LOCK_TIMEOUT not_executed",
    (1213, "40001"): "CONFLICT DEADLOCK not_executed",
    (1264, "22003"): "VALIDATION OUT_OF_RANGE rejected",
    (1290, "HY000"): "PERMISSION READ_ONLY rejected",
    (1317, "70100"): "TRANSIENT QUERY_TIMEOUT not_executed",
    (1153, "08S01"): "VALIDATION PAYLOAD_TOO_LARGE rejected",
    (1644, "45000"): "VALIDATION VALIDATION_ERROR rejected",
    (1053, "08S01"): "TRANSIENT SERVICE_UNAVAILABLE unknown",
}  # fmt: skip


def pymysql_runs(port: int, statement: str, **options: Any) -> None:
    account = {"user": "planted", "password": "planted", "connect_timeout": 1, **options}
    with closing(pymysql.connect(host="127.0.0.1", port=port, **account)) as connection:
        connection.cursor().execute(statement)


def mysql_connector_runs(port: int, statement: str, **options: Any) -> None:
    account = {"user": "planted", "password": "planted", "connection_timeout": 1, **options}
    with closing(
        mysql.connector.connect(host="127.0.0.1", port=port, use_pure=True, ssl_disabled=True, **account)
    ) as connection:
        connection.cursor().execute(statement)


@pytest.mark.parametrize(("number", "state"), MYSQL_ERRORS)
@pytest.mark.parametrize("run", [pymysql_runs, mysql_connector_runs], ids=lambda run: run.__name__)
def test_what_mysql_refuses_is_told_by_its_number(run: Callable[..., None], number: int, state: str) -> None:
    with loopback.serving(mysql_like) as port:
        exc = caught(run, port, f"fail {number} {state}")

    assert seen(exc) == MYSQL_ERRORS[number, state]


def test_an_unknown_number_of_mysql_is_told_by_its_sqlstate() -> None:
    with loopback.serving(mysql_like) as port:
        exc = caught(mysql_connector_runs, port, "fail 4999 40001")

    assert seen(exc) == "CONFLICT SERIALIZATION_FAILURE not_executed"


@pytest.mark.parametrize("run", [pymysql_runs, mysql_connector_runs], ids=lambda run: run.__name__)
def test_mysql_connections_fail_before_or_while_something_is_executed(run: Callable[..., None]) -> None:
    with loopback.serving(mysql_like) as port:
        denied = caught(lambda: run(port, "select 1", user="refuse-1045"))
        dropped = caught(run, port, "drop")
    with loopback.refusing() as port:
        refused = caught(run, port, "select 1")
    with loopback.unanswering() as port:
        unanswered = caught(run, port, "select 1")

    assert seen(denied) == "PERMISSION UNAUTHORIZED rejected"
    assert seen(dropped) == "TRANSIENT CONNECTION_LOST unknown"
    assert seen(refused) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(unanswered) == "TRANSIENT CONNECT_TIMEOUT not_executed"


def test_nobody_knows_what_became_of_a_statement_that_mysql_never_answered() -> None:
    with loopback.serving(mysql_like) as port:
        exc = caught(lambda: pymysql_runs(port, "hang", read_timeout=0.1))

    assert seen(exc) == "TRANSIENT CONNECTION_LOST unknown"


DUCKDB = {
    "selec planted": "VALIDATION QUERY_ERROR rejected",
    "select * from planted": "NOT_FOUND TABLE_NOT_FOUND rejected",
    "select planted from t": "VALIDATION QUERY_ERROR rejected",
    "create table t (a int)": "CONFLICT ALREADY_EXISTS rejected",
    "insert into t values (1)": "CONFLICT ALREADY_EXISTS rejected",
    "insert into t values (null)": "VALIDATION CONSTRAINT_VIOLATION rejected",
    "insert into c values (7)": "VALIDATION FOREIGN_KEY_VIOLATION rejected",
    "select 'planted'::int": "VALIDATION INVALID_ARGUMENT rejected",
    "select 300::tinyint": "VALIDATION INVALID_ARGUMENT rejected",
    "select 9223372036854775807 + 1::bigint": "VALIDATION OUT_OF_RANGE rejected",
    "commit": "CONFLICT CONCURRENT_MODIFICATION rejected",
    "select * from read_csv('/nonexistent/planted.csv')": "TRANSIENT UPSTREAM_ERROR unknown",
}


@pytest.mark.parametrize("statement", DUCKDB)
def test_what_duckdb_refuses_is_told_by_its_class(statement: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("create table t (a int primary key); insert into t values (1)")
        connection.execute("create table c (a int references t (a))")
        exc = caught(connection.execute, statement)

    assert seen(exc) == DUCKDB[statement]
