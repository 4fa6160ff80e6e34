"""`Failure`: what went wrong in a tool call, as one immutable value, and the paths that name arguments.

To add a field, add it to the struct and to the table `FIELDS` below it. Redaction, `_meta` and the open parts of
dialects follow from its row; only dialects that have a field of their own for it need to know it.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

from msgspec import UNSET, Struct, StructMeta, UnsetType, structs
from msgspec.structs import force_setattr

from failwell import codes
from failwell._json import is_array, is_object
from failwell._lazy import lazy_pattern
from failwell._spelling import did_you_mean, refuse_misspelt
from failwell.codes import TYPES, Outcome, Type, is_code

Severity = Literal["warning", "error", "critical"]
Origin = Literal["declared", "mapped", "read", "inferred"]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
SEVERITIES: tuple[str, ...] = get_args(Severity)
ORIGINS: tuple[str, ...] = get_args(Origin)

_LONGEST_DELAY = 2**53
_NEW_STRUCT = StructMeta.__call__
_MOST_SPELLED_OUT = 3
_A_CODE = "a name without white space such as 'TASK_LOCKED', or nothing"


class KeywordStruct(StructMeta):
    """Makes a struct answer a misspelt keyword with the one that was probably meant."""

    if not TYPE_CHECKING:  # checkers know the fields, and would lose them to this signature

        def __call__(self, *args: Any, **keywords: Any) -> Any:
            """Return a new struct.

            Raises:
                TypeError: a keyword is none of its fields, or a value is missing.
            """
            try:
                return _NEW_STRUCT(self, *args, **keywords)
            except TypeError:
                refuse_misspelt(self.__name__, keywords, self.__struct_fields__)
                raise


class FieldProblem(Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=KeywordStruct):
    """What is wrong with one argument.

    `sent` is `msgspec.UNSET` when it is unknown what was sent; `None` means that null was. `kind` is one word:
    `missing`, `type`, `enum`, `unknown`, `format`, `range`, `length`, `pattern`, …
    """

    path: str
    message: str = cast(str, None)
    kind: str | None = None
    sent: Any = UNSET
    expected: str | None = None
    options: tuple[Any, ...] = ()
    required: bool | None = None
    did_you_mean: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path:
            raise ValueError(f"path must be a non-empty string such as 'items[0].sku', not {self.path!r}")
        if type(self.options) is not tuple:
            force_setattr(self, "options", as_tuple("options", self.options))
        if self.kind is None and self.required and self.sent is None:
            force_setattr(self, "kind", "missing")
        if self.kind == "missing" and self.sent is UNSET:
            force_setattr(self, "sent", None)
        if not self.message:
            force_setattr(self, "message", self._default_message())

    def _default_message(self) -> str:
        match self.kind:
            case "missing":
                return f"{self.path} is required"
            case "unknown":
                return "Unrecognized key"
            case "type" if self.expected:
                return f"Expected type {self.expected}"
            case _:
                return "Invalid value"

    @property
    def is_missing(self) -> bool:
        """Whether a required value was not sent, or sent empty."""
        return self.kind == "missing" or (self.kind is None and self.required is True and self._sent_empty())

    def _sent_empty(self) -> bool:
        return isinstance(self.sent, str) and not self.sent

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let SDKs take a `Failure` as what a tool returns."""
        return {"type": "is-instance", "cls": cls}


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=KeywordStruct):
    """Why a tool call failed, whether another try can help, and what to do next.

    `recoverable`, `retryable` and `outcome` are three questions: could another call succeed, could the same call
    succeed later, and did this call take effect. Defaults come from the code's catalog row, then from the type, so
    `Failure(code="RATE_LIMITED", message="…")` is complete.

    Raises:
        ValueError: a value is not one of its choices, the message is empty, or the code holds white space.
        TypeError: a value is of the wrong type.
    """

    message: str
    type: Type = cast(Type, None)
    code: str | None = None
    recoverable: bool = cast(bool, None)
    retryable: bool | None = cast("bool | None", UNSET)
    outcome: Outcome = cast(Outcome, None)
    retry_after: float | None = None
    severity: Severity | None = None
    kind: str = cast(str, None)
    suggestion: str | None = None
    actions: tuple[str, ...] = ()
    fields: tuple[FieldProblem, ...] = ()
    details: dict[str, Any] = {}
    tool: str | None = None
    action: str | None = None
    http_status: int | None = None
    docs_url: str | None = None
    id: str | None = None
    origin: Origin = "declared"
    confidence: float | None = None
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        message, code = self.message, self.code
        if type(message) is not str:
            message = _plain_text("message", message, "one specific sentence")
            force_setattr(self, "message", message)
        if not message or message.isspace():
            raise ValueError(f"message must be one specific sentence, not {message!r}")
        if code is not None and type(code) is not str:
            code = _plain_text("code", code, _A_CODE)
            force_setattr(self, "code", code)
        if code is not None and codes.get(code) is None and not is_code(code):
            raise ValueError(f"code must be {_A_CODE}, not {code!r}")
        given: Type | None = self.type
        if given is not None and (not isinstance(given, str) or given not in TYPES):
            raise _no_choice("type", given, TYPES)
        derived = codes.derive(code, given)
        retryable: bool | UnsetType | None = self.retryable
        if given is None:
            force_setattr(self, "type", derived.type)
        if self.recoverable is None:
            force_setattr(self, "recoverable", derived.recoverable or _is_correctable(self.actions, self.fields))
        elif type(self.recoverable) is not bool:
            raise TypeError(f"recoverable must be True or False, not {self.recoverable!r}")
        if retryable is UNSET:
            force_setattr(self, "retryable", derived.retryable)
        elif retryable is not None and type(retryable) is not bool:
            raise TypeError(f"retryable must be True, False or None, not {retryable!r}")
        if self.outcome is None:
            force_setattr(self, "outcome", derived.outcome)
        elif self.outcome not in OUTCOMES:
            raise _no_choice("outcome", self.outcome, OUTCOMES)
        if self.kind is None:
            force_setattr(self, "kind", derived.kind)
        if self.retry_after is not None and type(self.retry_after) is not int:
            force_setattr(self, "retry_after", seconds(self.retry_after))
        elif self.retry_after is not None and not 0 <= self.retry_after < _LONGEST_DELAY:
            force_setattr(self, "retry_after", None)
        if type(self.actions) is not tuple:
            force_setattr(self, "actions", as_tuple("actions", self.actions))
        if self.fields:
            force_setattr(self, "fields", one_per_path(self.fields))
        elif type(self.fields) is not tuple:
            force_setattr(self, "fields", ())
        if self.severity is not None and self.severity not in SEVERITIES:
            raise _no_choice("severity", self.severity, SEVERITIES)
        if self.http_status is not None and not (type(self.http_status) is int and 100 <= self.http_status <= 599):
            raise ValueError(f"http_status must be from 100 to 599, not {self.http_status!r}")
        if self.origin not in ORIGINS:
            raise _no_choice("origin", self.origin, ORIGINS)
        if not (isinstance(self.details, dict) and isinstance(self.extra, dict)):
            name = "extra" if isinstance(self.details, dict) else "details"
            raise TypeError(f"{name} must be a dict, not {type(getattr(self, name)).__name__}")

    @property
    def failed_items(self) -> tuple[dict[str, Any], ...]:
        """The items of a batch that failed while others succeeded: `details["failed_items"]`, else nothing.

        Each says which one it is (`index`, and `item` where it has a name) and why (`code`, `message`).
        """
        found = self.details.get("failed_items")
        return tuple(item for item in found if is_object(item)) if is_array(found) else ()

    def replace(self, **changes: Any) -> "Failure":
        """Return a copy with some fields changed.

        Flags that only followed from what is changed (type, code, actions, fields) follow from the new values.
        """
        if _DERIVED_FROM.isdisjoint(changes):
            try:
                return structs.replace(self, **changes)
            except TypeError:
                refuse_misspelt("Failure", changes, self.__struct_fields__)
                raise
        values = {name: getattr(self, name) for name in self.__struct_fields__} | changes
        derived = codes.derive(self.code, None if "type" not in changes else self.type)
        follows = derived._fields if "type" in changes or "code" in changes else ("recoverable",)
        for name, value in zip(derived._fields, with_corrections(derived, self), strict=True):
            if name in follows and name not in changes and values[name] == value:
                del values[name]
        return Failure(**values)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let SDKs take `int | Failure` as what a tool returns."""
        return {"type": "is-instance", "cls": cls}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """Say nothing in output schemas: a failure is never sent as a tool's value."""
        return {}


