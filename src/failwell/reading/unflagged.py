"""Unflagged errors: whether a result that is not flagged is nevertheless an error and nothing else.

This decides only *that* it is one; what it says is then read like any other error. A success that is called a failure
is worse than a failure that is missed, so each kind of tool has its own burden of proof: what a tool that reads files,
runs commands or lists errors returns may look like an error and be the very thing that was asked for.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from failwell._json import is_array, is_object, parse_json
from failwell._lazy import lazy_pattern
from failwell.codes import type_of
from failwell.dialects import _compact, _envelope, _flat, _xml
from failwell.dialects._wire import Wire
from failwell.phrases.keys import delay_key, squashed
from failwell.phrases.keys import role_of as role_of_key
from failwell.phrases.language import plain_name
from failwell.phrases.openings import (
    BARE,
    COMMON_WORDS,
    CONFIRMATIONS,
    LISTED,
    MARK,
    NAMED,
    STRONG,
    TITLE,
    WEAK,
)
from failwell.phrases.system_codes import ERRNO_NAMES
from failwell.phrases.vendor_codes import known_code
from failwell.reading.bodies import BAD_STATUS, CARRIERS, GOOD_STATUS, NESTED
from failwell.reading.context import Context, Finding, once
from failwell.reading.flat_text import BY_SCHEMA, SOME_OF_MANY, by_validator, find_cause, without_prefixes
from failwell.reading.raw_result import own_error
from failwell.reading.roles import ACTION_WORDS, LOOKUP_WORDS, Role, lists_records, role_of, tool_words

_LONGEST = 2000
_LONGEST_HEADLINE = 600
_LONGEST_SENTENCE = 300
_MOST_LINES = 15
_SURE = 0.8
_CLEAR = 0.88


class Sign(NamedTuple):
    """Why a result that nobody flagged is an error: the rule in words, and the words or the key that it rests on.

    `is_proven`: the schema proves the call wrong, and the text complains of it.
    """

    rule: str
    words: str
    is_proven: bool = False


def find_sign(texts: list[str], payload: Any, context: Context, meta: dict[str, Any] | None = None) -> Sign | None:
    """Return why an unflagged result is an error; None unless it surely is, and is nothing else."""
    if meta and own_error(meta) is not None:
        return Sign("its metadata names a type of error", str(meta["errorType"])[:80])
    text = "\n".join(texts).strip()
    if not text and payload is not None:
        return _in_payload(payload, _Call(context))
    if not text or len(text) > _LONGEST:
        return None
    call = _Call(context)
    sign = _in_whole_text(text, call)
    return None if sign is None or call.echoes(text) else sign


def _in_whole_text(text: str, call: "_Call") -> Sign | None:
    bare = without_prefixes(text).lstrip()
    if bare[:1] in "{[" and (found := parse_json(bare)) is not None:
        if bare != text and not call.is_content:
            return Sign("an SDK's prefix and an object", text[: len(text) - len(bare)].strip())
        return _in_payload(found, call)
    if tagged := _TAGGED.fullmatch(text):
        return Sign("an element that says so", tagged[1]) if not call.is_content or call.tie(text) else None
    if text.startswith("<") and not call.is_content and _xml.decode(Wire(text)):
        return Sign("an element of the dialect xml", text.partition(">")[0] + ">")
    return _in_text(text, call)


def is_bare_error(text: str) -> bool:
    """Return whether a text says that something failed, and nothing else."""
    return _BARE.fullmatch(text.strip()) is not None


def find_proven_sign(texts: list[str], context: Context) -> Sign | None:
    """Return why a result is an error whoever asked: the schema proves the call wrong, and the text complains of it."""
    if not context.schema or not context.is_known:
        return None
    text = "\n".join(texts).strip()
    if not text or len(text) > _LONGEST:
        return None
    wrong = [problem for problem in context.problems if problem.kind != "unknown"]
    if not wrong:
        return None
    if is_bare_error(text):
        return Sign("a bare error, and the schema proves the call wrong", text, is_proven=True)
    call = _Call(context)
    if call.echoes(text):
        return None
    found = by_validator(text, context)
    if found is not None and found.fields:
        words = text.partition("\n")[0][:80]
        return Sign("a validator's message, and the schema proves the call wrong", words, is_proven=True)
    if not _complains(text, context):
        return None
    for problem in wrong:
        name = re.split(r"[.\[]", problem.path, maxsplit=1)[0]
        if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text):
            return Sign("the text names an argument that the schema proves wrong", name, is_proven=True)
    return None


def _complains(text: str, context: Context) -> bool:
    if text[:1] in "{[" and (payload := parse_json(text)) is not None:
        return _in_payload(payload, _Call(context)) is not None
    if _STRONG.match(text) or _WEAK.match(text):
        return True
    if len(text) > _LONGEST_SENTENCE:
        return False
    found = _worded(text, context)
    return found is not None and found.confidence >= _SURE and type_of(found.code) == "VALIDATION"


class _Call:
    """A call, and how a text is tied to it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.role = role_of(context)
        self.is_content = self.role is Role.CONTENT
        self.lists_records = self.is_content and lists_records(context)
        self.words = tool_words(context.tool) if context.tool else frozenset[str]()

    @once
    def values(self) -> list[str]:
        """What was sent, as a text may repeat it."""
        return [str(value) for _, value in self.context.values if _is_telling_value(value)]

    def echoes(self, text: str) -> bool:
        """Tell whether a text is little else than what the caller sent."""
        said: set[str] | None = None
        for value in self.values:
            value = value.strip()
            if " " not in value:
                if len(value) > 3 and text == value:
                    return True
                continue
            if 2 * len(value) > len(text) and value in text:
                return True
            if self.role is Role.ACTION:
                continue
            if said is None:
                said = set(_WORD.findall(text.lower()))
            if said and said <= set(_WORD.findall(value.lower())):
                return True
        return False

    def quotes(self, text: str) -> str | None:
        """Return what a text repeats of what was sent: a whole value, or a telling part of one."""
        for match in _QUOTED.finditer(text):
            part = match[1]
            if part.lower() not in COMMON_WORDS and any(part in value for value in self.values):
                return part
        for value in self.values:
            value = value.strip()
            if value and (_stands_in(value, text, quoted=_is_vague(value)) or text.endswith(f": {value}")):
                return value
            parts: list[str] = _PART.findall(value)[:_MOST_PARTS] if len(value) > 3 else []
            for part in parts:
                if part == value or part.lower() in COMMON_WORDS:
                    continue
                if _stands_in(part, text, quoted=part.isalpha()):
                    return part
        return None

    def names(self, text: str) -> str | None:
        """Return the argument that a text names as one, or the tool."""
        if self.context.tool and len(self.context.tool) > 3 and self.context.tool in text:
            return self.context.tool
        low = text.lower()
        for name in self.context.names:
            is_compound = "_" in name or "-" in name or name.lower() != name
            if name and _stands_in(name, text, quoted=not is_compound):
                return name
            if is_compound and (spoken := plain_name(name)) in low and _stands_in(spoken, low, quoted=False):
                return spoken
            if name in ("command", "cmd") and (found := _COMMAND.search(text)):
                return found[0]
        return None

    def operation(self, text: str) -> str | None:
        """Return the words by which a text speaks of what the tool does: `Error searching` of `search_notes`."""
        for match in _OPERATION.finditer(text[:_LONGEST_SENTENCE]):
            word = match[0].lower()
            if any(word.startswith(_stem(own)) for own in self.words if len(own) > 2):
                return match[0]
            if word in _READING and self.words & LOOKUP_WORDS:
                return match[0]
        return None

    @property
    def is_action(self) -> bool:
        """Whether the name of the tool says that it changes something."""
        return bool(self.words & ACTION_WORDS)

    def tie(self, text: str) -> str | None:
        """Return the words by which a text belongs to this call, or None."""
        return self.quotes(text) or self.names(text) or self.pair(text)

    def pair(self, text: str) -> str | None:
        """Return the argument that a text repeats with its value: `limit=5`."""
        if "=" not in text:
            return None
        pairs = (f"{keys[-1]}={value}" for keys, value in self.context.values if keys)
        return next((pair for pair in pairs if _stands_in(pair, text, quoted=False)), None)


