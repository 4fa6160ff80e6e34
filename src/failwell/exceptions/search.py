"""Rules for search engines: Elasticsearch and OpenSearch."""

from typing import Any

from failwell.exceptions.http import at, verdict_for_answer
from failwell.exceptions.rules import Family, Verdict, peek
from failwell.phrases.meanings import BUG, PARTLY
from failwell.phrases.vendors.data import SEARCH


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
    found = (SEARCH.get(name) for name in types if isinstance(name, str))
    return verdict_for_answer(status, headers, body, meaning=next((meaning for meaning in found if meaning), None))


RULES: Family = {
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
    "typesense": {"HTTPStatus0Error": "CONNECTION_LOST"},
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