def amended(failure: Failure, **values: Any) -> Failure:
    """Return a copy with values that are known to be valid, and from which no other field follows: nothing is checked.

    That takes a third of the time of `replace`.
    """
    found: Failure = cast(Any, failure).__copy__()  # every struct has it, which msgspec does not declare
    for name, value in values.items():
        force_setattr(found, name, value)
    return found


def valid_text(value: Any) -> Any:
    """Return a text that is not empty, or UNSET."""
    return value if isinstance(value, str) and value.strip() else UNSET


def valid_code(value: Any) -> Any:
    """Return a text that can be a code, or UNSET."""
    return value if isinstance(value, str) and is_code(value) else UNSET


def valid_delay(value: Any) -> Any:
    """Return a delay in seconds, or UNSET."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNSET
    found = seconds(value)
    return UNSET if found is None else found


def valid_status(value: Any) -> Any:
    """Return an HTTP status, or UNSET."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599 else UNSET


def _one_of(choices: Collection[str]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, str) and value in choices else UNSET


class FieldRow(NamedTuple):
    """What holds for one field of `Failure` outside the process.

    Args:
        json: the types of its value once JSON is decoded.
        open_part: when it is written into the open part of a dialect that has no field of its own for it: when it is
            "set", when it is not what "follows" from code and type, or "never", because whoever reads it is told
            elsewhere. The details are the open part "itself". None: it is not read from there either.
        redact: as what it is cleaned before it leaves: a "text"; a "name" or sentence that is the same in many calls; a
            "code"; "names"; field "problems"; or an "object". None: it holds nothing that could be secret.
        longest: how many characters it may have, or each of its items; 0 if that is not said here.
        most: how many items it may have; 0 if that is not said here.
        valid: gives the value, or UNSET if `Failure` would refuse it; whatever is of the right type is valid if None.
    """

    json: tuple[type, ...]
    open_part: Literal["set", "follows", "never", "itself"] | None
    redact: Literal["text", "name", "code", "names", "problems", "object"] | None = None
    longest: int = 0
    most: int = 0
    valid: Callable[[Any], Any] | None = None