_SCALARS = (str, int, float)
_LONGEST_VALUE = 4000
_MOST_PARTS = 40
_SHORTEST_TIE = 4
_QUOTED = lazy_pattern(r"(?<!\w)[\"'`\u2018“「«]([^\"'`\n]{1,200}?)[\"'`\u2019”」»](?!\w)")
_PART = lazy_pattern(r"[^\s\"'`;,()<>|&]{3,200}")
_WORD = lazy_pattern(r"\w+")
_READING = frozenset(
    ("retrieving", "getting", "fetching", "reading", "loading", "retrieve", "get", "fetch", "read", "load")
)
_OPERATION = lazy_pattern(r"[A-Za-z]{3,20}")
_COMMAND = lazy_pattern(
    r"(?:^|[:.] )Command (?='|\"|timed|exceeds|is |not |failed)|\b[Ee]mpty command\b|\bcommand format\b"
)


def _is_telling_value(value: Any) -> bool:
    if type(value) is str:
        return 0 < len(value) <= _LONGEST_VALUE
    return isinstance(value, _SCALARS) and not isinstance(value, bool) and 0 < len(str(value)) <= _LONGEST_VALUE


def _is_vague(value: str) -> bool:
    """Tell whether a value may stand in any text by chance."""
    return len(value) < (2 if value.isdecimal() else 3) or value.lower() in COMMON_WORDS


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _stands_in(words: str, text: str, *, quoted: bool) -> bool:
    """Tell whether words stand in a text apart from others; *quoted*, only between quotation marks."""
    at = text.find(words)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(words) : at + len(words) + 1]
        is_apart = not (before[-1:].isalnum() and words[0].isalnum()) and not (after.isalnum() and words[-1].isalnum())
        if is_apart and (not quoted or (before in _QUOTES and after in _QUOTES and before and after)):
            return True
        at = text.find(words, at + 1)
    return False


