"""Rules for SQL: drivers by SQLSTATE or error number, object mappers by what they wrap."""

from typing import Any

from failwell.exceptions.network import chain, raised_from, why_not_connected
from failwell.exceptions.rules import Family, Verdict, otherwise, peek
from failwell.phrases import names
from failwell.phrases.meanings import BROKEN, BUG, Meaning, not_executed, outcome_unknown
from failwell.phrases.sql_codes import MYSQL, ORACLE, ORACLE_DRIVER, SQL_SERVER, meaning_of_sqlstate
from failwell.phrases.vendors.data import SNOWFLAKE

_LONGEST_TEXT = 2000

# libpq tells why no connection came about in a sentence and in nothing else. It is read here and goes no further.
_LIBPQ_SENTENCES: tuple[tuple[str, Meaning], ...] = (
    ("authentication failed", "UNAUTHORIZED"),
    ("no password supplied", "UNAUTHORIZED"),
    ("no pg_hba.conf entry", "UNAUTHORIZED"),
    ('FATAL:  role "', "UNAUTHORIZED"),
    ("certificate verify failed", "TLS_VERIFY_FAILED"),
    ('FATAL:  database "', "NOT_FOUND"),
    ("too many clients", not_executed("RESOURCE_EXHAUSTED")),
    ("connection slots", not_executed("RESOURCE_EXHAUSTED")),
    ("the database system is", not_executed("SERVICE_UNAVAILABLE")),
    ("Connection refused", "CONNECTION_REFUSED"),
    ("timeout expired", "CONNECT_TIMEOUT"),
    ("Temporary failure in name resolution", "DNS_TEMPORARY"),
    ("translate host name", "HOST_NOT_FOUND"),
    ("failed to resolve host", "HOST_NOT_FOUND"),
    ("connection is closed", not_executed("CONNECTION_LOST")),
    ("connection to server", "CONNECTION_FAILED"),
    ("connection failed", "CONNECTION_FAILED"),
)

_CLOSED_BEFORE = ("already closed", "is closed", "not open", "not connected")  # PyMySQL says (0, "")


def driver_error(exc: Any) -> Verdict:
    """Depends on the SQLSTATE, else on its PEP 249 class."""
    state = peek(exc, "sqlstate") or peek(exc, "pgcode")
    return meaning_of_sqlstate(state) or _by_class(exc)


def libpq_error(exc: Any) -> Verdict:
    """Depends on the SQLSTATE; where a connection failed, on what libpq says; else on the class."""
    state = peek(exc, "sqlstate") or peek(exc, "pgcode")
    if found := meaning_of_sqlstate(state):
        return found
    if _is_a(exc, "OperationalError"):
        text = str(exc)[:_LONGEST_TEXT]
        return next((meaning for words_, meaning in _LIBPQ_SENTENCES if words_ in text), "CONNECTION_LOST")
    return _by_class(exc)


def asyncpg_interface(exc: Any) -> Verdict:
    """Depends on the server's error that it hides, as on leaving a transaction whose connection was lost."""
    hidden = peek(exc, "__cause__") or peek(exc, "__context__")
    return hidden if isinstance(hidden, BaseException) and isinstance(peek(hidden, "sqlstate"), str) else BUG


def mysql_error(exc: Any) -> Verdict:
    """Depends on the error number, then the SQLSTATE, else on its PEP 249 class."""
    number = peek(exc, "errno")
    if not isinstance(number, int) or number < 0:
        number = _first_argument(exc)
    found = MYSQL.get(number) if isinstance(number, int) else None
    if found == "CONNECTION_FAILED":
        return connect_failure(exc)
    return found or driver_error(exc)


def odbc_error(exc: Any) -> Verdict:
    """Depends on the SQLSTATE, which is the first argument."""
    return meaning_of_sqlstate(_first_argument(exc)) or _by_class(exc)


def oracle_error(exc: Any) -> Verdict:
    """Depends on the ORA number or the code of the driver, else on its PEP 249 class."""
    error = _first_argument(exc)
    number, code = peek(error, "code"), peek(error, "full_code")
    if code in ORACLE_DRIVER:
        found = ORACLE_DRIVER[code]
        return connect_failure(exc) if found == "CONNECTION_FAILED" else found
    return (ORACLE.get(number) if isinstance(number, int) else None) or _by_class(exc)


def sql_server_error(exc: Any) -> Verdict:
    """Depends on the error number, else on its PEP 249 class."""
    number = peek(exc, "number") or _first_argument(exc)
    return (SQL_SERVER.get(number) if isinstance(number, int) else None) or _by_class(exc)


def wrapped_error(exc: Any) -> Verdict:
    """Depends on the driver's error that it wraps, else on the SQLSTATE or its PEP 249 class."""
    for inner in (peek(exc, "orig"), _first_argument(exc), peek(exc, "__cause__")):
        if isinstance(inner, BaseException):
            return inner
    return driver_error(exc)


