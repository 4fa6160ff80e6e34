"""Guess what a name means: the class of an unknown library, or a code that a service sent.

Phrases are looked for in order, the more telling ones first. A guess never claims to know whether the operation took
effect, so it cannot make an unsafe retry look safe.
"""

import re
from functools import cache, lru_cache
from typing import Any

from failwell._spelling import normalised

_LONGEST_NAME = 100
_ACRONYM_BORDER = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")

# Names of PEP 249, which every database driver uses for its classes.
_DATABASE_NAMES = {
    "IntegrityError": "CONSTRAINT_VIOLATION",
    "ProgrammingError": "QUERY_ERROR",
    "DataError": "INVALID_ARGUMENT",
    "OperationalError": "CONNECTION_LOST",
    "InterfaceError": "CONNECTION_LOST",
    "NotSupportedError": "NOT_IMPLEMENTED",
}

# A code and phrases that mean it. Words are joined by "_"; "*" stands for any letters, "(~_)?" for words between that
# may be there. The first line that fits decides.
_PHRASES = """
RATE_LIMITED            rate_limit* ratelimit* too_many_request* throttl* throughput_exceeded flood* slow_down
RATE_LIMITED            slowdown retry_after request_limit*
CIRCUIT_OPEN            circuit
QUOTA_EXHAUSTED         quota insufficient_(fund*|balance|credit*) spend_limit* usage_limit* credit*_exhausted
PAYMENT_REQUIRED        payment_required billing not_paid subscription_required
LEGALLY_BLOCKED         legal legally
PAYMENT_DECLINED        card_declined card_error payment_declined
UNAUTHORIZED            (missing|no|invalid|bad|expired|wrong)_(~_)?(credential*|token*|api_key|apikey|password|login)
UNAUTHORIZED            (credential*|token*|session|signature|api_key)_(~_)?(missing|expired|revoked|invalid)
UNAUTHORIZED            credential*_not_found expired_(signature|session|credential*) unauthorized unauthorised
UNAUTHORIZED            unauthenticated not_authed not_authenticated not_logged_in auth_required login_required
UNAUTHORIZED            authentication auth_(error|failed|failure|exception) invalid_auth invalid_grant invalid_client
UNAUTHORIZED            login unrecognized_client account_inactive token_not_found
FORBIDDEN               forbidden permission* denied not_authorized authorization missing_scope no_permission
FORBIDDEN               insufficient_(scope|privilege*|permission*|right*) not_permitted restricted_action suspended
FORBIDDEN               insufficient_access* (request|ip|user|account)_(blocked|banned|disabled|restricted)
FORBIDDEN               refused_request
READ_ONLY               read_only readonly write_protect*
INVALID_ARGUMENT        (invalid|bad)_(~_)?timeout
LOCK_TIMEOUT            lock_(~_)?(timeout|timed_out|not_available|wait)
POOL_TIMEOUT            pool_(~_)?timeout
CONNECT_TIMEOUT         connect*_timeout connect*_timed_out
QUERY_TIMEOUT           query_timeout query_cancel* statement_timeout
UPSTREAM_TIMEOUT        gateway_timeout deadline_exceeded (read|write|request|response|server|api)_time(d_)?out
TIMEOUT                 timeout timed_out time_out deadline time_limit*
TLS_VERIFY_FAILED       ssl tls certificate cert hostname_mismatch fingerprint
CONFIG_ERROR            improperly_configured config* misconfigured not_configured module_not_found dependency_missing
CONFIG_ERROR            missing_dependency plugin_not_found driver_not_found not_installed
CONFIG_ERROR            (command|program|executable|binary)_not_found
DNS_TEMPORARY           dns_(~_)?(fail*|temporary) try_again_later_dns
HOST_NOT_FOUND          host_not_found unknown_host name_resolution nxdomain name_or_service resolve_host dns
INVALID_URL             (invalid|bad|missing|malformed)_(url|uri|schema|scheme) unsupported_protocol
BAD_UPSTREAM_RESPONSE   (invalid|bad|unexpected|malformed|empty)_(~_)?(response|reply|answer|payload_received)
BAD_UPSTREAM_RESPONSE   response_(~_)?(invalid|malformed|parse*|parsing|validation|decod*) response_error protocol
BAD_UPSTREAM_RESPONSE   content_decod* corrupt* checksum* digest_mismatch
DISK_FULL               disk_full no_space insufficient_storage storage_full
SERVER_BUSY             too_many_connection* max_connection* pool_full queue_full busy_loading server_busy too_busy
OVERLOADED              overload* capacity backpressure resource_exhausted
RESOURCE_EXHAUSTED      out_of_memory memory_limit* exhausted oom
CONNECTION_LOST         connection_(~_)?(lost|closed|reset|aborted|dropped|broken) disconnect* lost_connection
CONNECTION_LOST         stale_connection
CONNECTION_LOST         (client|pool|channel|session|stream|socket|producer|consumer)_(~_)?(closed|lost)
CONNECTION_LOST         closed_(resource|connection|pool|stream|channel) broken_pipe broken_resource incomplete_read
CONNECTION_LOST         chunked_encoding end_of_stream channel_(~_)?error reset_by*
DEADLOCK                deadlock*
SERIALIZATION_FAILURE   serialization_failure could_not_serialize write_conflict
CONCURRENT_MODIFICATION concurrent* stale version_(conflict|mismatch) optimistic_lock* etag_mismatch lost_update
CONCURRENT_MODIFICATION transaction_(conflict|aborted) watch_error
IDEMPOTENCY_MISMATCH    idempotency idempotent
NOT_EMPTY               not_empty
AMBIGUOUS               ambiguous more_than_one multiple_(results|objects|matches|records)*
AMBIGUOUS               too_many_(results|rows|matches) disambiguation
FOREIGN_KEY_VIOLATION   foreign_key* protected
ALREADY_EXISTS          already_exist* exists file_exists duplicat* unique* already_taken name_taken entity_already
WRONG_PATH_KIND         is_a_directory not_a_directory not_a_file
METHOD_NOT_ALLOWED      method_not_allowed operation_not_allowed
TABLE_NOT_FOUND         (no_such|undefined|unknown)_table table_not_found
COLUMN_NOT_FOUND        (no_such|undefined|unknown)_column column_not_found
FILE_NOT_FOUND          file_not_found no_such_file directory_not_found path_not_found
METHOD_NOT_FOUND        method_not_found unknown_method unimplemented_method
GONE                    gone deleted removed no_longer*
NOT_FOUND               not_found* notfound not_exist* not_exists does_not_exist doesnt_exist nonexistent non_existent
NOT_FOUND               no_such* nosuch* no_(~_)?found resource_missing
NOT_FOUND               unknown_(object|topic|user|resource|channel|message|index|key|id)
NOT_FOUND               unknown_(server|server_error)_resource no_rows no_results no_data not_in_channel
NOT_FOUND               missing_object
PRECONDITION_FAILED     precondition* conditional_check* condition_not_met invalid_state illegal_state wrong_state
PRECONDITION_FAILED     unmet not_ready_for
LOCKED                  locked lock checked_out
RESOURCE_BUSY           busy in_use in_progress in_flight
CONFLICT                conflict* already*
CONSTRAINT_VIOLATION    constraint* violation* integrity
PAYLOAD_TOO_LARGE       too_large too_big too_long payload_size max_payload max_size* size_limit* length_exceeded
PAYLOAD_TOO_LARGE       oversize*
OUT_OF_RANGE            out_of_range out_of_bounds range_not_satisfiable
UNSUPPORTED_MEDIA_TYPE  unsupported_(media*|format|file|content)* unknown_format unidentified* mime*
PROCESS_FAILED          called_process command_failed command_error exit_status return_code non_zero* nonzero*
PROCESS_FAILED          subprocess* unexpected_exit failure_exit
WORKER_CRASHED          worker_(lost|crashed|died|terminated)* terminated_worker broken_process* broken_worker*
TOO_MANY_REDIRECTS      too_many_redirect* redirect_loop redirect_limit
CONNECTION_REFUSED      connection_refused
CONNECTION_FAILED       connect cannot_connect can_not_connect connector
CONNECTION_FAILED       no_(~_)?(broker*|server*|host*|node*)_available unreachable no_route
CONNECTION_FAILED       no_(broker*|server*|host*|node*|responders) proxy
SEND_FAILED             send_failed send_error delivery_failed publish_failed produce_failed not_delivered
SEND_FAILED             undeliverable
CONNECTION_LOST         connection network transport socket remote_(~_)?error ssh io_error communication*
BAD_GATEWAY             bad_gateway gateway
SERVICE_UNAVAILABLE     unavailable maintenance service_down not_available temporar* transient try_again retryable
SERVICE_UNAVAILABLE     retriable retry_later retries_exceeded max_retries down not_ready starting_up failover
SERVICE_UNAVAILABLE     not_primary not_master leader_not* cluster_down offline
UPSTREAM_ERROR          server_error internal_server* internal_error internal_failure upstream* backend* service_error
UPSTREAM_ERROR          server_fault remote_exception service_failure
NOT_IMPLEMENTED         not_implemented unimplemented unsupported* not_supported incompatible*
ENCODING_ERROR          encoding unicode* charset
QUERY_ERROR             query_error sql_error sql_syntax query_syntax bad_query invalid_query programming binder
PARSE_ERROR             pars* syntax malformed decode* decoding deserializ* unmarshal* lex* tokeniz* bad_zip*
PARSE_ERROR             unparsable empty_file not_parsable
INVALID_ARGUMENT        invalid* validation bad_request bad_input illegal* incorrect* unprocessable* bad_parameter*
INVALID_ARGUMENT        missing_(~_)?(param*|field*|argument*|required*|value*|key)
INVALID_ARGUMENT        (param*|field*|argument*)_(missing|required|error) wrong_(type|value|format|argument*) usage
INVALID_ARGUMENT        bad_(argument*|value*|type*|format|name|arg*) unexpected_(param*|argument*)
INVALID_ARGUMENT        unknown_(param*|field*|argument*|option*) value_error type_error data_error not_allowed
INVALID_ARGUMENT        unknown_action type_mismatch
QUOTA_EXHAUSTED         limit_exceeded limit_reached
"""

