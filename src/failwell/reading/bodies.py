"""Error objects of any shape: unwrap their envelopes and collect what they state.

An error object is taken apart key by key; `phrases.keys` says what a key is about. `NESTED` and `CARRIERS` are the keys
that hold another object. Nothing is concluded here: `Stated` is what the object says, and `shapes` makes a failure of
it.
"""

import re
from typing import Any, NamedTuple

from msgspec import Struct

from failwell._json import is_array, is_object, parse_json, parse_json_at, write_json
from failwell._lazy import lazy_pattern
from failwell.phrases import vendor_codes
from failwell.phrases.delays import delay_in_headers, parse_delay
from failwell.phrases.http_codes import VAGUE_STATUSES
from failwell.phrases.keys import delay_key, listed, role_of, squashed
from failwell.phrases.vendor_shapes import Vendor

_OPENING = lazy_pattern(r"[{\[]")
_MOST_OPENINGS = 4
_DEEPEST = 6
_MOST_ITEMS = 10
_MOST_KEYS = 60
_MOST_OBJECTS = 60
_LONGEST_CODE = 80
_LONGEST_PREFACE = 4000
_LONGEST_INSIDE = 64_000
_LONGEST_LITERAL = 8000
_LONGEST_TEXT = 1000

NESTED = listed(
    """error errors err fault failure failures problem problems detail details innererror innerexception extensions
    cause causes exception rootcause errordetails errordetail errorinfo errordata fielderrors fieldviolations
    violations validationerrors invalidparams issues invalidfields adcperror context source meta metadata
    errorresponse errorsummary additionaldetails validation status params retryinfo retry ratelimit retrypolicy
    retryadvice parameters message errorextra"""
)
"""Keys that hold an error object or a list of them."""

ANSWERS = listed("response body upstream upstreamresponse upstreambody answer originalerror")
"""Keys that hold what another service answered: looked into if nothing else says what happened."""

CARRIERS = ANSWERS | listed("data result payload content output raw original")
"""Keys that may hold that too, but mostly what a call is about: looked into if they hold an error, too."""

_SURE_FIELD_MAPS = listed("errors fielderrors validationerrors invalidfields violations invalidparams")
FIELD_MAPS = _SURE_FIELD_MAPS | listed("fields details detail messages message error")
"""Keys that may hold what is wrong with each field, by its name."""

FIELD_LISTS = listed("fields invalidfields missingfields requiredfields unknownfields")
"""Keys that may hold the names of the fields at fault."""

CATEGORIES: dict[str, str] = {
    "transient temporary retryable reliability network connectivity availability intermittent": "TRANSIENT",
    "ratelimit ratelimited ratelimiting throttling throttled throttle toomanyrequests": "RATE_LIMITED",
    "timeout timedout deadline": "TIMEOUT",
    "validation input invalidinput userinput inputvalidation invalidrequest badrequest usererror correctable "
    "parameter parameters schema format invalid": "VALIDATION",
    "business businessrule businesslogic policy policyviolation domain compliance rule": "VALIDATION_ERROR",
    "permission permissions authorization access accesscontrol accessdenied governance forbidden authz": "PERMISSION",
    "authentication auth credentials credential unauthenticated login authn": "UNAUTHORIZED",
    "notfound missing missingresource lookup": "NOT_FOUND",
    "conflict concurrency state duplicate": "CONFLICT",
    "internal system server servererror bug unexpected fatal terminal permanent capability software": "INTERNAL",
    "configuration config setup misconfiguration": "CONFIG_ERROR",
    "quota billing": "QUOTA_EXHAUSTED",
}
"""What the words for a category of errors mean: a type, or a code of the catalog."""

