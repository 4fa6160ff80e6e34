"""Rules for libraries that drive other programs: containers, browsers, shells, task queues."""

from typing import Any

from failwell.exceptions.network import raised_from, why_not_connected
from failwell.exceptions.rules import Family, Verdict, otherwise, peek
from failwell.exceptions.stdlib import by_exit_status
from failwell.phrases.meanings import BROKEN, BUG, Meaning, not_executed, outcome_unknown
from failwell.phrases.vendors.data import KAFKA


def docker_client(exc: Any) -> Verdict:
    """Depends on what kept it from reaching the daemon."""
    return why_not_connected(exc) if peek(exc, "__cause__") or peek(exc, "__context__") else "CONFIG_ERROR"


def ssh_hosts(exc: Any) -> Verdict:
    """Depends on the errors of the addresses that were tried."""
    errors: Any = peek(exc, "errors") or {}
    tried = next(iter(errors.values()), None)
    return tried if isinstance(tried, BaseException) else "CONNECTION_FAILED"


def by_kafka_name(exc: Any) -> Verdict:
    """Depends on the name of the broker's error, else on whether the client may send it again."""
    name = peek(exc, "message")  # of the class: NOT_LEADER_FOR_PARTITION
    found = KAFKA.get(name) if isinstance(name, str) else None
    return found or (outcome_unknown("SERVICE_UNAVAILABLE") if peek(exc, "retriable") is True else None)


# What librdkafka says itself; names of a broker's errors have no underscore before them, and some are cut short.
_RDKAFKA: dict[str, Meaning] = {
    "_ALL_BROKERS_DOWN": "CONNECTION_LOST",
    "_TRANSPORT": "CONNECTION_LOST",
    "_RESOLVE": not_executed("CONNECTION_FAILED"),
    "_TIMED_OUT": "TIMEOUT",
    "_MSG_TIMED_OUT": "TIMEOUT",
    "_TIMED_OUT_QUEUE": not_executed("TIMEOUT"),
    "_QUEUE_FULL": not_executed("SERVER_BUSY"),
    "_AUTHENTICATION": not_executed("UNAUTHORIZED"),
    "_SSL": not_executed("TLS_VERIFY_FAILED"),
    "_UNKNOWN_TOPIC": "NOT_FOUND",
    "_UNKNOWN_PARTITION": "NOT_FOUND",
    "_UNKNOWN_GROUP": "NOT_FOUND",
    "_INVALID_ARG": not_executed("INVALID_ARGUMENT"),
    "UNKNOWN_TOPIC_OR_PART": "NOT_FOUND",
    "MSG_SIZE_TOO_LARGE": "PAYLOAD_TOO_LARGE",
    "INVALID_MSG_SIZE": "INVALID_ARGUMENT",
}


def by_rdkafka_name(exc: Any) -> Verdict:
    """Depends on the name of the error that it carries, else on whether that passes."""
    error = exc.args[0]
    name = error.name()
    return (
        _RDKAFKA.get(name) or KAFKA.get(name) or (outcome_unknown("SERVICE_UNAVAILABLE") if error.retriable() else None)
    )


