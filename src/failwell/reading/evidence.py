"""The evidence for each claim about a failure: a rule and its words, a key of the payload, the schema or the catalog.

A reading says by which rule and which words it knows a failure, or which part of the payload holds it; here is only
looked up where they stand.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from failwell import codes
from failwell._json import is_array, is_object
from failwell.failure import Failure, FieldProblem, path_keys
from failwell.phrases.delays import find_delay, parse_delay
from failwell.phrases.effects import find_effect
from failwell.phrases.keys import delay_key, role_of, squashed
from failwell.phrases.language import plain
from failwell.phrases.vendor_codes import known_code
from failwell.reading.blame import ADDRESS, find_final
from failwell.reading.bodies import RETRY_WORDS, find_json
from failwell.reading.classifier import telling_words
from failwell.reading.context import Context
from failwell.reading.flat_text import BY_SCHEMA, TOGETHER, Reading, without_prefixes
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
        claim: what is claimed: `failure`, `code`, or `type` where no code is known, `retryable`, `retry_after`,
            `outcome`, or `field` and its path.
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
                return "the answer does not say"


def _quoted(words: str | None) -> str:
    return f"“{words}”"


class _Leaf(NamedTuple):
    """A value in a payload, and the way to it."""

    path: str
    key: str
    value: Any


_NO_LEAF = _Leaf("", "", None)


def find_evidence(what: Any, reading: Reading, context: Context) -> tuple[ClaimEvidence, ...]:
    """Return what a reading of a payload rests on, claim by claim. Never raises."""
    try:
        return tuple(_find(what, reading, context))
    except Exception:  # what cannot be looked at has no evidence to show
        return ()


def _find(what: Any, reading: Reading, context: Context) -> Iterator[ClaimEvidence]:
    raw = parse_result(what) or RawResult()
    failure = reading.failure
    source = _Source(raw, context, reading.place)
    yield _of_failure(raw, reading)
    yield _of_code(failure, reading, source, context)
    stated = source.stating_retryable(failure)
    yield stated or _of_retryable(failure, reading, source)
    if failure.retry_after is not None:
        yield _of_delay(failure.retry_after, source, context.now)
    stated = source.stating_outcome(failure)
    yield stated or _of_outcome(failure, reading, source)
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
    claimed: dict[str, Any] = {"claim": "code" if failure.code else "type", "value": failure.code or failure.type}
    if reading.rule is None and failure.code is None and not failure.confidence and failure.origin == "inferred":
        return ClaimEvidence(claim="code", value=None, proof="none")
    if reading.rule == BY_SCHEMA:
        return ClaimEvidence(**claimed, proof="schema", rule=reading.rule, words=_schema_words(context))
    leaf = source.leaf_with(reading.words) if reading.words else source.leaf_with_code(failure)
    if leaf is not None:
        return ClaimEvidence(**claimed, proof="key", rule=reading.rule, words=_shown(str(leaf.value)), where=leaf.path)
    if reading.rule is None:
        return ClaimEvidence(**claimed, proof="key", where="the payload", words=_shown(claimed["value"]))
    known_by = telling_words(plain(source.masked), failure.type) if reading.rule == TOGETHER else reading.words
    words, where, span = source.find_words(known_by) if known_by else (None, _TEXT, None)
    return ClaimEvidence(**claimed, proof="rule", rule=reading.rule, words=words, where=where, span=span)


def _of_retryable(failure: Failure, reading: Reading, source: "_Source") -> ClaimEvidence:
    """Return why the same call may, or may not, be made again, where no key says so."""
    value = failure.retryable
    if value is False and (final := find_final(failure.message)):
        words, where, span = source.find_words(final)
        return ClaimEvidence(claim="retryable", value=value, proof="text", words=words, where=where, span=span)
    return _derived("retryable", value, failure, reading, codes.derive(failure.code, failure.type).retryable)


def _of_outcome(failure: Failure, reading: Reading, source: "_Source") -> ClaimEvidence:
    """Return why the call had, or had not, an effect, where no key says so."""
    value = failure.outcome
    if value == "unknown" and (effect := find_effect(failure.message)):
        words, where, span = source.find_words(effect)
        return ClaimEvidence(claim="outcome", value=value, proof="text", words=words, where=where, span=span)
    return _derived("outcome", value, failure, reading, codes.derive(failure.code, failure.type).outcome)


def _derived(claim: str, value: Any, failure: Failure, reading: Reading, of_code: Any) -> ClaimEvidence:
    """Return that a claim follows from the code or the type; if those say something else, the rule does."""
    if value is None or (claim == "outcome" and value == "unknown"):
        return ClaimEvidence(claim=claim, value=value, proof="none")
    if value != of_code and reading.rule is not None:
        return ClaimEvidence(claim=claim, value=value, proof="rule", rule=reading.rule)
    return ClaimEvidence(claim=claim, value=value, proof="catalog", words=failure.code or failure.type)


_SLACK = 5.0
"""Seconds that may pass between reading a moment and looking it up."""


def _of_delay(delay: float, source: "_Source", now: float | None) -> ClaimEvidence:
    claimed: dict[str, Any] = {"claim": "retry_after", "value": delay}
    stated: list[tuple[float, _Leaf]] = []
    for leaf in source.leaves:
        unit = None if isinstance(leaf.value, bool) else delay_key(squashed(leaf.key))
        found_delay = None if unit is None else parse_delay(leaf.value, unit=unit, now=now)
        stated += [] if found_delay is None else [(abs(found_delay - delay), leaf)]
    difference, leaf = min(stated, key=lambda one: one[0], default=(_SLACK, _NO_LEAF))
    if difference < _SLACK:
        return ClaimEvidence(**claimed, proof="key", words=_shown(str(leaf.value)), where=leaf.path)
    for where, text in source.texts():
        if (found := find_delay(text, now=now)) is not None:
            _, start, end = found
            return ClaimEvidence(**claimed, proof="text", words=_shown(text[start:end]), where=where, span=(start, end))
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


def _span_of(words: str, text: str, *, most_between: int = 8) -> tuple[int, int] | None:
    """Return where words stand in a text, whatever its case and whatever stands between them."""
    if not words.strip():
        return None
    text = text[:_LONGEST_TEXT]
    parts = re.findall(r"\w+", words[:_LONGEST_WORDS])
    apart = rf"[\W_]{{0,{most_between}}}".join(map(re.escape, parts))
    patterns = [rf"(?<!\w){re.escape(words)}(?!\w)", re.escape(words), apart]
    found = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns if pattern)
    return next((match.span() for match in found if match), None)


def _shown(words: str) -> str:
    return clean(words, _LONGEST_WORDS)


class _Source:
    """The texts and the values of a payload, to look for what a claim rests on.

    *place* is the part of it that was read, if only one was.
    """

    def __init__(self, raw: RawResult, context: Context, place: str | None) -> None:
        self.text = "\n".join(raw.texts) or str((raw.rpc_error or {}).get("message") or "")
        self.masked = _masked(self.text, context)
        self.leaves = [leaf for leaf in _leaves(raw) if place is None or leaf.path.startswith(place)]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield where each text stands, and the text: values in objects, then the text itself."""
        for leaf in self.leaves:
            if isinstance(leaf.value, str):
                yield leaf.path, leaf.value
        yield _TEXT, self.text

    def leaf_with(self, words: str) -> _Leaf | None:
        """Return the value that is what a reading was known by: a code or a status."""
        return next((leaf for leaf in self.leaves if str(leaf.value) == words), None)

    def leaf_with_code(self, failure: Failure) -> _Leaf | None:
        """Return the value that states the code, the type or the status."""
        wanted = {failure.code, failure.type} - {None, "INTERNAL"}
        for leaf in self.leaves:
            value = leaf.value
            if isinstance(value, str) and role_of(squashed(leaf.key)) in _CODE_ROLES and _means(value, wanted):
                return leaf
        numbers = {str(failure.http_status), str(failure.details.get("jsonrpc_code"))} - {"None"}
        for leaf in self.leaves:
            if str(leaf.value) in numbers:
                return leaf
        return None

    def find_words(self, words: str) -> tuple[str, str, tuple[int, int] | None]:
        """Return words as they stand in the text, or in a value, where that is, and where in it."""
        if span := _span_of(words, self.masked, most_between=_LONGEST_WORDS):
            return _shown(self.text[span[0] : span[1]]), _TEXT, span
        for where, text in self.texts():
            if span := _span_of(words, text):
                return _shown(text[span[0] : span[1]]), where, span
        return _shown(words), _TEXT, None

    def stating_retryable(self, failure: Failure) -> ClaimEvidence | None:
        """Return the evidence of a key that says the same as a failure of whether the call may be made again."""
        value = failure.retryable
        for leaf in self.leaves:
            role = role_of(squashed(leaf.key))
            if value is None or role not in ("retry", "final") or not isinstance(leaf.value, bool | str):
                continue
            said = RETRY_WORDS.get(leaf.value.lower() if isinstance(leaf.value, str) else leaf.value)
            if said is not None and (said if role == "retry" else not said) is value:
                return self._stated("retryable", value, leaf)
        return None

    def stating_outcome(self, failure: Failure) -> ClaimEvidence | None:
        """Return the evidence of a key that states the outcome."""
        found = (leaf for leaf in self.leaves if squashed(leaf.key) == "outcome" and leaf.value == failure.outcome)
        leaf = next(found, None)
        return self._stated("outcome", failure.outcome, leaf) if leaf else None

    @staticmethod
    def _stated(claim: str, value: Any, leaf: _Leaf) -> ClaimEvidence:
        words = _shown(str(leaf.value).lower())
        return ClaimEvidence(claim=claim, value=value, proof="key", words=words, where=leaf.path)


def _masked(text: str, context: Context) -> str:
    """Return a text of the same length with blanks for what reading does not look at: prefixes, addresses, values."""
    prefix = len(text) - len(without_prefixes(text))
    text = " " * prefix + text[prefix:]
    text = ADDRESS.sub(lambda found: " " * len(found[0]), text)
    sent = [value for _, value in context.values if isinstance(value, str)]
    for value in (context.tool, *sent):
        if value and len(value) > 3:
            text = text.replace(value, " " * len(value))
    return text


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