# A word before a phrase that turns it round: NonRetryableError is no transient one.
_NEGATIONS = re.compile(r"(?:^|_)(?:non|not|un|never)_(?:transient|temporar|retr)")


@cache
def _guesses() -> tuple[tuple[str, re.Pattern[str]], ...]:
    # Only when first needed: compiling takes longer than all the rest of the first mapping.
    rows = (line.split(None, 1) for line in _PHRASES.strip().splitlines())
    return tuple((code, re.compile(f"(?:^|_)(?:{_pattern(phrases)})(?:_|$)")) for code, phrases in rows)


def _pattern(phrases: str) -> str:
    return "|".join(phrases.split()).replace("*", "[a-z0-9]*").replace("~_", "[a-z0-9_]+?_")


@lru_cache(maxsize=1024)
def code_of(name: str) -> str | None:
    """Return the catalog code that a name in any case seems to mean, or None."""
    if len(name) > _LONGEST_NAME or not name.isascii():
        return None
    if name in _DATABASE_NAMES:
        return _DATABASE_NAMES[name]
    text = snake(name)
    if _NEGATIONS.search(text):
        return None
    return next((code for code, pattern in _guesses() if pattern.search(text)), None)


def guess(name: str) -> dict[str, Any] | None:
    """Return the verdict that the name of an unknown class suggests, with an outcome nobody knows."""
    code = code_of(name)
    return {"code": code, "outcome": "unknown"} if code else None


def snake(name: str) -> str:
    """Return a name in snake_case, acronyms taken apart: `HTTPNotFound` is `http_not_found`."""
    return normalised(_ACRONYM_BORDER.sub("_", name))
