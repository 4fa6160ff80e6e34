"""Rules for databases without SQL, such as Redis, MongoDB and Neo4j, and for libraries that count in them."""

from typing import Any

from failwell.exceptions.http import at
from failwell.exceptions.rules import Family, Verdict, otherwise, peek
from failwell.exceptions.sql import connect_failure
from failwell.phrases import names
from failwell.phrases.meanings import (
    BROKEN,
    BUG,
    PARTLY,
    RETRY_TRANSACTION,
    Meaning,
    fields_of,
    not_executed,
    outcome_unknown,
)
from failwell.phrases.vendors.data import MONGO, NEO4J, REDIS


def redis_reply(exc: Any) -> Verdict:
    """Depends on the word that the server's reply begins with."""
    arguments = peek(exc, "args")
    first = arguments[0] if arguments else None
    word = first.partition(" ")[0] if isinstance(first, str) else ""
    return REDIS.get(word, "INVALID_ARGUMENT")


def redis_connection(exc: Any) -> Verdict:
    """Depends on whether it failed to connect, and why, or lost a connection that it had."""
    if peek(exc, "status_code") == "ERR":  # the server answered: it has too many clients
        return not_executed("RESOURCE_EXHAUSTED")
    arguments = peek(exc, "args")
    text = str(arguments[0])[:300] if arguments else ""
    if "connecting to" in text:  # redis-py has one class for all of them
        return connect_failure(exc)
    return "CONNECTION_LOST"


def redis_timeout(exc: Any) -> Verdict:
    """Depends on whether it timed out while connecting or while waiting for a reply."""
    arguments = peek(exc, "args")
    return "CONNECT_TIMEOUT" if arguments and "connecting" in str(arguments[0])[:300] else "UPSTREAM_TIMEOUT"


_MONGO_ASSERTIONS_FROM = 10_000  # numbers of places in the server's source where queries are refused


def mongo_failure(exc: Any) -> Verdict:
    """Depends on the server's error code, with what its labels say about the transaction."""
    details = peek(exc, "details")
    code = peek(exc, "code")
    found = MONGO.get(code) if isinstance(code, int) else None
    if found is None:
        found = "QUERY_ERROR" if isinstance(code, int) and code >= _MONGO_ASSERTIONS_FROM else BROKEN
    return _labelled(found, at(details, "errorLabels") or ())


def mongo_not_primary(exc: Any) -> Verdict:
    """Depends on the server's error code: refused by a secondary, or interrupted in the middle."""
    code = at(peek(exc, "details"), "code")
    return MONGO.get(code, "SERVICE_UNAVAILABLE") if isinstance(code, int) else "SERVICE_UNAVAILABLE"


def mongo_bulk(exc: Any) -> Verdict:
    """Depends on the code of the first write that failed; what came before it may have been written."""
    details = peek(exc, "details")
    code = at(details, "writeErrors", 0, "code")
    if code is None:
        code = at(details, "writeConcernErrors", 0, "code")
    written = any(at(details, count) for count in ("nInserted", "nModified", "nRemoved", "nUpserted"))
    found = MONGO.get(code) if isinstance(code, int) else None
    verdict = fields_of(found or BROKEN)
    return {**verdict, "outcome": "unknown"} if written else verdict


def _labelled(meaning: Meaning, labels: Any) -> Verdict:
    verdict = fields_of(meaning)
    if "UnknownTransactionCommitResult" in labels:
        verdict["outcome"] = "unknown"
    elif "TransientTransactionError" in labels or "NoWritesPerformed" in labels:
        verdict["outcome"] = "not_executed"
    if "TransientTransactionError" in labels or "RetryableWriteError" in labels:
        verdict["retryable"] = True
    return verdict


