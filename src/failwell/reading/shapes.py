"""Structured errors: dialects, standards, JSON-RPC errors, and error objects of any other shape."""

from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType, structs

from failwell import codes
from failwell._json import is_array, is_object, parse_object
from failwell._lazy import lazy_pattern
from failwell._spelling import normalised
from failwell.codes import TYPES, Outcome, Type
from failwell.dialects import _compact, _envelope, _flat, _xml
from failwell.dialects._open_part import read_failure, read_open_part
from failwell.dialects._placement import META_KEY, read_whole
from failwell.dialects._wire import Wire
from failwell.failure import Failure, FieldProblem, join_path, path_keys, valid_code, valid_status
from failwell.phrases import names
from failwell.phrases.delays import delay_in_text, parse_delay
from failwell.phrases.http_codes import VAGUE_STATUSES, code_of_status, meaning_of_status
from failwell.phrases.keys import states_retry
from failwell.phrases.meanings import Meaning, fields_of
from failwell.phrases.rpc_codes import (
    ELICITATION_REQUIRED,
    RECEIVED,
    UNSPECIFIC,
    find_sdk_error,
    is_missing_resource,
    is_session_lost,
)
from failwell.phrases.sql_codes import meaning_of_sqlstate
from failwell.phrases.system_codes import ERRNO_NAMES
from failwell.phrases.vendor_codes import known_code
from failwell.reading import flat_text
from failwell.reading.blame import complete_finding
from failwell.reading.bodies import Stated, find_batch, find_json, longest, stated_in, vendors
from failwell.reading.context import Context, Finding
from failwell.reading.flat_text import CERTAIN, Reading, without_prefixes
from failwell.reading.raw_result import RawResult, own_error, parse_result
from failwell.reading.validators import add_schema_facts, problem

TOOL_FAILURE_KEY = "io.modelcontextprotocol/toolFailure"

_TYPE_OF_CLASS: dict[str, Type] = {"reliability": "TRANSIENT", "governance": "PERMISSION", "capability": "INTERNAL"}
_PROBLEM_KEYS = frozenset(("type", "title", "status", "detail", "instance"))


def from_tool_failure(value: dict[str, Any] | None, message: str, *, now: float) -> Failure | None:
    """Return the failure in the proposed `toolFailure` object, whose time of retry counts from *now*."""
    if not isinstance(value, dict) or not value.keys() & {"class", "code", "retryable"}:
        return None
    values: dict[str, Any] = {"extra": {}}
    if isinstance(code := valid_code(value.get("code")), str):
        values["code"] = code
    values["type"] = codes.type_of(values.get("code")) or _TYPE_OF_CLASS.get(str(value.get("class")))
    values["retryable"] = value["retryable"] if isinstance(value.get("retryable"), bool) else None
    if (delay := parse_delay(value.get("retryNotBefore"), now=now)) is not None:
        values["retry_after"] = delay
    for key, name in (("correlationId", "id"), ("agentGuidance", "suggestion")):
        if isinstance(value.get(key), str) and value[key]:
            values[name] = value[key]
    return read_failure(values, message)


def from_problem(payload: dict[str, Any], context: Context) -> Failure | None:
    """Return the failure in problem details (RFC 9457), or None."""
    status = valid_status(payload.get("status"))
    title, detail = payload.get("title"), payload.get("detail")
    text = next((text for text in (detail, title) if isinstance(text, str) and text.strip()), None)
    kind: str | None = payload.get("type")
    is_named = isinstance(kind, str) and kind.startswith(("https://", "http://", "urn:", "about:", "tag:"))
    if text is None or not (isinstance(title, str) or isinstance(kind, str)) or (status is UNSET and not is_named):
        return None
    if status is not UNSET and status < 400:
        return None
    rest = {key: item for key, item in payload.items() if key not in _PROBLEM_KEYS}
    values = read_open_part(rest)
    if status is not UNSET:
        values["http_status"] = status
        if codes.type_of(values.setdefault("code", code_of_status(status))) is None:
            values.setdefault("type", codes.type_of(known_code(values["code"]) or code_of_status(status)))
    if isinstance(kind, str) and kind.startswith("https://"):
        values["docs_url"] = kind
    stated = stated_in(rest)
    for name, value in (("retryable", stated.retryable), ("retry_after", stated.delay), ("suggestion", stated.hint)):
        if value is not None:
            values.setdefault(name, value)
    if stated.fields:
        values.setdefault("fields", _named_fields(stated, context)[0])
    if isinstance(payload.get("instance"), str) and payload["instance"]:
        values["id"] = payload["instance"]
    return read_failure(values, text).replace(confidence=_CODED)


