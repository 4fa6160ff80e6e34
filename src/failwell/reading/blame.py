"""What the arguments add to a finding: which of them is at fault, whose limit or file it was, how long to wait."""

import re
from functools import lru_cache
from operator import itemgetter
from typing import Any

import msgspec

from failwell import codes
from failwell._spelling import normalised
from failwell.phrases.delays import delay_in_text
from failwell.phrases.language import words_of
from failwell.reading.context import Context, Finding
from failwell.reading.validators import problem

_MOST = 3
_SHORTEST_VALUE, _LONGEST_VALUE = 2, 500
_TOGETHER = re.compile(r"\b(?:both|either|simultaneously|mutually|together|neither)\b", re.IGNORECASE)


def find_blamed_arguments(
    text: str, context: Context, span: tuple[int, int] | None = None, code: str = ""
) -> list[list[str | int]]:
    """Return the keys of the arguments that a text blames, best first; nothing if nobody can tell."""
    if not context.names:
        return []
    if code == "UNAUTHORIZED":  # only an address that was quoted is at fault, not what happens to be named alike
        return [keys for _, keys in _quoted_values(text, context)[:1]]
    if named := _written_names(text, context):
        return [[name] for name in named[:_MOST]]
    in_words = _names_in_words(text, context)
    if code == "MISSING_REQUIRED_FIELD" and (unsent := [name for name in in_words if not context.arguments.get(name)]):
        due = [name for name in unsent if name in context.required]
        return [[name] for name in due or (unsent if _TOGETHER.search(text) else unsent[:1])]
    if quoted := _quoted_values(text, context):
        if " -> " in text and len(quoted) > 1 and not code.endswith("NOT_FOUND"):
            return [keys for _, keys in sorted(quoted)[:2]]
        if span is not None:
            quoted.sort(key=lambda item: _distance(item[0], span))
        best = [keys for _, keys in quoted]
        both = [keys for keys in best if str(keys[0]) in in_words]
        return [(both or best)[0]]
    if in_words:
        return [[name] for name in (in_words if _TOGETHER.search(text) else in_words[:1])]
    sent = [name for name in context.arguments if isinstance(name, str)]
    if len(sent) == 1:
        return [[sent[0]]]
    required = [name for name in context.required if name in context.arguments]
    return [[required[0]]] if len(required) == 1 else []


def _written_names(text: str, context: Context) -> list[str]:
    """Return the arguments whose names stand in the text as names do: quoted, joined by `_`, or in camel case."""
    found: list[tuple[int, str]] = []
    for name in context.names:
        if name not in text:
            continue
        if match := _name_pattern(name).search(text):
            found.append((match.start(), name))
    return [name for _, name in sorted(found)]


@lru_cache(maxsize=256)
def _name_pattern(name: str) -> re.Pattern[str]:
    is_compound = "_" in name or "-" in name or name.lower() != name
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w])" if is_compound else rf"[\"'`]{re.escape(name)}[\"'`]")


def _quoted_values(text: str, context: Context) -> list[tuple[int, list[str | int]]]:
    """Return where values that were sent stand in the text, the longest first, each place once."""
    values: list[tuple[int, str, tuple[str | int, ...]]] = []
    for keys, value in context.values:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            shown = str(value)
            values.append((-len(shown), shown.strip(), keys))
    values.sort(key=itemgetter(0))
    found: list[tuple[int, list[str | int]]] = []
    taken: list[tuple[int, int]] = []
    for _, words, keys in values:
        if _SHORTEST_VALUE <= len(words) <= _LONGEST_VALUE:
            for start in _positions(words, text):
                if not any(begin <= start < end for begin, end in taken):
                    taken.append((start, start + len(words)))
                    found.append((start, list(keys)))
                    break
    return found


def _positions(words: str, text: str) -> list[int]:
    at = text.find(words)
    if at < 0 and "/" in words:
        words = words.rstrip("/").rpartition("/")[2] if len(words.rpartition("/")[2]) > 3 else words
        at = text.find(words)
    found: list[int] = []
    while at >= 0 and len(found) < 5:
        before, after = text[at - 1 : at], text[at + len(words) : at + len(words) + 1]
        if not (before.isalnum() and words[0].isalnum()) and not (after.isalnum() and words[-1].isalnum()):
            found.append(at)
        at = text.find(words, at + len(words))
    return found


def _names_in_words(text: str, context: Context) -> list[str]:
    """Return the arguments whose names the text speaks in words: `paragraph index` for `paragraph_index`."""
    words = words_of(text.lower()[:2000])
    scores: list[tuple[int, int, str]] = []
    for order, name in enumerate(context.names):
        parts = _parts(name)
        for forms in parts:
            if words.isdisjoint(forms):
                break
        else:
            if parts:
                scores.append((-len(parts), order, name))
    return [name for _, _, name in sorted(scores)]


@lru_cache(maxsize=1024)
def _parts(name: str) -> tuple[frozenset[str], ...]:
    """Return the words of a name, each as a text may write it: in the singular and in the plural."""
    return tuple(_forms(part) for part in normalised(name).split("_") if part)


