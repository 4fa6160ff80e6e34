"""Rules for libraries that the tests do without: classes with their names, modules and attributes."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.exceptions.caught import caught
from tests.exceptions.seen import mapped, seen


def lookalike(path: str, *args: object, cause: BaseException | None = None, **attributes: object) -> BaseException:
    """Return an exception of a class such as `oracledb.DatabaseError<Error`, bases from left to right."""
    module, _, names = path.partition(".")
    base: type[BaseException] = Exception
    for name in reversed(names.split("<")):
        base = type(name, (base,), {"__module__": f"{module}.planted"})
    exc = base(*args)
    for name, value in attributes.items():
        setattr(exc, name, value)
    exc.__cause__ = cause
    return exc


def _oracle(number: int = 0, code: str = "", **more: Any) -> BaseException:
    error = SimpleNamespace(code=number, full_code=code or f"ORA-{number:05}", message="planted")
    return lookalike("oracledb.DatabaseError<Error", error, **more)


def _salesforce(code: str) -> dict[str, Any]:
    return {"status": 400, "content": [{"message": "planted", "errorCode": code}]}


def _tagged(tag: str, value: object = None) -> object:
    return SimpleNamespace(_tag=tag, _value=value)


def _rdkafka(name: str, *, is_retriable: bool = False) -> object:
    return SimpleNamespace(name=lambda: name, retriable=lambda: is_retriable)


# What libpq and psycopg say where a look-up, a certificate or a full server is needed to provoke it.
LIBPQ = {
    "failed to resolve host 'planted'": "NOT_FOUND HOST_NOT_FOUND not_executed",
    'could not translate host name "planted" to address': "NOT_FOUND HOST_NOT_FOUND not_executed",
    'could not translate host name "planted" to address: Temporary failure in name resolution': (
        "TRANSIENT DNS_TEMPORARY not_executed"
    ),
    "connection failed: FATAL:  sorry, too many clients already": "TRANSIENT RESOURCE_EXHAUSTED not_executed",
    "connection failed: FATAL:  the database system is starting up": "TRANSIENT SERVICE_UNAVAILABLE not_executed",
    "connection failed: SSL error: certificate verify failed": "INTERNAL TLS_VERIFY_FAILED not_executed",
    'connection to server at "planted", port 5432 failed: No route to host': "TRANSIENT CONNECTION_FAILED not_executed",
    "consuming input failed: server closed the connection unexpectedly": "TRANSIENT CONNECTION_LOST unknown",
}

LOOKALIKES = {
    "ora-00001": (_oracle(1), "CONFLICT ALREADY_EXISTS rejected"),
    "ora-00942": (_oracle(942), "NOT_FOUND TABLE_NOT_FOUND rejected"),
    "ora-00060": (_oracle(60), "CONFLICT DEADLOCK not_executed"),
    "ora-20001": (_oracle(20001), "VALIDATION VALIDATION_ERROR rejected"),
    "ora-unknown": (_oracle(31415), "INTERNAL UPSTREAM_ERROR unknown"),
    "dpy-4011": (_oracle(code="DPY-4011"), "TRANSIENT CONNECTION_LOST unknown"),
    "dpy-6005": (
        _oracle(code="DPY-6005", cause=ConnectionRefusedError(111, "planted")),
        "TRANSIENT CONNECTION_REFUSED not_executed",
    ),
    "odbc": (lookalike("pyodbc.IntegrityError<Error", "23505", "planted"), "CONFLICT ALREADY_EXISTS rejected"),
    "odbc-sign-in": (lookalike("pyodbc.InterfaceError<Error", "28000", "planted"), "PERMISSION UNAUTHORIZED rejected"),
    "odbc-unsaid": (lookalike("pyodbc.ProgrammingError<Error", "HY000", "planted"), "VALIDATION QUERY_ERROR rejected"),
    "sql-server": (lookalike("pymssql.OperationalError<Error", 1205, b"planted"), "CONFLICT DEADLOCK not_executed"),
    "sql-server-number": (lookalike("pymssql.Error", number=18456), "PERMISSION UNAUTHORIZED rejected"),
    "sql-server-unsaid": (lookalike("pymssql.DataError<Error"), "VALIDATION INVALID_ARGUMENT rejected"),
    "snowflake": (
        lookalike("snowflake.ProgrammingError<DatabaseError<Error", sqlstate="42S02"),
        "NOT_FOUND TABLE_NOT_FOUND rejected",
    ),
    "trino": (
        lookalike("trino.TrinoUserError<Error", error_name="TABLE_NOT_FOUND"),
        "NOT_FOUND TABLE_NOT_FOUND rejected",
    ),
    "trino-unsaid": (lookalike("trino.TrinoQueryError<Error"), "VALIDATION QUERY_ERROR rejected"),
    "django": (
        lookalike("django.IntegrityError<Error", cause=lookalike("psycopg.UniqueViolation<Error", sqlstate="23505")),
        "CONFLICT ALREADY_EXISTS rejected",
    ),
    "django-unsaid": (lookalike("django.OperationalError<Error", "planted"), "TRANSIENT CONNECTION_LOST unknown"),
    "mysqlclient": (
        lookalike("MySQLdb.OperationalError<MySQLError", 1213, "planted"),
        "CONFLICT DEADLOCK not_executed",
    ),
    "old-sqlalchemy": (
        lookalike("sqlalchemy.ProgrammingError<Error", "planted", sqlstate="42P01"),
        "NOT_FOUND TABLE_NOT_FOUND rejected",
    ),
    "neo4j": (
        lookalike("neo4j.ClientError<Neo4jError", code="Neo.ClientError.Statement.SyntaxError"),
        "VALIDATION QUERY_ERROR rejected",
    ),
    "neo4j-missing-database": (
        lookalike("neo4j.ClientError<Neo4jError", code="Neo.ClientError.Database.DatabaseNotFound"),
        "NOT_FOUND NOT_FOUND rejected",
    ),
    "neo4j-forbidden": (
        lookalike("neo4j.ClientError<Neo4jError", code="Neo.ClientError.Security.Forbidden"),
        "PERMISSION FORBIDDEN rejected",
    ),
    "neo4j-existing-index": (
        lookalike("neo4j.ClientError<Neo4jError", code="Neo.ClientError.Schema.IndexAlreadyExists"),
        "CONFLICT ALREADY_EXISTS rejected",
    ),
    "neo4j-unlisted": (
        lookalike("neo4j.ClientError<Neo4jError", code="Neo.ClientError.Planted.Planted"),
        "VALIDATION QUERY_ERROR rejected",
    ),
    "neo4j-deadlock": (
        lookalike("neo4j.TransientError<Neo4jError", code="Neo.TransientError.Transaction.DeadlockDetected"),
        "CONFLICT DEADLOCK not_executed",
    ),
    "neo4j-transient": (
        lookalike("neo4j.TransientError<Neo4jError", code="Neo.TransientError.General.Planted"),
        "TRANSIENT SERVICE_UNAVAILABLE not_executed",
    ),
    "cassandra": (lookalike("cassandra.WriteTimeout<Timeout"), "TRANSIENT UPSTREAM_TIMEOUT unknown"),
    "mongo-bulk-concern": (
        lookalike(
            "pymongo.BulkWriteError<OperationFailure", details={"writeErrors": [], "writeConcernErrors": [{"code": 64}]}
        ),
        "TRANSIENT UPSTREAM_TIMEOUT unknown",
    ),
    "mongo-unlabelled": (lookalike("pymongo.OperationFailure", code=None), "INTERNAL UPSTREAM_ERROR unknown"),
    "elastic-bare": (lookalike("elastic_transport.ConnectionTimeout"), "TRANSIENT UPSTREAM_TIMEOUT unknown"),
    "elastic-bare-lost": (lookalike("elastic_transport.ConnectionError"), "TRANSIENT CONNECTION_LOST unknown"),
    "genai": (
        lookalike("google.ClientError<APIError", code=429, details={"error": {"status": "RESOURCE_EXHAUSTED"}}),
        "TRANSIENT RATE_LIMITED not_executed",
    ),
    "resumable-media": (
        lookalike("google.InvalidResponse", response=SimpleNamespace(status_code=503, headers={})),
        "TRANSIENT SERVICE_UNAVAILABLE unknown",
    ),
    "resumable-media-bare": (lookalike("google.InvalidResponse"), "INTERNAL BAD_UPSTREAM_RESPONSE unknown"),
    "google-retry-bare": (lookalike("google.RetryError"), "TRANSIENT UPSTREAM_TIMEOUT unknown"),
    "google-refresh-later": (
        lookalike("google.RefreshError", "planted", retryable=True),
        "TRANSIENT SERVICE_UNAVAILABLE not_executed",
    ),
    "google-call-bare": (lookalike("google.GoogleAPICallError"), "TRANSIENT UPSTREAM_ERROR unknown"),
    "grpc-bare": (lookalike("grpc.RpcError"), "INTERNAL INTERNAL_ERROR unknown"),
    "grpclib": (
        lookalike("grpclib.GRPCError", status=SimpleNamespace(name="ALREADY_EXISTS")),
        "CONFLICT ALREADY_EXISTS rejected",
    ),
    "aws-stream": (
        lookalike("botocore.EventStreamError<ClientError", response={"Error": {"Code": "throttlingException"}}),
        "TRANSIENT RATE_LIMITED unknown",
    ),
    "aws-stream-unsaid": (
        lookalike("botocore.EventStreamError<ClientError", response={"Error": {"Code": "x"}}),
        "TRANSIENT UPSTREAM_ERROR unknown",
    ),
    "aws-bare": (lookalike("botocore.ClientError"), "TRANSIENT UPSTREAM_ERROR unknown"),
    "aws-http": (
        lookalike("botocore.HTTPClientError", kwargs={"error": ConnectionResetError("planted")}),
        "TRANSIENT CONNECTION_LOST unknown",
    ),
    "aws-http-bare": (lookalike("botocore.HTTPClientError"), "TRANSIENT CONNECTION_LOST unknown"),
    "aws-unreachable-bare": (lookalike("botocore.EndpointConnectionError"), "TRANSIENT CONNECTION_FAILED not_executed"),
    "s3-transfer-bare": (lookalike("boto3.S3UploadFailedError", "planted"), "TRANSIENT UPSTREAM_ERROR unknown"),
    "azure-storage": (
        lookalike("azure.HttpResponseError", status_code=409, error_code=SimpleNamespace(value="LeaseAlreadyPresent")),
        "CONFLICT LOCKED rejected",
    ),
    "docker": (
        lookalike("docker.DockerException", cause=ConnectionRefusedError(111, "planted")),
        "TRANSIENT CONNECTION_REFUSED not_executed",
    ),
    "docker-bare": (lookalike("docker.DockerException"), "INTERNAL CONFIG_ERROR not_executed"),
    "paramiko": (
        lookalike("paramiko.NoValidConnectionsError", errors={("planted", 22): ConnectionRefusedError(111, "planted")}),
        "TRANSIENT CONNECTION_REFUSED not_executed",
    ),
    "paramiko-bare": (lookalike("paramiko.NoValidConnectionsError"), "TRANSIENT CONNECTION_FAILED not_executed"),
    "asyncssh-host-key": (
        lookalike("asyncssh.HostKeyNotVerifiable<DisconnectError<Error"),
        "INTERNAL TLS_VERIFY_FAILED not_executed",
    ),
    "asyncssh-sign-in": (
        lookalike("asyncssh.PermissionDenied<DisconnectError<Error"),
        "PERMISSION UNAUTHORIZED not_executed",
    ),
    "asyncssh-program": (
        lookalike("asyncssh.ProcessError<Error", exit_status=127),
        "INTERNAL CONFIG_ERROR unknown",
    ),
    "kafka-leader": (
        lookalike("aiokafka.NotLeaderForPartitionError<BrokerResponseError", message="NOT_LEADER_FOR_PARTITION"),
        "TRANSIENT MISDIRECTED not_executed",
    ),
    "kafka-timeout": (
        lookalike("aiokafka.RequestTimedOutError<BrokerResponseError", message="REQUEST_TIMED_OUT"),
        "TRANSIENT UPSTREAM_TIMEOUT unknown",
    ),
    "kafka-retriable": (
        lookalike("aiokafka.NewError<BrokerResponseError", message="NEW_ERROR", retriable=True),
        "TRANSIENT SERVICE_UNAVAILABLE unknown",
    ),
    "nats-nobody": (lookalike("nats.NoRespondersError<Error"), "TRANSIENT SERVICE_UNAVAILABLE not_executed"),
    "nats-sequence": (
        lookalike("nats.KeyWrongLastSequenceError<KeyValueError<BadRequestError<APIError<Error"),
        "CONFLICT CONCURRENT_MODIFICATION rejected",
    ),
    "jose": (lookalike("jose.JWTError<JOSEError"), "PERMISSION UNAUTHORIZED rejected"),
    "aiosmtplib-recipients": (
        lookalike("aiosmtplib.SMTPRecipientsRefused<SMTPException", recipients=[SimpleNamespace(code=550)]),
        "VALIDATION INVALID_ARGUMENT rejected",
    ),
    "aiosmtplib-recipient-busy": (
        lookalike("aiosmtplib.SMTPRecipientsRefused<SMTPException", recipients=[SimpleNamespace(code=450)]),
        "TRANSIENT SEND_FAILED rejected",
    ),
    "selenium": (lookalike("selenium.NoSuchElementException<WebDriverException"), "NOT_FOUND NOT_FOUND rejected"),
    "playwright": (lookalike("playwright.TimeoutError<Error"), "TRANSIENT TIMEOUT unknown"),
    "openai-bare": (
        lookalike("openai.APITimeoutError<APIConnectionError<APIError"),
        "TRANSIENT UPSTREAM_TIMEOUT unknown",
    ),
    "groq": (
        lookalike("groq.RateLimitError<APIStatusError<APIError", status_code=429, body={"error": {"code": "x"}}),
        "TRANSIENT RATE_LIMITED not_executed",
    ),
    "slack-bare": (lookalike("slack_sdk.SlackApiError"), "TRANSIENT UPSTREAM_ERROR unknown"),
    "slack-dict": (
        lookalike("slack_sdk.SlackApiError", response={"error": "is_archived"}),
        "CONFLICT PRECONDITION_FAILED rejected",
    ),
    "github-limit-bare": (
        lookalike("github.RateLimitExceededException<GithubException"),
        "TRANSIENT RATE_LIMITED not_executed",
    ),
    "amqp-missing": (
        lookalike("pika.ChannelClosedByBroker<ChannelClosed", reply_code=404),
        "NOT_FOUND NOT_FOUND rejected",
    ),
    "amqp-locked": (lookalike("pika.ChannelClosedByBroker<ChannelClosed", reply_code=405), "CONFLICT LOCKED rejected"),
    "amqp-forced": (
        lookalike("pika.ConnectionClosedByBroker<ConnectionClosed", reply_code=320),
        "TRANSIENT CONNECTION_LOST unknown",
    ),
    "zmq": (lookalike("zmq.Again<ZMQError", errno=11), "TRANSIENT TIMEOUT unknown"),
    "ldap-sign-in": (lookalike("ldap3.LDAPBindError<LDAPException"), "PERMISSION UNAUTHORIZED rejected"),
    "ldap-busy": (
        lookalike("ldap3.LDAPBusyResult<LDAPOperationResult", result=51),
        "TRANSIENT SERVER_BUSY not_executed",
    ),
    "pony": (lookalike("pony.OptimisticCheckError<OrmError"), "CONFLICT CONCURRENT_MODIFICATION rejected"),
    "clickhouse-table": (
        lookalike("clickhouse_driver.ServerException<Error", code=60),
        "NOT_FOUND TABLE_NOT_FOUND rejected",
    ),
    "clickhouse-timeout": (
        lookalike("clickhouse_driver.ServerException<Error", code=159),
        "TRANSIENT UPSTREAM_TIMEOUT unknown",
    ),
    "clickhouse-unsaid": (lookalike("clickhouse_driver.ServerException<Error"), "INTERNAL UPSTREAM_ERROR unknown"),
    "address-without-mail": (
        lookalike("email_validator.EmailUndeliverableError<EmailNotValidError"),
        "VALIDATION INVALID_ARGUMENT rejected",
    ),
    "signature": (lookalike("itsdangerous.BadSignature<BadData"), "PERMISSION UNAUTHORIZED rejected"),
    "parser-not-installed": (lookalike("bs4.FeatureNotFound"), "INTERNAL CONFIG_ERROR not_executed"),
    "vault-path": (lookalike("hvac.InvalidPath<VaultError"), "NOT_FOUND NOT_FOUND rejected"),
    "wikipedia": (lookalike("wikipedia.PageError<WikipediaException"), "NOT_FOUND NOT_FOUND rejected"),
    "scheduler": (lookalike("apscheduler.JobLookupError"), "NOT_FOUND NOT_FOUND rejected"),
    "Salesforce, a row that another one holds": (
        lookalike("simple_salesforce.SalesforceMalformedRequest<SalesforceError", **_salesforce("UNABLE_TO_LOCK_ROW")),
        "CONFLICT CONCURRENT_MODIFICATION not_executed",
    ),
    "Salesforce, a value that exists": (
        lookalike("simple_salesforce.SalesforceMalformedRequest<SalesforceError", **_salesforce("DUPLICATE_VALUE")),
        "CONFLICT ALREADY_EXISTS rejected",
    ),
    "Salesforce, a trigger that failed": (
        lookalike(
            "simple_salesforce.SalesforceMalformedRequest<SalesforceError",
            **_salesforce("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY"),
        ),
        "INTERNAL UPSTREAM_ERROR rejected",
    ),
    "Salesforce, nothing but a status": (
        lookalike("simple_salesforce.SalesforceGeneralError<SalesforceError", status=503, content="planted"),
        "TRANSIENT SERVICE_UNAVAILABLE unknown",
    ),
    "Dropbox, a path": (
        lookalike("dropbox.ApiError", error=_tagged("path", _tagged("not_found"))),
        "NOT_FOUND NOT_FOUND rejected",
    ),
    "Dropbox, a tag that says nothing": (
        lookalike("dropbox.ApiError", error=_tagged("other")),
        "INTERNAL INTERNAL_ERROR unknown",
    ),
    "MSAL": (lookalike("msal.MsalServiceError"), "PERMISSION UNAUTHORIZED not_executed"),
    "librdkafka, no broker": (
        lookalike("cimpl.KafkaException", _rdkafka("_ALL_BROKERS_DOWN")),
        "TRANSIENT CONNECTION_LOST unknown",
    ),
    "librdkafka, what the broker said": (
        lookalike("cimpl.KafkaException", _rdkafka("TOPIC_AUTHORIZATION_FAILED")),
        "PERMISSION FORBIDDEN rejected",
    ),
    "librdkafka, cut short": (
        lookalike("cimpl.KafkaException", _rdkafka("UNKNOWN_TOPIC_OR_PART")),
        "NOT_FOUND NOT_FOUND rejected",
    ),
    "librdkafka, something new that passes": (
        lookalike("cimpl.KafkaException", _rdkafka("NEW", is_retriable=True)),
        "TRANSIENT SERVICE_UNAVAILABLE unknown",
    ),
    "pika, a message without a queue": (
        lookalike("pika.UnroutableError<AMQPError"),
        "NOT_FOUND NOT_FOUND rejected",
    ),
    "pika, a message that the broker did not take": (
        lookalike("pika.NackError<AMQPError"),
        "TRANSIENT SERVICE_UNAVAILABLE unknown",
    ),
    "limits, its storage": (
        lookalike("limits.StorageError", storage_error=ConnectionRefusedError(111, "planted")),
        "TRANSIENT CONNECTION_REFUSED not_executed",
    ),
    "limits, an unknown storage": (
        lookalike("limits.StorageError", storage_error=RuntimeError("planted")),
        "TRANSIENT SERVICE_UNAVAILABLE unknown",
    ),
    "limits, an update that others made": (
        lookalike("limits.ConcurrentUpdateError"),
        "CONFLICT CONCURRENT_MODIFICATION not_executed",
    ),
    "AWS, a key that is switched off": (
        lookalike(
            "botocore.ClientError",
            response={"Error": {"Code": "DisabledException"}, "ResponseMetadata": {"HTTPStatusCode": 400}},
        ),
        "CONFLICT PRECONDITION_FAILED rejected",
    ),
    "Snowflake, a token": (
        lookalike("snowflake.DatabaseError<Error", errno=390144),
        "PERMISSION UNAUTHORIZED rejected",
    ),
    "Trino, what is behind it": (
        lookalike("trino.TrinoExternalError<Error", error_name="HIVE_METASTORE", error_type="EXTERNAL"),
        "TRANSIENT UPSTREAM_ERROR unknown",
    ),
    "Trino, a query": (
        lookalike("trino.TrinoUserError<Error", error_name="NEW", error_type="USER_ERROR"),
        "VALIDATION QUERY_ERROR rejected",
    ),
    "dulwich, no repository": (lookalike("dulwich.NotGitRepository"), "NOT_FOUND NOT_FOUND rejected"),
    "dulwich, the other side left": (
        lookalike("dulwich.HangupException<GitProtocolError"),
        "TRANSIENT CONNECTION_LOST unknown",
    ),
    "an archive with a password": (lookalike("rarfile.PasswordRequired<Error"), "PERMISSION UNAUTHORIZED rejected"),
    "an archive without the file": (lookalike("rarfile.NoRarEntry<Error"), "NOT_FOUND NOT_FOUND rejected"),
    "what a model wrote": (
        lookalike("langchain_core.OutputParserException"),
        "INTERNAL BAD_UPSTREAM_RESPONSE unknown",
    ),
    "Reddit, too often": (
        lookalike("praw.RedditAPIException", items=[SimpleNamespace(error_type="RATELIMIT")]),
        "TRANSIENT RATE_LIMITED not_executed",
    ),
    "Reddit, something wrong": (
        lookalike("praw.RedditAPIException", items=[SimpleNamespace(error_type="BAD_SR_NAME")]),
        "VALIDATION INVALID_ARGUMENT rejected",
    ),
    "a video without words": (
        lookalike("youtube_transcript_api.TranscriptsDisabled<CouldNotRetrieveTranscript"),
        "NOT_FOUND NOT_FOUND rejected",
    ),
    "Pillow, a bomb": (lookalike("PIL.DecompressionBombError"), "VALIDATION PAYLOAD_TOO_LARGE rejected"),
    "a subclass of httpx's error with a response": (
        lookalike("httpx.NewError<HTTPError", response=SimpleNamespace(status_code=404, headers={})),
        "NOT_FOUND NOT_FOUND rejected",
    ),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_carries_the_attributes_of_a_library_is_told_like_it(name: str) -> None:
    exc, expected = LOOKALIKES[name]

    assert seen(exc) == expected


@pytest.mark.parametrize("sentence", LIBPQ)
def test_what_libpq_says_of_a_connection_is_told(sentence: str) -> None:
    exc = lookalike("psycopg2.OperationalError<DatabaseError<Error", sentence)

    assert seen(exc) == LIBPQ[sentence]


@pytest.mark.parametrize(
    "path",
    [
        "psycopg.OperationalError<Error",
        "asyncpg.PostgresError",
        "pymysql.MySQLError",
        "oracledb.Error",
        "pyodbc.Error",
        "sqlalchemy.DBAPIError<StatementError",
        "redis.ConnectionError",
        "redis.ResponseError",
        "redis.TimeoutError",
        "pymongo.OperationFailure",
        "pymongo.BulkWriteError",
        "elastic_transport.ApiError",
        "opensearchpy.TransportError",
        "neo4j.Neo4jError",
        "botocore.ClientError",
        "grpc.RpcError",
        "google.GoogleAPICallError",
        "googleapiclient.HttpError",
        "kubernetes.ApiException",
        "azure.HttpResponseError",
        "azure.ResourceExistsError",
        "openai.APIStatusError",
        "github.GithubException",
        "slack_sdk.SlackApiError",
        "stripe.StripeError",
        "docker.DockerException",
        "google.RefreshError",
        "grpclib.GRPCError",
        "duckdb.CatalogException",
        "trino.Error",
        "simple_salesforce.SalesforceError",
        "dropbox.ApiError",
        "cimpl.KafkaException",
        "limits.StorageError",
    ],
)
@pytest.mark.parametrize("junk", [None, 7, "planted", b"planted", [], [[]], {"planted": {}}, object(), lambda: 1 / 0])
def test_attributes_of_another_kind_change_nothing_but_the_answer(path: str, junk: object) -> None:
    names = (
        "response",
        "status",
        "status_code",
        "code",
        "body",
        "details",
        "headers",
        "errors",
        "args",
        "errno",
        "meta",
        "resp",
        "content",
        "data",
        "error",
        "orig",
        "trailing_metadata",
        "kwargs",
        "info",
        "json_body",
        "sqlstate",
    )
    exc = lookalike(path)
    for name in names:
        if name != "args" or isinstance(junk, list):
            setattr(exc, name, junk)

    assert mapped(exc).type


def test_a_hostile_text_of_libpq_changes_nothing_but_the_answer() -> None:
    class OperationalError(Exception):
        __module__ = "psycopg"

        def __str__(self) -> str:
            raise RuntimeError("planted")

    class Error(OperationalError):
        __module__ = "psycopg"

    assert mapped(caught(_raise, Error())).type


def _raise(exc: BaseException) -> None:
    raise exc