_DEEPEST_WRAPPER = 3


def from_shape(payload: dict[str, Any], context: Context, depth: int = 0) -> Failure | None:
    """Return the failure in a JSON object of a dialect or a standard, or None."""
    return (
        read_whole(payload.get(META_KEY))
        or _from_dialect(payload)
        or from_problem(payload, context)
        or from_nested_result(payload, context, depth)
    )


def _from_dialect(payload: dict[str, Any]) -> Failure | None:
    """Return the failure in an object of a dialect, with a delay or a flag that stands beside what the dialect knows.

    An object that only has the keys of a dialect is one of it if the code in it says anything to us: the rest of what
    the world writes under `error` and `error_code` is looked up among the codes of services.
    """
    found = _compact.from_payload(payload) if "recoverable" in payload else None
    if found is None and ("success" in payload or "version" in payload or _is_known(payload.get("error_code"))):
        found = _envelope.from_payload(payload)
    if found is None and _is_known(payload.get("error")):
        found = _flat.from_payload(payload)
    found = found or _compact.from_payload(payload)
    if found is None:
        return None
    if found.code is not None and codes.type_of(found.code) is None and (known := known_code(found.code)):
        found = found.replace(code=known, details={**found.details, "code": found.code})
    if not (found.extra or found.details):
        return found
    beside = {key: value for key, value in {**found.details, **found.extra}.items() if states_retry(key)}
    if not beside:
        return found
    stated = stated_in(beside)
    changes: dict[str, Any] = {} if stated.retryable is None else {"retryable": stated.retryable}
    if found.retry_after is None and stated.delay is not None:
        changes["retry_after"] = stated.delay
    return found.replace(**changes) if changes else found


def _is_known(code: Any) -> bool:
    return isinstance(code, str) and (code in _flat.LITERALS or (codes.type_of(code) or known_code(code)) is not None)


def from_nested_result(payload: dict[str, Any], context: Context, depth: int = 0) -> Failure | None:
    """Return the failure in a result that was itself written as text, if it says `isError`."""
    if payload.get("isError") is not True or depth > _DEEPEST_WRAPPER:
        return None
    inner = parse_result(payload)
    if inner is None or not (inner.texts or inner.structured):
        return None
    for text in inner.texts:
        found = parse_object(text)
        if failure := _xml.decode(Wire(text)) or (from_shape(found, context, depth + 1) if found else None):
            return failure
    reading = from_places(inner, context) or flat_text.read_error_text("\n".join(inner.texts), context)
    return reading.failure


def from_places(raw: RawResult, context: Context, *, now: float | None = None) -> Reading | None:
    """Return the failure that the objects in a result state, wherever they stand; None if they state nothing."""
    noted = own_error(raw.meta) if raw.meta else None
    has_payload = raw.payload is not None or raw.structured is not None or noted is not None
    if not has_payload and not any("{" in text or "</" in text for text in raw.texts):
        return None
    stated = Stated()
    texts: list[str] = []
    is_found = False
    for payload in (raw.payload, raw.structured, noted):
        if is_object(payload) or is_array(payload):
            if (partial := from_batch(payload, context)) is not None:
                return partial
            stated.add(stated_in(payload, now=now))
            is_found = bool(stated.texts)
    for text in raw.texts:
        found = find_json(text)
        if found is None:
            texts.append(without_prefixes(text))
            continue
        is_found = True
        payload, before = found
        if (partial := from_batch(payload, context)) is not None:
            return partial
        inner = stated_in(payload, now=now)
        if before := without_prefixes(f"{before} ").strip():
            inner.texts = [f"{before} {inner.message or inner.name}".strip()]
        stated.add(inner)
    stated.after += texts
    for text in raw.texts if is_found else ():
        if (refused := _by_validator(text, stated, context)) is not None:
            return flat_text.read_error_text("\n".join(raw.texts), context, refused)
    reading = from_stated(stated, context, now=now) or _from_words(stated, context)
    if reading is None and is_found and stated.message:
        reading = flat_text.read_error_text(stated.message, context)  # the words count, and not the rest of the object
    elif reading is None or not raw.texts or (reading.failure.confidence or 0.0) >= CERTAIN:
        return reading
    said = flat_text.safe_message("\n".join(raw.texts))  # what is not understood stays as the server wrote it
    failure = reading.failure.replace(message=said or reading.failure.message)
    return Reading(failure, reading.rule, cleaned=said, words=reading.words)