RULES: Family = {
    "docker": {
        "DockerException": docker_client,
        "ContainerError": "PROCESS_FAILED",
        "BuildError": "PROCESS_FAILED",
        "ImageLoadError": "PROCESS_FAILED",
        "ContextNotFound": "NOT_FOUND",
        "ContextAlreadyExists": "ALREADY_EXISTS",
        "StreamParseError": "BAD_UPSTREAM_RESPONSE",
        **dict.fromkeys(("InvalidArgument", "NullResource", "InvalidRepository"), not_executed("INVALID_ARGUMENT")),
        **dict.fromkeys(("InvalidVersion", "InvalidConfigFile", "TLSParameterError"), "CONFIG_ERROR"),
        "ContextException": "CONFIG_ERROR",
        **dict.fromkeys(("DeprecatedMethod", "MissingContextParameter"), BUG),
    },
    "playwright": {
        "Error": BROKEN,
        "TimeoutError": "TIMEOUT",
        "TargetClosedError": "CONNECTION_LOST",
    },
    "selenium": {
        "WebDriverException": BROKEN,
        "TimeoutException": "TIMEOUT",
        **dict.fromkeys(
            (
                "NoSuchElementException", "NoSuchFrameException", "NoSuchWindowException", "NoSuchCookieException",
                "NoSuchAttributeException", "NoSuchShadowRootException", "NoAlertPresentException",
            ),
            "NOT_FOUND",
        ),
        **dict.fromkeys(
            (
                "InvalidArgumentException", "InvalidSelectorException", "InvalidCookieDomainException",
                "InvalidCoordinatesException", "MoveTargetOutOfBoundsException", "UnexpectedTagNameException",
                "InvalidSwitchToTargetException",
            ),
            "INVALID_ARGUMENT",
        ),
        "JavascriptException": outcome_unknown("INVALID_ARGUMENT"),
        **dict.fromkeys(
            (
                "ElementClickInterceptedException", "InvalidElementStateException", "StaleElementReferenceException",
                "DetachedShadowRootException",
            ),
            "PRECONDITION_FAILED",
        ),
        "UnexpectedAlertPresentException": outcome_unknown("PRECONDITION_FAILED"),
        "InvalidSessionIdException": "CONNECTION_LOST",
        "InsecureCertificateException": "TLS_VERIFY_FAILED",
        **dict.fromkeys(("SessionNotCreatedException", "NoSuchDriverException"), "CONFIG_ERROR"),
        "UnknownMethodException": "NOT_IMPLEMENTED",
    },
    "paramiko": {
        "SSHException": "CONNECTION_LOST",
        "AuthenticationException": not_executed("UNAUTHORIZED"),
        "BadHostKeyException": "TLS_VERIFY_FAILED",
        "NoValidConnectionsError": ssh_hosts,
        "ChannelException": "CONNECTION_FAILED",
        "ProxyCommandFailure": outcome_unknown("CONNECTION_FAILED"),
        **dict.fromkeys(("ConfigParseError", "IncompatiblePeer", "UnknownKeyType"), "CONFIG_ERROR"),
        "CouldNotCanonicalize": "HOST_NOT_FOUND",
        "MessageOrderError": "BAD_UPSTREAM_RESPONSE",
        "SFTPError": "UPSTREAM_ERROR",
    },
    "asyncssh": {
        "ConnectionLost": "CONNECTION_LOST",
        "PermissionDenied": not_executed("UNAUTHORIZED"),
        "IllegalUserName": not_executed("UNAUTHORIZED"),
        "HostKeyNotVerifiable": "TLS_VERIFY_FAILED",
        **dict.fromkeys(("KeyExchangeFailed", "ProtocolNotSupported", "CompressionError"), "CONFIG_ERROR"),
        **dict.fromkeys(("ConfigParseError", "KeyImportError", "KeyEncryptionError"), "CONFIG_ERROR"),
        "ServiceNotAvailable": "CONNECTION_FAILED",
        "ChannelOpenError": "CONNECTION_FAILED",
        "ProcessError": by_exit_status,
        "TimeoutError": "TIMEOUT",
        **dict.fromkeys(("SFTPNoSuchFile", "SFTPNoSuchPath"), "FILE_NOT_FOUND"),
        **dict.fromkeys(("SFTPPermissionDenied", "SFTPWriteProtect", "SFTPCannotDelete"), "FORBIDDEN"),
        "SFTPFileAlreadyExists": "ALREADY_EXISTS",
        "SFTPDirNotEmpty": "NOT_EMPTY",
        "SFTPLockConflict": "LOCKED",
        **dict.fromkeys(("SFTPConnectionLost", "SFTPNoConnection"), "CONNECTION_LOST"),
        "SFTPOpUnsupported": "NOT_IMPLEMENTED",
    },
    "aiokafka kafka": {
        "BrokerResponseError": by_kafka_name,
        "AuthenticationFailedError": not_executed("UNAUTHORIZED"),
        "KafkaTimeoutError": "TIMEOUT",
        "KafkaConnectionError": "CONNECTION_LOST",
        **dict.fromkeys(("NoBrokersAvailable", "KafkaUnavailableError", "NodeNotReadyError"), "CONNECTION_FAILED"),
        "QuotaViolationError": "RATE_LIMITED",
        "RecordTooLargeError": not_executed("PAYLOAD_TOO_LARGE"),
    },
    "dulwich": {"NotGitRepository": "NOT_FOUND", "HangupException": "CONNECTION_LOST"},
    "cimpl": {"KafkaException": by_rdkafka_name},  # of confluent-kafka, whose classes say so
    "nats": {
        "TimeoutError": "TIMEOUT",
        "NoServersError": "CONNECTION_FAILED",
        **dict.fromkeys(("NoRespondersError", "NoStreamResponseError"), not_executed("SERVICE_UNAVAILABLE")),
        **dict.fromkeys(("ConnectionClosedError", "ConnectionDrainingError"), not_executed("CONNECTION_LOST")),
        "ConnectionReconnectingError": not_executed("CONNECTION_LOST"),
        "StaleConnectionError": "CONNECTION_LOST",
        **dict.fromkeys(("AuthorizationError", "InvalidUserCredentialsError"), not_executed("UNAUTHORIZED")),
        "MaxPayloadError": not_executed("PAYLOAD_TOO_LARGE"),
        **dict.fromkeys(("BadSubjectError", "BadHeaderError", "InvalidKeyError"), not_executed("INVALID_ARGUMENT")),
        "NotFoundError": "NOT_FOUND",
        "KeyWrongLastSequenceError": "CONCURRENT_MODIFICATION",
        "ObjectAlreadyExists": "ALREADY_EXISTS",
        **dict.fromkeys(("ServiceUnavailableError", "OutboundBufferLimitError"), "SERVICE_UNAVAILABLE"),
    },
    "celery": {
        "CeleryError": "INTERNAL_ERROR",
        "TimeoutError": "TIMEOUT",
        "NotRegistered": "NOT_FOUND",
        "QueueNotFound": "NOT_FOUND",
        "TaskRevokedError": "OUTCOME_UNKNOWN",
        "BackendError": "UPSTREAM_ERROR",
        "ImproperlyConfigured": "CONFIG_ERROR",
        "SecurityError": "FORBIDDEN",
    },
    "kombu": {
        "KombuError": "INTERNAL_ERROR",
        "OperationalError": otherwise(raised_from, "CONNECTION_LOST"),
        "LimitExceeded": not_executed("RESOURCE_EXHAUSTED"),
        "EncodeError": not_executed("INVALID_ARGUMENT"),
        "DecodeError": "BAD_UPSTREAM_RESPONSE",
    },
    "billiard": {
        "SoftTimeLimitExceeded": "TIMEOUT",
        "TimeLimitExceeded": "TIMEOUT",
        "WorkerLostError": "WORKER_CRASHED",
    },
    "apscheduler": {"JobLookupError": "NOT_FOUND"},
}  # fmt: skip