_QUOTES = "\"'`\u2018\u2019“”«»「」„"

# --- flat text

_STRONG = lazy_pattern(f"{MARK}(?:{'|'.join(STRONG)})")
_NAMED = lazy_pattern(f"{MARK}(?:{'|'.join(NAMED)})")
_WEAK = lazy_pattern(f"{MARK}(?:{'|'.join(WEAK)})")
_BARE = lazy_pattern(BARE, re.IGNORECASE)
_LISTED = lazy_pattern(rf"\s{{0,8}}(?:{'|'.join(LISTED)})")
_CONFIRMS = lazy_pattern(rf"(?<!not be )(?<!not )(?<!n't )(?<!un)(?:{'|'.join(CONFIRMATIONS)})", re.IGNORECASE)
_FAILURE_TITLE = lazy_pattern(TITLE, re.IGNORECASE)
_TAGGED = lazy_pattern(r"<((?:tool_?)?error)>[^\n]{1,1000}</\1>", re.IGNORECASE)
_EMPTY_ANSWER = lazy_pattern(
    r"\W{0,6}(?:no|0|zero)\b(?! such)(?! active)[^\n]{0,80}"
    r"\b(?:found|match|matches|matched|results?|available|yet|rows?)\b",
    re.I,
)
_TRACE = lazy_pattern(
    r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+[\w.]{1,100}(?::[^\n]*)?(?:\n[^\n]{0,200}){0,3}$"
)
_SENTENCE = lazy_pattern(
    r"(?![\[({<|])[^\n]{0,60}?[^\W\d]{2,}\W+[^\n]{0,100}?[^\W\d]{2,}|(?![\[({<|])[^\n]*[\u3040-\ud7a3]"
)
_PROSE = lazy_pattern(r"\b(?:is|are|was|means) (?:a|an|the|what|when)\b")
_HEADING = lazy_pattern(r"(?:#{1,6}|>) +(?P<title>[^\n]{2,200})")


