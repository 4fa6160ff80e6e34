"""Error codes of databases, search engines and queues that are asked over HTTP, or through a library."""

from failwell.phrases.meanings import (
    BROKEN,
    FAULT,
    MISSING,
    RETRY_TRANSACTION,
    Rows,
    by_code,
    by_number,
    not_executed,
    outcome_unknown,
)
from failwell.phrases.rpc_codes import GRPC_ROWS
from failwell.phrases.sql_codes import SQLSTATES
from failwell.phrases.vendor_shapes import Vendor

SEARCH_ROWS: Rows = (
    ("ALREADY_EXISTS", "resource_already_exists_exception index_already_exists_exception"),
    ("CONCURRENT_MODIFICATION", "version_conflict_engine_exception"),
    ("NOT_FOUND", "index_not_found_exception document_missing_exception resource_not_found_exception"),
    ("NOT_FOUND", "index_template_missing_exception repository_missing_exception snapshot_missing_exception"),
    ("GONE", "search_context_missing_exception"),
    ("UNAUTHORIZED", "authentication_processing_exception"),
    ("PAYLOAD_TOO_LARGE", "too_many_buckets_exception too_many_clauses content_too_long_exception"),
    (outcome_unknown("UPSTREAM_TIMEOUT"), "process_cluster_event_timeout_exception"),
    (outcome_unknown("UPSTREAM_TIMEOUT"), "receive_timeout_transport_exception"),
    ("SERVICE_UNAVAILABLE", "no_shard_available_action_exception unavailable_shards_exception"),
    (not_executed("SERVICE_UNAVAILABLE"), "master_not_discovered_exception cluster_manager_not_discovered_exception"),
    ("PRECONDITION_FAILED", "index_closed_exception"),
    ("READ_ONLY", "cluster_block_exception"),
    ("RATE_LIMITED", "es_rejected_execution_exception rejected_execution_exception"),
    (not_executed("RESOURCE_EXHAUSTED"), "circuit_breaking_exception"),
    ("QUERY_ERROR", "parsing_exception query_shard_exception script_exception x_content_parse_exception"),
    ("QUERY_ERROR", "verification_exception named_object_not_found_exception"),
    ("INVALID_ARGUMENT", "illegal_argument_exception invalid_index_name_exception action_request_validation_exception"),
    ("PARSE_ERROR", "json_parse_exception parse_exception"),
    ("INVALID_ARGUMENT", "mapper_parsing_exception document_parsing_exception strict_dynamic_mapping_exception"),
)
SEARCH = by_code(SEARCH_ROWS)
"""Types of errors of Elasticsearch and OpenSearch that arrive with a status which says less, or something else."""

REDIS_ROWS: Rows = (
    ("INVALID_ARGUMENT", "WRONGTYPE"),
    ("ALREADY_EXISTS", "BUSYGROUP BUSYKEY"),
    ("NOT_FOUND", "NOGROUP NOTBUSY"),
    ("RESOURCE_BUSY", "BUSY UNKILLABLE INPROG"),
    (not_executed("SERVICE_UNAVAILABLE"), "NOREPLICAS NOGOODSLAVE MISCONF"),
    ("UPSTREAM_ERROR", "IOERR"),
    ("FORBIDDEN", "DENIED"),
    ("NOT_IMPLEMENTED", "NOPROTO"),
    ("UNAUTHORIZED", "NOAUTH WRONGPASS"),
    ("FORBIDDEN", "NOPERM"),
    (not_executed("SERVICE_UNAVAILABLE"), "LOADING MASTERDOWN CLUSTERDOWN TRYAGAIN"),
    (not_executed("READ_ONLY_REPLICA"), "READONLY"),
    (not_executed("RESOURCE_EXHAUSTED"), "OOM"),
    ("INVALID_ARGUMENT", "CROSSSLOT EXECABORT"),
    (not_executed("MISDIRECTED"), "MOVED ASK"),
    ("PRECONDITION_FAILED", "NOSCRIPT"),
)
REDIS = by_code(REDIS_ROWS)
"""The word that a reply of Redis begins with, where redis-py has no class of its own for it."""

