"""Bounded Hypothesis strategies: any failure, any JSON, any result a peer may send.

Most values are small, so that runs are short; `failures` also has some at and just beyond each bound of `canonical`.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

import failwell as fw
from failwell.codes import TYPES
from failwell.failure import FIELDS, PROBLEM_LENGTHS
from failwell.redact import canonical as bounds


def examples(times: float) -> int:
    """Return the number of examples for a property that needs more than most, or is dearer: a multiple of the usual."""
    return int(times * settings().max_examples)


texts = st.text(max_size=12)
sentences = st.text(min_size=1, max_size=30).filter(lambda text: text.strip())
plain_words = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
codes = st.one_of(
    st.sampled_from([row.code for row in fw.codes.rows()]),
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

small_failures = st.builds(
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

# As many as are kept, or one more or less: characters of a text, items of a list, keys of an object.
_characters = st.sampled_from(["a", "é", "😀", "<", '"', "a ", "word. ", "ab\n"])
_numbers = st.sampled_from([-(2**63), 2**63 - 1, 2**63, 2**53, 10**30, 1e308, 5e-324, -0.0])


def about(bound: int) -> st.SearchStrategy[int]:
    """Return numbers around a bound."""
    return st.sampled_from([bound - 1, bound, bound + 1, 2 * bound])


def long_texts(bound: int, of: st.SearchStrategy[str] = _characters) -> st.SearchStrategy[str]:
    """Return texts whose length is about a bound, between whole words or within one."""
    return st.builds(lambda part, length: (part * length)[:length], of, about(bound)).filter(str.strip)


_words = st.sampled_from(["a", "x_", "tool."])
_large = st.one_of(
    _numbers,
    long_texts(bounds.LONGEST_TEXT),
    about(bounds.MOST_ITEMS).map(lambda count: [None] * count),
    about(bounds.MOST_ITEMS).map(lambda count: {f"k{number}": number for number in range(count)}),
    about(bounds.DEEPEST).map(lambda depth: _nested(depth)),
    about(bounds.MOST_NODES).map(lambda count: [[0] * 10] * (count // 11)),
)


def _nested(depth: int) -> Any:
    value: Any = "leaf"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


_large_problems = st.builds(
    fw.FieldProblem,
    path=long_texts(PROBLEM_LENGTHS["path"], _words) | about(20).map(lambda index: f"items[{index}].sku"),
    kind=st.none() | long_texts(PROBLEM_LENGTHS["kind"], _words),
    message=long_texts(PROBLEM_LENGTHS["message"]),
    sent=_large | long_texts(PROBLEM_LENGTHS["sent"]),
    expected=st.none() | long_texts(PROBLEM_LENGTHS["expected"]),
    options=about(bounds.MOST_ITEMS).map(lambda count: tuple(range(count)))
    | st.lists(long_texts(PROBLEM_LENGTHS["options"]), max_size=3).map(tuple),
    did_you_mean=st.none() | long_texts(PROBLEM_LENGTHS["did_you_mean"], _words),
)
_many_problems = about(FIELDS["fields"].most).map(
    lambda count: tuple(fw.FieldProblem(path=f"items[{at}]") for at in range(count))
)

large_failures = st.builds(
    fw.Failure,
    message=sentences | long_texts(FIELDS["message"].longest),
    code=st.none() | codes | st.sampled_from(["A" * 199, "A" * 200, "X_" * 100]),
    type=st.sampled_from([None, *TYPES]),
    retry_after=st.sampled_from([None, 0, 2**53 - 1, 2**53, 5e-324, 1e15]),
    kind=st.none() | long_texts(FIELDS["kind"].longest, _words),
    suggestion=st.none() | long_texts(FIELDS["suggestion"].longest),
    actions=st.just(()) | about(FIELDS["actions"].most).map(lambda count: tuple(f"tool_{at}" for at in range(count))),
    fields=st.one_of(st.just(()), _many_problems, st.lists(_large_problems, max_size=2).map(tuple)),
    details=st.just({}) | st.dictionaries(detail_names | long_texts(bounds.LONGEST_KEY, _words), _large, max_size=2),
    tool=st.none() | long_texts(FIELDS["tool"].longest, _words),
    action=st.none() | long_texts(FIELDS["action"].longest, _words),
    http_status=st.sampled_from([None, 100, 599]),
    docs_url=st.none() | long_texts(FIELDS["docs_url"].longest, st.just("https://example.com/")),
    id=st.none() | long_texts(FIELDS["id"].longest, _words),
    confidence=st.sampled_from([None, 0.0, 1.0]),
    extra=st.just({})
    | st.dictionaries(st.sampled_from(["trace", "hint"]) | long_texts(bounds.LONGEST_KEY, _words), _large, max_size=1),
)
failures = st.one_of(small_failures, small_failures, small_failures, large_failures)

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