def _in_text(text: str, call: _Call) -> Sign | None:
    if (exited := _by_exit(text, call)) is not _NO_EXIT:
        return exited
    headline, _, rest = text.partition("\n")
    if (heading := _HEADING.match(headline)) and not headline.startswith(">  "):
        return _by_heading(heading["title"].strip(), text, call)
    if len(headline) > _LONGEST_HEADLINE or _LISTED.match(headline) or _EMPTY_ANSWER.match(headline):
        return None
    strong = _STRONG.match(headline)
    lines = [line for line in rest.split("\n") if line.strip()]
    if lines and not strong and call.role not in (Role.ACTION, Role.LOOKUP):
        return None
    found = by_validator(text, call.context) if strong or _SENTENCE.match(text) else None
    if found is not None and found.fields:
        is_own = call.role in (Role.ACTION, Role.LOOKUP) or (strong is not None and not call.is_content)
        return Sign("a validator's message", headline[:80]) if is_own else None
    is_trace = _TRACE.match(text) is not None
    if headline.startswith("Traceback (") and not is_trace:
        return None
    is_trace = is_trace or call.role in (Role.ACTION, Role.LOOKUP)
    if len(lines) > _MOST_LINES or (not is_trace and any(_LISTED.match(line) or _STRONG.match(line) for line in lines)):
        return None
    if any(_LISTED.match(line) for line in lines) and not strong:
        return None
    if strong:
        return _by_opening(strong, text, call)
    if lines and call.role is Role.ACTION and _FAILED.match(headline) and any(map(_STRONG.match, lines)):
        return Sign("a line that says what failed, and others that say why", headline)
    if lines or len(text) > _LONGEST_SENTENCE:
        return None
    return _by_sentence(text[1:-1] if _ASIDE.fullmatch(text) else text, call)


_FAILED = lazy_pattern(rf"{MARK}(?:[\w'`\"-]{{1,40}} ){{1,5}}failed\W{{0,3}}$")
_ASIDE = lazy_pattern(r"\([^()\n]{4,200}\)")


def _by_opening(strong: re.Match[str], text: str, call: _Call) -> Sign | None:
    sign = Sign("begins like an error", strong[0].strip())
    is_named = _NAMED.match(text) is not None
    if call.role in (Role.UNKNOWN, Role.ACTION):
        return None if _CONFIRMS.search(text) and not is_named else sign
    if call.role in (Role.LOOKUP, Role.SEARCH):
        return sign
    if call.role is Role.QUESTION and not is_named:
        return None
    said = text if _REFUSAL.match(text) else strong[0]
    tied = call.tie(text) or (call.operation(said) if call.is_content else None)
    if not tied or (call.role is Role.QUESTION and len(tied) < _SHORTEST_TIE):
        return None
    return Sign("begins like an error, and is about this call", tied)


# A refusal that says what the tool may do: a text that was read seldom does.
_REFUSAL = lazy_pattern(
    rf"{MARK}(?:Access|Permission) denied: (?:You )?"
    r"(?i:can only|may only|cannot|can't|not (?:allowed|permitted) to) [^\n]{1,300}$"
)


def _by_heading(title: str, text: str, call: _Call) -> Sign | None:
    """Return why a Markdown heading is an error's: it is a failure's title, and it speaks of what the tool does."""
    if not _FAILURE_TITLE.match(title) or any(title in value for value in call.values):
        return None
    sign = Sign("a heading that says what failed", title)
    is_own = call.operation(title) is not None
    is_tied = call.tie(text[:_LONGEST_HEADLINE]) is not None
    if call.role is Role.UNKNOWN:
        return sign if re.search(r"(?i)\bfailed\b.*[-:–—]|^\W*error\W*$|^\W*error[: ]", title) else None
    if call.role in (Role.ACTION, Role.LOOKUP):
        return sign if is_own or is_tied or _BARE.fullmatch(title) else None
    return sign if is_own and is_tied else None