_RETRY_OBJECTS = listed("retry retryinfo retrypolicy retryadvice")
_CATEGORY_OF = {word: meaning for words, meaning in CATEGORIES.items() for word in words.split()}
RETRY_WORDS: dict[Any, bool] = {
    True: True, False: False, "true": True, "false": False, "yes": True, "no": False, "never": False, "none": False,
    "always": True, "safe": True,
}  # fmt: skip
_NO_WORDS = frozenset(("", "none", "null", "n/a", "unknown", "undefined", "ok", "success", "false", "true"))
BAD_STATUS = frozenset(("error", "fail", "failed", "failure", "errored"))
GOOD_STATUS = listed(
    "ok success succeeded completed complete done created updated deleted sent accepted 200 201 202 204"
)
vendors = vendor_codes.services
"""The services that are told from the shape of an error object."""


class FieldNote(NamedTuple):
    """A field that an object names, and what it says of it."""

    path: str
    message: str


class Code(NamedTuple):
    """A code as it was stated; *is_code* if the key says that it is one, and not only a kind of error."""

    text: str
    is_code: bool


class Stated(Struct):
    """What error objects state, the most telling first, and the words around them."""

    texts: list[str] = []
    before: list[str] = []
    after: list[str] = []
    codes: list[Code] = []
    statuses: list[int] = []
    category: str | None = None
    retryable: bool | None = None
    recoverable: bool | None = None
    delay: float | None = None
    reset: float | None = None
    hint: str | None = None
    docs_url: str | None = None
    id: str | None = None
    fields: list[FieldNote] = []
    vendors: tuple[Vendor, ...] = ()
    rest: dict[str, Any] = {}
    objects: int = 0

    @property
    def is_telling(self) -> bool:
        """Whether anything is stated that words need not be understood for."""
        return self.names_cause or self.retryable is not None or self.delay is not None

    @property
    def names_cause(self) -> bool:
        """Whether they state why something failed, and not only what to do."""
        return bool(self.codes or self.statuses or self.category or self.fields)

    @property
    def status(self) -> int | None:
        """The HTTP status: one that says what happened, where there are several."""
        return next((status for status in self.statuses if status not in VAGUE_STATUSES), None) or next(
            iter(self.statuses), None
        )

    @property
    def message(self) -> str:
        """What the objects say in words, with what is said around them."""
        return _sentences([*self.before, *self.texts, *self.after])[:_LONGEST_TEXT]

    @property
    def words(self) -> str:
        """What the objects themselves say in words."""
        return _sentences(self.texts)[:_LONGEST_TEXT]

    @property
    def name(self) -> str:
        """What the objects call the error, if they say nothing in words."""
        return next((code.text for code in self.codes if code.is_code), next((code.text for code in self.codes), ""))

    def add(self, other: "Stated") -> None:
        """Add what another place states. A refusal to be retried and the longer delay count wherever they stand."""
        self.texts += other.texts
        self.codes += other.codes
        self.statuses += other.statuses
        self.fields += other.fields
        self.vendors = tuple({vendor.name: vendor for vendor in (*self.vendors, *other.vendors)}.values())
        self.rest = {**other.rest, **self.rest}
        self.note_retryable(value=other.retryable)
        self.delay = longest(self.delay, other.delay)
        self.reset = longest(self.reset, other.reset)
        for name in ("category", "recoverable", "hint", "docs_url", "id"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))

    def note_retryable(self, *, value: bool | None) -> None:
        """Note whether the same call may be made again; who says no is believed."""
        if value is not None:
            self.retryable = value if self.retryable is None else self.retryable and value


def longest(one: float | None, two: float | None) -> float | None:
    """Return the longer of two delays, either of which may not be known."""
    return two if one is None else one if two is None else max(one, two)


def _sentences(texts: list[str]) -> str:
    if len(texts) < 2:
        return texts[0].strip() if texts else ""
    kept: list[str] = []
    for text in dict.fromkeys(text.strip() for text in texts):
        if text and not any(text in other for other in kept):
            kept.append(text)
    return ". ".join(text.removesuffix(".") if at < len(kept) - 1 else text for at, text in enumerate(kept))


