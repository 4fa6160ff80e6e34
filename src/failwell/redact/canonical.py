"""`canonical`: a failure that may leave the process: redacted, bounded, safe for JSON, with a canonical code."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NewType, cast

from msgspec import UNSET

from failwell import codes
from failwell._json import is_mapping
from failwell.codes import is_code
from failwell.failure import FIELDS, PROBLEM_LENGTHS, Failure, FieldProblem, amended, one_per_path, path_keys
from failwell.redact.json_value import redact_json
from failwell.redact.scrubber import clean, clean_ends, holds_json, is_secret, names_secret, placeholder
from failwell.redact.secrets import JWK_SECRETS

_REDACTED = {name: row for name, row in FIELDS.items() if row.redact}
_LONGEST = {name: row.longest for name, row in _REDACTED.items() if row.redact in ("text", "name")}
_NAMES = frozenset(name for name, row in _REDACTED.items() if row.redact == "name")
_OBJECTS = tuple(name for name, row in _REDACTED.items() if row.redact == "object")
_LONGEST_CODE = FIELDS["code"].longest
_LONGEST_ACTION, _MOST_ACTIONS = FIELDS["actions"].longest, FIELDS["actions"].most
_MOST_FIELDS = FIELDS["fields"].most
_PATH, _MESSAGE, _KIND, _SENT, _EXPECTED, _OPTION, _DID_YOU_MEAN = itemgetter(
    "path", "message", "kind", "sent", "expected", "options", "did_you_mean"
)(PROBLEM_LENGTHS)
_NO_OBJECTS = tuple(dict[str, Any]() for _ in _OBJECTS)
_texts = attrgetter(*_LONGEST)
_objects = attrgetter(*_OBJECTS)

# The bounds of a JSON value such as the details of a failure. Characters are counted over all its texts and keys.
LONGEST_TEXT = 1000
LONGEST_KEY = 100
MOST_CHARACTERS = 4000
MOST_ITEMS = 50
MOST_NODES = 500
DEEPEST = 8
_LARGEST_INTEGER = 2**63

_MOST_CHARACTERS_SENT = 400  # of a value that a field problem echoes, and of its options
_SHORTEST_SECRET = 4
_LONGEST_REMEMBERED = 500


if TYPE_CHECKING:

    class RedactedFailure(Failure, frozen=True):
        """A failure as `canonical` returns it: what writes a failure takes nothing else, so each is redacted once."""

else:  # no class of its own: to everybody but a type checker it is a failure like any other
    RedactedFailure = Failure

CleanMessage = NewType("CleanMessage", str)
"""A text as `clean_message` returns it: as the message of a failure it is not cleaned again."""


def clean_message(text: str) -> CleanMessage:
    """Return a text as it may leave the process as the message of a failure."""
    return CleanMessage(clean_ends(_redacted_json(text), _LONGEST["message"]).strip())


def _redacted_json(text: str) -> str:
    """Return a *text* that is JSON without the secrets whose surroundings its escapes would hide."""
    if not holds_json(text):
        return text
    try:
        return cast(str, redact_json(text))
    except RecursionError:
        return placeholder("text")


def canonical(failure: Failure, cleaned: CleanMessage | None = None) -> RedactedFailure:
    """Return the failure with every text redacted and cut, and every value one that JSON can hold.

    Doing it twice changes nothing. Everything that encodes a failure does this first. Pass *cleaned* if
    `clean_message` made its message.
    """
    changes: dict[str, Any] = {}
    secrets = [_secret_text(problem) for problem in failure.fields]
    hidden = [secret for secret in secrets if secret]
    for (name, limit), text in zip(_LONGEST.items(), _texts(failure), strict=True):
        if text is None:
            continue
        if hidden and isinstance(text, str):
            text = changes[name] = _without(text, hidden)
        if name == "message":
            safe = text if cleaned and text == cleaned else clean_message(str(text))
        else:
            safe = _known(text, limit) if name in _NAMES else _line(text, limit)
        if safe != text:
            changes[name] = safe or None
    if changes.get("message", failure.message) is None:
        changes["message"] = f"{codes.title_of(failure.code, failure.type)}."
    if changes.get("kind", failure.kind) is None:
        changes["kind"] = codes.derive(failure.code, failure.type).kind
    if failure.code is not None and (code := _safe_code(failure.code)) != failure.code:
        changes["code"] = code
    if failure.actions:
        changes["actions"] = tuple(_names(failure.actions))
    if failure.fields:
        changes["fields"] = _safe_problems(failure.fields, secrets)
    if (objects := _objects(failure)) != _NO_OBJECTS:
        for name, value in zip(_OBJECTS, objects, strict=True):
            if value:
                changes[name] = json_safe(value)
    return cast(RedactedFailure, amended(failure, **changes) if changes else failure)


def without_secret_values(text: str, failure: Failure) -> str:
    """Return a text about a failure without the values that were sent for fields with secret names."""
    return _without(text, filter(None, map(_secret_text, failure.fields)))


def json_safe(value: Any, *, text_limit: int = LONGEST_TEXT, text_total: int = MOST_CHARACTERS) -> Any:
    """Return a value in plain JSON types, redacted and bounded in length, breadth and depth."""
    return _PlainCopy(text_limit, text_total).copy(value, 0)


def _line(text: Any, limit: int) -> str:
    return clean(str(text), limit).strip()


def _known(text: Any, limit: int) -> str:
    """Return a line that comes back from call to call: a name, a sentence of ours, or what a schema says."""
    is_kept = type(text) is str and len(text) <= _LONGEST_REMEMBERED
    return _remembered_line(text, limit) if is_kept else _line(text, limit)


@lru_cache(maxsize=512)
def _remembered_line(text: str, limit: int) -> str:
    return _line(text, limit)


def _safe_code(code: str) -> str | None:
    code = _known(code, _LONGEST_CODE)
    return codes.canonical_code(code) if is_code(code) else None


def _names(names: Iterable[Any]) -> Iterable[str]:
    cleaned = (_known(name, _LONGEST_ACTION) for name in list(names)[:_MOST_ACTIONS])
    return dict.fromkeys(name for name in cleaned if name)


def _secret_text(problem: FieldProblem) -> str | None:
    """Return what was sent for a field with a secret name, as a sentence would show it, or None."""
    sent = problem.sent
    if sent is UNSET or not any(is_secret(name, sent) for name in _secret_names_in(problem.path)):
        return None
    return sent if isinstance(sent, str) else _readable(sent)


@lru_cache(maxsize=512)
def _secret_names_in(path: str) -> tuple[str, ...]:
    return tuple(name for name in map(str, path_keys(path)) if names_secret(name))


def _without(text: str, hidden: Iterable[str]) -> str:
    for secret in hidden:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, placeholder("value"))
        elif secret:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", placeholder("value"), text)
    return text


def _safe_problems(problems: tuple[FieldProblem, ...], secrets: Iterable[str | None]) -> tuple[FieldProblem, ...]:
    """Return problems as they may leave; *secrets* has what each of them must not show."""
    safe = tuple(map(_safe_problem, problems[:_MOST_FIELDS], secrets))
    if len({problem.path for problem in safe}) == len(safe):
        return safe
    # Paths that were cut may have become equal: they are merged, and what that makes too long is cut again.
    merged = one_per_path(safe)
    return tuple(map(_safe_problem, merged, map(_secret_text, merged)))


def _safe_problem(problem: FieldProblem, secret: str | None) -> FieldProblem:
    message, sent, options = problem.message, problem.sent, problem.options
    if secret is not None:
        message, sent = _without(message, [secret]), placeholder("value")
    return FieldProblem(
        path=_known(problem.path, _PATH) or "?",
        message=_line(message, _MESSAGE) if secret is not None else _known(message, _MESSAGE),
        kind=problem.kind and _known(problem.kind, _KIND),
        sent=UNSET if sent is UNSET else json_safe(sent, text_limit=_SENT, text_total=_MOST_CHARACTERS_SENT),
        expected=problem.expected and _known(problem.expected, _EXPECTED),
        options=tuple(_PlainCopy(_OPTION, _MOST_CHARACTERS_SENT).items(options, 0)) if options else (),
        required=problem.required,
        did_you_mean=problem.did_you_mean and _line(problem.did_you_mean, _DID_YOU_MEAN),
    )


class _PlainCopy:
    """One walk through a value, with what is left of its budget of nodes and characters."""

    def __init__(self, text_limit: int, text_total: int) -> None:
        self.text_limit = text_limit
        self.text_left = text_total
        self.nodes_left = MOST_NODES

    @property
    def is_spent(self) -> bool:
        return self.nodes_left <= 0 or self.text_left <= 0

    def text(self, text: str) -> str:
        text = _redacted_json(text)
        limit = min(self.text_limit, max(self.text_left, 1))
        found = clean_ends(text, limit) if limit >= LONGEST_TEXT else clean(text, limit)
        self.text_left -= len(found)
        return found

    def copy(self, value: Any, depth: int) -> Any:
        self.nodes_left -= 1
        if value is None or value is True or value is False:
            return value
        match value:
            case str():
                return self.text(str(value))
            case int():
                return int(value) if -_LARGEST_INTEGER <= value < _LARGEST_INTEGER else _readable(value)
            case float():
                return float(value) if value - value == 0 else str(value)
            case _ if is_mapping(value):
                return self._mapping(value, depth) if depth < DEEPEST else "…"
            case list() | tuple() | set() | frozenset():
                return _header_hidden(self.items(cast(Collection[Any], value), depth)) if depth < DEEPEST else "…"
            case bytes() | bytearray() | memoryview():
                return f"<{len(cast(bytes, value))} bytes>"
            case _:
                return self._object(value, depth)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        secret_members = JWK_SECRETS if "kty" in value else ()
        for key, item in value.items():
            if self.is_spent:
                break
            if len(found) == MOST_ITEMS - 1 and len(value) > MOST_ITEMS:
                found["…"] = f"and {len(value) - len(found)} more"
                break
            name = clean(_readable(key), LONGEST_KEY)
            self.text_left -= len(name)
            is_hidden = is_secret(name, item) or name in secret_members
            found[name] = self.copy(placeholder("value") if is_hidden else item, depth + 1)
        return _pair_hidden(found)

    def items(self, value: Collection[Any], depth: int) -> list[Any]:
        """Return the items of a list, each for itself."""
        found: list[Any] = []
        for item in value:
            if self.is_spent:
                break
            if len(found) == MOST_ITEMS - 1 and len(value) > MOST_ITEMS:
                found.append(f"… and {len(value) - len(found)} more")
                break
            found.append(self.copy(item, depth + 1))
        return found

    def _object(self, value: Any, depth: int) -> Any:
        cls = cast(Any, type(value))
        names = getattr(cls, "__struct_fields__", None) or getattr(cls, "__dataclass_fields__", None)
        try:
            if names and depth < DEEPEST:
                return self._mapping({name: getattr(value, name) for name in names}, depth)
            if hasattr(cls, "model_dump") and depth < DEEPEST:
                return self.copy(value.model_dump(mode="json"), depth + 1)
        except Exception:
            return f"<{cls.__name__}>"
        return self.text(_readable(value))


def _header_hidden(pair: list[Any]) -> list[Any]:
    """Return a list such as `["password", …]` without its value."""
    is_pair = len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], str)
    return [pair[0], placeholder("value")] if is_pair and is_secret(*pair) else pair


def _pair_hidden(pair: dict[str, Any]) -> dict[str, Any]:
    """Return an object such as `{"name": "password", "value": …}` without its value."""
    name = pair.get("name") or pair.get("key")
    if "value" in pair and isinstance(name, str) and is_secret(name, pair["value"]):
        return {**pair, "value": placeholder("value")}
    return pair


def _readable(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"