def _by_sentence(text: str, call: _Call) -> Sign | None:
    """Return why a short sentence is an error: it says what is wrong with what the caller sent."""
    if call.role in (Role.UNKNOWN, Role.QUESTION) and not (call.role is Role.UNKNOWN and _WEAK.match(text)):
        return None
    weak = _WEAK.match(text)
    if not _SENTENCE.match(text) or _PROSE.search(text) or (_CONFIRMS.search(text) and not _NAMED.match(text)):
        return None
    sign = Sign("a sentence that says what went wrong", text)
    if call.role is Role.ACTION and weak:
        return sign
    # What the words say takes longest to find out.
    tied = None if call.role in (Role.SEARCH, Role.UNKNOWN) else call.tie(text)
    if not (tied or (weak and not call.is_content) or (call.role is Role.ACTION and call.is_action)):
        return None
    found = _worded(text, call.context)
    if found is None:
        return None
    if call.role is Role.SEARCH:
        return None if type_of(found.code) == "NOT_FOUND" else sign
    if call.role is Role.ACTION:
        return sign if tied or found.confidence >= _CLEAR else None
    if tied and found.confidence >= _SURE:
        return Sign("a sentence about what was sent", tied)
    return sign if weak and not call.is_content and found.confidence >= _CLEAR else None


def _worded(text: str, context: Context) -> Finding | None:
    """Return what the words of a text say; what only the schema says is no word of the server's."""
    found = find_cause(text, context, learned=False)
    return None if found is None or found.rule in (BY_SCHEMA, SOME_OF_MANY) else found


# --- what a command ended with