def _by_validator(text: str, stated: Stated, context: Context) -> Finding | None:
    """Return what a validator's text says with all that it says of the fields, unless its object states a code."""
    if stated.statuses or stated.category or ((coded := _best_code(stated)) and coded.confidence > _NAMED):
        return None
    if (found := flat_text.about_result(text, context)) is not None:
        return found
    found = flat_text.by_validator(text, context)
    return found if found is not None and found.fields else None


_MOST_FAILED_ITEMS = 50
_MOST_TOLD = 10


def from_batch(payload: Any, context: Context) -> Reading | None:
    """Return the failure of the items of a batch that failed while others did not; None if it is no such batch."""
    batch = find_batch(payload)
    if batch is None:
        return None
    described: list[dict[str, Any]] = []
    types: set[Type | None] = set()
    for item in batch.failed[:_MOST_FAILED_ITEMS]:
        stated = stated_in(item.value) if is_object(item.value) else Stated(texts=[str(item.value)])
        cause = _cause(stated, stated.message, context)
        is_known = cause.confidence >= CERTAIN
        types.add(cause.effective_type if is_known else None)
        told = {"index": item.place, "item": item.name, "code": cause.code if is_known else None,
                "message": stated.message or stated.name or None}  # fmt: skip
        described.append({key: value for key, value in told.items() if value is not None})
    total = batch.succeeded + len(batch.failed)
    texts = {key: value for key, value in payload.items() if isinstance(value, str)} if is_object(payload) else {}
    said = stated_in(texts).message or f"{len(batch.failed)} of {total} items failed"
    listed = "; ".join(
        f"{one.get('item', one['index'])}: {one.get('message', 'it failed')}" for one in described[:_MOST_TOLD]
    )
    failure = Failure(
        code="PARTIAL_FAILURE",
        type=types.pop() if len(types) == 1 else None,  # type: ignore[arg-type]  # None: as the row says
        message=f"{said.removesuffix('.')}: {listed}",
        recoverable=True,
        retryable=False,
        outcome="executed",
        details={"succeeded": batch.succeeded, "failed_items": described},
        origin="read",
        confidence=_AKIN,
    )
    return Reading(failure, "some items of a batch")


def from_rpc_data(error: dict[str, Any], context: Context) -> Failure | None:
    """Return the failure of a dialect or a standard that a JSON-RPC error carries, or None."""
    for payload in (error.get("data"), parse_object(error["message"])):
        if is_object(payload) and (found := from_shape(payload, context)):
            return found
    return None