def find_json(text: str) -> tuple[Any, str] | None:
    """Return the first object or list of objects in a text, and the words before it; None if there is none."""
    if "{" not in text:
        return _find_markup(text) if "</" in text else None
    payload: Any = None
    for count, match in enumerate(_OPENING.finditer(text)):
        start = match.start()
        if count == _MOST_OPENINGS or start > _LONGEST_PREFACE:
            return None
        payload = parse_json(text) if start == 0 else None
        if payload is None:
            try:
                payload = parse_json_at(text[: start + _LONGEST_INSIDE], start)
            except (ValueError, RecursionError):
                payload = _python_literal(text, start) if text[start + 1 : start + 2] == "'" else None
        if is_object(payload) or (is_array(payload) and payload and is_object(payload[0])):
            return payload, text[:start].strip()
    return None


def _python_literal(text: str, start: int) -> Any:
    """Return the object at a place of a text that Python wrote, with its own quotes; None if it is none."""
    end = text.rfind("}") + 1
    if not start < end <= start + _LONGEST_LITERAL:
        return None
    written = text[start:end]
    # Most such objects are JSON but for quotes and three names, and JSON is read many times faster.
    if "\\" not in written and (found := parse_json(_PYTHON_WORD.sub(_json_word, written))) is not None:
        return found
    from ast import literal_eval  # only now: few texts hold such an object

    try:
        return literal_eval(written)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_PYTHON_WORD = lazy_pattern(r"'([^'\n]*)'|\"[^\"\n]*\"|\b(?:None|True|False)\b")
_JSON_WORDS = {"None": "null", "True": "true", "False": "false"}


def _json_word(match: re.Match[str]) -> str:
    """Return a text, or one of Python's names for a constant, as JSON writes it."""
    if match[1] is None:
        return _JSON_WORDS.get(match[0], match[0])
    return f'"{match[1]}"' if '"' not in match[1] else write_json(match[1])


_MARKUP = lazy_pattern(
    r"<(?P<name>Code|Message|RequestId|HostId|faultcode|faultstring|errorCode|errorMessage|code|message)>"
    r"\s{0,20}(?P<value>[^<]{1,500})</(?P=name)>"
)


def _find_markup(text: str) -> tuple[dict[str, Any], str] | None:
    """Return what the elements of an error of S3, SOAP or the like say, and the words before them."""
    found = {match["name"]: match["value"].strip() for match in _MARKUP.finditer(text[:_LONGEST_INSIDE])}
    if not {squashed(name) for name in found} & {"code", "errorcode", "faultcode"}:
        return None
    return found, text[: text.index("<")].strip()


def stated_in(payload: Any, *, now: float | None = None) -> Stated:
    """Return what an error object, or a list of them, states."""
    told_by, services = _services(payload)
    stated = Stated(vendors=services)
    carriers: list[Any] = [] if told_by is payload else [told_by]
    _collect(payload, stated, carriers, depth=0, now=now)
    stated.codes[:0] = [Code(code, is_code=True) for code in vendors.codes_in(told_by, services)]
    for carrier in carriers:
        if stated.codes or stated.statuses or stated.category:
            break
        _collect(carrier, stated, [], depth=2, now=now)
    if is_object(payload) and not (stated.texts or stated.is_telling) and all(map(is_array, payload.values())):
        _note_field_map(payload, stated)
    return stated


def _services(payload: Any) -> tuple[Any, tuple[Vendor, ...]]:
    """Return the services whose shape an object has, or the one that it carries, and which of these objects it is."""
    if found := vendors.of(payload):
        return payload, found
    if is_object(payload):
        for key, value in list(payload.items())[:_MOST_KEYS]:
            if (key == "error" or squashed(str(key)) in CARRIERS) and (found := vendors.of(inner := _opened(value))):
                return inner, found
    return payload, ()


