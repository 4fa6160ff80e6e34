"""Rules for names: what the name of an unknown exception class or error code seems to mean.

A guess never claims to know whether the operation took effect, so it cannot make an unsafe retry look safe.
"""

from functools import cache, lru_cache
from typing import Any

from failwell._lazy import lazy_pattern
from failwell.phrases.index import stored_index
from failwell.phrases.keys import listed
from failwell.phrases.language import Rule, Table, plain_name, snake
from failwell.phrases.sql_codes import DRIVER_CLASSES

_LONGEST_NAME = 100
_EVIDENCE = "Names of exceptions and codes of services."

# NonRetryableError is not a transient one.
# NetworkXError is one of a library for graphs, IPv4NetworkError one about addresses.
_NEGATIONS = "(non|not|un|never) (transient*|temporar*|retr*), network x*, pv4 network, pv6 network"

# A code, and the phrases of a name that mean it, with commas between them. The first line that fits decides.
_ROWS = """
CONFIG_ERROR            (timeout|network|connection|rate limit|retry|quota|lock|session) ~ (config*|settings|setup)
INVALID_ARGUMENT        (timeout|network|connection|rate limit|retry|quota|lock|session) ~ (pars*|syntax|format) error
INVALID_ARGUMENT        (timeout|network|connection|rate limit|retry|quota|lock|session) ~ (value|type|argument) error
RATE_LIMITED            rate limit*, ratelimit*, too many request*, throttl*, throughput exceeded, flood*, slow down
RATE_LIMITED            slowdown, retry after, request limit*, cooldown, backoff, enhance your calm
CIRCUIT_OPEN            circuit
QUOTA_EXHAUSTED         quota, insufficient (fund*|balance|credit*), spend limit*, usage limit*, credit* exhausted
QUOTA_EXHAUSTED         (budget|cap) ~ exceeded, over limit, max number of ~ exceeded
PAYMENT_REQUIRED        payment required, billing, not paid, subscription required
LEGALLY_BLOCKED         legal, legally
PAYMENT_DECLINED        card declined, card error, payment declined
INVALID_ARGUMENT        (next|page|continuation) token
UNAUTHORIZED            (missing|no|invalid|bad|expired|wrong) ~ (credential*|token*|api key|apikey|password|login)
UNAUTHORIZED            (credential*|token*|session|signature|api key) ~ (missing|expired|revoked|invalid)
UNAUTHORIZED            password ~ (expired|required|mismatch|change*|incorrect|wrong), incorrect password
UNAUTHORIZED            (refresh|session|subject|identity) token, (missing|invalid|insecure) claim*, claim* error
UNAUTHORIZED            token (refresh|renewal|retrieval|rotation|rejected|exchange), signature ~ match
UNAUTHORIZED            (bad|wrong|invalid|untrusted) signature, signature (mismatch|verification), verification failed
UNAUTHORIZED            verify mismatch, not decrypted, interaction required, expired (code|link|url|otp)
UNAUTHORIZED            (code|link|url|otp) expired
UNAUTHORIZED            credential* not found, expired (signature|session|credential*), unauthorized, unauthorised
UNAUTHORIZED            unauthenticated, not authed, not authenticated, not logged in, auth required, login required
UNAUTHORIZED            authentication, auth (error|failed|failure|exception), invalid auth, invalid grant
UNAUTHORIZED            invalid client, login, logon, unrecognized client, account inactive, token not found
UNAUTHORIZED            oauth error, oauth exception, o auth (error|exception), sasl, two factor, mfa, consent required
UNAUTHORIZED            credential* (error|exception), jwt, bad auth, auth declined
FORBIDDEN               forbidden, permission*, denied, not authorized, authorization, missing scope*, no permission
FORBIDDEN               insufficient (scope|privilege*|permission*|right*), not permitted, restricted action
FORBIDDEN               privilege*, access refused, prohibited, unsafe, insecure (path|request|transport)
FORBIDDEN               security error, csrf
FORBIDDEN               not whitelisted, outside (roots|destination|root), ssrf, gated, missing (any role|role)
FORBIDDEN               members only, region blocked, private (profile|video|account|repo*), restricted
FORBIDDEN               (video|profile|account) private, no access, not accessible, captcha, recaptcha, not approved
FORBIDDEN               suspended, insufficient access*
FORBIDDEN               (request|ip|user|account) (blocked|banned|disabled|restricted), refused request, banned
FORBIDDEN               account not enabled, (admin|owner|membership) required
READ_ONLY               read only, readonly, write protect*
INVALID_ARGUMENT        (invalid|bad) ~ (timeout|retry|retries|attempts)
LOCK_TIMEOUT            lock ~ (timeout|timed out|not available|wait)
POOL_TIMEOUT            pool ~ timeout
CONNECT_TIMEOUT         connect* timeout, connect* timed out
QUERY_TIMEOUT           query timeout, query cancel*, statement timeout
UPSTREAM_TIMEOUT        gateway timeout, deadline exceeded
UPSTREAM_TIMEOUT        (read|write|request|response|server|api) (timeout|timed out)
TIMEOUT                 timeout, wait time exceeded, timed out, time out, deadline, time limit*, too slow
TLS_VERIFY_FAILED       host ~ key, ssh unknown host, peer verify
TLS_VERIFY_FAILED       ssl, tls, certificate, cert, hostname mismatch, fingerprint
CONFIG_ERROR            improperly configured, config*, misconfigured, not configured, module not found
CONFIG_ERROR            dependency missing, missing ~ (dependency|package|module|extra|secrets|vars|env*)
CONFIG_ERROR            plugin not found, driver not found, not installed, not initialized, uninitialized, not loaded
CONFIG_ERROR            environment variable, env var*, setup error, settings error, import error, not enabled
CONFIG_ERROR            upgrade required
CONFIG_ERROR            (command|program|executable|binary) not found
DNS_TEMPORARY           dns ~ (fail*|temporary), try again later dns
HOST_NOT_FOUND          host not found, unknown host, name resolution, nxdomain, name or service, resolve host, dns
INVALID_URL             (invalid|bad|missing|malformed) (url|uri|schema|scheme), unsupported protocol
INVALID_URL             unsupported ~ (url|uri), unsupported scheme, url required
BAD_UPSTREAM_RESPONSE   (invalid|bad|unexpected|malformed|empty) ~ (response|reply|answer|payload received)
BAD_UPSTREAM_RESPONSE   response ~ (invalid|malformed|parse*|parsing|validation|decod*), response error, protocol
BAD_UPSTREAM_RESPONSE   content decod*, corrupt*, checksum*, (digest|hash|crc) mismatch, crc, data loss
BAD_UPSTREAM_RESPONSE   (bad|unexpected) (status*|packet|message|frame|http*), truncated, damaged
BAD_UPSTREAM_RESPONSE   redirect* (error|exception)
DISK_FULL               disk full, no space, insufficient storage, storage full, map full
SERVER_BUSY             too many connection*, max connection*, pool full, queue full, busy loading, server busy
SERVER_BUSY             too busy, queue overflow, buffer full, full pool, readers full, resource contention
SERVER_BUSY             no (resources|connections|workers|slots) available, no available *
SERVER_BUSY             too many (stream*|client*|session*|stalled|pending|open), too many ~ opened, connection count
OVERLOADED              overload*, capacity, backpressure, resource exhausted
RESOURCE_EXHAUSTED      out of memory, memory limit*, exhausted, oom, insufficient resource*
CONNECTION_LOST         connection ~ (lost|closed|reset|aborted|dropped|broken), disconnect*, lost connection
CONNECTION_LOST         stale connection
CONNECTION_LOST         (client|pool|channel|session|stream|socket|producer|consumer) ~ (closed|lost)
CONNECTION_LOST         closed (resource|connection|pool|stream|channel), broken pipe, broken resource
CONNECTION_LOST         incomplete read, chunked encoding, end of stream, channel ~ error, reset by*, hangup
CONNECTION_LOST         connection ~ state, unexpected close, target closed, not connected, partial download
CONNECTION_LOST         content too short, connection loss
CONNECTION_LOST         closed (client|session|socket|remote), transfer (failed|stalled|error), upload aborted
CONNECTION_LOST         (session|context|stream) (terminated|ended)
DEADLOCK                deadlock*
SERIALIZATION_FAILURE   serialization failure, could not serialize, write conflict
CONCURRENT_MODIFICATION concurrent*, stale, version (conflict|mismatch), optimistic lock*
CONCURRENT_MODIFICATION (tag|e tag|etag|sequence|revision|cas) mismatch, wrong (last sequence|revision|version)
CONCURRENT_MODIFICATION lost update, transaction (conflict|aborted), watch error, diverged
CONCURRENT_MODIFICATION (tree|post|object|record|row|document|content|file|data) (changed|modified)
IDEMPOTENCY_MISMATCH    idempotency, idempotent
NOT_EMPTY               not empty
AMBIGUOUS               ambiguous, more than one, multiple (results*|objects*|matches*|records*|values)
AMBIGUOUS               too many (results|rows|matches), disambiguation, ambigious, ambigous, not single
FOREIGN_KEY_VIOLATION   foreign key*, protected
NOT_FOUND               not exist*, not occupied, non existence
ALREADY_EXISTS          already exist*, exists, file exists, duplicat*, unique*, already taken, name taken
ALREADY_EXISTS          entity already, collision, occupied
WRONG_PATH_KIND         is a directory, not a directory, not a file
METHOD_NOT_ALLOWED      method not allowed, operation not allowed
TABLE_NOT_FOUND         (no such|undefined|unknown) table, table not found
COLUMN_NOT_FOUND        (no such|undefined|unknown) column, column not found
FILE_NOT_FOUND          file not found, no such file, directory not found, path not found
METHOD_NOT_FOUND        method not found, unknown method, unimplemented method
GONE                    gone, deleted, removed, no longer*, migrated, migrate to, disappeared, compacted, too old
INVALID_ARGUMENT        no such (option|param*|argument|switch|keyword)
INVALID_ARGUMENT        unknown ~ (option*|param*|argument*|field*|switch|flag|keyword|keys|token)
INVALID_ARGUMENT        missing ~ (id|ids|identifier*), identifier error
NOT_FOUND               (object|record|result|row|document|entry|item|resource|page|file|ticker|prices|metadata) missing
NOT_FOUND               missing (object|record|commit|bucket|stream|parent|document|entry|item|file|page|node|row)
NOT_FOUND               not found*, notfound, doesnt exist, nonexistent, lookup (error|exception|failed|failure)
NOT_FOUND               non existent, no such*, nosuch*, no ~ found, resource missing
NOT_FOUND               unknown (object|topic|user|resource|channel|message|index|key|id)
NOT_FOUND               unknown (server|server error) resource, no rows, no results, no data, not in channel
NOT_FOUND               unknown (time zone|timezone|locale|alias|region|service|site|function|policy|layer|unit)
NOT_FOUND               unknown (domain|plugin|device|node|provider|model|symbol|member|dialect|language|entity)
NOT_FOUND               unknown (account|currency)
NOT_FOUND               undefined (file|sequence|variable|keyspace|object|name|attribute), not present
NOT_FOUND               (video|page|content|media|post|item) unavailable
NOT_FOUND               no (path|match*|entry|item|record*|element*|candidate*|cycle)
NOT_FOUND               not in (cache|region|pool|index|list|graph|database|collection), unknown principal
NOT_FOUND               no (user|file|files|alert|index|outlines|media|node), not registered, not discovered, not cached
NOT_FOUND               (entry|item|record|object|key|member|user) not in
PRECONDITION_FAILED     precondition*, conditional check*, condition not met, invalid state, illegal state
PRECONDITION_FAILED     (wrong|incorrect|bad) state, unmet, not ready for, unsaved, dirty, unmerged, uncommitted
PRECONDITION_FAILED     (market|order|issue|ticket) closed, not (complete|started|running)
PRECONDITION_FAILED     not (alive|paused), still running, checkout
LOCKED                  locked, lock, checked out
RESOURCE_BUSY           busy, in use, in progress, in flight, sharing violation, would block, delete pending
RESOURCE_BUSY           cannot listen
CONFLICT                conflict*, already*
CONSTRAINT_VIOLATION    constraint*, violation*, integrity
PAYLOAD_TOO_LARGE       too large, too big, too long, payload size, max payload, max size*, size limit*
PAYLOAD_TOO_LARGE       length exceeded, oversize*, to large, size exceed*, exceeds limit, too deep, decompression bomb
PAYLOAD_TOO_LARGE       context (window|length|overflow), max depth, depth exceeded, exceeded size, size error
OUT_OF_RANGE            out of range, out of bounds, range not satisfiable, range error
UNSUPPORTED_MEDIA_TYPE  unsupported (media*|format*|file*|content*), unknown format, unknown file type, unidentified*
UNSUPPORTED_MEDIA_TYPE  mime*, unrecognized (image|format|file)
PROCESS_FAILED          called process, command failed, command error, exit status, return code, non zero*, nonzero*
PROCESS_FAILED          subprocess*, unexpected exit, failure exit, process (terminated|died|exited|crashed|error)
WORKER_CRASHED          worker (lost*|crashed*|died*|terminated*), terminated worker, broken process*, broken worker*
TOO_MANY_REDIRECTS      too many redirect*, redirect loop, redirect limit
CONNECTION_REFUSED      connection refused
CONNECTION_FAILED       connect, cannot connect, can not connect, connector, handshake, secure conn
CONNECTION_FAILED       no ~ (broker*|server*|host*|node*) available, unreachable, no route to
CONNECTION_FAILED       no (broker*|server*|host*|nodes|responders), proxy
SEND_FAILED             send failed, send error, delivery failed, publish failed, produce failed, not delivered
SEND_FAILED             undeliverable, upload (failed|error)
CONNECTION_LOST         connection, network, transport, socket, remote ~ error, ssh, io error, io exception
CONNECTION_LOST         communication*
BAD_GATEWAY             bad gateway, gateway
SERVICE_UNAVAILABLE     unavailable, maintenance, service down, not available, temporar*, transient, try again
SERVICE_UNAVAILABLE     retryable, retriable, retry later, retries exceeded, max retries, down, not ready
SERVICE_UNAVAILABLE     (max*|exceed*|too many) ~ (retry|retries|attempts|tries), retry (error|exception), please retry
SERVICE_UNAVAILABLE     shutdown, shutting down, unhealthy
SERVICE_UNAVAILABLE     starting up, failover, not primary, not master, leader not*, cluster down, offline
UPSTREAM_ERROR          server error, internal server*, internal error, internal failure, upstream*, backend*
UPSTREAM_ERROR          service error, server fault, remote exception, service failure, (download|fetch) (failed|error)
NOT_IMPLEMENTED         not implemented, unimplemented, unsupported*, un supported, not supported, incompatib*
NOT_IMPLEMENTED         missing (capability|feature), feature missing
ENCODING_ERROR          encoding, unicode*, charset
QUERY_ERROR             query error, sql error, sql syntax, query syntax, bad query, invalid query, programming
QUERY_ERROR             binder, query exception
PARSE_ERROR             pars*, syntax, malformed, decode*, decoding, deserializ*, unmarshal*, lex*, tokeniz*
PARSE_ERROR             bad zip*, bad rar*, bad json, unpars*, empty file, not parsable, grammar, regex
PARSE_ERROR             format (error|exception), not (rar|xml|json|zip|tar|pdf), unexpected token
INVALID_ARGUMENT        invalid*, validation, bad request, bad input, illegal*, incorrect*, unprocessable*
INVALID_ARGUMENT        bad parameter*, missing ~ (param*|field*|argument*|required*|value*|key)
INVALID_ARGUMENT        (param*|field*|argument*) (missing|required|error), wrong (type|value|format|argument*)
INVALID_ARGUMENT        usage, bad (argument*|value*|type*|format|name|arg*), unexpected (param*|argument*)
INVALID_ARGUMENT        (value|type|extra|extras|field|key|keys|character|argument|attribute) not allowed
INVALID_ARGUMENT        (null|empty|parameter) not allowed, not match
INVALID_ARGUMENT        unknown (param*|field*|argument*|option*), value error, type error, data error
INVALID_ARGUMENT        unknown action, mismatch*, not acceptable, not accepted, unprocess*, too (short|small|low|few)
INVALID_ARGUMENT        (name|host|id|path|length|body|input|value) required, mandatory, not specified
INVALID_ARGUMENT        (input|option) error, empty (data|request|batch|expression)
INVALID_ARGUMENT        missing ~ (header*|body|input|id|version|name|option|switch)
FORBIDDEN               blocked, disabled, declined, not allowed
RESOURCE_BUSY           pending
CONNECTION_LOST         (event|http|http2|rpc) stream error, streaming error
INVALID_ARGUMENT        arguments required, absolute path, bad, wrong (object|length|body|dimension|kind|size|number)
PAYLOAD_TOO_LARGE       too many
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


_TRIES = lazy_pattern(r"\b(?:retry|retries|retried|attempts|tries)\b")
# What a body validates is rarely what the caller sent, unless the name says that.
_VALIDATION = lazy_pattern(r"\bvalidation\b")
_VALIDATION_OF_INPUT = lazy_pattern(r"\b(?:param|params|parameter|argument|arguments|input) validation\b")


def guess(name: str) -> dict[str, Any] | None:
    """Return the verdict that the name of an unknown class suggests, with an outcome nobody knows."""
    plain = plain_name(name[:_LONGEST_NAME])
    if _VALIDATION.search(plain) and not _VALIDATION_OF_INPUT.search(plain):
        return None
    code = code_of(name)
    return {"code": code, "outcome": "unknown"} if code else None


def is_about_tries(name: str) -> bool:
    """Return whether the name of a class says that it ends several tries, of which the last failed as it says."""
    return _TRIES.search(plain_name(name[:_LONGEST_NAME])) is not None


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
