"""Which argument is at fault: complete a finding with what the call's arguments say."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import UNSET

from failwell import codes
from failwell._json import parse_json
from failwell._lazy import lazy_pattern
from failwell._spelling import normalised
from failwell.failure import FieldProblem
from failwell.phrases.delays import delay_in_text
from failwell.reading.context import Context, Finding

_MOST = 3
_SHORTEST_VALUE, _LONGEST_VALUE = 2, 500
_TOGETHER = lazy_pattern(r"\b(?:both|either|simultaneously|mutually|together|neither)\b", re.IGNORECASE)
_TOGETHER_SIGNS = ("both", "either", "simultan", "mutual", "together")

# Refusals of a place or a command blame it only if they quote it; to name an argument is not to blame it then.
_QUOTED_ONLY = frozenset(("FORBIDDEN", "LEGALLY_BLOCKED", "METHOD_NOT_ALLOWED"))
_ADDRESS_ONLY = frozenset((401, 403, 407))
_EXCEPTION = lazy_pattern(r"\b(?:unless|except (?:when|if|for|where))\b[^.;)\n]{0,200}", re.IGNORECASE)


def find_blamed_arguments(text: str, context: Context, found: Finding) -> list[list[str | int]]:
    """Return the keys of the arguments that a text blames, best first; nothing if nobody can tell.

    An argument is blamed if the text names it as one, or quotes a value that no other argument has. Which
    arguments there are proves nothing.
    """
    if not context.names:
        return []
    code = found.code
    if found.http_status in _ADDRESS_ONLY:
        return [keys for keys in _quoted_values(text, context)[:1] if _is_address(context, keys)]
    if code in _QUOTED_ONLY:
        return _best_quoted(text, context, found)
    # What an exception names need not be sent: `value is required unless value_type is null`.
    rule = _EXCEPTION.sub("", text) if code == "MISSING_REQUIRED_FIELD" else text
    if rule != text and (blamed := find_blamed_arguments(rule, context, found)):
        return blamed
    if written := _written_blamed(text, context, code):
        return written[:_MOST]
    spoken = _spoken_names(text, context)
    if code == "MISSING_REQUIRED_FIELD":
        unsent = [name for name in spoken if not context.arguments.get(name)]
        due = [name for name in unsent if name in context.required]
        if unsent and not due and not _is_of_several(text):
            unsent = _listed_with(unsent[:1], text, context)
        if unsent:
            return [[name] for name in due or unsent]
    if _is_of_several(text) and len(spoken) > 1:
        return [[name] for name in spoken[:_MOST]]
    if refused := [name for name in spoken if _refused(name).search(text.lower()[:_LONGEST_SPOKEN])]:
        return [[name] for name in _compared(refused[0], spoken, text)]
    is_absent = codes.derive(found.code, found.type).type == "NOT_FOUND"
    there = _those_there(text, context) if is_absent and _HAS_NONE.search(text) else ()
    spoken = [name for name in spoken if name not in there]
    return (
        [keys for keys in _best_quoted(text, context, found, spoken) if keys[0] not in there]
        or [[name] for name in spoken[:1]]
        or _statements(text, context, code)
        or (_absent_thing(text, context) if is_absent else [])
    )


# What has nothing exists itself: "Sheet 'A' has no charts".
_HAS_NONE = lazy_pattern(
    r"[\"'`]?[\w ./:-]{1,80}[\"'`]? (?:(?:has|have|had|contains?|contained|holds?) (?:no|none)\b"
    r"|(?:does|do|did)(?:n.t| not) (?:have|contain|hold)\b)"
)


def _those_there(text: str, context: Context) -> frozenset[str | int]:
    """Return the arguments that identify what is there, though something in it is not."""
    return frozenset(keys[0] for at, keys in _quoted_places(text, context) if _HAS_NONE.match(text, at))


def _written_blamed(text: str, context: Context, code: str | None) -> list[list[str | int]]:
    """Return the arguments that are written as names and blamed: not what is advised, nor sent where one is missing."""
    written = written_names(text, context)
    is_missing = code == "MISSING_REQUIRED_FIELD"
    if not is_missing:
        written = [keys for keys in written if context.was_sent(keys) or not _is_advised(keys, text)]
    if not written:
        return []
    spoken: list[list[str | int]] = []
    if is_missing or _is_of_several(text):
        spoken = [[name] for name in _spoken_names(text, context) if [name] not in written]
    if _is_of_several(text):
        written += spoken
    if not is_missing:
        return written
    absent = [keys for keys in written if not context.was_sent(keys)]
    if absent:
        named = [str(keys[0]) for keys in absent]
        absent.extend([name] for name in _listed_with(named, text, context) if name not in named)
    return absent or [keys for keys in spoken if not context.was_sent(keys)] or written


def _listed_with(names: list[str], text: str, context: Context) -> list[str]:
    """Return missing arguments with those listed beside them: `channel_id, text and title are required`."""
    if not _LIST_SIGN.search(text):
        return names
    others = [name for name in context.names if name in text and not context.was_sent([name])]
    for _ in others[:_MOST]:
        known = "|".join(map(re.escape, names))
        more = "|".join(re.escape(name) for name in others if name not in names)
        match = more and re.search(rf"\b(?:(?:{known}){_LISTED}({more})|({more}){_LISTED}(?:{known}))\b", text)
        if not match:
            break
        names = [*names, match[1] or match[2]]
    return names


_LIST_SIGN = lazy_pattern(r"\b(?:and|or)\b|,")
_LISTED = r"[\"'`]?(?:, ?|,? and |,? or )[\"'`]?"


def _is_of_several(text: str) -> bool:
    """Tell whether a text speaks of several arguments at once."""
    low = text.lower()
    for sign in _TOGETHER_SIGNS:
        if sign in low:
            return _TOGETHER.search(text) is not None
    return False


def _is_advised(keys: list[str | int], text: str) -> bool:
    """Tell whether a text names an argument as one that helps: `pass force: true to go on`."""
    return re.search(rf"\b(?:[Pp]ass|[Ss]et|[Uu]se|[Aa]dd|[Tt]ry) [\"'`]?{re.escape(str(keys[0]))}\b", text) is not None


def _compared(name: str, spoken: list[str], text: str) -> list[str]:
    """Return an argument that is refused, and the one that it is compared with: `end must be after start`."""
    for other in spoken:
        if other != name and re.search(rf"{_COMPARISON} (?:the )?{_in_words(other)}\b", text.lower()[:_LONGEST_SPOKEN]):
            return [name, other]
    return [name]


_COMPARISON = r"\b(?:exceed|than|than or equal to|after|before|equal|equal to|as|match)"

# The name of an argument says which thing it is of: `channel_id` is missing where a channel is.
_ROLES = frozenset(
    (
        "id", "ids", "key", "keys", "name", "names", "slug", "path", "number", "uuid", "guid", "gid", "iid", "uri",
        "url", "code", "identifier", "ref", "title", "or", "symbol", "no", "nr",
    )
)  # fmt: skip
_ABSENT = lazy_pattern(
    r"\b([a-z]{3,30})[\s_]{1,2}(?:(?:was|is|were|could|can)[\s_])?"
    r"(?:not[\s_]?(?:be[\s_])?found|does not exist|doesn't exist)"
    r"|\b(?:no such|unknown|could not find|couldn't find|cannot find|unable to find|no) (?:the |any |an? )?"
    r"([a-z]{3,30})\b"
)


def _absent_thing(text: str, context: Context) -> list[list[str | int]]:
    """Return the one argument that identifies what a text says is not there: a project, by its `project_id`."""
    things = {name: thing for name in context.arguments if isinstance(name, str) and (thing := _thing(name))}
    if not things:
        return []
    low = text.lower()[:_LONGEST_SPOKEN]
    absent = {word for match in islice(_ABSENT.finditer(low), _MOST) for word in match.groups() if word}
    named = [name for name, thing in things.items() if not absent.isdisjoint(thing)]
    return [[named[0]]] if len(named) == 1 else []


@lru_cache(maxsize=1024)
def _thing(name: str) -> frozenset[str]:
    """Return the word for what an argument identifies, in the singular and in the plural; nothing if it names none."""
    parts = normalised(name).split("_")
    things = [part for part in parts if part not in _ROLES]
    return _forms(things[0]) if len(things) == 1 and len(parts) > 1 else frozenset()


def _best_quoted(text: str, context: Context, found: Finding, spoken: Collection[str] = ()) -> list[list[str | int]]:
    """Return the argument whose value is quoted nearest to the telling words, one that is spoken of before others."""
    quoted = _quoted_places(text, context)
    if len(quoted) > 1 and "/" in text:  # of a path, its end is meant
        quoted = [place for place in quoted if not any(_is_above(text[place[0] : at]) for at, _ in quoted)]
    if " not found " in text:
        quoted = [place for place in quoted if not _PLACE.search(text, max(0, place[0] - 40), place[0])]
    if "No " in text and len(quoted) > 1:
        quoted = [place for place in quoted if not _PLACE_OF_NONE.search(text, max(0, place[0] - 160), place[0])]
    if " -> " in text and len(quoted) > 1 and codes.derive(found.code, found.type).type != "NOT_FOUND":
        return [keys for _, keys in sorted(quoted)[:2]]
    if found.span is not None:
        span = found.span
        quoted.sort(key=lambda item: _distance(item[0], span))
    best = [keys for _, keys in quoted]
    return ([keys for keys in best if str(keys[0]) in spoken] or best)[:1]


def _is_above(between: str) -> bool:
    """Return whether what stands between two places of a text are folders of one path."""
    return between.endswith("/") and not any(map(str.isspace, between))


# What something is not found in is there itself.
_PLACE = lazy_pattern(r" not found (?:or invalid )?(?:in|within|inside|under) (?:the |this )?(?:\w{1,20} )?[\"'`]?$")

_PLACE_OF_NONE = lazy_pattern(
    r"\bNo \w{2,30} [\"'`][^\"'`\n]{1,80}[\"'`] (?:for|in|of|on|under|with) (?:the |this )?(?:\w{1,20} )?[\"'`]?$"
)


def _quoted_values(text: str, context: Context) -> list[list[str | int]]:
    return [keys for _, keys in _quoted_places(text, context)]


def _is_address(context: Context, keys: list[str | int]) -> bool:
    value = next((value for found, value in context.values if list(found) == keys), None)
    return isinstance(value, str) and ADDRESS.match(value) is not None


def written_names(text: str, context: Context) -> list[list[str | int]]:
    """Return the arguments whose names stand in the text as names do: quoted, joined by `_`, before a colon."""
    found: list[tuple[int, list[str | int]]] = []
    for name in context.names:
        if name not in text:
            continue
        if match := _name_pattern(name).search(text):
            within = match["within"] or ""
            found.append((match.start(), [name, *_WITHIN.findall(within)] if within else [name]))
    found.sort(key=itemgetter(0))
    return [[int(key) if isinstance(key, str) and key.isdecimal() else key for key in keys] for _, keys in found]


_WITHIN = lazy_pattern(r"\w{1,80}")


@lru_cache(maxsize=256)
def _name_pattern(name: str) -> re.Pattern[str]:
    is_compound = "_" in name or "-" in name or name.lower() != name
    escaped = re.escape(name)
    if is_compound:
        return re.compile(rf"(?<![\w.]){escaped}(?P<within>(?:[.\[][\w\]]{{1,80}}){{0,6}})(?![\w])")
    return re.compile(
        rf"[\"'`“„«»「](?:--)?{escaped}[\"'`”“»«」]"
        rf"|(?:^|[\n;,(] ?|[.:] ){escaped}(?P<within>(?:[.\[][\w\]]{{1,80}}){{0,6}})(?:: |=)"
        rf"|\b(?:argument|parameter|field|property|param|option|key):? {escaped}\b"
        rf"|(?:Feld|champ|campo|paramètre|parámetro|parâmetro|parametro|argumento?|параметр|поле|аргумент|参数|參數|字段"
        rf"|パラメータ|パラメーター|引数|フィールド|매개변수|필드|인수) ?{escaped}(?![a-zA-Z0-9_])"
    )


_SCALARS = (str, int, float)


def _quoted_places(text: str, context: Context) -> list[tuple[int, list[str | int]]]:
    """Return where values that one argument has stand in the text, the longest first, each place once."""
    values: list[tuple[int, str, tuple[str | int, ...]]] = []
    for keys, value in context.values:
        if isinstance(value, _SCALARS) and not isinstance(value, bool):
            shown = str(value)
            values.append((-len(shown), shown.strip(), keys))
    if len(values) > 1:
        values.sort(key=itemgetter(0))
    holders: dict[str, set[str | int]] = {}
    for _, words, keys in values:
        holders.setdefault(words, set()).add(keys[0])
    found: list[tuple[int, list[str | int]]] = []
    taken: list[tuple[int, int]] = []
    addresses = [match.span() for match in islice(ADDRESS.finditer(text), _MOST)] if "://" in text else []
    for _, words, keys in values:
        if words and len(words) <= _LONGEST_VALUE:
            # A single letter or digit is one that was sent only if it stands in quotes.
            is_short = len(words) < _SHORTEST_VALUE
            for start in _quoted_positions(words, text) if is_short else _positions(words, text):
                if words.isalpha() and any(begin <= start < end for begin, end in addresses):
                    continue  # a part of an address that has a word in common with what was sent
                if not any(begin <= start < end for begin, end in taken):
                    taken.append((start, start + len(words)))
                    if len(holders[words]) == 1:
                        found.append((start, list(keys)))
                    break
    return found


def _quoted_positions(words: str, text: str) -> list[int]:
    return [at for mark in _QUOTES if (at := text.find(f"{mark}{words}{mark}")) >= 0]


_QUOTES = "'\"`"


_BEFORE_NAMES = ("/", "'", '"', "`", ": ")


def _positions(words: str, text: str) -> list[int]:
    at, last = text.find(words), words.rpartition("/")[2]
    is_word = at < 0 and last != words and last.isalpha()  # the end of a path may be a word like any other
    if at < 0 and last != words and len(last) > 3:
        words, at = last, text.find(last)
    found: list[int] = []
    while at >= 0 and len(found) < 5:
        before, after = text[at - 1 : at], text[at + len(words) : at + len(words) + 1]
        if (
            not (before.isalnum() and words[0].isalnum())
            and not (after.isalnum() and words[-1].isalnum())
            and not (is_word and not text[max(0, at - 2) : at].endswith(_BEFORE_NAMES))
        ):
            found.append(at)
        at = text.find(words, at + len(words))
    return found


# What is said before and behind the name of an argument that a sentence complains of.
_COMPLAINTS = (
    r"(?:invalid|unknown|unsupported|missing|bad|illegal|empty|wrong|malformed|unrecogni[sz]ed|incorrect|duplicate|given"
    r"|specified|provided|supplied|requested|such|provide|specify|requires?|required|nonexistent|unexpected|valid|parse"
    r"|value for|value of|values for|(?:integer|number|string|boolean|date|list|array) for"
    r"|for the|in the|in|find|no|both|either|or|and|use|set|only [\w ]{1,30})"
    r"(?: (?:an?|the|any|your|value for|required|valid))?"
)
# Behind these the name of an argument may have a word before it: `unsupported export format`.
_REFUSED = r"(?:invalid|unsupported|unknown|malformed|unrecogni[sz]ed|illegal)"
_PREDICATES = (
    r"(?: (?:value|values|parameter|argument|field|format|string|number|name|id|path|s))?"
    r"(?: [\"'`][^\"'`\n]{0,80}[\"'`]| #?[\w.:/-]{1,80})?"
    r"(?: (?:must|is|are|was|were|cannot|can not|can't|should|has|have|exceeds?|does|do|may|not|too|out|or|and|needs?"
    r"|doesn't|isn't|wasn't|aren't|don't)\b"
    r"|: |=| (?=[\"'`]))"
)


def _spoken_names(text: str, context: Context) -> list[str]:
    """Return the arguments that the text speaks of as what is wrong, in words: `paragraph index` is `paragraph_index`.

    What is first complained of comes first. A name of several words may stand anywhere: that is no chance.
    """
    low = text.lower()[:_LONGEST_SPOKEN]
    found: list[tuple[int, int, str]] = []
    for name in context.names:
        for stem in _stems(name):
            if stem not in low:
                break
        else:
            if match := _spoken(name).search(low):
                found.append((-len(_parts(name)), match.start(), name))
    return [name for _, _, name in sorted(found)]


_LONGEST_SPOKEN = 2000


@lru_cache(maxsize=1024)
def _refused(name: str) -> re.Pattern[str]:
    """Return a pattern for the name as the subject of a rule: nothing that is quoted elsewhere is meant then."""
    return re.compile(
        rf"\b{_in_words(name)}(?: (?:value|parameter|argument|field))?"
        r" (?:must|cannot|should|has to|may not|(?:is|are) (?:not (?:a )?valid|invalid|not supported|unsupported))\b"
    )


def _in_words(name: str) -> str:
    return r"[ _-]".join("(?:" + "|".join(map(re.escape, sorted(forms))) + ")" for forms in _parts(name))


@lru_cache(maxsize=1024)
def _spoken(name: str) -> re.Pattern[str]:
    parts = _parts(name)
    if not parts:
        return re.compile(r"(?!)")
    alone = rf"\b{_in_words(name)}\b"
    if len(parts) > 1:
        return re.compile(alone)
    return re.compile(rf"{alone}{_PREDICATES}|\b{_COMPLAINTS} {alone}|\b{_REFUSED} [a-z]{{2,20}} {alone}")


@lru_cache(maxsize=1024)
def _parts(name: str) -> tuple[frozenset[str], ...]:
    """Return the words of a name, each as a text may write it: in the singular and in the plural."""
    return tuple(_forms(part) for part in normalised(name).split("_") if part)


@lru_cache(maxsize=1024)
def _stems(name: str) -> tuple[str, ...]:
    """Return what each word of a name begins with in the singular and in the plural."""
    return tuple(min(forms, key=len).removesuffix("y") for forms in _parts(name))


def _forms(word: str) -> frozenset[str]:
    """Return a word in the singular and in the plural; words of three letters have none."""
    stem = word.removesuffix("s") if len(word) > 3 else word
    several = f"{stem[:-1]}ies" if stem.endswith("y") else f"{stem}s"
    return frozenset((word, stem, several) if len(stem) > 2 else (word,))


# What databases and parsers complain of is a statement or an expression: exactly one argument must hold one.
_OF_STATEMENTS = frozenset(
    (
        "QUERY_ERROR", "PARSE_ERROR", "TABLE_NOT_FOUND", "COLUMN_NOT_FOUND", "CONSTRAINT_VIOLATION", "ALREADY_EXISTS",
        "FOREIGN_KEY_VIOLATION",
    )
)  # fmt: skip
_STATEMENT = lazy_pattern(
    r"\s{0,20}(?:select|insert|update|delete|create|drop|alter|with|explain|merge|replace|pragma|truncate|match|copy)\s",
    re.IGNORECASE,
)
_EXPRESSION = lazy_pattern(r"[^\s:/]{0,200}? ?[+*^=<>|(){}\[\]]|[\d.]{1,40} ?/ ?[\d.]{1,40}$")
_SPEAKS_OF_STATEMENTS = lazy_pattern(r"\b(?:statements?|quer(?:y|ies)|SQL)\b")


_QUOTED_WORD = lazy_pattern(r"[\"'`]([^\s\"'`]{2,80})[\"'`]")


def _statements(text: str, context: Context, code: str | None) -> list[list[str | int]]:
    """Return the one argument whose words are quoted, or that is a statement where the failure is one of statements."""
    texts = [(keys, value) for keys, value in context.values if isinstance(value, str) and len(value) < _LONGEST_CODE]
    for match in islice(_QUOTED_WORD.finditer(text), _MOST):
        holders = [keys for keys, value in texts if " " in value and match[1] in value]
        if len(holders) == 1:
            return [list(holders[0])]
    if code not in _OF_STATEMENTS and (code == "MISSING_REQUIRED_FIELD" or not _SPEAKS_OF_STATEMENTS.search(text)):
        return []
    found = [keys for keys, value in texts if _STATEMENT.match(value)]
    if not found and code in ("QUERY_ERROR", "PARSE_ERROR"):
        found = [keys for keys, value in texts if _EXPRESSION.match(value)]
    return [list(found[0])] if len(found) == 1 else []


_LONGEST_CODE = 100_000


def _undecoded(text: str, context: Context) -> list[list[str | int]]:
    """Return the arguments that a decoder of JSON complains of: named, quoted, or meant as JSON and none."""
    if named := written_names(text, context) or [[name] for name in _spoken_names(text, context)]:
        return named[:1]
    found: list[list[str | int]] = []
    for keys, value in context.values:
        if isinstance(value, str) and 1 < len(value) < _LONGEST_CODE:
            is_meant = value.lstrip()[:1] in ("{", "[", "<") or "json" in str(keys[-1]).lower()
            is_quoted = f'"{value[:10]}"' in text
            if is_quoted or (is_meant and parse_json(value) is None):
                found.append(list(keys))
    return found if len(found) == 1 else []


def _distance(at: int, span: tuple[int, int]) -> int:
    return max(span[0] - at, at - span[1], 0)


# Names of arguments that may hold a path, a command or a query.
_PATH_LIKE = lazy_pattern(
    r"path|file|dir|folder|uri|url|src|source|dest|target|image|doc|book|name|cwd|root|location|key|id$|repo|script|command"
    r"|cmd|code|query|sql|expression|input|output|data|content|json|body|text|template|config|table|ref|branch|project",
    re.IGNORECASE,
)
_BARE_NAME = lazy_pattern(r"directory: [\"']([\w+-]{1,40})[\"']")  # a program that was to be started
_PATH = lazy_pattern(r"[/\\\\]|\.\w{1,5}$")


def is_about_own_files(code: str, text: str, context: Context) -> bool:
    """Tell whether nothing that was sent can be what the text complains of."""
    if not context.is_known or not context.schema:
        return False
    if code == "PARSE_ERROR":
        return not context.arguments and not context.problems
    if code == "ALREADY_EXISTS":
        return not context.arguments
    if (bare := _BARE_NAME.search(text)) and not any(bare[1] in str(value) for _, value in context.values):
        return not context.problems
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


ADDRESS = lazy_pattern(r"[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>)\]]{1,500}", re.IGNORECASE)
"""An address with a scheme, inside a text."""

# Names that nobody may register (RFC 2606): looking them up fails for good.
_RESERVED_HOST = lazy_pattern(r"\.(?:invalid|test|example)\b|\bexample\.(?:com|org|net)\b")
_ON_THE_WAY = frozenset(("CONNECTION_FAILED", "DNS_TEMPORARY"))
_PROGRAM_MISSING = "program missing"
_NOT_INSTALLED = lazy_pattern(r"([\w.@/-]{2,200})[\"'`]? (?:is|was) not installed")
_UNRESOLVED = "host name not resolved"
_LIMITS = frozenset(("TIMEOUT", "QUERY_TIMEOUT", "PROCESS_TIMEOUT", "UPSTREAM_TIMEOUT"))
_OWN_FILES = frozenset(("FILE_NOT_FOUND", "WRONG_PATH_KIND", "PARSE_ERROR", "ALREADY_EXISTS"))
_BLAMELESS = frozenset(("UNKNOWN_TOOL", "READ_ONLY", "PAYMENT_REQUIRED", "QUOTA_EXHAUSTED", "PRECONDITION_FAILED"))
# Words after which the same call is never worth another try.
_FINAL = lazy_pattern(
    r"\b(?:do not|don't|cannot|can't|must not|should not|never) (?:be )?(?:retry|retried|try again|repeat)"
    r"|\b(?:do not|don't|must not|should not|never) (?:re-?(?:submit|send|run|order|issue)\b"
    r"|(?:[\w-]+ ){1,5}?(?:again|twice|a second time|once more)\b(?! (?:until|before|for|within|in|unless|without)\b))"
    r"|\bretry(?:ing)? (?:will not|won't|is not|does not)|\b(?:non|not)[- ]?retr(?:y|i)able\b|\bpermanent(?:ly)?\b",
    re.IGNORECASE,
)
_FINAL_WORDS = ("etr", "again", "ermanent", "not re", "n't re", "ever re", "twice", "second time", "once more")


def complete_finding(found: Finding, text: str, context: Context) -> Finding:
    """Return a finding with all that text and arguments say together."""
    completed = _completed(found, text, context)
    if completed.retryable is not False and is_final(text):
        # Who must not repeat a call may have had its effect: what the words say of a later step does not rule that out.
        return msgspec.structs.replace(completed, retryable=False, outcome="unknown")
    return completed


def is_final(text: str) -> bool:
    """Tell whether a text says that the same call is never worth another try."""
    return find_final(text) is not None


def find_final(text: str) -> str | None:
    """Return the words by which a text says that the same call is never worth another try."""
    found = _FINAL.search(text) if any(map(text.__contains__, _FINAL_WORDS)) else None
    return found and found[0]


def _completed(found: Finding, text: str, context: Context) -> Finding:
    type_ = codes.derive(found.code, found.type).type
    if type_ == "TRANSIENT":
        return _transient(found, text, context)
    if found.code in _OWN_FILES and is_about_own_files(found.code, text, context):
        rule = f"{found.rule}, of the server's own"
        return msgspec.structs.replace(found, code="CONFIG_ERROR", retryable=None, rule=rule)
    if found.rule == _PROGRAM_MISSING and (keys := _not_installed(text, context)):
        absent = msgspec.structs.replace(found, code="NOT_FOUND")
        return msgspec.structs.replace(
            absent, fields=(context.problem(keys, codes.title_of("NOT_FOUND", "NOT_FOUND")),)
        )
    if found.code == "BAD_UPSTREAM_RESPONSE" and found.blames:
        return _undecodable(found, text, context)
    if found.rule == _BUG and (keys := _undefined(text, context)):
        refused = msgspec.structs.replace(found, code="QUERY_ERROR", retryable=False, outcome=None)
        return msgspec.structs.replace(refused, fields=(context.problem(keys, "A name in it is not defined"),))
    if found.code == "QUOTA_EXHAUSTED" and (delay := delay_in_text(text, now=context.now)) is not None:
        return msgspec.structs.replace(found, code="RATE_LIMITED", retry_after=delay)  # it is renewed by itself
    changes: dict[str, Any] = {}
    if type_ == "CONFLICT":
        changes["retry_after"] = delay_in_text(text, now=context.now)
    if not found.fields and type_ != "INTERNAL" and found.blames and found.code not in _BLAMELESS:
        fields = _blamed_fields(found, text, context)
        if found.code == "MISSING_REQUIRED_FIELD" and fields and all(map(_is_sent, fields)):
            return _not_missing(found, fields, text, context)
        changes["fields"] = fields
    return msgspec.structs.replace(found, **changes) if changes else found


def _not_missing(found: Finding, fields: Sequence[FieldProblem], text: str, context: Context) -> Finding:
    """Return that what was sent is refused, where the text begins with it; else something is missing beside it."""
    low = text.lower()
    told = low.find(found.words.lower()) if found.words else -1
    names = [name for field in fields for name in (field.path, field.path.replace("_", " "), str(field.sent))]
    if not any(0 <= low.find(name.lower()) < told for name in names):
        return found
    refused = msgspec.structs.replace(found, code="INVALID_ARGUMENT")
    return msgspec.structs.replace(refused, fields=_blamed_fields(refused, text, context))


def _is_sent(field: FieldProblem) -> bool:
    return field.sent is not UNSET and field.sent not in _EMPTY


_EMPTY: tuple[object, ...] = (None, "", [], {})


def _undefined(text: str, context: Context) -> list[str | int]:
    """Return the one argument that is code with the name that is not defined; else it is the server's own code."""
    match = _UNDEFINED.search(text)
    holders = [
        keys
        for keys, value in context.values
        if match and isinstance(value, str) and re.search(rf"\b{re.escape(match[1] or match[2])}\b", value)
    ]
    return list(holders[0]) if len(holders) == 1 else []