def trino_error(exc: Any) -> Verdict:
    """Depends on `error_name` and `error_type`, else on its PEP 249 class."""
    name, kind = peek(exc, "error_name"), peek(exc, "error_type")
    found = names.code_of(name) if isinstance(name, str) else None
    return found or (_TRINO_TYPES.get(kind) if isinstance(kind, str) else None) or _by_class(exc)


_TRINO_TYPES: dict[str, Meaning] = {
    "USER_ERROR": "QUERY_ERROR",
    "INSUFFICIENT_RESOURCES": outcome_unknown("RESOURCE_EXHAUSTED"),
    "EXTERNAL": outcome_unknown("UPSTREAM_ERROR"),
    "INTERNAL_ERROR": outcome_unknown("UPSTREAM_ERROR"),
}


def snowflake_error(exc: Any) -> Verdict:
    """Depends on the number of the error, else on its SQLSTATE and its PEP 249 class."""
    number = peek(exc, "errno")
    found = SNOWFLAKE.get(f"{number:06}") if isinstance(number, int) else None
    return found or driver_error(exc)


def duckdb_catalog(exc: Any) -> Verdict:
    """Depends on whether it says that something exists already, or that it does not."""
    return "ALREADY_EXISTS" if "already exists" in str(exc)[:_LONGEST_TEXT] else "TABLE_NOT_FOUND"


def duckdb_constraint(exc: Any) -> Verdict:
    """Depends on the kind of constraint it names."""
    text = str(exc)[:_LONGEST_TEXT].lower()
    if "duplicate key" in text or "unique" in text:
        return "ALREADY_EXISTS"
    return "FOREIGN_KEY_VIOLATION" if "foreign key" in text else "CONSTRAINT_VIOLATION"


def connect_failure(exc: BaseException) -> Verdict:
    """Depends on what kept it from connecting: name, refusal, TLS, time; the request never left."""
    if any(isinstance(inner, TimeoutError) for inner in chain(exc)):
        return "CONNECT_TIMEOUT"
    return why_not_connected(exc)


def _by_class(exc: Any) -> Verdict:
    """Return the meaning of the nearest class with a name of PEP 249; databases refuse what they report."""
    for cls in type(exc).__mro__:
        if cls.__name__ in ("InternalError", "DatabaseError", "Error"):
            return BROKEN
        if cls.__name__ == "InterfaceError":  # the driver itself, most often on a connection closed before
            return not_executed("CONNECTION_LOST") if _was_closed(exc) else "CONNECTION_LOST"
        if cls.__name__.endswith("Error") and (code := names.code_of(cls.__name__)):
            return code
    return None


def _was_closed(exc: Any) -> bool:
    first = _first_argument(exc)
    return first == 0 or (isinstance(first, str) and any(words in first[:_LONGEST_TEXT] for words in _CLOSED_BEFORE))


def _first_argument(exc: Any) -> object:
    arguments = peek(exc, "args")
    return arguments[0] if arguments else None


def _is_a(exc: Any, name: str) -> bool:
    return any(cls.__name__ == name for cls in type(exc).__mro__)