_NO_EXIT = Sign("", "")
_EXIT = lazy_pattern(
    r"(?im)^\W{0,4}(?:(?:command|process|program|script)\s)?(?:\w{1,20} ){0,3}"
    r"(?:return ?code|exit(?:ed)?(?: with)?(?: status| code)?|exit_code|returncode|status code of the command)"
    r"(?: code| status)?\s?[:=]?\s?(-?\d{1,4})\W{0,4}$"
)
_ANSWERS_BY_EXIT = frozenset(
    ("grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "pgrep", "which", "comm", "false")
)
_REPORT = lazy_pattern(
    r"(?i)\b\d+ (?:tests? )?(?:failed|passed|failures?)\b|\bfound \d+ (?:error|problem|issue)|\d+ problems?\b"
    r"|^FAIL|^not ok \d"
)


def _by_exit(text: str, call: _Call) -> Sign | None:
    """Return what the exit code that stands above or below a command's output says; `_NO_EXIT` if there is none."""
    lines = text.rstrip().split("\n")
    for line, rest in ((lines[-1], lines[:-1]), (lines[0], lines[1:])):
        low = line.lower()
        if ("exit" in low or "return" in low or "status code" in low) and (match := _EXIT.match(line.strip())):
            return _exited(int(match[1]), "\n".join(rest).strip(), line.strip(), call)
    return _NO_EXIT


def _exited(code: int, output: str, words: str, call: _Call) -> Sign | None:
    if code == 0 or (code == 1 and _answers_by_exit(call)) or _REPORT.search(output):
        return None
    sign = Sign("a command that ended with an error", words)
    if code > 1 or code < 0:
        return sign
    last = output.split("\n")[-1] if output else ""
    complaint = any(_STRONG.match(line) or _WEAK.match(line) or _PROGRAM.match(line) for line in (output[:500], last))
    return sign if complaint else None


_PROGRAM = lazy_pattern(
    r"[\w./-]{1,60}(?: [Ee]rror[: ]|: [^\n]{1,200}(?:: |not |cannot |denied|[Nn]o such))"
    r"|(?:npm|yarn|pip) (?:ERR!|error)",
    re.M,
)


def _answers_by_exit(call: _Call) -> bool:
    """Tell whether a program was called that says no with exit code 1."""
    sent = [value.strip() for value in call.values]
    programs = {re.split(r"[\s]", value, maxsplit=1)[0].rpartition("/")[2] for value in sent if value}
    return bool(programs & _ANSWERS_BY_EXIT) or any("| grep" in value or "git diff" in value for value in sent)


# --- objects

# What an error is told with beside the keys that say what went wrong: without case and without underscores.
_ENVELOPE_KEYS = (
    NESTED
    | CARRIERS
    | frozenset(
        (
            "action", "actions", "available", "context", "domain", "help", "info", "integrationid", "link", "links",
            "metadata", "method", "needed", "object", "options", "params", "provided", "rid", "server", "severity",
            "stack", "stacktrace", "tool", "traceback", "url", "validvalues", "warning", "warnings",
        )
    )
)  # fmt: skip
_VERDICT_KEYS = frozenset(
    ("valid", "healthy", "verified", "allowed", "compiled", "passed", "exists", "found", "available", "matches")
)
_STATUS_KEYS = ("status", "statusCode", "status_code", "http_status", "httpStatus", "code", "errorCode", "error_code")
_PROCESS_KEYS = frozenset(("stdout", "stderr", "logs", "exit_code", "execution_time"))
_EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_MOST_ITEMS = 100
_MOST_KEYS = 30


def _in_payload(payload: Any, call: _Call) -> Sign | None:
    """Return why an object, or a list of items, is an error."""
    if is_array(payload):
        return _in_items(payload, call)
    if not is_object(payload) or not payload or len(payload) > _MOST_KEYS:
        return None
    if len(payload) == 1 and isinstance(only := payload.get("result"), str):
        return find_sign([only], None, call.context)
    if (exited := _by_exit_key(payload, call)) is not _NO_EXIT:
        return exited
    if _affirms(payload):
        return None
    for rule, check in ENVELOPES:
        if key := check(payload, call):
            return _admitted(Sign(rule, key), payload, call)
    for key in ("results", "result", "items", "responses", "data"):
        if is_array(items := payload.get(key)):
            return _in_items(items, call)
    if payload.keys() <= set(call.values):  # by what was sent
        return _in_items([*payload.values()], call)
    return _by_only_text(payload, call)


def _admitted(sign: Sign, payload: dict[str, Any], call: _Call) -> Sign | None:
    """Return the sign if it counts for a tool of this kind."""
    if call.role is Role.CONTENT:
        text = " ".join(found[:_LONGEST] for found in _texts_in(payload))[:_LONGEST]
        is_own = call.tie(text) or call.operation(text) or payload.keys() & _PROCESS_KEYS
        return sign if is_own or (call.lists_records and payload.keys() <= _PLAIN_KEYS) else None
    if call.role is Role.QUESTION:
        is_plain = payload.keys() <= _PLAIN_KEYS and "error" in payload
        return sign if (is_plain and not _has_sent_code(payload, call)) or _is_prevented(payload, call) else None
    return sign


_OF_EXISTENCE = frozenset(
    ("available", "can", "contains", "exist", "exists", "has", "health", "ping", "state", "status")
)


def _is_prevented(payload: dict[str, Any], call: _Call) -> bool:
    """Tell whether a question was not answered at all, because something that it needs is not there or not allowed."""
    said = payload.get("error")
    if (
        payload.get("success", payload.get("ok")) is not False
        or not isinstance(said, str)
        or call.words & _OF_EXISTENCE
    ):
        return False
    rest = [value for key, value in payload.items() if not _is_envelope_key(key)]
    if any(value and (not isinstance(value, int | float)) for value in rest):
        return False
    found = _worded(said, call.context)
    is_sure = found is not None and found.confidence >= (_SURE if call.tie(said) else _CLEAR)
    return is_sure and found is not None and type_of(found.code) in ("NOT_FOUND", "PERMISSION", "TRANSIENT")


_PLAIN_KEYS = frozenset(("error", "message", "code", "details", "hint"))


def _affirms(payload: dict[str, Any]) -> bool:
    """Tell whether an object says that all is well, or answers with a verdict."""
    status = payload.get("status")
    return (
        payload.get("success") is True
        or payload.get("ok") is True
        or (isinstance(status, str) and status.lower() in GOOD_STATUS)
        or any(isinstance(payload.get(key), bool) for key in _VERDICT_KEYS)
        or ("headers" in payload and "body" in payload)
    )


def _has_text(payload: dict[str, Any]) -> bool:
    return any(isinstance(value, str) and value.strip() and _is_text_key(key) for key, value in payload.items())


def _is_text_key(key: str) -> bool:
    name = squashed(key)
    return role_of_key(name) in ("text", "error") or name == "reason"


def _is_envelope_key(key: str) -> bool:
    """Tell whether a key is one that errors have."""
    name = squashed(key)
    return (
        name in _ENVELOPE_KEYS
        or role_of_key(name) is not None
        or delay_key(name) is not None
        or name.startswith(_CHOICES)
    )


# What could have been sent instead: an error lists it beside what went wrong.
_CHOICES = ("available", "valid", "allowed", "supported", "suggest", "expected", "possible", "didyoumean")


def _is_record(payload: dict[str, Any], call: _Call) -> bool:
    """Tell whether an object holds more than an error and what the caller sent: it is about a thing, then."""
    sent = set(call.values)
    echoed = 0
    for key, value in payload.items():
        if _is_envelope_key(key):
            if key in ("data", "result", "output", "content", "body", "response") and value not in (None, "", [], {}):
                return not (is_object(value) and payload.keys() & {"error", "errors"} and not value)
            continue
        if value in (None, "", [], {}, 0):
            continue
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value) in sent:
            echoed += 1
            continue
        if key in call.context.names:
            continue
        if call.role is Role.ACTION and isinstance(value, str | bool):
            continue
        return True
    return echoed > 0 and call.role is Role.LOOKUP