def from_rpc(error: dict[str, Any], context: Context, *, now: float | None = None) -> Reading:
    """Return the failure that the data, the words and the number of a JSON-RPC error tell of.

    The number counts where the protocol gives it a meaning that servers keep to.
    """
    number, message, data = error["code"], error["message"], error.get("data")
    numbered = _numbered(error)
    if is_session_lost(number, message):
        return Reading(numbered.replace(code="SESSION_LOST"), "lost session", words=message)
    if (is_object(data) and "outcome" in data) or number == ELICITATION_REQUIRED:
        return Reading(numbered)
    if (row := find_sdk_error(number, message)) is not None:
        return Reading(numbered.replace(code=row.received), f"JSON-RPC {number}, raised by an SDK", words=str(number))
    if context.tool is None and is_missing_resource(number, data):
        return Reading(numbered.replace(code="NOT_FOUND"), f"JSON-RPC {number}", words=str(number))
    stated = Stated()
    if is_object(data) or is_array(data):
        if (partial := from_batch(data, context)) is not None:
            details = {**partial.failure.details, "jsonrpc_code": number}
            return Reading(partial.failure.replace(message=message, details=details), partial.rule)
        stated.add(stated_in(data, now=now))
    said = f"{message}: {data}" if isinstance(data, str) and data not in message else message
    if found := find_json(said):
        inner = stated_in(found[0], now=now)
        if _by_validator(said, inner, context) is None:
            stated.add(inner)
            said = without_prefixes(f"{found[1]} ").strip()
    stated.before.append(said)
    reading = from_stated(stated, context, now=now) if stated.names_cause or number not in RECEIVED else None
    if reading is None and (number in UNSPECIFIC or number not in RECEIVED):
        reading = _from_words(stated, context)
    if reading is not None and ((reading.failure.confidence or 0.0) >= CERTAIN or number not in RECEIVED):
        failure = reading.failure
        details = {**failure.details, "jsonrpc_code": number}
        return Reading(failure.replace(details=details), reading.rule, words=reading.words)
    if stated.retryable is not None:
        numbered = numbered.replace(retryable=stated.retryable)
    if stated.delay is not None:
        numbered = numbered.replace(retry_after=stated.delay)
    if number not in UNSPECIFIC and number in RECEIVED:
        return Reading(numbered)
    reading = flat_text.read_error_text(stated.message or error["message"], context)
    worded = reading.failure
    if worded.confidence is None or worded.confidence < CERTAIN:
        is_understood = number in RECEIVED or numbered.code is not None
        return Reading(numbered if is_understood else _not_understood(numbered, stated))
    if stated.texts and worded.retryable and worded.retry_after is None:  # its own words say something else
        worded = worded.replace(retryable=None)
    if worded.type == numbered.type and not worded.fields and number in RECEIVED:
        return Reading(numbered)
    failure = worded.replace(details=numbered.details, message=numbered.message)
    return Reading(failure, reading.rule, words=reading.words)


def _not_understood(failure: Failure, stated: Stated) -> Failure:
    """Return a failure of which only the server's own words are known: to deny another call would be a claim."""
    recoverable = True if stated.recoverable is None else stated.recoverable
    return failure.replace(recoverable=recoverable, origin="inferred", confidence=0.0)


def _numbered(error: dict[str, Any]) -> Failure:
    """Return the failure that the number of a JSON-RPC error tells of, with what its `data` states in our words."""
    values = read_open_part(error.get("data"))
    details = values.setdefault("details", {})
    if error.get("data") is not None and not isinstance(error["data"], dict):
        details["data"] = error["data"]
    details["jsonrpc_code"] = error["code"]
    if "code" not in values:
        values["code"] = RECEIVED.get(error["code"])
        if values["code"] in (None, "INTERNAL_ERROR"):
            values.setdefault("retryable", None)
    urls = _urls_to_open(error.get("data")) if error["code"] == ELICITATION_REQUIRED else []
    return read_failure(values, " ".join((error["message"], *(f"The user must open {url}" for url in urls))))


_MOST_URLS, _LONGEST_URL = 3, 500


def _urls_to_open(data: object) -> list[str]:
    """Return where a server of 2025-11-25 sends the user before it takes the call; clients show only the message."""
    asked = data.get("elicitations") if is_object(data) else None
    found = [one.get("url") for one in asked if is_object(one)] if is_array(asked) else []
    urls = [url for url in found if isinstance(url, str) and _URL.fullmatch(url) and len(url) <= _LONGEST_URL]
    return urls[:_MOST_URLS]


_URL = lazy_pattern(r"https?://[!-~]+")


# What is stated, in the order in which it is believed. A row is tried if those above it say nothing.
#
#   what failed      a code of the catalog or of a service, then a category, a name that suggests a code, a status, the
#                    words, the number of a JSON-RPC error. A status that says what happened beats a code that only says
#                    that the input, or the server, is at fault; clear words refine what is stated.
#   retryable        what any place states; where two places contradict each other, the one that says no.
#   the delay        the longest that any place states.
#   what else        the place that comes first: the `data` of a JSON-RPC error, `structuredContent`, JSON in a text.
#
# What is stated in a payload of no dialect is about a service behind the tool as often as about the call: it has a
# confidence, and `decide` makes no call again by itself because of an outcome with a confidence.
_CODED, _AKIN, _NAMED, _NUMBERED = 0.95, 0.9, 0.85, 0.9
_FLAGGED, _UNKNOWN = 0.8, 0.5
_BROAD = frozenset(
    ("INVALID_ARGUMENT", "VALIDATION_ERROR", "VALIDATION_FAILED", "INTERNAL_ERROR", "UPSTREAM_ERROR", "TOOL_ERROR")
)
"""Codes that say who is at fault and not why: a status or a finer code of the same payload says more."""