def _collect(value: Any, stated: Stated, carriers: list[Any], *, depth: int, now: float | None) -> None:
    """Add what an object states: texts from the outside in, codes from the inside out."""
    if depth > _DEEPEST or stated.objects > _MOST_OBJECTS:
        return
    if is_array(value):
        for item in value[:_MOST_ITEMS]:
            if isinstance(item, str) and item.strip():
                stated.texts.append(item)
            else:
                _collect(item, stated, carriers, depth=depth + 1, now=now)
        return
    if not is_object(value):
        return
    stated.objects += 1
    own: list[Code] = []
    kinds: list[Code] = []
    nested: list[Any] = []
    named: list[str] = []
    at = len(stated.texts)
    for count, (key, item) in enumerate(value.items()):
        if count == _MOST_KEYS:
            break
        if item is None or not isinstance(key, str):
            continue
        name = squashed(key)
        if name == "path" and not _is_path_of_argument(item, value):
            continue
        if name in CARRIERS and (name in ANSWERS or _is_error(_opened(item))):
            carriers.append(_opened(item))
        _note(name, key, item, stated, own=own, kinds=kinds, nested=nested, named=named, now=now)
    if value.get("status") == "fail" and is_object(data := value.get("data")):  # JSend
        _note_field_map(data, stated, is_sure=True)
    for path in named[:1]:
        if len(stated.texts) > at or own or kinds:
            stated.fields.append(FieldNote(path, _sentences(stated.texts[at:])))
    for item in nested:
        _collect(item, stated, carriers, depth=depth + 1, now=now)
    stated.codes += own
    stated.codes += kinds


def _is_path_of_argument(path: Any, beside: dict[str, Any]) -> bool:
    """Return False where GraphQL names the place in its answer, or a web framework the address that was requested."""
    if "locations" in beside or "extensions" in beside:
        return False
    return not ("timestamp" in beside and isinstance(path, str) and path.startswith("/"))


def _is_error(value: Any) -> bool:
    return is_object(value) and any(value.get(key) for key in ("error", "errors", "Error", "fault"))