MONGO_ROWS: Rows = (
    ("UNAUTHORIZED", "11 18 8000"),
    ("FORBIDDEN", "13 31 33 8003"),
    ("NOT_FOUND", "26 27 47"),
    ("GONE", "43 237"),
    ("ALREADY_EXISTS", "48 68 11000 11001 12582"),
    ("CONFLICT", "85 86 117"),
    ("CONSTRAINT_VIOLATION", "66 121"),
    ("INVALID_ARGUMENT", "2 3 4 14 15 16 20 28 40 52 53 54 55 56 57 72 73 167"),
    ("QUERY_ERROR", "9 67 168"),
    ("PAYLOAD_TOO_LARGE", "10334 17280 17419 17420"),
    ("NOT_IMPLEMENTED", "59 115 238"),
    ({"code": "QUERY_TIMEOUT", "outcome": "unknown"}, "50 262 11601"),
    ("LOCK_TIMEOUT", "24 46"),
    (RETRY_TRANSACTION, "112 225 251"),
    ({"code": "UPSTREAM_TIMEOUT"}, "64 89 202"),
    ("CONNECTION_LOST", "6 9001"),
    ("HOST_NOT_FOUND", "7"),
    ("SERVICE_UNAVAILABLE", "91 189 11600 11602"),
    (not_executed("READ_ONLY_REPLICA"), "10107 10058 13435 13436"),
    ("CONFIG_ERROR", "79 93 100"),
    (not_executed("RESOURCE_EXHAUSTED"), "146 292"),
    ("DISK_FULL", "14031"),
    (not_executed("OVERLOADED"), "462"),
)
MONGO = by_number(MONGO_ROWS)
"""Error numbers of MongoDB."""

_MONGO_NAMES = (
    "2 BadValue 4 NoSuchKey 6 HostUnreachable 7 HostNotFound 9 FailedToParse 11 UserNotFound 13 Unauthorized"
    " 14 TypeMismatch 15 Overflow 16 InvalidLength 18 AuthenticationFailed 20 IllegalOperation 24 LockTimeout"
    " 26 NamespaceNotFound 27 IndexNotFound 28 PathNotViable 31 RoleNotFound 33 PrivilegeNotFound"
    " 40 ConflictingUpdateOperators 43 CursorNotFound 46 LockBusy 47 NoMatchingDocument 48 NamespaceExists"
    " 50 MaxTimeMSExpired 52 DollarPrefixedFieldName 53 InvalidIdField 54 NotSingleValueField 55 InvalidDBRef"
    " 56 EmptyFieldName 57 DottedFieldName 59 CommandNotFound 64 WriteConcernTimeout 64 WriteConcernFailed"
    " 66 ImmutableField 67 CannotCreateIndex 68 IndexAlreadyExists 72 InvalidOptions 73 InvalidNamespace"
    " 79 UnknownReplWriteConcern 85 IndexOptionsConflict 86 IndexKeySpecsConflict 89 NetworkTimeout"
    " 91 ShutdownInProgress 93 InvalidReplicaSetConfig 100 UnsatisfiableWriteConcern 112 WriteConflict"
    " 115 CommandNotSupported 117 ConflictingOperationInProgress 121 DocumentValidationFailure"
    " 146 ExceededMemoryLimit 167 OptionNotSupportedOnView 168 InvalidPipelineOperator 189 PrimarySteppedDown"
    " 202 NetworkInterfaceExceededTimeLimit 225 TransactionTooOld 237 CursorKilled 238 NotImplemented"
    " 251 NoSuchTransaction 262 ExceededTimeLimit 292 QueryExceededMemoryLimitNoDiskUseAllowed 8000 AtlasError"
    " 9001 SocketException 10107 NotWritablePrimary 10334 BSONObjectTooLarge 11000 DuplicateKey"
    " 11600 InterruptedAtShutdown 11601 Interrupted 11602 InterruptedDueToReplStateChange"
    " 13435 NotPrimaryNoSecondaryOk 13436 NotPrimaryOrSecondary 14031 OutOfDiskSpace"
)
MONGO_NAME_ROWS: Rows = tuple(
    (MONGO[int(number)], name)
    for number, name in zip(_MONGO_NAMES.split()[::2], _MONGO_NAMES.split()[1::2], strict=True)
)
"""What MongoDB calls `codeName`."""