_LASTING = ("VALIDATION", "NOT_FOUND", "PERMISSION")
_BLAMING = ("VALIDATION", "NOT_FOUND", "CONFLICT")
_LONGEST_NAME = 200
_CLEAR = 0.88


class Cause(NamedTuple):
    """Why a call failed, as far as a payload says."""

    confidence: float
    rule: str
    code: str | None = None
    type: Type | None = None
    retryable: bool | UnsetType | None = UNSET
    outcome: Outcome | None = None
    http_status: int | None = None
    retry_after: float | None = None
    fields: tuple[FieldProblem, ...] = ()
    stated: str | None = None
    words: str | None = None

    @property
    def effective_type(self) -> Type | None:
        """The type, which may follow from the code."""
        return self.type or codes.type_of(self.code)


def from_stated(stated: Stated, context: Context, *, text: str = "", now: float | None = None) -> Reading | None:
    """Return the failure that error objects state, with *text* beside them; None if they state nothing."""
    if not stated.is_telling:
        return None
    words = stated.message or text
    cause = _cause(stated, words, context)
    delay = _delay(stated, cause, words, now)
    if cause.code == "QUOTA_EXHAUSTED" and delay is not None:  # it is renewed by itself
        cause = cause._replace(code="RATE_LIMITED", type=None, retryable=UNSET)
    type_ = cause.effective_type
    fields, others = _named_fields(stated, context)
    own = cause.stated or next((code.text for code in stated.codes if code.is_code), None)
    if not fields and type_ in _BLAMING:
        fields = cause.fields or _blamed(cause, f"{words}\n{own}" if own else words, context)
    details = dict(stated.rest)
    if own is not None and own != cause.code:
        details["code"] = own
    if others:
        details["upstream_fields"] = others
    values: dict[str, Any] = {
        "message": (words.strip() or (own or "") or _title(cause)),
        "code": cause.code,
        "type": cause.type,
        "retry_after": delay,
        "fields": fields,
        "details": details,
        "suggestion": stated.hint,
        "docs_url": stated.docs_url,
        "id": stated.id,
        "http_status": cause.http_status or stated.status,
    }
    derived = codes.derive(cause.code, type_)
    values["retryable"] = stated.retryable
    if stated.retryable is None:
        values["retryable"] = derived.retryable if cause.retryable is UNSET else cause.retryable
        if stated.delay is not None and type_ == "CONFLICT":
            values["retryable"] = True  # who says how long to wait says that it may pass
    values["outcome"] = cause.outcome or derived.outcome
    if stated.recoverable is not None:
        values["recoverable"] = stated.recoverable
    given: dict[str, Any] = {name: value for name, value in values.items() if value is not None or name == "retryable"}
    failure = Failure(origin="read", confidence=cause.confidence, **given)
    return Reading(failure, cause.rule, words=cause.stated or cause.words)


def _from_words(stated: Stated, context: Context) -> Reading | None:
    """Return the failure that the words in objects tell of, where others stand around them that may say less."""
    if not (stated.texts and (stated.before or stated.after)):
        return None
    reading = flat_text.read_error_text(stated.words, context)
    is_certain = (reading.failure.confidence or 0.0) >= CERTAIN
    failure = reading.failure.replace(message=stated.message)
    return Reading(failure, reading.rule, words=reading.words) if is_certain else None


def _title(cause: Cause) -> str:
    return f"{codes.title_of(cause.code, cause.effective_type or 'INTERNAL')}."


def _delay(stated: Stated, cause: Cause, words: str, now: float | None) -> float | None:
    delay = longest(stated.delay, cause.retry_after)
    if cause.effective_type in (None, "TRANSIENT", "CONFLICT"):
        delay = longest(delay, delay_in_text(words, now=now))
    if cause.code in (None, "RATE_LIMITED", "QUOTA_EXHAUSTED") or cause.effective_type == "TRANSIENT":
        delay = longest(delay, stated.reset)
    return delay


