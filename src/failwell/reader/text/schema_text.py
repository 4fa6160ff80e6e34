"""How JSON Schema validators and decoders of other languages word a problem, mostly without saying where it is."""

import re
from collections.abc import Callable
from typing import Any

from failwell import paths
from failwell.failure import FieldProblem
from failwell.reader.text.context import Context
from failwell.reader.text.problems import problem

_VALUE = r"(?P<value>'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|[^\s:,'\"][^\n]{0,200}?)"
_NAME = r"[\"'`](?P<name>[^\"'`\n]{1,80})[\"'`]"

# What the library says, and the kind of problem it is. `value` is the repr of what was sent, `name` a key's name.
_JSONSCHEMA: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"{_NAME} is a required property"), "missing"),
    (re.compile(rf"{_NAME} is a dependency of"), "missing"),
    (re.compile(r"Additional properties are not allowed \((?P<names>[^\n]{1,400}?) (?:was|were) unexpected\)"), "unknown"),
    (re.compile(r"Unevaluated properties are not allowed \((?P<names>[^\n]{1,400}?) (?:was|were) unexpected\)"), "unknown"),
    (re.compile(rf"{_NAME} do(?:es)? not match any of the regexes"), "unknown"),
    (re.compile(rf"{_VALUE} is not of type '"), "type"),
    (re.compile(rf"{_VALUE} is not one of \["), "enum"),
    (re.compile(rf"(?:^|: ){_VALUE} was expected"), "const"),
    (re.compile(rf"{_VALUE} is (?:less|greater) than (?:or equal to )?the (?:minimum|maximum) of"), "range"),
    (re.compile(rf"{_VALUE} is not a multiple of"), "range"),
    (re.compile(rf"{_VALUE} (?:is|are) too (?:short|long)"), "length"),
    (re.compile(rf"{_VALUE} should be non-empty"), "length"),
    (re.compile(rf"{_VALUE} is expected to be empty"), "length"),
    (re.compile(rf"{_VALUE} does not have enough properties|{_VALUE.replace('value', 'other')} has too many properties"), "length"),
    (re.compile(rf"{_VALUE} has non-unique elements"), "unique"),
    (re.compile(rf"{_VALUE} does not match '"), "pattern"),
    (re.compile(rf"{_VALUE} is not a '[\w-]{{1,30}}'"), "format"),
    (re.compile(rf"{_VALUE} is (?:not valid under any|valid under each) of the given schemas"), "union"),
)  # fmt: skip
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]{1,80})[\"'`]")


def _jsonschema(text: str, context: Context) -> list[FieldProblem] | None:
    for pattern, kind in _JSONSCHEMA:
        match = pattern.search(text)
        if match is None:
            continue
        parts = match.groupdict()
        if parts.get("name"):
            return [_named(parts["name"], kind, match[0], context)]
        if parts.get("names"):
            return [_named(name, kind, match[0], context) for name in _QUOTED.findall(parts["names"])]
        return _valued(parts.get("value") or "", kind, match[0], context)
    return None


def _named(name: str, kind: str, said: str, context: Context) -> FieldProblem:
    """Return the problem of a key that is named without its place; the schema knows where it is missing."""
    for known in context.problems:
        if known.kind == kind and paths.last_key(known.path) == name:
            return known
    return problem(context, [name], said, kind)


def _valued(value: str, kind: str, said: str, context: Context) -> list[FieldProblem]:
    """Return the problem of a value that is quoted without its place, found among what was sent."""
    value = value.rpartition(": ")[2] if not value.startswith(("'", '"', "[", "{")) else value
    wrong = [known for known in context.problems if known.kind == kind]
    exact = [known for known in wrong if _reads(known.sent, value)]
    if exact or len(wrong) == 1:
        return exact[:1] or wrong
    places = [list(keys) for keys, sent in context.values if _reads(sent, value)]
    places += [[name] for name, sent in context.arguments.items() if _reads(sent, value) and [name] not in places]
    if not places and len(context.problems) == 1:
        return list(context.problems)
    return [problem(context, keys, said, kind) for keys in places[:1]]


def _reads(sent: Any, value: str) -> bool:
    try:
        return repr(sent)[:400] == value or (isinstance(sent, str) and sent == value.strip("\"'"))
    except Exception:
        return False


def _rows(*rows: tuple[str, str], only_known: bool = False) -> Callable[[str, Context], list[FieldProblem] | None]:
    """Return a parser that takes the names which any of its patterns finds for those of arguments."""
    compiled = [(re.compile(pattern), kind) for pattern, kind in rows]

    def parse(text: str, context: Context) -> list[FieldProblem] | None:
        found: list[FieldProblem] = []
        matched = False
        for pattern, kind in compiled:
            for match in pattern.finditer(text):
                matched = True
                given = next((part for part in match.groups() if part), "")
                names = _QUOTED.findall(given) or [name for name in re.split(r"[\s,]+(?:and\s+)?", given) if name]
                for name in names[:20]:
                    if only_known and context.properties and name not in context.names:
                        continue
                    keys: list[str | int] = [*re.split(r"[/.]", name.strip("/.$").replace("properties/", ""))]
                    found.append(problem(context, keys, match[0], kind))
        return found if matched else None

    return parse