def _forms(word: str) -> frozenset[str]:
    """Return every word that is the same without the ending of its plural; words of three letters have none."""
    stem = word.removesuffix("s") if len(word) > 3 else word
    return frozenset(form for form in (stem, f"{stem}s") if (form.removesuffix("s") if len(form) > 3 else form) == stem)


def _distance(at: int, span: tuple[int, int]) -> int:
    return max(span[0] - at, at - span[1], 0)


# Names of arguments that may hold a path, a command or a query.
_PATH_LIKE = re.compile(
    r"path|file|dir|folder|uri|url|src|source|dest|target|image|doc|book|name|cwd|root|location|key|id$|repo|script|command"
    r"|cmd|code|query|sql|expression|input|output|data|content|json|body|text|template|config|table|ref|branch|project",
    re.IGNORECASE,
)
_PATH = re.compile(r"[/\\\\]|\.\w{1,5}$")


def is_about_own_files(code: str, text: str, context: Context) -> bool:
    """Tell whether nothing that was sent can be what the text complains of."""
    if not context.is_known or not context.schema:
        return False
    if code == "PARSE_ERROR":
        return not context.arguments and not context.problems
    if code == "ALREADY_EXISTS":
        return not context.arguments
    for keys, value in context.values:
        if not isinstance(value, str):
            continue
        named = [key for key in keys if isinstance(key, str)]
        if (
            _PATH.search(value)
            or (len(value) > 2 and value in text)
            or (len(named) == 1 and _PATH_LIKE.search(named[0]))
        ):
            return False
    return not context.problems


ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>)\]]{1,500}", re.IGNORECASE)
"""An address with a scheme, inside a text."""

# Names that nobody may register (RFC 2606): looking them up fails for good.
_RESERVED_HOST = re.compile(r"\.(?:invalid|test|example)\b|\bexample\.(?:com|org|net)\b")
_ON_THE_WAY = frozenset(("CONNECTION_FAILED", "DNS_TEMPORARY"))
_LIMITS = frozenset(("TIMEOUT", "QUERY_TIMEOUT", "PROCESS_TIMEOUT", "UPSTREAM_TIMEOUT"))
_OWN_FILES = frozenset(("FILE_NOT_FOUND", "WRONG_PATH_KIND", "PARSE_ERROR", "ALREADY_EXISTS"))
_BLAMELESS = frozenset(("UNKNOWN_TOOL", "READ_ONLY", "PAYMENT_REQUIRED", "QUOTA_EXHAUSTED", "PRECONDITION_FAILED"))


def complete_finding(found: Finding, text: str, context: Context) -> Finding:
    """Return a finding with all that text and arguments say together."""
    type_ = codes.type_of(found.code)
    if type_ == "TRANSIENT":
        return _transient(found, text, context)
    if found.code in _OWN_FILES and is_about_own_files(found.code, text, context):
        rule = f"{found.rule}, of the server's own"
        return msgspec.structs.replace(found, code="CONFIG_ERROR", retryable=None, rule=rule)
    changes: dict[str, Any] = {}
    if type_ == "CONFLICT":
        changes["retry_after"] = delay_in_text(text)
    if not found.fields and type_ != "INTERNAL" and found.code not in _BLAMELESS:
        changes["fields"] = _blamed_fields(found, text, context)
    return msgspec.structs.replace(found, **changes) if changes else found


def _transient(found: Finding, text: str, context: Context) -> Finding:
    if found.code in _LIMITS and (limit := _limit_sent(context)):
        late = problem(context, [limit], "The call took longer than this", "range")
        return msgspec.structs.replace(found, code="OUT_OF_RANGE", retryable=False, outcome="unknown", fields=(late,))
    if found.code == "DNS_TEMPORARY" and _RESERVED_HOST.search(text):
        lost = msgspec.structs.replace(found, code="HOST_NOT_FOUND", retryable=False)
        return msgspec.structs.replace(lost, fields=_blamed_fields(lost, text, context))
    changes: dict[str, Any] = {"retry_after": delay_in_text(text)}
    if found.code in _ON_THE_WAY and _sent_address(context):
        changes["retryable"] = None
    return msgspec.structs.replace(found, **changes)


def _blamed_fields(found: Finding, text: str, context: Context) -> tuple[Any, ...]:
    kind = "missing" if found.code == "MISSING_REQUIRED_FIELD" else None
    title = codes.title_of(found.code, "INTERNAL")
    return tuple(
        problem(context, keys, title, kind) for keys in find_blamed_arguments(text, context, found.span, found.code)
    )


def _sent_address(context: Context) -> bool:
    """Tell whether the caller chose where to go: then a wrong address sounds like an outage."""
    return any(isinstance(value, str) and ADDRESS.match(value) for _, value in context.values)


def _limit_sent(context: Context) -> str | None:
    return next((name for name in context.arguments if isinstance(name, str) and "timeout" in name.lower()), None)
