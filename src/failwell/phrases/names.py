"""Rules for names: what the class of an unknown library, or a code that a service sent, seems to mean.

A guess never claims to know whether the operation took effect, so it cannot make an unsafe retry look safe.
"""

from functools import cache, lru_cache
from typing import Any

from failwell.phrases.index import stored_index
from failwell.phrases.keys import listed
from failwell.phrases.language import Rule, Table, plain_name, snake
from failwell.phrases.sql_codes import DRIVER_CLASSES

_LONGEST_NAME = 100
_EVIDENCE = "Names of exceptions and codes of services."

# NonRetryableError is not a transient one.
# NetworkXError is one of a library for graphs.
_NEGATIONS = "(non|not|un|never) (transient*|temporar*|retr*), network x*"

# A code, and the phrases of a name that mean it, with commas between them. The first line that fits decides.
_ROWS = """
CONFIG_ERROR            (timeout|network|connection|rate limit|retry|quota|lock|session) ~ (config*|settings|setup)
INVALID_ARGUMENT        (timeout|network|connection|rate limit|retry|quota|lock|session) ~ (pars*|syntax|format) error
INVALID_ARGUMENT        (timeout|network|connection|rate limit|retry|quota|lock|session) ~ (value|type|argument) error
RATE_LIMITED            rate limit*, ratelimit*, too many request*, throttl*, throughput exceeded, flood*, slow down
RATE_LIMITED            slowdown, retry after, request limit*
CIRCUIT_OPEN            circuit
QUOTA_EXHAUSTED         quota, insufficient (fund*|balance|credit*), spend limit*, usage limit*, credit* exhausted
PAYMENT_REQUIRED        payment required, billing, not paid, subscription required
LEGALLY_BLOCKED         legal, legally
PAYMENT_DECLINED        card declined, card error, payment declined
UNAUTHORIZED            (missing|no|invalid|bad|expired|wrong) ~ (credential*|token*|api key|apikey|password|login)
UNAUTHORIZED            (credential*|token*|session|signature|api key) ~ (missing|expired|revoked|invalid)
UNAUTHORIZED            credential* not found, expired (signature|session|credential*), unauthorized, unauthorised
UNAUTHORIZED            unauthenticated, not authed, not authenticated, not logged in, auth required, login required
UNAUTHORIZED            authentication, auth (error|failed|failure|exception), invalid auth, invalid grant
UNAUTHORIZED            invalid client, login, unrecognized client, account inactive, token not found
FORBIDDEN               forbidden, permission*, denied, not authorized, authorization, missing scope*, no permission
FORBIDDEN               insufficient (scope|privilege*|permission*|right*), not permitted, restricted action
FORBIDDEN               suspended, insufficient access*
FORBIDDEN               (request|ip|user|account) (blocked|banned|disabled|restricted), refused request
READ_ONLY               read only, readonly, write protect*
INVALID_ARGUMENT        (invalid|bad) ~ timeout
LOCK_TIMEOUT            lock ~ (timeout|timed out|not available|wait)
POOL_TIMEOUT            pool ~ timeout
CONNECT_TIMEOUT         connect* timeout, connect* timed out
QUERY_TIMEOUT           query timeout, query cancel*, statement timeout
UPSTREAM_TIMEOUT        gateway timeout, deadline exceeded
UPSTREAM_TIMEOUT        (read|write|request|response|server|api) (timeout|timed out)
TIMEOUT                 timeout, timed out, time out, deadline, time limit*
TLS_VERIFY_FAILED       ssl, tls, certificate, cert, hostname mismatch, fingerprint
CONFIG_ERROR            improperly configured, config*, misconfigured, not configured, module not found
CONFIG_ERROR            dependency missing, missing dependency, plugin not found, driver not found, not installed
CONFIG_ERROR            (command|program|executable|binary) not found
DNS_TEMPORARY           dns ~ (fail*|temporary), try again later dns
HOST_NOT_FOUND          host not found, unknown host, name resolution, nxdomain, name or service, resolve host, dns
INVALID_URL             (invalid|bad|missing|malformed) (url|uri|schema|scheme), unsupported protocol
BAD_UPSTREAM_RESPONSE   (invalid|bad|unexpected|malformed|empty) ~ (response|reply|answer|payload received)
BAD_UPSTREAM_RESPONSE   response ~ (invalid|malformed|parse*|parsing|validation|decod*), response error, protocol
BAD_UPSTREAM_RESPONSE   content decod*, corrupt*, checksum*, digest mismatch
DISK_FULL               disk full, no space, insufficient storage, storage full
SERVER_BUSY             too many connection*, max connection*, pool full, queue full, busy loading, server busy
SERVER_BUSY             too busy
OVERLOADED              overload*, capacity, backpressure, resource exhausted
RESOURCE_EXHAUSTED      out of memory, memory limit*, exhausted, oom
CONNECTION_LOST         connection ~ (lost|closed|reset|aborted|dropped|broken), disconnect*, lost connection
CONNECTION_LOST         stale connection
CONNECTION_LOST         (client|pool|channel|session|stream|socket|producer|consumer) ~ (closed|lost)
CONNECTION_LOST         closed (resource|connection|pool|stream|channel), broken pipe, broken resource
CONNECTION_LOST         incomplete read, chunked encoding, end of stream, channel ~ error, reset by*
DEADLOCK                deadlock*
SERIALIZATION_FAILURE   serialization failure, could not serialize, write conflict
CONCURRENT_MODIFICATION concurrent*, stale, version (conflict|mismatch), optimistic lock*, etag mismatch
CONCURRENT_MODIFICATION lost update, transaction (conflict|aborted), watch error
IDEMPOTENCY_MISMATCH    idempotency, idempotent
NOT_EMPTY               not empty
AMBIGUOUS               ambiguous, more than one, multiple (results*|objects*|matches*|records*)
AMBIGUOUS               too many (results|rows|matches), disambiguation
FOREIGN_KEY_VIOLATION   foreign key*, protected
ALREADY_EXISTS          already exist*, exists, file exists, duplicat*, unique*, already taken, name taken
ALREADY_EXISTS          entity already
WRONG_PATH_KIND         is a directory, not a directory, not a file
METHOD_NOT_ALLOWED      method not allowed, operation not allowed
TABLE_NOT_FOUND         (no such|undefined|unknown) table, table not found
COLUMN_NOT_FOUND        (no such|undefined|unknown) column, column not found
FILE_NOT_FOUND          file not found, no such file, directory not found, path not found
METHOD_NOT_FOUND        method not found, unknown method, unimplemented method
GONE                    gone, deleted, removed, no longer*
NOT_FOUND               not found*, notfound, not exist*, not exists, does not exist, doesnt exist, nonexistent
NOT_FOUND               non existent, no such*, nosuch*, no ~ found, resource missing
NOT_FOUND               unknown (object|topic|user|resource|channel|message|index|key|id)
NOT_FOUND               unknown (server|server error) resource, no rows, no results, no data, not in channel
NOT_FOUND               missing object
PRECONDITION_FAILED     precondition*, conditional check*, condition not met, invalid state, illegal state
PRECONDITION_FAILED     wrong state, unmet, not ready for
LOCKED                  locked, lock, checked out
RESOURCE_BUSY           busy, in use, in progress, in flight
CONFLICT                conflict*, already*
CONSTRAINT_VIOLATION    constraint*, violation*, integrity
PAYLOAD_TOO_LARGE       too large, too big, too long, payload size, max payload, max size*, size limit*
PAYLOAD_TOO_LARGE       length exceeded, oversize*
OUT_OF_RANGE            out of range, out of bounds, range not satisfiable
UNSUPPORTED_MEDIA_TYPE  unsupported (media*|format*|file*|content*), unknown format, unidentified*, mime*
PROCESS_FAILED          called process, command failed, command error, exit status, return code, non zero*, nonzero*
PROCESS_FAILED          subprocess*, unexpected exit, failure exit
WORKER_CRASHED          worker (lost*|crashed*|died*|terminated*), terminated worker, broken process*, broken worker*
TOO_MANY_REDIRECTS      too many redirect*, redirect loop, redirect limit
CONNECTION_REFUSED      connection refused
CONNECTION_FAILED       connect, cannot connect, can not connect, connector
CONNECTION_FAILED       no ~ (broker*|server*|host*|node*) available, unreachable, no route
CONNECTION_FAILED       no (broker*|server*|host*|node*|responders), proxy
SEND_FAILED             send failed, send error, delivery failed, publish failed, produce failed, not delivered
SEND_FAILED             undeliverable
CONNECTION_LOST         connection, network, transport, socket, remote ~ error, ssh, io error, communication*
BAD_GATEWAY             bad gateway, gateway
SERVICE_UNAVAILABLE     unavailable, maintenance, service down, not available, temporar*, transient, try again
SERVICE_UNAVAILABLE     retryable, retriable, retry later, retries exceeded, max retries, down, not ready
SERVICE_UNAVAILABLE     starting up, failover, not primary, not master, leader not*, cluster down, offline
UPSTREAM_ERROR          server error, internal server*, internal error, internal failure, upstream*, backend*
UPSTREAM_ERROR          service error, server fault, remote exception, service failure
NOT_IMPLEMENTED         not implemented, unimplemented, unsupported*, not supported, incompatible*
ENCODING_ERROR          encoding, unicode*, charset
QUERY_ERROR             query error, sql error, sql syntax, query syntax, bad query, invalid query, programming
QUERY_ERROR             binder
PARSE_ERROR             pars*, syntax, malformed, decode*, decoding, deserializ*, unmarshal*, lex*, tokeniz*
PARSE_ERROR             bad zip*, unparsable, empty file, not parsable
INVALID_ARGUMENT        invalid*, validation, bad request, bad input, illegal*, incorrect*, unprocessable*
INVALID_ARGUMENT        bad parameter*, missing ~ (param*|field*|argument*|required*|value*|key)
INVALID_ARGUMENT        (param*|field*|argument*) (missing|required|error), wrong (type|value|format|argument*)
INVALID_ARGUMENT        usage, bad (argument*|value*|type*|format|name|arg*), unexpected (param*|argument*)
INVALID_ARGUMENT        unknown (param*|field*|argument*|option*), value error, type error, data error, not allowed
INVALID_ARGUMENT        unknown action, type mismatch
QUOTA_EXHAUSTED         limit exceeded, limit reached
"""


