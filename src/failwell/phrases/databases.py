"""Wordings of databases and their drivers."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="deadlock",
        code="DEADLOCK",
        evidence="PostgreSQL 40P01, MySQL 1213, SQL Server 1205.",
        phrases="""
            deadlock (detected|found|victim)?
            was deadlocked
        """,
        unless="goroutines, all threads, all fibers",
        outcome="not_executed",  # the victim is rolled back
    ),
    Rule(
        name="could not serialise",
        code="SERIALIZATION_FAILURE",
        evidence="PostgreSQL 40001, CockroachDB, DuckDB and MongoDB write conflicts.",
        phrases="""
            could not serialize access
            could not serialize ~ transaction
            serialization failure
            write conflict
            transaction conflict
            conflict on tuple
            restart transaction
        """,
        confidence=0.9,
        outcome="not_executed",
    ),
    Rule(
        name="database locked",
        code="LOCK_TIMEOUT",
        evidence="SQLite SQLITE_BUSY, DuckDB file locks, lock waits of MySQL, PostgreSQL and SQL Server.",
        phrases="""
            database (file|table|schema)? is locked
            database table is locked
            sqlite busy
            sqlite locked
            lock wait timeout
            lock timeout
            lock request time out
            could not obtain lock
            could not set lock on file
            conflicting lock is held
            canceling statement due to lock timeout
            index lock
            acquir* ~ lock
            obtain ~ lock
        """,
        confidence=0.92,
    ),
    Rule(
        name="statement cancelled",
        code="QUERY_TIMEOUT",
        evidence="PostgreSQL 57014, MySQL max_execution_time: the database says that it stopped the statement.",
        phrases="""
            canceling statement due to statement timeout
            maximum statement execution time exceeded
            query execution was interrupted
        """,
        confidence=0.85,
        retryable=None,
        outcome="not_executed",
    ),
    Rule(
        name="statement took too long",
        code="QUERY_TIMEOUT",
        evidence="Warehouse query limits, and clients that stop waiting: the statement may still run.",
        phrases="""
            statement timeout
            query ~ (timed out|timeout)
            exceeded time limit
            exceeded ~ execution time
        """,
        confidence=0.85,
        retryable=None,
        outcome="unknown",
    ),
    Rule(
        name="too many connections",
        code="SERVER_BUSY",
        evidence="PostgreSQL 53300, MySQL 1040, connection pools.",
        phrases="""
            too many (clients|connections)
            too many (simultaneous|concurrent|open|parallel) (connections|sessions|requests|clients)
            remaining connection slots
            connection pool (exhausted|is full|limit)
            queue pool limit
            pool timeout
            timed out ~ connection pool
            (acquire|obtain|get) (a)? connection from (the)? pool
        """,
    ),
    Rule(
        name="foreign key",
        code="FOREIGN_KEY_VIOLATION",
        evidence="SQLite, PostgreSQL 23503, MySQL 1451 and 1452.",
        phrases="""
            foreign key constraint
            violates foreign key
            foreign key violation
        """,
    ),
    Rule(
        name="duplicate key",
        code="ALREADY_EXISTS",
        evidence="SQLite, PostgreSQL 23505, MySQL 1062, SQL Server 2627, Oracle ORA-00001, MongoDB E11000, DuckDB.",
        phrases="""
            unique constraint
            unique violation
            uniqueness violation
            primary key constraint
            primary key must be unique
            duplicate key
            duplicate entry
            e11000
            unique ~ (failed|violated|violation)
            cannot insert duplicate
            violates unique
            must be unique
        """,
        confidence=0.95,
    ),
    Rule(
        name="constraint violated",
        code="CONSTRAINT_VIOLATION",
        evidence="NOT NULL and CHECK constraints of SQL databases.",
        phrases="""
            not null constraint
            check constraint
            violates not null
            violates check
            constraint failed
            constraint error
            cannot be null
            column ~ cannot be null
            null value in column
            document failed validation
            value too long for type
            data too long for column
        """,
        confidence=0.93,
    ),
    Rule(
        name="table exists already",
        code="ALREADY_EXISTS",
        evidence="CREATE statements of SQL databases.",
        phrases="""
            (table|view|index|schema|database|relation|collection|column|type|function|role) ~ already exists
        """,
    ),
    Rule(
        name="table missing",
        code="TABLE_NOT_FOUND",
        evidence="SQLite, PostgreSQL 42P01, MySQL 1146, DuckDB, SQL Server 208, Oracle ORA-00942.",
        phrases="""
            no such (table|view|index)
            (table|view|relation|collection) ~ does not exist
            table ~ (was)? not found
            (table|view|relation|collection) not found
            unknown table
            invalid object name
            table or view does not exist
            undefined table
            ns not found
            index not found exception
        """,
        confidence=0.93,
    ),
    Rule(
        name="column missing",
        code="COLUMN_NOT_FOUND",
        evidence="SQLite, PostgreSQL 42703, MySQL 1054, DuckDB, SQL Server 207.",
        phrases="""
            no such (column|function|collation|module)
            column ~ does not exist
            column ~ not found
            unknown column
            invalid column name
            undefined column
            has no column
        """,
        confidence=0.93,
    ),
    Rule(
        name="query refused",
        code="QUERY_ERROR",
        evidence="Syntax and binder errors of SQL databases and query languages.",
        phrases="""
            syntax error (at|near|in|at or near)?
            (sql|query|cypher|graphql|jq|jsonpath|regex|expression|promql|pattern) ~ (syntax|parse) error
            error in your sql syntax
            incorrect syntax near
            parser error
            binder error
            conversion error
            catalog error
            unrecognized token
            incomplete input
            you can only execute one statement
            cannot execute ~ (command|commands|statement|statements)
            incorrect number of bindings
            has ~ (columns|column) but ~ values were supplied
            wrong number of (arguments|parameters|bindings) ~ function
            operator does not exist
            function ~ does not exist
            invalid input syntax
            unknown (operator|identifier|variable|function|name)
            cannot query field
            (unknown|undefined) (field|argument|type|directive|fragment) ~ on (type|field)
            (variable|function|identifier) ~ is not defined
            undefined (variable|function|name|identifier)
            unrecognized pipeline stage
            mismatched input
            group by ~ aggregate
            (division|divide|divided) by zero
        """,
        confidence=0.9,
    ),
    Rule(
        name="command missing in the database",
        code="NOT_IMPLEMENTED",
        evidence="Redis without a module that the server needs.",
        phrases="unknown command ~ with args beginning",
    ),
    Rule(
        name="key of the wrong kind",
        code="INVALID_ARGUMENT",
        evidence="Redis.",
        phrases="""
            wrongtype
            operation against a key holding the wrong kind
            value is not an integer or out of range
            wrong number of arguments
        """,
    ),
)