def _opened(value: Any) -> Any:
    """Return what a text holds if it is JSON; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return parse_json(value) or value
    return value


def _note(
    name: str,
    key: str,
    value: Any,
    stated: Stated,
    *,
    own: list[Code],
    kinds: list[Code],
    nested: list[Any],
    named: list[str],
    now: float | None,
) -> None:
    """Note what one key states; what nobody has a use for is kept as it is."""
    value = _opened(value)
    role = role_of(name)
    if is_object(value) or is_array(value):
        if name in ("headers", "responseheaders") and is_object(value):
            lowered = {str(header).lower(): str(said) for header, said in list(value.items())[:_MOST_KEYS]}
            stated.delay = longest(stated.delay, delay_in_headers(lowered, limited=True, now=now))
            return
        if name in FIELD_MAPS and is_object(value) and _note_field_map(value, stated, is_sure=name in _SURE_FIELD_MAPS):
            return
        if name in FIELD_LISTS and is_array(value) and all(isinstance(item, str) and _is_path(item) for item in value):
            stated.fields += [FieldNote(item, "") for item in value[:_MOST_ITEMS]]
            return
        if role == "field" and is_array(value) and value and not is_object(value[0]):
            named.append(_joined_path(value))
            return
        if role in ("hint", "text") and is_array(value) and all(isinstance(item, str) for item in value):
            _note_text(role, ". ".join(value[:_MOST_ITEMS]), stated)
            return
        if (delay := _delay_in(name, value, now)) is not None:
            stated.delay = longest(stated.delay, delay)
            return
        if name in _RETRY_OBJECTS and is_object(value):
            value = {f"retry_{inner}".replace("retry_retry", "retry"): said for inner, said in value.items()}
        if name in NESTED or name.endswith(("error", "errors", "exception", "fault")):
            nested.append(value)
        elif name not in CARRIERS:
            stated.rest.setdefault(key, value)
        return
    match role:
        case "code":
            if not _note_code(value, stated, own, is_code=True):
                stated.rest.setdefault(key, value)
        case "kind" | "error":
            is_code = role == "error" or key.startswith("__")
            if isinstance(value, bool):
                return
            if isinstance(value, str) and "://" in value:
                stated.docs_url = stated.docs_url or (value if value.startswith("https://") else None)
                value = value.rstrip("/").rpartition("/")[2]
            if isinstance(value, str) and (" " in value.strip() or not value.isascii()):
                stated.texts.append(value)
            elif not _note_code(value, stated, kinds, is_code=is_code):
                stated.rest.setdefault(key, value)
        case "category":
            meaning = _CATEGORY_OF.get(squashed(value)) if isinstance(value, str) else None
            if name == "recovery" and isinstance(value, str) and " " not in value:  # a word nobody knows is final
                stated.note_retryable(value=meaning == "TRANSIENT")
            if meaning is not None:
                stated.category = stated.category or meaning
            elif isinstance(value, str) and " " in value and name == "recovery":
                stated.hint = stated.hint or value
            elif not _note_code(value, stated, kinds, is_code=False):
                stated.rest.setdefault(key, value)
        case "status":
            if not _note_status(value, stated, kinds):
                stated.rest.setdefault(key, value)
        case "retry" | "final":
            said = RETRY_WORDS.get(value.lower() if isinstance(value, str) else value)
            if said is not None and isinstance(value, bool | str):
                stated.note_retryable(value=said if role == "retry" else not said)
            else:
                stated.rest.setdefault(key, value)
        case "recoverable" if isinstance(value, bool):
            stated.recoverable = value if stated.recoverable is None else stated.recoverable
        case "text" | "hint":
            if isinstance(value, str):
                _note_text(role, value, stated)
            else:
                stated.rest.setdefault(key, value)
        case "docs" if isinstance(value, str) and value.startswith(("https://", "http://")):
            stated.docs_url = stated.docs_url or value
        case "id" if isinstance(value, str) and value.strip():
            stated.id = stated.id or value
        case "field" if isinstance(value, str) and _is_path(value):
            named.append(_joined_path(value))
        case "flag":
            return
        case _:
            if (delay := _delay_in(name, value, now)) is None:
                stated.rest.setdefault(key, value)
            elif "reset" in name:
                stated.reset = longest(stated.reset, delay)
            else:
                stated.delay = longest(stated.delay, delay)


def _note_text(role: str, value: str, stated: Stated) -> None:
    if not value.strip():
        return
    if role == "hint":
        stated.hint = stated.hint or value
    elif value.strip().lower() not in _NO_WORDS:
        stated.texts.append(value)


def _note_code(value: Any, stated: Stated, found: list[Code], *, is_code: bool) -> bool:
    """Note a code or a status; return whether it is one."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        if 400 <= value <= 599:
            stated.statuses.append(value)
        elif is_code and value not in (0, 200):
            found.append(Code(str(value), is_code))
        else:
            return False
        return True
    if not isinstance(value, str):
        return False
    text = value.strip().rpartition("#")[2]
    if text.isdecimal() and len(text) == 3 and text[0] in "45":
        stated.statuses.append(int(text))
        return True
    if not 1 < len(text) <= _LONGEST_CODE or " " in text or not text.isascii() or text.lower() in _NO_WORDS:
        return False
    found.append(Code(text, is_code))
    return True


_STATUS_TEXT = lazy_pattern(r"(?:HTTP[ /\d.]{0,8})?([45]\d\d)\b")


def _note_status(value: Any, stated: Stated, kinds: list[Code]) -> bool:
    if isinstance(value, str):
        if value.lower() in BAD_STATUS or value.lower() in GOOD_STATUS:
            return True
        if match := _STATUS_TEXT.match(value):
            stated.statuses.append(int(match[1]))
            return True
        return _note_code(value, stated, kinds, is_code=False)
    if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
        stated.statuses.append(value)
        return True
    return False


def _delay_in(name: str, value: Any, now: float | None) -> float | None:
    if isinstance(value, bool) or (unit := delay_key(name)) is None:
        return None
    return parse_delay(value, unit=unit, now=now)