KAFKA_ROWS: Rows = (
    ("NOT_FOUND", "UNKNOWN_TOPIC_OR_PARTITION GROUP_ID_NOT_FOUND UNKNOWN_TOPIC_ID 40401 40402 40403 40404"),
    ("OUT_OF_RANGE", "OFFSET_OUT_OF_RANGE"),
    ("PAYLOAD_TOO_LARGE", "MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE OFFSET_METADATA_TOO_LARGE 42201"),
    ("SERVICE_UNAVAILABLE", "LEADER_NOT_AVAILABLE BROKER_NOT_AVAILABLE COORDINATOR_NOT_AVAILABLE 40406"),
    ("SERVICE_UNAVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS REPLICA_NOT_AVAILABLE OFFSET_NOT_AVAILABLE 50003"),
    (not_executed("MISDIRECTED"), "NOT_LEADER_OR_FOLLOWER NOT_LEADER_FOR_PARTITION NOT_COORDINATOR NOT_CONTROLLER"),
    ("UPSTREAM_TIMEOUT", "REQUEST_TIMED_OUT"),
    ("CONNECTION_LOST", "NETWORK_EXCEPTION"),
    (not_executed("SERVICE_UNAVAILABLE"), "NOT_ENOUGH_REPLICAS"),
    (outcome_unknown("SERVICE_UNAVAILABLE"), "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
    ("INVALID_ARGUMENT", "INVALID_TOPIC_EXCEPTION INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_CONFIG"),
    ("INVALID_ARGUMENT", "INVALID_REQUEST INVALID_TIMESTAMP INVALID_RECORD INVALID_REQUIRED_ACKS 42202 42203 42205"),
    ("CONFIG_ERROR", "UNSUPPORTED_VERSION"),
    ("ALREADY_EXISTS", "TOPIC_ALREADY_EXISTS 40901"),
    ("CONFLICT", "40902"),
    ("FORBIDDEN", "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED 40301"),
    ("FORBIDDEN", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED POLICY_VIOLATION"),
    ("UNAUTHORIZED", "SASL_AUTHENTICATION_FAILED 40101"),
    ("RATE_LIMITED", "THROTTLING_QUOTA_EXCEEDED"),
    ("RESOURCE_BUSY", "REASSIGNMENT_IN_PROGRESS REBALANCE_IN_PROGRESS"),
    ("NOT_EMPTY", "NON_EMPTY_GROUP"),
    (FAULT, "UNKNOWN_SERVER_ERROR KAFKA_STORAGE_ERROR 50001 50002"),
)
"""Names of errors of Kafka, and numbers of the interface over HTTP."""
KAFKA = by_code(KAFKA_ROWS)

SNOWFLAKE_ROWS: Rows = (
    ("COLUMN_NOT_FOUND", "000904"),
    ("QUERY_ERROR", "001003 000939 000979 001044"),
    ("ALREADY_EXISTS", "002002"),
    ("NOT_FOUND", "002003 002043"),
    ("FORBIDDEN", "003001"),
    ("PRECONDITION_FAILED", "000606"),
    ("INVALID_ARGUMENT", "100038 100035 100040 100078"),
    ("CONSTRAINT_VIOLATION", "100072"),
    (outcome_unknown("QUERY_TIMEOUT"), "000630"),
    ("OUTCOME_UNKNOWN", "000604 000605"),
    ("QUOTA_EXHAUSTED", "090073"),
    ("UNAUTHORIZED", "390100 390101 390104 390114 390144 390195 390303 390318"),
    ("FORBIDDEN", "390189 390422"),
)
"""What Snowflake calls `code`; what it does not list has an SQLSTATE beside it."""
SNOWFLAKE = by_code(SNOWFLAKE_ROWS)

POSTGREST_ROWS: Rows = (
    ("CONNECTION_FAILED", "PGRST000 PGRST001"),
    ("SERVICE_UNAVAILABLE", "PGRST002"),
    (not_executed("POOL_TIMEOUT"), "PGRST003"),
    ("QUERY_ERROR", "PGRST100 PGRST108 PGRST118 PGRST120 PGRST123"),
    ("METHOD_NOT_ALLOWED", "PGRST101 PGRST105 PGRST117"),
    ("PARSE_ERROR", "PGRST102"),
    ("OUT_OF_RANGE", "PGRST103"),
    ("NOT_FOUND", "PGRST106 PGRST116 PGRST200 PGRST202"),
    ("TABLE_NOT_FOUND", "PGRST205"),
    ("COLUMN_NOT_FOUND", "PGRST204"),
    ("UNSUPPORTED_MEDIA_TYPE", "PGRST107"),
    ("INVALID_ARGUMENT", "PGRST109 PGRST110 PGRST114 PGRST115 PGRST122 PGRST124"),
    (BROKEN, "PGRST111 PGRST112"),
    ("METHOD_NOT_FOUND", "PGRST125"),
    ("AMBIGUOUS", "PGRST201 PGRST203"),
    ("CONFIG_ERROR", "PGRST300"),
    ("UNAUTHORIZED", "PGRST301 PGRST302 PGRST303"),
    (FAULT, "PGRSTX00"),
)
"""Codes of PostgREST's own; others are SQLSTATEs."""

POSTGRES_ROWS: Rows = (
    *((meaning, code) for code, meaning in SQLSTATES.items() if len(code) == 5),
    *((SQLSTATES[code[:2]], code) for code in ("22001", "22007", "22012", "22023", "22P02", "42601", "42804")),
)
"""What PostgreSQL, and what stands before it, calls `code`."""

SUPABASE_ROWS: Rows = (
    ("RATE_LIMITED", "over_request_rate_limit over_email_send_rate_limit over_sms_send_rate_limit"),
    ("ALREADY_EXISTS", "user_already_exists email_exists phone_exists identity_already_exists"),
    ("ALREADY_EXISTS", "mfa_factor_name_conflict"),
    ("NOT_FOUND", "user_not_found session_not_found identity_not_found mfa_factor_not_found flow_state_not_found"),
    ("NOT_FOUND", "invite_not_found sso_provider_not_found saml_idp_not_found NoSuchKey NoSuchBucket"),
    ("UNAUTHORIZED", "bad_jwt no_authorization session_expired invalid_credentials refresh_token_not_found"),
    ("UNAUTHORIZED", "refresh_token_already_used otp_expired reauthentication_needed InvalidJWT"),
    ("FORBIDDEN", "not_admin user_banned signup_disabled email_not_confirmed phone_not_confirmed insufficient_aal"),
    ("FORBIDDEN", "email_provider_disabled phone_provider_disabled provider_disabled anonymous_provider_disabled"),
    ("FORBIDDEN", "otp_disabled captcha_failed email_address_not_authorized manual_linking_disabled AccessDenied"),
    ("INVALID_ARGUMENT", "validation_failed weak_password same_password email_address_invalid bad_oauth_state"),
    ("INVALID_ARGUMENT", "InvalidKey"),
    ("PARSE_ERROR", "bad_json"),
    ("ALREADY_EXISTS", "ResourceAlreadyExists KeyAlreadyExists"),
    ("PAYLOAD_TOO_LARGE", "EntityTooLarge"),
    ("QUOTA_EXHAUSTED", "too_many_enrolled_mfa_factors"),
    ("CONFLICT", "conflict"),
    ("UPSTREAM_TIMEOUT", "request_timeout hook_timeout"),
    (FAULT, "unexpected_failure"),
)
"""Codes of Supabase's authentication and storage."""

PINECONE_ROWS: Rows = (
    ("QUOTA_EXHAUSTED", "QUOTA_EXCEEDED"),
    ("FORBIDDEN", "FORBIDDEN"),
    ("PAYMENT_REQUIRED", "PAYMENT_REQUIRED"),
)

DATABRICKS_ROWS: Rows = (
    ("NOT_FOUND", "RESOURCE_DOES_NOT_EXIST CATALOG_DOES_NOT_EXIST SCHEMA_DOES_NOT_EXIST ENDPOINT_NOT_FOUND"),
    ("NOT_FOUND", "METASTORE_DOES_NOT_EXIST GIT_UNKNOWN_REF"),
    ("TABLE_NOT_FOUND", "TABLE_DOES_NOT_EXIST"),
    ("ALREADY_EXISTS", "RESOURCE_ALREADY_EXISTS CATALOG_ALREADY_EXISTS SCHEMA_ALREADY_EXISTS TABLE_ALREADY_EXISTS"),
    ("INVALID_ARGUMENT", "INVALID_PARAMETER_VALUE BAD_REQUEST MALFORMED_REQUEST INVALID_STATE_TRANSITION"),
    ("RATE_LIMITED", "REQUEST_LIMIT_EXCEEDED"),
    ("QUOTA_EXHAUSTED", "RESOURCE_LIMIT_EXCEEDED QUOTA_EXCEEDED"),
    ("PAYLOAD_TOO_LARGE", "MAX_READ_SIZE_EXCEEDED MAX_BLOCK_SIZE_EXCEEDED MAX_NOTEBOOK_SIZE_EXCEEDED"),
    ("SERVICE_UNAVAILABLE", "TEMPORARILY_UNAVAILABLE"),
    ("CONFLICT", "RESOURCE_CONFLICT GIT_CONFLICT"),
    ("NOT_EMPTY", "DIRECTORY_NOT_EMPTY CATALOG_NOT_EMPTY SCHEMA_NOT_EMPTY"),
    ("LOCKED", "COULD_NOT_ACQUIRE_LOCK"),
    ("PRECONDITION_FAILED", "INVALID_STATE"),
    ("FORBIDDEN", "FEATURE_DISABLED DIRECTORY_PROTECTED"),
    ("UNAUTHORIZED", "CUSTOMER_UNAUTHORIZED"),
    (FAULT, "INTERNAL_ERROR"),
    ("NOT_IMPLEMENTED", "NOT_IMPLEMENTED"),
)
"""What Databricks calls `error_code`, beside the statuses of gRPC."""

NEO4J_ROWS: Rows = (
    ("QUERY_ERROR", "Neo.ClientError.Statement.SyntaxError Neo.ClientError.Statement.TypeError"),
    ("QUERY_ERROR", "Neo.ClientError.Statement.SemanticError Neo.ClientError.Statement.ArgumentError"),
    (MISSING, "Neo.ClientError.Statement.ParameterMissing"),
    ("NOT_FOUND", "Neo.ClientError.Statement.EntityNotFound Neo.ClientError.Database.DatabaseNotFound"),
    ("METHOD_NOT_FOUND", "Neo.ClientError.Procedure.ProcedureNotFound"),
    ("CONSTRAINT_VIOLATION", "Neo.ClientError.Schema.ConstraintValidationFailed"),
    ("CONSTRAINT_VIOLATION", "Neo.ClientError.Schema.ConstraintViolation"),
    ("ALREADY_EXISTS", "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"),
    ("ALREADY_EXISTS", "Neo.ClientError.Schema.IndexAlreadyExists"),
    ("ALREADY_EXISTS", "Neo.ClientError.Schema.ConstraintAlreadyExists Neo.ClientError.Database.ExistingDatabaseFound"),
    ("UNAUTHORIZED", "Neo.ClientError.Security.Unauthorized Neo.ClientError.Security.CredentialsExpired"),
    ("UNAUTHORIZED", "Neo.ClientError.Security.TokenExpired"),
    ("FORBIDDEN", "Neo.ClientError.Security.Forbidden"),
    ("RATE_LIMITED", "Neo.ClientError.Security.AuthenticationRateLimit"),
    (not_executed("READ_ONLY_REPLICA"), "Neo.ClientError.Cluster.NotALeader"),
    ("QUERY_TIMEOUT", "Neo.ClientError.Transaction.TransactionTimedOut"),
    ({"code": "DEADLOCK", "outcome": "not_executed"}, "Neo.TransientError.Transaction.DeadlockDetected"),
    ("LOCK_TIMEOUT", "Neo.TransientError.Transaction.LockAcquisitionTimeout"),
    (not_executed("SERVICE_UNAVAILABLE"), "Neo.TransientError.General.DatabaseUnavailable"),
    (not_executed("RESOURCE_EXHAUSTED"), "Neo.TransientError.General.OutOfMemoryError"),
    (not_executed("RESOURCE_EXHAUSTED"), "Neo.TransientError.General.MemoryPoolOutOfMemoryError"),
    (BROKEN, "Neo.DatabaseError.General.UnknownError Neo.DatabaseError.Statement.ExecutionFailed"),
)
NEO4J = by_code(NEO4J_ROWS)

COUCHDB_ROWS: Rows = (
    ("NOT_FOUND", "not_found"),
    ("CONCURRENT_MODIFICATION", "conflict"),
    ("UNAUTHORIZED", "unauthorized"),
    ("FORBIDDEN", "forbidden"),
    ("ALREADY_EXISTS", "file_exists"),
    ("INVALID_ARGUMENT", "bad_request doc_validation illegal_database_name query_parse_error illegal_docid"),
    ("QUERY_ERROR", "invalid_operator invalid_selector_json no_usable_index"),
    ("UNSUPPORTED_MEDIA_TYPE", "bad_content_type"),
    ("PRECONDITION_FAILED", "precondition_failed"),
    ("PAYLOAD_TOO_LARGE", "too_large document_too_large"),
    ("RATE_LIMITED", "too_many_requests"),
    ("UPSTREAM_TIMEOUT", "timeout"),
    (FAULT, "internal_server_error unknown_error"),
)

PROMETHEUS_ROWS: Rows = (
    ("QUERY_ERROR", "bad_data execution"),
    (outcome_unknown("QUERY_TIMEOUT"), "timeout canceled"),
    ("NOT_FOUND", "not_found"),
    ("SERVICE_UNAVAILABLE", "unavailable"),
    ("UNSUPPORTED_MEDIA_TYPE", "not_acceptable"),
    (FAULT, "internal"),
)
"""What Prometheus calls `errorType`; Loki, Mimir and Thanos do as well."""

INFLUXDB_ROWS: Rows = (
    ("NOT_FOUND", "not_found"),
    ("UNAUTHORIZED", "unauthorized"),
    ("FORBIDDEN", "forbidden"),
    ("INVALID_ARGUMENT", "invalid unprocessable_entity empty_value"),
    ("CONFLICT", "conflict"),
    ("RATE_LIMITED", "too_many_requests"),
    ("PAYLOAD_TOO_LARGE", "request_too_large"),
    ("METHOD_NOT_ALLOWED", "method_not_allowed"),
    ("SERVICE_UNAVAILABLE", "unavailable"),
    (FAULT, "internal_error"),
)
"""What InfluxDB calls `code`, whose words stand apart."""

DATA: tuple[Vendor, ...] = (
    Vendor("Elasticsearch, OpenSearch", SEARCH_ROWS, ("error.root_cause", "error.type:str error.reason:str")),
    Vendor("Redis", REDIS_ROWS),
    Vendor(
        "MongoDB",
        (*MONGO_NAME_ROWS, *MONGO_ROWS),
        (
            "codeName:str",
            "ok errmsg:str",
            "errorResponse.codeName:str",
            "writeErrors.0.errmsg:str",
            "errorLabels:list",
        ),
    ),
    Vendor("Kafka", KAFKA_ROWS, ("error_code:int message:str", "errorCode:str topic", "error:str broker")),
    Vendor("Snowflake", SNOWFLAKE_ROWS, ("sqlState", "statementHandle")),
    Vendor("PostgREST", POSTGREST_ROWS, ("code^PGRST",)),
    Vendor("PostgreSQL", POSTGRES_ROWS, ("hint code:str", "hint=null code:str", "sqlstate:str")),
    Vendor(
        "Supabase",
        SUPABASE_ROWS,
        ("error_code:str msg:str", "statusCode error:str message:str", "error_code:str code:int"),
    ),
    Vendor("Pinecone", (*PINECONE_ROWS, *GRPC_ROWS), ("error.code:str status:int",)),
    Vendor("Databricks", (*DATABRICKS_ROWS, *GRPC_ROWS), ("error_code:str message:str",)),
    Vendor("Neo4j", NEO4J_ROWS, ("errors.0.code^Neo.", "code^Neo.")),
    Vendor("CouchDB", COUCHDB_ROWS, ("error:str reason:str",)),
    Vendor("Prometheus", PROMETHEUS_ROWS, ("errorType:str status=error",)),
    Vendor("InfluxDB", INFLUXDB_ROWS, ("code:str message:str",), ("code",)),
)
