"""Bounded Hypothesis strategies: any failure, any JSON, any result a peer may send."""

from typing import Any

from hypothesis import strategies as st

import failwell as fw
from failwell.codes import TYPES

texts = st.text(max_size=12)
sentences = st.text(min_size=1, max_size=30).filter(lambda text: text.strip())
plain_words = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
codes = st.one_of(
    st.sampled_from([row.code for row in fw.catalog.rows()]),
    st.from_regex(r"[A-Z][A-Z_]{0,10}[A-Z]", fullmatch=True),
    st.sampled_from(["ProjectNotFound", "InvoiceAlreadyPaid", "X&<>\"'", "RESOURCE_NOT_FOUND", "a,b", "{}", "é"]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    texts,
    st.sampled_from(["5", "true", "null", '"x"', "{}", "[1]"]),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
detail_names = st.one_of(
    texts, st.sampled_from(["code", "id", "details", "retry_after", "type", "fields", "validation_errors"])
)
details = st.dictionaries(detail_names, json_values, max_size=3)

problems = st.builds(
    fw.FieldProblem,
    path=st.sampled_from(["a", "b", "items[0].sku", "items[0]", '["a.b"]', "(root)"]),
    kind=st.sampled_from([None, "missing", "type", "enum", "unknown", "other"]),
    message=st.one_of(st.just(""), sentences),
    sent=json_values,
    expected=st.none() | sentences,
    options=st.lists(scalars, max_size=3).map(tuple),
    required=st.none() | st.booleans(),
    did_you_mean=st.none() | plain_words,
)

failures = st.builds(
    fw.Failure,
    message=sentences,
    type=st.sampled_from([None, *TYPES]),
    code=st.none() | codes,
    recoverable=st.sampled_from([None, True, False]),
    retryable=st.sampled_from([None, True, False]),
    outcome=st.sampled_from([None, "not_executed", "rejected", "unknown", "executed"]),
    retry_after=st.none() | st.integers(0, 9999) | st.floats(0, 9999) | st.floats(),
    severity=st.sampled_from([None, "warning", "error", "critical"]),
    kind=st.sampled_from([None, "TimeoutError", "AuthenticationError", "My Error"]),
    suggestion=st.none() | sentences,
    actions=st.lists(st.one_of(plain_words, st.sampled_from(["a, b", "x.y", "<b>"])), max_size=3).map(tuple),
    fields=st.lists(problems, max_size=3).map(tuple),
    details=details,
    tool=st.none() | plain_words,
    action=st.none() | plain_words,
    http_status=st.none() | st.integers(400, 599),
    docs_url=st.none() | st.just("https://example.com/codes#x"),
    id=st.none() | plain_words,
    origin=st.sampled_from(["declared", "mapped", "read", "inferred"]),
    confidence=st.none() | st.floats(0, 1),
    extra=st.dictionaries(st.sampled_from(["trace", "hint", "x-y", "é", "message"]), json_values, max_size=2),
)

_flags = st.sampled_from([True, False, None, "true", 1])
results = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(
            json_values,
            st.lists(
                st.fixed_dictionaries({"type": st.just("text"), "text": st.one_of(texts, json_values)}), max_size=2
            ),
        ),
        "isError": _flags,
        "is_error": _flags,
        "_meta": json_values,
        "structuredContent": json_values,
        "error": json_values,
        "result": json_values,
        "jsonrpc": st.just("2.0"),
        "code": json_values,
        "message": json_values,
        "data": json_values,
    },
)