_PATH = lazy_pattern(r"(?:#?/|\$\.?)?[\w$][\w.$\[\]/\-\"']*")


def _is_path(value: str) -> bool:
    return len(value) <= 200 and _PATH.fullmatch(value) is not None and "://" not in value


def _joined_path(value: Any) -> str:
    """Return the path that a field is named by, as keys behind each other with dots."""
    if is_array(value):
        parts = [part for part in value[:_MOST_ITEMS] if isinstance(part, str | int) and not isinstance(part, bool)]
        if len(parts) > 1 and parts[0] in ("body", "query", "path", "header", "input", "arguments", "params"):
            parts = parts[1:]
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
        return path.lstrip(".")
    if value.startswith(("#/", "/", "$.")):
        keys = [key.replace("~1", "/").replace("~0", "~") for key in re.split(r"[./]", value.lstrip("#$")) if key]
        return "".join(f"[{key}]" if key.isdecimal() else f".{key}" for key in keys).lstrip(".")
    return str(value)


_WORDS = frozenset(("text", "hint", "error"))


def _note_field_map(value: dict[str, Any], stated: Stated, *, is_sure: bool = False) -> bool:
    """Note what an object says of each field, if that is what it holds: `{"email": ["is not valid"]}`."""
    if not value or len(value) > _MOST_KEYS:
        return False
    found: list[FieldNote] = []
    for key, said in value.items():
        texts = _texts_of_field(said)
        role = role_of(squashed(key)) if isinstance(key, str) else None
        states_more = role in _WORDS or (role is not None and isinstance(said, str))
        if not isinstance(key, str) or not texts:
            return False
        if states_more and not (is_sure and role in ("text", "kind", "id", "flag")):
            return False
        if not any(" " in text for text in texts):
            return False
        found.append(FieldNote(key, _sentences(texts)))
    stated.fields += found
    stated.texts += [f"{note.path}: {note.message}" for note in found]
    return True


def _texts_of_field(said: Any) -> list[str]:
    """Return what is said of one field: a text, a list of texts or of objects with one, or that under `_errors`."""
    if is_object(said):
        said = said.get("_errors")
    texts: list[str] = []
    for item in said if is_array(said) else [said]:
        text = next((item[key] for key in ("message", "description") if key in item), None) if is_object(item) else item
        if not isinstance(text, str):
            return []
        texts.append(text)
    return texts


# Batches: a list with a result for each item, or one list of what was done beside one of what was not.
_RESULT_LISTS = listed(
    """results items responses data records outcomes operations documents entries files messages rows batch tasks
    requestresponses requests updates writeresults itemresults statuses details value"""
)
_DONE_KEYS = listed(
    """successful succeeded success successes created updated processed ok completed done sent deleted inserted
    imported written accepted successcount succeededcount successfulcount nsucceeded"""
)
_FAILED_KEYS = listed(
    """failed failures failure errors unprocessed rejected unprocessedkeys unprocessedentries faileditems
    failedrecords failedrequests notprocessed skippederrors faileditemlist batchitemfailures writeerrors"""
)
_NAME_KEYS = (
    "id",
    "Id",
    "ID",
    "_id",
    "item",
    "key",
    "name",
    "path",
    "file",
    "email",
    "sku",
    "ref",
    "url",
    "itemIdentifier",
)
_STATE_KEYS = listed("status state result outcome")
_MOST_BATCH_ITEMS = 1000


class FailedItem(NamedTuple):
    """One item of a batch that failed: its place, its name if it has one, and what it states."""

    place: int
    name: str | int | None
    value: Any


class Batch(NamedTuple):
    """The items of a batch that failed, and how many did not."""

    failed: list[FailedItem]
    succeeded: int