def _rules() -> tuple[Rule, ...]:
    found = [Rule(name="negation", code="", phrases=_NEGATIONS, evidence=_EVIDENCE)]
    for line in _ROWS.strip().splitlines():
        code, phrases = line.split(None, 1)
        name = f"name with {phrases.partition(',')[0]}"
        found.append(Rule(name=name, code=code, phrases=phrases, evidence=_EVIDENCE))
    return tuple(found)


RULES = _rules()
"""Every rule for names; where several fit, the first decides."""


@cache
def table() -> Table:
    """Return all the rules, indexed."""
    return Table(RULES, stored_index("names"))


@lru_cache(maxsize=1024)
def code_of(name: str) -> str | None:
    """Return the catalog code that a name in any case seems to mean, or None."""
    if len(name) > _LONGEST_NAME:
        return None
    if name in DRIVER_CLASSES:
        return DRIVER_CLASSES[name]
    match = table().first(plain_name(name))
    return match.rule.code or None if match else None


def guess(name: str) -> dict[str, Any] | None:
    """Return the verdict that the name of an unknown class suggests, with an outcome nobody knows."""
    code = code_of(name)
    return {"code": code, "outcome": "unknown"} if code else None


# Names of classes of errors, which say less than a status or the words beside them.
_EMPTY = listed(
    """error failure api_error about_blank exception invalid_request_error fault status object unknown bad_request
    client_error http_error unknown_error general_error generic_error tool_error tool_execution_error
    execution_error runtime_error value_error default other undefined failed fail error_response
    application_error request_failed"""
)


def is_empty(name: str) -> bool:
    """Return whether a name says no more than that something is an error."""
    return len(name) <= _LONGEST_NAME and snake(name) in _EMPTY
