"""Rules for search engines: Elasticsearch and OpenSearch."""

from typing import Any

from failwell.exceptions.http import at, verdict_for_answer
from failwell.exceptions.rules import Rule, Rules, Verdict, peek
from failwell.phrases.meanings import BUG, PARTLY, Meaning, not_executed

# Types of errors that arrive with a status which says less, or something else.
_SEARCH_TYPES: dict[str, Meaning] = {
    "resource_already_exists_exception": "ALREADY_EXISTS",
    "index_already_exists_exception": "ALREADY_EXISTS",
    "version_conflict_engine_exception": "CONCURRENT_MODIFICATION",
    "index_not_found_exception": "NOT_FOUND",
    "index_closed_exception": "PRECONDITION_FAILED",
    "cluster_block_exception": "READ_ONLY",
    "es_rejected_execution_exception": "RATE_LIMITED",
    "rejected_execution_exception": "RATE_LIMITED",
    "circuit_breaking_exception": not_executed("RESOURCE_EXHAUSTED"),
    **dict.fromkeys(("parsing_exception", "query_shard_exception", "script_exception", "x_content_parse_exception",
                     "verification_exception", "named_object_not_found_exception"), "QUERY_ERROR"),
    **dict.fromkeys(("mapper_parsing_exception", "document_parsing_exception", "strict_dynamic_mapping_exception"),
                    "INVALID_ARGUMENT"),
}  # fmt: skip


def elastic_answer(exc: Any) -> Verdict:
    """Depends on the type of the error in the body, else on the status."""
    meta, body = peek(exc, "meta"), peek(exc, "body")
    return _search_answer(peek(meta, "status"), peek(meta, "headers"), body)


def elastic_transport(exc: Any) -> Verdict:
    """Depends on the HTTP client's error behind it."""
    for inner in (peek(exc, "__cause__"), *(peek(exc, "errors") or ()), peek(exc, "__context__")):
        if isinstance(inner, BaseException) and not type(inner).__module__.startswith(("elastic", "builtins")):
            return inner
    return "UPSTREAM_TIMEOUT" if "Timeout" in type(exc).__name__ else "CONNECTION_LOST"


def opensearch_answer(exc: Any) -> Verdict:
    """Depends on the type of the error in the body, else on the status, else on the HTTP client's error."""
    info = peek(exc, "info")
    if isinstance(info, BaseException):
        return info
    return _search_answer(peek(exc, "status_code"), None, info)


def _search_answer(status: object, headers: Any, body: object) -> Verdict:
    types = (at(body, "error", "root_cause", 0, "type"), at(body, "error", "type"))
    found = (_SEARCH_TYPES.get(name) for name in types if isinstance(name, str))
    return verdict_for_answer(status, headers, body, meaning=next((meaning for meaning in found if meaning), None))


_TABLES: dict[str, dict[str, Rule]] = {
    "elastic_transport": {
        "ApiError": elastic_answer,
        "ConnectionError": elastic_transport,
        "ConnectionTimeout": elastic_transport,
        "TlsError": "TLS_VERIFY_FAILED",
        "SniffingError": "CONNECTION_FAILED",
        "SerializationError": "BAD_UPSTREAM_RESPONSE",
        "TransportError": "CONNECTION_LOST",
    },
    "elasticsearch": {
        "UnsupportedProductError": "CONFIG_ERROR",
        "BulkIndexError": PARTLY,
        "ScanError": "UPSTREAM_ERROR",
        "ElasticsearchDslException": BUG,
        "ValidationException": "VALIDATION_ERROR",
    },
    "opensearchpy": {
        "TransportError": opensearch_answer,
        "ConnectionError": opensearch_answer,
        "ConnectionTimeout": "UPSTREAM_TIMEOUT",
        "SSLError": "TLS_VERIFY_FAILED",
        "SerializationError": "BAD_UPSTREAM_RESPONSE",
        "ImproperlyConfigured": "CONFIG_ERROR",
        "BulkIndexError": PARTLY,
        "ScanError": "UPSTREAM_ERROR",
        "OpenSearchDslException": BUG,
        "ValidationException": "VALIDATION_ERROR",
        "OpenSearchException": "INTERNAL_ERROR",
    },
}

RULES: Rules = {(package, name): rule for package, rows in _TABLES.items() for name, rule in rows.items()}
