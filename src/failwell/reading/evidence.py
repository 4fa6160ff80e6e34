"""What each claim of a reading rests on: a rule and its words, a key of the payload, the schema, or the catalog."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from failwell import codes
from failwell._json import is_array, is_object
from failwell._lazy import lazy_pattern
from failwell.failure import Failure, FieldProblem, path_keys
from failwell.phrases import texts
from failwell.phrases.keys import delay_key, role_of, squashed
from failwell.phrases.language import plain
from failwell.phrases.vendor_codes import known_code
from failwell.reading.bodies import find_json
from failwell.reading.context import Context
from failwell.reading.flat_text import Reading
from failwell.reading.raw_result import RawResult, parse_result
from failwell.redact.scrubber import clean

Proof = Literal["flag", "sign", "rule", "key", "schema", "text", "catalog", "none"]

_LONGEST_WORDS = 120
_LONGEST_TEXT = 20_000
_MOST_LEAVES = 500
_DEEPEST = 8
_TEXT = "the text"


class ClaimEvidence(Struct, frozen=True, kw_only=True):
    """Why one thing is claimed.

    Attributes:
        claim: what is claimed: `failure`, `code`, `retryable`, `retry_after`, `outcome`, or `field` and its path.
        value: the value that is claimed.
        proof: `flag`: the result says that it is an error. `sign`: it only looks like one. `rule`: a rule knows
            its words. `key`: a key of the payload. `schema`: the tool's input schema. `text`: the text names the
            argument or its value. `catalog`: it follows from the code. `none`: nothing is known.
        rule: the rule that decided, if one did.
        words: the words or the value that it rests on.
        where: the part of the payload that they stand in.
        span: where in that text they begin and end.
    """

    claim: str
    value: Any
    proof: Proof
    rule: str | None = None
    words: str | None = None
    where: str | None = None
    span: tuple[int, int] | None = None

    @property
    def sentence(self) -> str:
        """The reason in plain English."""
        at = f" (characters {self.span[0]} to {self.span[1]} of {self.where})" if self.span else ""
        match self.proof:
            case "flag":
                return f"{self.where} says so"
            case "sign":
                return f"nothing flags it, but: {self.rule}: {_quoted(self.words)}{at}"
            case "rule":
                return f"rule “{self.rule}”" + (f" by the words {_quoted(self.words)}{at}" if self.words else "")
            case "key":
                return f"{self.where} is {_quoted(self.words)}" + (f": rule “{self.rule}”" if self.rule else "")
            case "schema":
                return f"the input schema: {self.words}"
            case "text":
                return f"the text says {_quoted(self.words)}{at}"
            case "catalog":
                return f"follows from {self.words}"
            case _:
                return "nothing in the answer tells"


def _quoted(words: str | None) -> str:
    return f"“{words}”"


class _Leaf(NamedTuple):
    """A value in a payload, and the way to it."""

    path: str
    key: str
    value: Any


def find_evidence(what: Any, reading: Reading, context: Context) -> tuple[ClaimEvidence, ...]:
    """Return what a reading of a payload rests on, claim by claim. Never raises."""
    try:
        return tuple(_find(what, reading, context))
    except Exception:  # what cannot be looked at has no evidence to show
        return ()


def _find(what: Any, reading: Reading, context: Context) -> Iterator[ClaimEvidence]:
    raw = parse_result(what) or RawResult()
    failure = reading.failure
    source = _Source(raw)
    yield _of_failure(raw, reading)
    code = _of_code(failure, reading, source, context)
    yield code
    stated = source.stating(failure.retryable, "retry", "final")
    yield stated("retryable") if stated else _derived("retryable", failure.retryable, failure)
    if failure.retry_after is not None:
        yield _of_delay(failure.retry_after, source)
    stated = source.stating(failure.outcome, "outcome")
    yield stated("outcome") if stated else _derived("outcome", failure.outcome, failure)
    for problem in failure.fields:
        yield _of_field(problem, source, context)


def _of_failure(raw: RawResult, reading: Reading) -> ClaimEvidence:
    sign = reading.sign
    if sign is not None:
        text = "\n".join(raw.texts)
        return ClaimEvidence(
            claim="failure", value=True, proof="sign", rule=sign.rule, words=_shown(sign.words),
            where=_TEXT, span=_span_of(sign.words, text),
        )  # fmt: skip
    where = "`error`, a JSON-RPC error," if raw.rpc_error is not None else "`isError`" if raw.flag else "the payload"
    return ClaimEvidence(claim="failure", value=True, proof="flag", where=where)


def _of_code(failure: Failure, reading: Reading, source: "_Source", context: Context) -> ClaimEvidence:
    claimed: dict[str, Any] = {"claim": "code", "value": failure.code or failure.type}
    if leaf := source.leaf_with_code(failure):
        return ClaimEvidence(**claimed, proof="key", rule=reading.rule, words=_shown(str(leaf.value)), where=leaf.path)
    if reading.rule is None and failure.code is None and not failure.confidence and failure.origin == "inferred":
        return ClaimEvidence(claim="code", value=None, proof="none")
    if reading.rule is None:
        return ClaimEvidence(**claimed, proof="key", where="the payload", words=_shown(claimed["value"]))
    if reading.rule == "arguments against schema":
        return ClaimEvidence(**claimed, proof="schema", rule=reading.rule, words=_schema_words(context))
    words, span = _words_of_rule(reading.rule, source.text)
    return ClaimEvidence(**claimed, proof="rule", rule=reading.rule, words=words, where=_TEXT, span=span)


def _derived(claim: str, value: Any, failure: Failure) -> ClaimEvidence:
    """Return that a claim follows from the code, or from the type."""
    if value is None or (claim == "outcome" and value == "unknown"):
        return ClaimEvidence(claim=claim, value=value, proof="none")
    return ClaimEvidence(claim=claim, value=value, proof="catalog", words=failure.code or failure.type)


_DELAY_WORDS = lazy_pattern(
    r"(?:retry|try again|wait|available|reset)[^\n]{0,60}?\d[^\n,;)]{0,30}?(?=[\s.,;)]|$)"
    r"|\d+(?:\.\d+)? ?(?:ms|s|sec|seconds?|m|min|minutes?|h|hours?)\b",
    re.IGNORECASE,
)


def _of_delay(delay: float, source: "_Source") -> ClaimEvidence:
    claimed: dict[str, Any] = {"claim": "retry_after", "value": delay}
    for leaf in source.leaves:
        if delay_key(squashed(leaf.key)) is not None and not isinstance(leaf.value, bool):
            return ClaimEvidence(**claimed, proof="key", words=_shown(str(leaf.value)), where=leaf.path)
    if found := _DELAY_WORDS.search(source.text):
        return ClaimEvidence(**claimed, proof="text", words=_shown(found[0]), where=_TEXT, span=found.span())
    return ClaimEvidence(**claimed, proof="none")


def _of_field(problem: FieldProblem, source: "_Source", context: Context) -> ClaimEvidence:
    claimed: dict[str, Any] = {"claim": f"field {problem.path}", "value": problem.message}
    for proven in context.problems:
        if proven.path == problem.path:
            return ClaimEvidence(**claimed, proof="schema", words=_shown(proven.message))
    keys = path_keys(problem.path)
    name = str(keys[-1]) if keys else problem.path
    if found := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source.text):
        return ClaimEvidence(**claimed, proof="text", words=_shown(found[0]), where=_TEXT, span=found.span())
    sent = next((value for way, value in context.values if tuple(way) == keys), None)
    if sent is not None and (span := _span_of(str(sent), source.text)):
        return ClaimEvidence(**claimed, proof="text", words=_shown(str(sent)), where=_TEXT, span=span)
    for leaf in source.leaves:
        if isinstance(leaf.value, str) and leaf.value.rpartition("/")[2] == name:
            return ClaimEvidence(**claimed, proof="key", words=_shown(leaf.value), where=leaf.path)
    words = " ".join(re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", name)).lower()
    span = _span_of(words, source.text)
    return ClaimEvidence(
        **claimed, proof="text" if span else "none", words=words if span else None, where=_TEXT, span=span
    )


def _schema_words(context: Context) -> str:
    return "; ".join(f"{problem.path}: {problem.message}" for problem in context.problems[:3])


_NUMBER = lazy_pattern(r"-?\d{3,5}")


def _words_of_rule(rule: str, text: str) -> tuple[str | None, tuple[int, int] | None]:
    """Return the words of a text by which a rule knows it, and where they stand."""
    name = rule.partition(", of the server's own")[0]
    said = plain(text)
    for match in texts.table().all(said):
        if match.rule.name == name:
            words = said[match.start : match.end]
            span = _span_of(words, text)
            return _shown(text[span[0] : span[1]] if span else words), span
    if found := _NUMBER.search(name):
        words = found[0]
    elif name.startswith("code "):
        words = name.removeprefix("code ")
    else:
        return None, None
    span = _span_of(words, text)
    return (_shown(words), span) if span else (None, None)


def _span_of(words: str, text: str) -> tuple[int, int] | None:
    """Return where words stand in a text, whatever its case and whatever stands between them."""
    if not words.strip():
        return None
    text = text[:_LONGEST_TEXT]
    parts = re.findall(r"\w+", words[:_LONGEST_WORDS])
    patterns = [rf"(?<!\w){re.escape(words)}(?!\w)", re.escape(words), r"[\W_]{0,8}".join(map(re.escape, parts))]
    found = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns if pattern)
    return next((match.span() for match in found if match), None)


def _shown(words: str) -> str:
    return clean(words, _LONGEST_WORDS)


class _Source:
    """The texts and the values of a payload, to look for what a claim rests on."""

    def __init__(self, raw: RawResult) -> None:
        self.text = "\n".join(raw.texts) or str((raw.rpc_error or {}).get("message") or "")
        self.leaves = list(_leaves(raw))

    def leaf_with_code(self, failure: Failure) -> _Leaf | None:
        """Return the value that states the code, the type or the status."""
        wanted = {failure.code, failure.type} - {None, "INTERNAL"}
        for leaf in self.leaves:
            value = leaf.value
            if isinstance(value, str) and role_of(squashed(leaf.key)) in _CODE_ROLES and _means(value, wanted):
                return leaf
        for leaf in self.leaves:
            if failure.http_status is not None and str(leaf.value) == str(failure.http_status):
                return leaf
        return None

    def stating(self, value: Any, *roles: str) -> Callable[[str], ClaimEvidence] | None:
        """Return what makes the evidence for a value that a key states; None if no key does."""
        for leaf in self.leaves:
            name = squashed(leaf.key)
            is_same = leaf.value == value or (isinstance(leaf.value, bool) and isinstance(value, bool))
            if is_same and (name in roles or role_of(name) in roles):
                words = _shown(str(leaf.value).lower())
                return lambda claim, leaf=leaf: ClaimEvidence(  # type: ignore[misc]  # the default binds the leaf
                    claim=claim, value=value, proof="key", words=words, where=leaf.path
                )
        return None


_CODE_ROLES = frozenset(("code", "kind", "category", "status", "error"))


def _means(value: str, wanted: set[Any]) -> bool:
    row = codes.get(codes.screaming(value)) if len(value) <= 80 else None
    return value in wanted or (row is not None and row.code in wanted) or (known_code(value) in wanted)


def _leaves(raw: RawResult) -> Iterator[_Leaf]:
    """Yield the values in every part of a payload, with the way to each."""
    places: list[tuple[str, Any]] = [("_meta", raw.meta), ("structuredContent", raw.structured), ("", raw.payload)]
    if raw.rpc_error is not None:
        places.append(("error", raw.rpc_error))
    for number, text in enumerate(raw.texts):
        if (found := find_json(text)) is not None:
            places.append((f"content[{number}].text", found[0]))
    count = 0
    for path, value in places:
        for leaf in _walk(path, "", value, 0):
            yield leaf
            count += 1
            if count == _MOST_LEAVES:
                return


def _walk(path: str, key: str, value: Any, depth: int) -> Iterator[_Leaf]:
    if depth > _DEEPEST:
        return
    if is_object(value):
        for name, item in value.items():
            yield from _walk(f"{path}.{name}" if path else str(name), str(name), item, depth + 1)
    elif is_array(value):
        for at, item in enumerate(value[:_MOST_LEAVES]):
            yield from _walk(f"{path}[{at}]", key, item, depth + 1)
    elif value is not None and key:
        yield _Leaf(path, key, value)