def neo4j_error(exc: Any) -> Verdict:
    """Depends on the server's code, `Neo.ClientError.Schema.ConstraintValidationFailed`, or else its last word."""
    code = peek(exc, "code")
    if not isinstance(code, str):
        return None
    word = code.rpartition(".")[2]
    if ".TransientError." in code:
        return not_executed(names.code_of(word) or "SERVICE_UNAVAILABLE")
    return NEO4J.get(code) or names.code_of(word)


# https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
_CLICKHOUSE: dict[int, Any] = {
    47: "COLUMN_NOT_FOUND", 57: "ALREADY_EXISTS", 60: "TABLE_NOT_FOUND", 62: "QUERY_ERROR", 81: "NOT_FOUND",
    159: "UPSTREAM_TIMEOUT", 202: "SERVER_BUSY", 209: "UPSTREAM_TIMEOUT", 497: "FORBIDDEN", 516: "UNAUTHORIZED",
}  # fmt: skip


def clickhouse_answer(exc: Any) -> Verdict:
    """Depends on the number of the error; else UPSTREAM_ERROR."""
    code = peek(exc, "code")
    return (_CLICKHOUSE.get(code) if isinstance(code, int) else None) or BROKEN


def storage_of_limits(exc: Any) -> Verdict:
    """Depends on the error of the storage."""
    inner = peek(exc, "storage_error")
    return inner if isinstance(inner, BaseException) else None