def _cause(stated: Stated, words: str, context: Context) -> Cause:
    """Return why a call failed, by what is believed first."""
    status = _by_status(stated.status, is_delayed=stated.delay is not None)
    coded = _best_code(stated)
    if coded is not None and coded.confidence <= _NAMED and stated.retryable and coded.effective_type in _LASTING:
        coded = None  # a name is taken for what it may mean, unless the server says the opposite
    if coded is not None and (status is None or not _says_more(status, coded)):
        return _refined(coded._replace(http_status=stated.status), words, stated, context)
    if status is not None and status.http_status == 403 and status.code == "RATE_LIMITED":
        return status
    category = _by_category(stated.category)
    unknown = () if coded is not None else stated.codes
    own = next((code.text for code in unknown if code.is_code and _is_own_code(code.text)), None)
    if category is not None:
        worded = _by_words(words, stated, context)
        is_finer = (
            worded is not None and worded.effective_type == category.effective_type and worded.confidence >= _CLEAR
        )
        found = worded if worded is not None and is_finer and category.code is None else category
        return found if own is None else _under_own_code(found, own)
    worded = _by_words(words, stated, context)
    if worded is not None and stated.retryable and worded.effective_type in _LASTING and worded.confidence < _AKIN:
        worded = None  # words are taken for what they may mean, unless the server says the opposite
    if worded is not None and worded.confidence >= CERTAIN:
        return worded if own is None else _under_own_code(worded, own)
    if stated.retryable or (stated.retryable is None and stated.delay is not None):
        return Cause(_FLAGGED, "states that it may be retried", own, "TRANSIENT", retryable=True)
    if stated.fields:
        return Cause(_FLAGGED, "names the fields", own or "VALIDATION_FAILED", "VALIDATION")
    confidence = worded.confidence if worded is not None else _UNKNOWN
    return Cause(min(confidence, _UNKNOWN), "nothing that is known", own, retryable=None, outcome="unknown")


def _is_own_code(code: str) -> bool:
    return valid_code(code) is code and not code.lstrip("-").isdecimal() and not names.is_empty(code)


def _under_own_code(cause: Cause, own: str) -> Cause:
    """Return a cause under the code that the server gave it, which nobody knows."""
    derived = codes.derive(cause.code, cause.type)
    retryable = derived.retryable if cause.retryable is UNSET else cause.retryable
    outcome = cause.outcome or derived.outcome
    return cause._replace(code=own, type=cause.effective_type, retryable=retryable, outcome=outcome)


def _says_more(status: Cause, coded: Cause) -> bool:
    """Return whether a status says more than a code: what happened, and not only who is at fault; or a mere guess."""
    if status.http_status in VAGUE_STATUSES or status.effective_type == coded.effective_type:
        return False
    if _is_quota(coded, status):
        return False
    return coded.code in _BROAD or coded.confidence <= _NAMED


def _is_quota(coded: Cause, other: Cause) -> bool:
    """Return whether a code tells a quota from the rate that a status or words speak of: services send 429 for both."""
    return coded.code == "QUOTA_EXHAUSTED" and other.code == "RATE_LIMITED"


def _best_code(stated: Stated) -> Cause | None:
    """Return what the most telling of the stated codes means, or None if none of them is understood."""
    best: tuple[tuple[bool, bool, bool], Cause] | None = None
    for code in stated.codes:
        cause = _meaning_of(code.text, stated)
        if cause is None:
            continue
        rank = (cause.confidence < _CODED, cause.code in _BROAD, not code.is_code)
        if best is None or rank < best[0]:
            best = rank, cause
    return best[1] if best else None


def _meaning_of(code: str, stated: Stated) -> Cause | None:
    if (found := vendors.meaning_of(code, stated.vendors)) is not None:
        meaning, vendor = found
        values = fields_of(meaning)
        return Cause(
            _CODED, f"code {code[:40]} of {vendor.name}", values.get("code"), values.get("type"),
            values.get("retryable", UNSET), values.get("outcome"), stated=code,
        )  # fmt: skip
    if code.isdecimal():
        return None
    row = codes.get(code) or codes.get(codes.screaming(code))
    known = row.code if row else known_code(code)
    rule = f"code {code[:40]}"
    if known is None and (public := ERRNO_NAMES.get(code) or _sqlstate(code)) is not None:
        values = fields_of(public)
        return Cause(_CODED, rule, values.get("code"), values.get("type"), values.get("retryable", UNSET),
                     values.get("outcome"), stated=code)  # fmt: skip
    if known is not None and not names.is_empty(code):
        return Cause(_CODED, rule, known, stated=code)
    if names.is_empty(code):
        return None
    if (kin := codes.kin(code)) is not None:
        derived = codes.derive(kin.code, kin.type)
        return Cause(_AKIN, rule, code, kin.type, derived.retryable, derived.outcome, stated=code)
    guessed = names.code_of(code)
    return None if guessed is None else Cause(_NAMED, rule, guessed, outcome="unknown", stated=code)