_BUG = "bug in the tool"
_UNDEFINED = lazy_pattern(r"\bname ['\"`](\w{1,100})['\"`] is not defined|\b(\w{1,100}) is not defined")


def _not_installed(text: str, context: Context) -> list[str | int]:
    """Return the argument that names what is not installed; what nobody sent is a program of the server's own."""
    match = _NOT_INSTALLED.search(text)
    named = [keys for keys, value in context.values if match and value == match[1]]
    return list(named[0]) if len(named) == 1 else []


def _undecodable(found: Finding, text: str, context: Context) -> Finding:
    """Return that what was sent is not understood, where there is proof of that; else it was what came back."""
    blamed = _undecoded(text, context)
    if not blamed:
        return found
    fields = tuple(context.problem(keys, "It could not be parsed", "format") for keys in blamed)
    parsed = msgspec.structs.replace(found, code="PARSE_ERROR", fields=fields, outcome=None)
    return msgspec.structs.replace(parsed, retryable=False)


def _transient(found: Finding, text: str, context: Context) -> Finding:
    if found.code in _LIMITS and (limit := _limit_sent(context)):
        late = context.problem([limit], "The call took longer than this", "range")
        return msgspec.structs.replace(found, code="OUT_OF_RANGE", retryable=False, outcome="unknown", fields=(late,))
    if (found.code == "DNS_TEMPORARY" or found.rule == _UNRESOLVED) and _RESERVED_HOST.search(text):
        lost = msgspec.structs.replace(found, code="HOST_NOT_FOUND", retryable=False)
        return msgspec.structs.replace(lost, fields=_blamed_fields(lost, text, context))
    changes: dict[str, Any] = {"retry_after": delay_in_text(text, now=context.now)}
    if found.code in _ON_THE_WAY and (_sent_address(context) or (found.rule == _UNRESOLVED and not context.is_known)):
        changes["retryable"] = None
    return msgspec.structs.replace(found, **changes)


def _blamed_fields(found: Finding, text: str, context: Context) -> tuple[FieldProblem, ...]:
    kind = "missing" if found.code == "MISSING_REQUIRED_FIELD" else None
    title = codes.title_of(found.code, codes.derive(found.code, found.type).type)
    blamed = tuple(context.problem(keys, title, kind) for keys in find_blamed_arguments(text, context, found))
    if blamed or codes.derive(found.code, found.type).type != "VALIDATION":
        return blamed
    return context.proven


def _sent_address(context: Context) -> bool:
    """Tell whether the caller chose where to go: then a wrong address sounds like an outage."""
    return any(isinstance(value, str) and ADDRESS.match(value) for _, value in context.values)


def _limit_sent(context: Context) -> str | None:
    return next((name for name in context.arguments if isinstance(name, str) and "timeout" in name.lower()), None)