def _has_sent_code(payload: dict[str, Any], call: _Call) -> bool:
    return any(str(payload[key]) in call.values for key in ("code", "status", "type") if payload.get(key) is not None)


def _says_no(payload: dict[str, Any], _: _Call) -> str | None:
    for key, bad in (("success", False), ("ok", False), ("isError", True), ("is_error", True), ("error", True)):
        if payload.get(key) is bad and type(payload[key]) is bool:
            has_cause = _has_text(payload) or payload.get("errors") or is_object(payload.get("error"))
            has_rows = any(is_array(value) and value and is_object(value[0]) for value in payload.values())
            is_nested = key in ("isError", "is_error") and is_array(payload.get("content"))
            return key if is_nested or (has_cause and not (has_rows and "errors" not in payload)) else None
    return None


def _bad_status(payload: dict[str, Any], call: _Call) -> str | None:
    for key in ("status", "result"):
        status = payload.get(key)
        if isinstance(status, str) and (status.lower() in BAD_STATUS or _is_code(status)):
            has_cause = _has_text(payload) or bool(payload.get("error"))
            rest = {name: value for name, value in payload.items() if name != key}
            return key if has_cause and not _is_record(rest, call) and not _has_sent_code(payload, call) else None
    return None


def _is_code(status: str) -> bool:
    """Tell whether a status is a code for something that went wrong: `task_not_found`."""
    return "_" in status and len(status) <= 80 and type_of(status) is not None


def _error_key(payload: dict[str, Any], call: _Call) -> str | None:
    for key in ("error", "Error", "fault", "error_message", "errorMessage", "exception"):
        error = payload.get(key)
        is_text = isinstance(error, str) and _is_cause(error)
        is_cause = is_object(error) and bool(error.keys() & _CAUSE_KEYS)
        if (is_text or is_cause) and not _is_record(payload, call):
            return key
    return None


_CAUSE_KEYS = frozenset(
    ("message", "msg", "code", "type", "reason", "detail", "details", "description", "errors", "title", "faultstring")
)


def _is_cause(error: str) -> bool:
    """Tell whether a text says what went wrong: a sentence, or a code for it; not a colour or the name of a type."""
    error = error.strip()
    return " " in error or "_" in error or type_of(error) is not None or bool(known_code(error)) or not error.isascii()


# An item with one of these tells where something is: it is a finding of a checker.
_PLACES = frozenset(("line", "column", "col", "offset", "row", "start", "position", "rule", "count"))


def _is_item(item: Any) -> bool:
    if is_object(item):
        return not item.keys() & _PLACES and (_has_text(item) or isinstance(item.get("code"), str))
    return isinstance(item, str) and bool(item)


def _errors_key(payload: dict[str, Any], call: _Call) -> str | None:
    for key in ("errors", "errorMessages", "error_messages"):
        errors = payload.get(key)
        items = [errors] if isinstance(errors, str) else errors
        if is_object(errors):  # by field
            items = [item for value in errors.values() for item in (value if is_array(value) else [value])]
        if is_array(items) and items and not _is_record(payload, call):
            return key if all(map(_is_item, items)) else None
    return None


def _status_number(payload: dict[str, Any], call: _Call) -> str | None:
    for key in _STATUS_KEYS:
        status = payload.get(key)
        if isinstance(status, str) and status.isdecimal() and len(status) == 3:
            status = int(status)
        is_bad = isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599
        if is_bad and str(status) not in call.values and _has_text(payload) and not _is_record(payload, call):
            return key
    return None


