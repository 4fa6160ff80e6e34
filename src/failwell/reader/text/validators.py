"""How validators word what is wrong with arguments: one row per library, each read into field problems."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from failwell.failure import FieldProblem
from failwell.json_types import is_array, is_object
from failwell.reader.text import schema_text
from failwell.reader.text.context import Context
from failwell.reader.text.problems import kind_of, problem

_MOST_LINES = 200
_MOST_ISSUES = 50
_DECODER = json.JSONDecoder()

Parser = Callable[[str, Context], list[FieldProblem] | None]


class Family(NamedTuple):
    """A library: what its text holds for certain, how it is read, and where the wording comes from."""

    name: str
    gates: tuple[str, ...]
    parse: Parser
    evidence: str
    is_certain: bool = True


_PYDANTIC_HEAD = re.compile(r"\d{1,6} validation errors? for ")
_PYDANTIC_KIND = re.compile(r"[\[(]type=([\w.]{1,80})")


def _pydantic(text: str, context: Context) -> list[FieldProblem] | None:
    head = _PYDANTIC_HEAD.search(text)
    if head is None:
        return None
    found: list[FieldProblem] = []
    keys: list[str | int] = []
    for line in text[head.end() :].split("\n", _MOST_LINES)[1:]:
        if not line.startswith(" "):
            keys = _keys(line.strip(), " -> " if " -> " in line else ".") if line.strip() else keys
        elif not line.startswith("    ") and keys and len(found) < _MOST_ISSUES:
            said = line.strip()
            kind = _PYDANTIC_KIND.search(said)
            words = said[: kind.start()].strip() if kind else said
            found.append(problem(context, keys, words, kind_of(kind[1] if kind else words)))
            keys = []
    return found


def _keys(path: str, separator: str) -> list[str | int]:
    return [int(key) if key.isdecimal() and len(key) < 6 else key for key in path[:300].split(separator) if key]


def _issues(text: str, context: Context) -> list[FieldProblem] | None:
    """Read a JSON array of issues: zod, ajv, FastAPI, joi."""
    for start in (match.start() for match in re.finditer(r"\[\s{0,20}\{|\{\s{0,20}\"(?:issues|errors|detail)\"", text)):
        try:
            issues, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            return None
        if is_object(issues):
            issues = next((issues[key] for key in ("issues", "errors", "detail") if is_array(issues.get(key))), None)
        return list(issues_of(issues, context)) or None if is_array(issues) else None
    return None


def issues_of(issues: Any, context: Context) -> Iterator[FieldProblem]:
    """Yield a problem for each issue in a parsed array, whichever library wrote it."""
    for issue in issues[:_MOST_ISSUES]:
        if not is_object(issue):
            continue
        message = next((issue[key] for key in ("message", "msg") if isinstance(issue.get(key), str)), None)
        path = next((issue[key] for key in ("path", "loc", "instancePath", "dataPath") if key in issue), None)
        if message is None or path is None:
            continue
        keys = _issue_keys(path)
        params = issue.get("params")
        names = issue.get("keys") or issue.get("unrecognizedKeys")
        if is_object(params):  # ajv names the key beside the path of the object
            names = [
                params[key] for key in ("missingProperty", "additionalProperty") if isinstance(params.get(key), str)
            ]
        kind = kind_of(f"{issue.get('code') or issue.get('keyword') or issue.get('type') or ''} {message}")
        for name in names if is_array(names) and names else [None]:
            yield problem(context, [*keys, name] if isinstance(name, str) else keys, message, kind)


def _issue_keys(path: Any) -> list[str | int]:
    if isinstance(path, str):
        return _keys(path.strip("/").replace("/", "."), ".")
    keys = [key for key in path if isinstance(key, str | int)] if is_array(path) else []
    return keys[1:] if keys[:1] in (["body"], ["query"], ["path"], ["header"]) and len(keys) > 1 else keys


_ZOD_SAYS = (
    r"Required|Invalid [^\n,;]{1,200}|Expected [^\n;]{1,200}|Unrecognized key[^\n]{1,200}"
    r"|Too (?:small|big)[^\n,;]{1,200}|String must [^\n,;]{1,100}|Number must [^\n,;]{1,100}|Array must [^\n,;]{1,100}"
)
_ZOD_PAIR = re.compile(rf"(?:^|[\s,;.•*-])[\"'`]?([A-Za-z_$][\w$.\[\]-]{{0,80}})[\"'`]?: (?=({_ZOD_SAYS}))")
_QUOTED = re.compile(r"[\"']([^\"'\n]{1,80})[\"']")
_ZOD_AT = re.compile(r"(?:^|[:;\n] ?)([^\n\";:]{1,120}) at \"([\w$.\[\]-]{1,80})\"")
_ZOD_LINE = re.compile(
    r"(?:^|[\n:] ?)((?:Invalid|Expected|Required|Too|Unrecognized|String|Number|Array|Must)\b[^\n]{0,200}?)"
    r" at ([A-Za-z_$][\w$.\[\]-]{0,80})(?=\n|$)"
)
_ZOD_ARROW = re.compile(r"✖ ([^\n]{1,300})\n\s{0,8}→ at ([\w$.\[\]-]{1,80})")
_ZOD_KEYS = re.compile(r"Unrecognized keys?(?:\(s\) in object)?:? ((?:[\"'][^\"'\n]{1,80}[\"'](?:, )?){1,20})")
_RECEIVED = re.compile(
    r"[Ee]xpected [\w|\" ]{1,60}, received "
    r"(?:string|number|undefined|null|object|array|boolean|nan|NaN|integer|date|function)\b"
)


# Where a sentence names its place: what must be in the text, the pattern, and which groups hold sentence and place.
_ZOD_FORMS: tuple[tuple[str, re.Pattern[str], int, int], ...] = (
    ("→ at ", _ZOD_ARROW, 1, 2),
    (' at "', _ZOD_AT, 1, 2),
    (" at ", _ZOD_LINE, 1, 2),
    (": ", _ZOD_PAIR, 2, 1),
)


def _zod_words(text: str, context: Context) -> list[FieldProblem] | None:
    found: list[FieldProblem] = []
    for gate, pattern, sentence, place in _ZOD_FORMS:
        if gate in text and not found:
            found = [
                problem(context, _keys(_dotted(match[place]), "."), match[sentence], kind_of(match[sentence]))
                for match in pattern.finditer(text)
                if not context.names or _dotted(match[place]).split(".")[0] in context.names
            ]
    if "Unrecognized key" in text:
        for match in _ZOD_KEYS.finditer(text):
            names = _QUOTED.findall(match[1])
            found += [problem(context, [name], match[0], "unknown") for name in names]
    if found:
        return found[:_MOST_ISSUES]
    return [] if "Invalid arguments for tool" in text or _RECEIVED.search(text) else None


def _dotted(path: str) -> str:
    return path.replace("[", ".").replace("]", "").strip(".")


FAMILIES: tuple[Family, ...] = (
    Family("pydantic", ("validation error",), _pydantic, "Text of pydantic 1 and 2: a place, a sentence and a type."),
    Family(
        "issues", ('"message"', '"msg"'), _issues, "JSON arrays of zod, ajv and FastAPI: a path and a sentence each."
    ),
    Family(
        "zod",
        (
            "Invalid arguments for tool",
            " received ",
            "Required",
            "Unrecognized key",
            "Invalid input",
            "Invalid option",
            "Too small",
            "Too big",
            "✖ ",
            "arameter validation failed",
        ),
        _zod_words,
        "Sentences of zod 3 and 4, as TypeScript SDKs and frameworks join them.",
    ),
    *(Family(*row) for row in schema_text.FAMILIES),
)
"""Every library whose text is read, tried in this order."""