def _sqlstate(code: str) -> Meaning | None:
    """Return what a code means if it can only be a SQLSTATE: a digit is in it."""
    return meaning_of_sqlstate(code) if len(code) == 5 and any(map(str.isdecimal, code)) else None


def _by_status(status: int | None, *, is_delayed: bool) -> Cause | None:
    if status is None:
        return None
    meaning = fields_of("RATE_LIMITED" if status == 403 and is_delayed else meaning_of_status(status))
    return Cause(_NUMBERED, f"HTTP status {status}", meaning["code"], http_status=status, words=str(status))


def _by_category(category: str | None) -> Cause | None:
    if category is None:
        return None
    rule = f"category {category}"
    if category in TYPES:
        return Cause(_AKIN, rule, type=category)
    return Cause(_AKIN, rule, category)


def _by_words(words: str, stated: Stated, context: Context) -> Cause | None:
    """Return what the words say, together with the status, if there is one.

    The words in an object count before those around it, which often say no more than that something failed.
    """
    found = _find_cause(stated.words, stated, context)
    if (found is None or found.confidence < CERTAIN) and words != stated.words:
        found = _find_cause(words, stated, context)
        found = _doubted(found) if found is not None and stated.words else found
    if found is None:
        return None
    return Cause(
        found.confidence, found.rule, found.code, found.type, found.retryable, found.outcome, found.http_status,
        found.retry_after, found.fields, words=found.words,
    )  # fmt: skip


def _find_cause(words: str, stated: Stated, context: Context) -> Finding | None:
    said = words if stated.status is None else f"HTTP status {stated.status}: {words}"
    return flat_text.find_cause(said, context) if said.strip() else None


def _doubted(found: Finding) -> Finding:
    """Return what words say around an object whose own words say something else, that nobody understood."""
    retryable = codes.derive(found.code, found.type).retryable if found.retryable is UNSET else found.retryable
    return structs.replace(found, retryable=None) if retryable and found.retry_after is None else found


def _refined(coded: Cause, words: str, stated: Stated, context: Context) -> Cause:
    """Return what a code means, or what clear words say: finer than a broad code, or surer than a mere name."""
    is_guess = coded.confidence <= _NAMED
    words = stated.words or words  # those around an object do not refine what it states
    if not words.strip() or not (is_guess or coded.code in _BROAD):
        return coded
    worded = _by_words(words, stated, context)
    if worded is None or worded.confidence < _CLEAR or _is_quota(coded, worded):
        return coded
    if is_guess:
        return worded if coded.effective_type != worded.effective_type or worded.code not in _BROAD else coded
    if worded.effective_type != coded.effective_type:
        return coded
    return coded._replace(code=worded.code, outcome=worded.outcome, fields=worded.fields)


def _blamed(cause: Cause, words: str, context: Context) -> tuple[FieldProblem, ...]:
    if cause.code is None or not context.names:
        return ()
    row = codes.kin(cause.code)
    code = row.code if row else cause.code
    found = complete_finding(Finding(rule=cause.rule, code=code, confidence=cause.confidence), words, context)
    return found.fields if found.code == code else ()


def _named_fields(stated: Stated, context: Context) -> tuple[tuple[FieldProblem, ...], list[str]]:
    """Return the problems of the fields that were named, and the names of others that the tool does not take."""
    found: list[FieldProblem] = []
    others: list[str] = []
    known = {normalised(name): name for name in context.names}
    for note in stated.fields:
        path = note.path[:_LONGEST_NAME]
        root, rest = _split_root(path)
        if not root:
            continue
        name = known.get(normalised(root)) if known else root
        if name is None:
            others.append(path)
            continue
        keys = [name, *path_keys(f"{name}{rest}")[1:]]
        if not known:
            found.append(FieldProblem(path=join_path(keys), message=note.message))
            continue
        found.append(add_schema_facts(problem(context, keys, note.message or "It was refused"), context))
    return tuple(found), list(dict.fromkeys(others))


def _split_root(path: str) -> tuple[str, str]:
    for at, character in enumerate(path):
        if character in ".[":
            return path[:at], path[at:]
    return path, ""