# What an agent's model reads stays small.
FIELDS: dict[str, FieldRow] = {
    "message": FieldRow((str,), "never", "text", longest=1000, valid=valid_text),
    "type": FieldRow((str,), "never", valid=_one_of(TYPES)),
    "code": FieldRow((str,), "set", "code", longest=200, valid=valid_code),
    "recoverable": FieldRow((bool,), "follows"),
    "retryable": FieldRow((bool, type(None)), "follows"),
    "outcome": FieldRow((str,), "follows", valid=_one_of(OUTCOMES)),
    "retry_after": FieldRow((int, float), "set", valid=valid_delay),
    "severity": FieldRow((str,), "set", valid=_one_of(SEVERITIES)),
    "kind": FieldRow((str,), "follows", "name", longest=100, valid=valid_text),
    "suggestion": FieldRow((str,), "set", "name", longest=500, valid=valid_text),
    "actions": FieldRow((list,), "set", "names", longest=100, most=50),
    "fields": FieldRow((list,), "set", "problems", most=20),
    "details": FieldRow((dict,), "itself", "object"),
    "tool": FieldRow((str,), "never", "name", longest=200, valid=valid_text),
    "action": FieldRow((str,), "never", "name", longest=200, valid=valid_text),
    "http_status": FieldRow((int,), "set", valid=valid_status),
    "docs_url": FieldRow((str,), "set", "text", longest=500, valid=valid_text),
    "id": FieldRow((str,), "set", "text", longest=100, valid=valid_text),
    "origin": FieldRow((str,), None, valid=_one_of(ORIGINS)),
    "confidence": FieldRow((int, float), None),
    "extra": FieldRow((dict,), "set", "object"),
}

PROBLEM_LENGTHS = {
    "path": 200,
    "message": 400,
    "kind": 100,
    "sent": 100,
    "expected": 400,
    "options": 100,
    "did_you_mean": 200,
}
"""The longest texts in a `FieldProblem`, in characters. A value that the caller sent is only echoed."""


_DERIVED_FROM = frozenset(("type", "code", "actions", "fields"))