def find_batch(payload: Any) -> Batch | None:
    """Return the items of a batch of which some failed and some did not; None if a payload is no such batch."""
    if is_array(payload):
        return _sorted_items(payload)
    if not is_object(payload) or len(payload) > _MOST_KEYS:
        return None
    failed: list[Any] = []
    succeeded = 0
    for key, value in payload.items():
        name = squashed(key) if isinstance(key, str) else ""
        if name in _RESULT_LISTS and is_array(value) and (found := _sorted_items(value)):
            return found
        if name in _DONE_KEYS and not isinstance(value, bool):
            succeeded += len(value) if is_array(value) else value if isinstance(value, int) and value > 0 else 0
        if name in _FAILED_KEYS and is_array(value):
            failed += [item for item in value if item]
    if failed and succeeded:
        return Batch([_failed_item(at, item) for at, item in enumerate(failed[:_MOST_BATCH_ITEMS])], succeeded)
    return _graphql_batch(payload)


def _graphql_batch(payload: dict[str, Any]) -> Batch | None:
    """Return the fields of a GraphQL answer that failed while others were resolved."""
    data, errors = payload.get("data"), payload.get("errors")
    if not is_object(data) or not is_array(errors) or not errors:
        return None
    resolved = sum(value is not None for value in data.values())
    paths = [error.get("path") if is_object(error) else None for error in errors]
    if not resolved or not all(is_array(path) and path for path in paths):
        return None
    named = [".".join(map(str, path)) for path in paths if path]
    return Batch(
        [FailedItem(at, name, error) for at, (name, error) in enumerate(zip(named, errors, strict=True))], resolved
    )


def _sorted_items(items: list[Any]) -> Batch | None:
    """Return the items that failed, if some did and some did not."""
    if not 2 <= len(items) <= _MOST_BATCH_ITEMS or not all(is_object(item) for item in items):
        return None
    failed = [_failed_item(at, _unwrapped(item)) for at, item in enumerate(items) if _has_failed(_unwrapped(item))]
    return Batch(failed, len(items) - len(failed)) if 0 < len(failed) < len(items) else None


def _unwrapped(item: dict[str, Any]) -> Any:
    """Return an item without the name of its operation around it: `{"index": {…}}` of a bulk request."""
    inner = next(iter(item.values())) if len(item) == 1 else None
    return inner if is_object(inner) else item


def _failed_item(at: int, item: Any) -> FailedItem:
    if not is_object(item):
        return FailedItem(at, item if isinstance(item, str | int) else None, item)
    name = next((item[key] for key in _NAME_KEYS if isinstance(item.get(key), str | int)), None)
    if name is None:
        others = (value for key, value in item.items() if isinstance(key, str) and role_of(squashed(key)) is None)
        name = next((value for value in others if isinstance(value, str) and len(value) <= _LONGEST_CODE), None)
    index = item.get("index")
    return FailedItem(index if isinstance(index, int) and not isinstance(index, bool) else at, name, item)


def _has_failed(item: Any) -> bool:
    """Return whether one result of a batch says that it failed."""
    if not is_object(item):
        return False
    for key, value in item.items():
        name = squashed(key) if isinstance(key, str) else ""
        if name in ("success", "ok", "successful") and value is False:
            return True
        if name in ("error", "errors", "exception", "errorcode", "errormessage") and value and value is not True:
            return True
        if name in ("iserror", "failed", "error") and value is True:
            return True
        if name in _STATE_KEYS and isinstance(value, str) and value.lower() in BAD_STATUS:
            return True
        if name in ("status", "statuscode", "httpstatus", "code") and isinstance(value, int) and 400 <= value <= 599:
            return True
    return False


class Body(NamedTuple):
    """What an error object says: its texts joined behind what stood before it, the status and codes it states."""

    text: str
    status: int | None
    codes: tuple[str, ...]
    payload: Any


def find_body(text: str) -> Body | None:
    """Return the error object in a text, at its start or behind a few words; None if it says nothing."""
    found = find_json(text)
    if found is None:
        return None
    payload, before = found
    stated = stated_in(payload)
    if not (stated.texts or stated.statuses or stated.codes):
        return None
    said = f"{before} {stated.message}" if before else stated.message
    return Body(said, stated.status, tuple(code.text for code in stated.codes), payload)