RULES: Family = {
    "psycopg psycopg2": {
        "Error": libpq_error,
        "ConnectionTimeout": "CONNECT_TIMEOUT",
        "CancellationTimeout": outcome_unknown("QUERY_TIMEOUT"),
        "_WaitTimeout": "TIMEOUT",
        "PipelineAborted": "FAILED_DEPENDENCY",
        "PoolError": "POOL_TIMEOUT",
    },
    "apsw": {
        **dict.fromkeys(("BusyError", "LockedError", "ProtocolError"), "LOCK_TIMEOUT"),
    },
    "psycopg_pool": {
        "PoolTimeout": "POOL_TIMEOUT",
        "TooManyRequests": "SERVER_BUSY",
        "PoolClosed": not_executed("CONNECTION_LOST"),
    },
    "asyncpg": {
        "PostgresError": driver_error,
        "InterfaceError": asyncpg_interface,
        "ClientConfigurationError": "CONFIG_ERROR",
        "UnsupportedServerFeatureError": "NOT_IMPLEMENTED",
        "UnsupportedClientFeatureError": "NOT_IMPLEMENTED",
        "InternalClientError": BROKEN,
        "ProtocolError": "BAD_UPSTREAM_RESPONSE",
        "OutdatedSchemaCacheError": not_executed("CONCURRENT_MODIFICATION"),
        "TargetServerAttributeNotMatched": not_executed("SERVICE_UNAVAILABLE"),
    },
    "pg8000": {"Error": driver_error},
    "pymysql MySQLdb asyncmy aiomysql": {"MySQLError": mysql_error, "Error": mysql_error},
    "mysql mariadb": {
        "Error": mysql_error,
        "PoolError": "POOL_TIMEOUT",
        "ConnectionTimeoutError": "CONNECT_TIMEOUT",
        "ReadTimeoutError": "UPSTREAM_TIMEOUT",
        "WriteTimeoutError": "UPSTREAM_TIMEOUT",
    },
    "pyodbc aioodbc": {"Error": odbc_error},
    "oracledb cx_Oracle": {"Error": oracle_error},
    "pymssql": {"Error": sql_server_error},
    "snowflake": {"Error": snowflake_error},
    "databricks ibm_db_dbi vertica_python redshift_connector": {"Error": driver_error},
    "trino": {
        "Error": trino_error,
        "TrinoAuthError": "UNAUTHORIZED",
        "TrinoConnectionError": otherwise(raised_from, "CONNECTION_LOST"),
        "HttpError": "UPSTREAM_ERROR",
        "Http502Error": "BAD_GATEWAY",
        "Http503Error": "SERVICE_UNAVAILABLE",
        "Http504Error": "UPSTREAM_TIMEOUT",
    },
    "clickhouse_connect": {"Error": driver_error, "ClickHouseError": driver_error},
    "duckdb _duckdb": {
        "Error": driver_error,
        "CatalogException": duckdb_catalog,
        "ConstraintException": duckdb_constraint,
        **dict.fromkeys(("BinderException", "ParserException", "SyntaxException"), "QUERY_ERROR"),
        **dict.fromkeys(("ConversionException", "InvalidInputException", "InvalidTypeException"), "INVALID_ARGUMENT"),
        **dict.fromkeys(("TypeMismatchException", "SequenceException"), "INVALID_ARGUMENT"),
        "OutOfRangeException": "OUT_OF_RANGE",
        "NotImplementedException": "NOT_IMPLEMENTED",
        "PermissionException": "FORBIDDEN",
        "InterruptException": not_executed("QUERY_TIMEOUT"),
        "OutOfMemoryException": not_executed("RESOURCE_EXHAUSTED"),
        "TransactionException": "CONCURRENT_MODIFICATION",
        "SerializationException": BROKEN,
        "DependencyException": "CONFLICT",
        "ResourceInUseException": "RESOURCE_BUSY",
        "ConnectionException": not_executed("CONNECTION_LOST"),
        "IOException": {"code": "UPSTREAM_ERROR", "outcome": "unknown"},
    },
    "sqlalchemy": {
        **dict.fromkeys(("StatementError", "EmulatedDBAPIException", "Error"), wrapped_error),
        "SQLAlchemyError": "INTERNAL_ERROR",
        "NoResultFound": "NOT_FOUND",
        "MultipleResultsFound": "AMBIGUOUS",
        "NoSuchTableError": "TABLE_NOT_FOUND",
        "NoSuchColumnError": "COLUMN_NOT_FOUND",
        "ObjectDeletedError": "GONE",
        "StaleDataError": "CONCURRENT_MODIFICATION",
        "PendingRollbackError": "FAILED_DEPENDENCY",
        "TimeoutError": "POOL_TIMEOUT",
        "DisconnectionError": "CONNECTION_LOST",
        "ArgumentError": BUG,
        "CompileError": BUG,
        "IdentifierError": "INVALID_ARGUMENT",
        **dict.fromkeys(("NoSuchModuleError", "NoDBAPILoaded", "UnboundExecutionError"), "CONFIG_ERROR"),
    },
    "peewee": {
        "PeeweeException": wrapped_error,
        "DoesNotExist": "NOT_FOUND",
        "ImproperlyConfigured": "CONFIG_ERROR",
    },
    "tortoise": {
        "BaseORMException": "INTERNAL_ERROR",
        "OperationalError": wrapped_error,
        "DoesNotExist": "NOT_FOUND",
        "MultipleObjectsReturned": "AMBIGUOUS",
        "IntegrityError": wrapped_error,
        "ConfigurationError": "CONFIG_ERROR",
        "DBConnectionError": "CONNECTION_FAILED",
        "ValidationError": "VALIDATION_ERROR",
    },
    "django": {
        "Error": wrapped_error,
        "ObjectDoesNotExist": "NOT_FOUND",
        "MultipleObjectsReturned": "AMBIGUOUS",
        "ProtectedError": "FOREIGN_KEY_VIOLATION",
        "RestrictedError": "FOREIGN_KEY_VIOLATION",
        "TransactionManagementError": "FAILED_DEPENDENCY",
        "PermissionDenied": "FORBIDDEN",
        "ValidationError": "VALIDATION_ERROR",
        "BadRequest": "INVALID_ARGUMENT",
        "SuspiciousOperation": "INVALID_ARGUMENT",
        "RequestDataTooBig": "PAYLOAD_TOO_LARGE",
        "RequestAborted": "CONNECTION_LOST",
        **dict.fromkeys(("ImproperlyConfigured", "AppRegistryNotReady", "ConnectionDoesNotExist"), "CONFIG_ERROR"),
        **dict.fromkeys(("FieldDoesNotExist", "FieldError", "SynchronousOnlyOperation"), "INTERNAL_ERROR"),
        **dict.fromkeys(("EmptyResultSet", "FullResultSet", "ViewDoesNotExist"), "INTERNAL_ERROR"),
    },
}