def with_corrections(derived: codes.Derived, failure: Failure) -> codes.Derived:
    """Return flags that follow from a code and a type for a failure that may name a correction."""
    if derived.recoverable or not _is_correctable(failure.actions, failure.fields):
        return derived
    return derived._replace(recoverable=True)


def names_correction(problem: FieldProblem) -> bool:
    """Return whether a field problem says which value would do."""
    return bool(problem.did_you_mean or problem.options)


def wants_correction(failure: Failure) -> bool:
    """Return whether a corrected call is the next step, as far as the failure alone says."""
    is_error = failure.severity in (None, "error")
    return is_error and failure.recoverable and failure.retryable is False and failure.outcome != "executed"


def _is_correctable(actions: Collection[str], fields: Iterable[FieldProblem]) -> bool:
    if not fields:
        return bool(actions)
    return bool(actions) or any(isinstance(p, FieldProblem) and names_correction(p) for p in fields)


def seconds(value: Any) -> float | None:
    """Return a delay in seconds, rounded up to the millisecond; None for NaN, infinite and negative ones."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"retry_after must be a number of seconds, not {value!r}")
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        if 0 < value < _LONGEST_DELAY:
            value = max(math.ceil(round(value * 1000, 4)), 1) / 1000  # 0.1 + 0.2 is no longer than 0.3
        if value.is_integer():
            value = int(value)
    return value if 0 <= value < _LONGEST_DELAY else None


def in_seconds(time: float) -> str:
    """Return a time for a sentence, never shorter than it is: `1 second`, `2.5 seconds`."""
    places = 3 if time < 1 else 2 if time < 10 else 0
    shown = f"{math.ceil(round(time * 10**places, 3)) / 10**places:.{places}f}"
    shown = shown.rstrip("0").rstrip(".") if places else shown
    return f"{shown} second" if shown == "1" else f"{shown} seconds"


def missing_field(name: str) -> FieldProblem:
    """Return the problem of a required field that was not sent."""
    return FieldProblem(path=name, kind="missing", required=True)


def missing_field_message(name: str) -> str:
    """Return the sentence that says which required field was not sent."""
    return f'Required field "{name}" is missing.'


def one_per_path(problems: Iterable[FieldProblem]) -> tuple[FieldProblem, ...]:
    """Return the problems with those of one path joined: first come first, their sentences one after another."""
    found: dict[str, FieldProblem] = {}
    for problem in problems:
        if not isinstance(problem, FieldProblem):
            raise TypeError(f"fields must be FieldProblem values, not {type(problem).__name__}")
        before = found.get(problem.path)
        found[problem.path] = problem if before is None else _joined(before, problem)
    return tuple(found.values())


def summary(problems: Iterable[FieldProblem]) -> str:
    """Return one sentence that says which fields are missing and which are wrong."""
    problems = tuple(problems)
    missing = [p.path for p in problems if p.is_missing]
    wrong = [p for p in problems if not p.is_missing]
    parts: list[str] = []
    if missing:
        parts.append(f"{_listing(missing)} {'is' if len(missing) == 1 else 'are'} required")
    if len(wrong) <= _MOST_SPELLED_OUT:
        parts += [p.message if _names(p.message, p.path) else f"{p.path}: {p.message}" for p in wrong]
    else:
        parts.append(f"{_listing([p.path for p in wrong])} are invalid")
    return "; ".join(parts)


def _names(message: str, path: str) -> bool:
    behind = message[len(path) : len(path) + 1]
    return message.startswith(path) and not (behind.isalnum() or behind == "_")


def _listing(names: list[str], most: int = 10) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _joined(one: FieldProblem, two: FieldProblem) -> FieldProblem:
    values = {name: getattr(one, name) for name in one.__struct_fields__}
    for name in values:
        if values[name] in (None, (), UNSET):
            values[name] = getattr(two, name)
    if two.message not in one.message:
        values["message"] = f"{one.message.rstrip('.')}. {two.message}"
    return FieldProblem(**values)


def as_tuple(name: str, value: Any) -> tuple[Any, ...]:
    """Return what can be looped over as a tuple.

    Raises:
        TypeError: it is a text or cannot be looped over.
    """
    items: Iterable[Any] = value
    if isinstance(items, str | bytes | dict) or not isinstance(items, Iterable):
        raise TypeError(f"{name} must be a list, not {value!r}")
    return tuple(items)


def _no_choice(name: str, value: object, choices: Collection[str]) -> ValueError:
    return ValueError(
        f"unknown {name} {value!r}: choose one of {', '.join(choices)}{did_you_mean(str(value), choices)}"
    )


def _plain_text(name: str, value: object, expected: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be {expected}, not {value!r}")
    return str.__str__(value)  # a StrEnum's member, say


# Paths. Keys are joined by dots, indices stand in brackets, and a key that is no plain name is written `["a.b"]`.

ROOT = "(root)"
"""The path of a problem with the arguments as a whole."""

_PLAIN_KEY = lazy_pattern(r'[^\s.\[\]()"\\]+')
_STEP = lazy_pattern(r'\[(0|[1-9]\d*)\]|\[("(?:[^"\\]|\\.)*")\]|(\.?)([^\s.\[\]()"\\]+)')


def join_path(keys: Iterable[str | int]) -> str:
    """Return the path that leads along these keys and indices."""
    path = "".join(map(_written, keys)).removeprefix(".")
    return path or ROOT


def split_path(path: str) -> tuple[str | int, ...]:
    """Return the keys and indices that a path leads along.

    Raises:
        ValueError: the text is not written as a path.
    """
    if path == ROOT:
        return ()
    keys: list[str | int] = []
    at = 0
    while at < len(path) or not path:
        step = _STEP.match(path, at)
        if step is None or (step[4] and bool(step[3]) is not bool(keys)):
            raise ValueError(f"{path!r} is not a path such as 'items[0].sku': look at character {at}")
        keys.append(int(step[1]) if step[1] else _unquoted(step[2]) if step[2] else step[4])
        at = step.end()
    return tuple(keys)


def child_path(path: str, key: str | int) -> str:
    """Return the path of a member of what is at *path*."""
    return _written(key).removeprefix(".") if path == ROOT else path + _written(key)


def path_keys(path: str) -> tuple[str | int, ...]:
    """Return the keys and indices of a path; a text that is not written as a path is taken for one key."""
    try:
        return split_path(path)
    except ValueError:
        return (path,)


def parent_path(path: str) -> str:
    """Return the path of what holds the value at *path*; a text that is not written as a path is taken for one key."""
    return join_path(path_keys(path)[:-1])


def last_key(path: str) -> str:
    """Return the key or index that *path* ends in, as text."""
    keys = path_keys(path)
    return str(keys[-1]) if keys else ROOT


def _written(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    if _PLAIN_KEY.fullmatch(key) and key.isprintable():
        return f".{key}"
    import json  # only now: few paths have such keys

    return f"[{json.dumps(key, ensure_ascii=not key.isprintable())}]"


def _unquoted(key: str) -> str:
    import json  # only now: few paths have such keys

    found: str = json.loads(key)
    return found


_MOST_OPTIONS = 10


def facts(problem: FieldProblem, text: str = "") -> list[str]:
    """Return what a problem says, fact by fact, without what *text* says already."""
    found = [] if problem.message in text else [problem.message]
    said = f"{text}\n{problem.message}"
    if problem.expected and problem.expected not in said:
        found.append(f"expected {problem.expected}")
    listed = [str(option) for option in problem.options[:_MOST_OPTIONS]]
    if listed and not all(mentions(said, option) for option in listed):
        found.append(f"one of {', '.join(listed)}")
    if problem.did_you_mean and not re.search(rf"mean ['\"`]?{re.escape(problem.did_you_mean)}", said):
        found.append(f"did you mean {problem.did_you_mean}?")
    return found


def mentions(text: str, word: str) -> bool:
    """Return whether a text holds a word, and not as a part of another one."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def is_certain(failure: Failure) -> bool:
    """Return whether a failure was stated for this call, and not judged from words or from a foreign payload.

    What was judged has a confidence: enough to advise a model, not to make a call again.
    """
    is_graded = failure.origin == "read" and failure.confidence is not None
    return not is_graded and failure.origin != "inferred"


_GRAVITY: tuple[Outcome, ...] = ("not_executed", "rejected", "unknown", "executed")


def with_graver_outcome(failure: Failure, outcome: object) -> Failure:
    """Return a failure with *outcome* if that is graver than its own: any of several tries may have had effect."""
    if outcome not in _GRAVITY or _GRAVITY.index(outcome) <= _GRAVITY.index(failure.outcome):
        return failure
    return failure.replace(outcome=outcome)