_ajv = _rows(
    (r"must have required propert(?:y|ies) ['\"]?([\w.$-]{1,80})", "missing"),
    (r"should have required property ['\"]?\.?([\w.$-]{1,80})", "missing"),
    (r"(?:data|params|arguments|input|body|args|^|[\s,;])[/.]([\w/.-]{1,80}) (?:must|should) be (?:equal|one)", "enum"),
    (r"(?:data|params|arguments|input|body|args|^|[\s,;])[/.]([\w/.-]{1,80}) (?:must|should) ", "type"),
    (r"must NOT have additional propert(?:y|ies)(?:: |, )?['\"]?([\w.$-]{0,80})", "unknown"),
)
_go = _rows(
    (r"missing properties: \[([^\]\n]{1,200})\]", "missing"),
    (r"unexpected additional properties \[([^\]\n]{1,200})\]", "unknown"),
    (r"validating /properties/([\w/-]{1,80}): type:", "type"),
    (r"validating /properties/([\w/-]{1,80}): enum:", "enum"),
    (r"validating /properties/([\w/-]{1,80}):", "other"),
    (r"missing required parameters?: ([\w., -]{1,200})", "missing"),
    (r"parameter ([\w.-]{1,80}) is not of type", "type"),
    (r"cannot unmarshal [^\n]{1,60} into Go (?:struct field|value) [\w.]{0,80}?\.?(\w{1,80}) of type", "type"),
)
_rust = _rows(
    (r"missing field `([^`\n]{1,80})`", "missing"),
    (r"unknown field `([^`\n]{1,80})`", "unknown"),
    (r"unknown variant `[^`\n]{1,80}`(), expected", "enum"),
    (r"invalid (?:type|value|length): [^\n]{1,120}, expected ()", "type"),
)
_python = _rows(
    (r"missing \d{1,3} required (?:positional|keyword-only) arguments?: ([^\n]{1,200})", "missing"),
    (r"(?:got an )?unexpected keyword argument '([^'\n]{1,80})'", "unknown"),
    (r"missing a required argument: '([^'\n]{1,80})'", "missing"),
)
_java = _rows(
    (r"missing a value for the required parameter '([^'\n]{1,80})'", "missing"),
    (r"could not be converted to [\w.`\[\]]{1,80}\. Path: \$\.?([\w.\[\]]{1,80})", "type"),
    (r"Unrecognized field \"([^\"\n]{1,80})\"", "unknown"),
    (r"Required request (?:parameter|body field) '([^'\n]{1,80})'", "missing"),
    (r"Cannot deserialize value of type [^\n]{1,120}()", "type"),
)
_words = _rows(
    (r"(?i)missing (?:the )?(?:required |mandatory )?(?:argument|parameter|field|propert(?:y|ie)|param|key|input)(?:\(s\)|s)?:? +(?:is |are )?[\"'`]?([\w.-]{1,80}(?:[\"'`]?, ?[\"'`]?[\w.-]{1,80}){0,10})", "missing"),
    (r"(?i)missing required:? +[\"'`]?([\w.-]{1,80}(?:[\"'`]?, ?[\"'`]?[\w.-]{1,80}){0,10})", "missing"),
    (r"(?i)required (?:argument|parameter|field|property|param|key|input)(?:\(s\)|s)?:? [\"'`]?([\w.-]{1,80})[\"'`]?(?= |$|\.|,| is| was| not| missing)", "missing"),
    (r"[\"'`]([\w.-]{1,80})[\"'`] (?:parameter |argument |field )?(?:is|are) (?:a )?required", "missing"),
    (r"(?:unexpected|unknown|unrecognized|extra) (?:argument|parameter|field|property|key|option)s?:? [\"'`]([\w.-]{1,80})[\"'`]", "unknown"),
    only_known=True,
)  # fmt: skip

FAMILIES: tuple[tuple[str, tuple[str, ...], Callable[[str, Context], list[FieldProblem] | None], str], ...] = (
    (
        "jsonschema",
        ("required property", "a dependency of", "are not allowed (", "is not ", "was expected", "than the m", "than or equal",
         "too short", "too long", "non-empty", "to be empty", "properties", "non-unique", "does not match", "schemas"),
        _jsonschema,
        "Python's jsonschema, which the low-level MCP SDK quotes without a path.",
    ),
    ("ajv", ("must ", "should "), _ajv, "ajv and its kin in JavaScript."),
    ("Go", ("missing ", "unexpected additional", "/properties/", "not of type", "unmarshal"), _go, "Go's MCP SDK and JSON."),
    ("serde", ("`", "expected"), _rust, "serde, in servers written in Rust."),
    ("Python call", ("argument",), _python, "Calls of Python functions with arguments that do not fit."),
    ("Java and .NET", ("required p", "converted to", "Unrecognized field", "deserialize"), _java, "Jackson, Spring, .NET."),
    ("words", ("issing", "required", "unexpected", "unknown", "unrecognized", "extra"), _words,
     "Hand-written checks that name a parameter."),
)  # fmt: skip
"""Name, texts one of which must be there, parser, evidence."""