def _code_key(payload: dict[str, Any], call: _Call) -> str | None:
    """Return the key of a code or a category that stands beside a text and nothing else."""
    if not _has_text(payload) or _is_record(payload, call) or _has_sent_code(payload, call):
        return None
    for key in (
        "__type",
        "errorCategory",
        "error_category",
        "errorCode",
        "error_code",
        "errorType",
        "error_type",
        "code",
    ):
        code = payload.get(key)
        if isinstance(code, str) and 2 < len(code) <= 80 and " " not in code:
            is_known = type_of(code) is not None or code in ERRNO_NAMES
            is_named = key != "code" or is_known or payload.keys() & {"hint", "details", "object"}
            return key if is_named else None
    return None


def _only_detail(payload: dict[str, Any], call: _Call) -> str | None:
    """Return the key of a sentence that says what went wrong and stands alone, as frameworks for APIs send it."""
    detail = payload.get("detail")
    if len(payload) > 1 or not isinstance(detail, str) or len(detail) > _LONGEST_SENTENCE:
        return None
    found = _worded(detail, call.context)
    return "detail" if found is not None and found.confidence >= _SURE and not _CONFIRMS.search(detail) else None


def _dialect_shape(payload: dict[str, Any], call: _Call) -> str | None:
    for module in (_envelope, _flat, _compact):
        if module.from_payload(payload) is None:
            continue
        is_exact = module.from_payload(payload, exact=True) is not None
        if is_exact or call.role is Role.UNKNOWN or not _is_record(payload, call):
            return next(iter(payload))
    return "adcp_error" if is_object(payload.get("adcp_error")) else None


_Check = Callable[[dict[str, Any], _Call], str | None]
ENVELOPES: tuple[tuple[str, _Check], ...] = (
    ("a key that says that it did not succeed", _says_no),
    ("a status that says so", _bad_status),
    ("an error and nothing else", _error_key),
    ("errors and nothing else", _errors_key),
    ("an HTTP status and a text", _status_number),
    ("an error code and a text", _code_key),
    ("a detail and nothing else", _only_detail),
    ("the shape of a dialect", _dialect_shape),
)
"""How an object says of itself that it is an error, in the order in which they are tried."""


def _by_exit_key(payload: dict[str, Any], call: _Call) -> Sign | None:
    for key in _EXIT_KEYS:
        code = payload.get(key)
        if isinstance(code, int) and not isinstance(code, bool):
            complaint = payload.get("stderr") or payload.get("error") or payload.get("output") or ""
            if code == 0:
                return None
            if isinstance(complaint, str) and complaint.strip() and not str(payload.get("stdout") or "").strip():
                return _exited(code, complaint.strip()[:_LONGEST], f"{key}: {code}", call)
            return None
    return _NO_EXIT


def _in_items(items: list[Any], call: _Call) -> Sign | None:
    """Return why a list of results is an error: every item of it says that it failed."""
    if not items or len(items) > _MOST_ITEMS or call.role is not Role.ACTION:
        return None
    for item in items:
        if not is_object(item) or not _item_failed(item):
            return None
    return Sign("every item says that it failed", next(iter(items[0])))


def _item_failed(item: dict[str, Any]) -> bool:
    status = item.get("status", item.get("result"))
    is_bad = isinstance(status, str) and status.lower() in BAD_STATUS
    return bool(is_bad or item.get("success") is False or item.get("ok") is False) and _has_text(item)


_MOST_VALUES = 60


def _texts_in(payload: Any) -> Iterator[str]:
    waiting = [payload]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if is_object(value):
            waiting += value.values()
        elif is_array(value):
            waiting += value
        elif isinstance(value, str) and value.strip():
            yield value


def _by_only_text(payload: dict[str, Any], call: _Call) -> Sign | None:
    """Return why the only text in an object is an error: it speaks of what the tool does."""
    found = list(_texts_in(payload))
    if len(found) != 1 or not (strong := _STRONG.match(found[0])):
        return None
    own = call.operation(strong[0])
    return Sign("the only text speaks of what the tool does", own) if own else None