RULES: Family = {
    "limits": {
        "StorageError": otherwise(storage_of_limits, outcome_unknown("SERVICE_UNAVAILABLE")),
        "ConcurrentUpdateError": {"code": "CONCURRENT_MODIFICATION", "retryable": True, "outcome": "not_executed"},
    },
    "kazoo": {"BadVersionError": "CONCURRENT_MODIFICATION"},
    "lmdb": {"BadTxnError": BUG, "VersionMismatchError": "CONFIG_ERROR"},
    "redis": {
        "RedisError": "INTERNAL_ERROR",
        "ConnectionError": redis_connection,
        "TimeoutError": redis_timeout,
        "ResponseError": redis_reply,
        "AuthenticationError": "UNAUTHORIZED",
        "AuthenticationWrongNumberOfArgsError": "UNAUTHORIZED",
        "AuthorizationError": "FORBIDDEN",
        "ExternalAuthProviderError": not_executed("SERVICE_UNAVAILABLE"),
        "NoPermissionError": "FORBIDDEN",
        **dict.fromkeys(("BusyLoadingError", "TryAgainError", "ClusterDownError", "MasterDownError", "ClusterError",
                         "MaxConnectionsError", "MasterNotFoundError", "SlaveNotFoundError", "SlotNotCoveredError"),
                        not_executed("SERVICE_UNAVAILABLE")),
        **dict.fromkeys(("AskError", "MovedError"), "MISDIRECTED"),
        "WatchError": RETRY_TRANSACTION,
        "LockError": {"code": "LOCKED", "outcome": "not_executed"},
        "LockNotOwnedError": "CONCURRENT_MODIFICATION",
        "OutOfMemoryError": not_executed("RESOURCE_EXHAUSTED"),
        "ReadOnlyError": "READ_ONLY_REPLICA",
        "NoScriptError": "NOT_FOUND",
        "NoSuchFieldsetError": "NOT_FOUND",
        "ExecAbortError": "INVALID_ARGUMENT",
        "DataError": "INVALID_ARGUMENT",
        "InvalidResponse": "BAD_UPSTREAM_RESPONSE",
        "ModuleError": "CONFIG_ERROR",
        "RedisClusterException": "INTERNAL_ERROR",
        "ClusterCrossSlotError": "INVALID_ARGUMENT",
        **dict.fromkeys(("PubSubError", "CrossSlotTransactionError", "InvalidPipelineStack", "IncorrectPolicyType",
                         "ChildDeadlockedError"), BUG),
    },
    "pymongo": {
        "PyMongoError": "INTERNAL_ERROR",
        "OperationFailure": mongo_failure,
        "BulkWriteError": mongo_bulk,
        "ClientBulkWriteException": PARTLY,
        "WriteConcernError": "OUTCOME_UNKNOWN",
        "WTimeoutError": "UPSTREAM_TIMEOUT",
        "ConnectionFailure": "CONNECTION_LOST",
        "NetworkTimeout": "UPSTREAM_TIMEOUT",
        "ServerSelectionTimeoutError": "CONNECTION_FAILED",
        "WaitQueueTimeoutError": "POOL_TIMEOUT",
        "NotPrimaryError": mongo_not_primary,
        "CollectionInvalid": "INVALID_ARGUMENT",
        "InvalidName": "INVALID_ARGUMENT",
        "InvalidOperation": BUG,
        "ConfigurationError": "CONFIG_ERROR",
        "EncryptionError": "CONFIG_ERROR",
        "ProtocolError": "BAD_UPSTREAM_RESPONSE",
        "DocumentTooLarge": "PAYLOAD_TOO_LARGE",
    },
    "bson": {"BSONError": "INVALID_ARGUMENT", "InvalidBSON": "PARSE_ERROR", "InvalidStringData": "ENCODING_ERROR"},
    "gridfs": {
        "GridFSError": "INTERNAL_ERROR",
        "NoFile": "FILE_NOT_FOUND",
        "FileExists": "ALREADY_EXISTS",
        "CorruptGridFile": BROKEN,
    },
    "neo4j": {
        "Neo4jError": neo4j_error,
        "ClientError": otherwise(neo4j_error, "QUERY_ERROR"),
        "DatabaseError": BROKEN,
        "TransientError": neo4j_error,
        "AuthError": "UNAUTHORIZED",
        "Forbidden": "FORBIDDEN",
        "ForbiddenOnReadOnlyDatabase": "READ_ONLY",
        "NotALeader": "READ_ONLY_REPLICA",
        "ConstraintError": "CONSTRAINT_VIOLATION",
        "CypherSyntaxError": "QUERY_ERROR",
        "CypherTypeError": "INVALID_ARGUMENT",
        "DatabaseUnavailable": not_executed("SERVICE_UNAVAILABLE"),
        "ServiceUnavailable": "SERVICE_UNAVAILABLE",
        "SessionExpired": "CONNECTION_LOST",
        "IncompleteCommit": "OUTCOME_UNKNOWN",
        "ConnectionAcquisitionTimeoutError": "POOL_TIMEOUT",
        "ConfigurationError": "CONFIG_ERROR",
        "ResultNotSingleError": "AMBIGUOUS",
        "DriverError": "INTERNAL_ERROR",
    },
    "cassandra": {
        "DriverException": BROKEN,
        "NoHostAvailable": outcome_unknown("CONNECTION_FAILED"),  # also after each host was tried and lost
        "AuthenticationFailed": "UNAUTHORIZED",
        "Unauthorized": "FORBIDDEN",
        "AlreadyExists": "ALREADY_EXISTS",
        "InvalidRequest": "QUERY_ERROR",
        "SyntaxException": "QUERY_ERROR",
        "Unavailable": not_executed("SERVICE_UNAVAILABLE"),
        "OverloadedErrorMessage": "OVERLOADED",
        "IsBootstrappingErrorMessage": not_executed("SERVICE_UNAVAILABLE"),
        "RateLimitReached": "RATE_LIMITED",
        "NoConnectionsAvailable": "POOL_TIMEOUT",
        "ConnectionException": "CONNECTION_LOST",
        **dict.fromkeys(("Timeout", "ReadTimeout", "WriteTimeout", "OperationTimedOut"), "UPSTREAM_TIMEOUT"),
        **dict.fromkeys(("ReadFailure", "WriteFailure", "CoordinationFailure"), "UPSTREAM_ERROR"),
    },
    "pony": {"OptimisticCheckError": "CONCURRENT_MODIFICATION"},
    "clickhouse_driver": {"ServerException": clickhouse_answer},
}  # fmt: skip
