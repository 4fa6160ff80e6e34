"""How JSON Schema validators and decoders of other languages word a problem, mostly without saying where it is."""

import re
from collections.abc import Callable
from typing import Any

from failwell import paths
from failwell.failure import FieldProblem
from failwell.reader.text.context import Context
from failwell.reader.text.problems import problem

_NAMED = re.compile(r"[\"'`]([^\"'`\n]{1,80})[\"'`] is a (?:required property|dependency of)")
_UNEXPECTED = re.compile(r"roperties are not allowed \(([^\n]{1,400}?) (?:was|were) unexpected\)")
# What follows the value that the library complains of, and the kind of problem it is.
_AFTER_VALUE: tuple[tuple[str, str], ...] = (
    (" is not of type '", "type"),
    (" is not one of [", "enum"),
    (" was expected", "const"),
    (" is less than the minimum of", "range"),
    (" is greater than the maximum of", "range"),
    (" is less than or equal to the minimum of", "range"),
    (" is greater than or equal to the maximum of", "range"),
    (" is not a multiple of", "range"),
    (" is too short", "length"),
    (" is too long", "length"),
    (" should be non-empty", "length"),
    (" is expected to be empty", "length"),
    (" does not have enough properties", "length"),
    (" has too many properties", "length"),
    (" has non-unique elements", "unique"),
    (" does not match '", "pattern"),
    (" is not a '", "format"),
    (" is not valid under any of the given schemas", "union"),
    (" is valid under each of ", "union"),
)
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]{1,80})[\"'`]")


def _jsonschema(text: str, context: Context) -> list[FieldProblem] | None:
    if match := _NAMED.search(text):
        return [_named(match[1], "missing", match[0], context)]
    if match := _UNEXPECTED.search(text):
        return [_named(name, "unknown", match[0], context) for name in _QUOTED.findall(match[1])[:20]]
    for words, kind in _AFTER_VALUE:
        at = text.find(words)
        if at > 0:
            return _valued(text[:at].rpartition("\n")[2], kind, text[: at + 200], context)
    return None


def _named(name: str, kind: str, said: str, context: Context) -> FieldProblem:
    """Return the problem of a key that is named without its place; the schema knows where it is missing."""
    if name in context.properties and name not in context.arguments:
        return problem(context, [name], said, kind)
    for known in context.problems:
        if known.kind == kind and paths.last_key(known.path) == name:
            return known
    return problem(context, [name], said, kind)


def _valued(before: str, kind: str, said: str, context: Context) -> list[FieldProblem] | None:
    """Return the problem of the value that *before* ends in, found among what was sent; None if it is not there."""
    equal = [name for name, value in context.arguments.items() if _ends_in(before, value)]
    if len(equal) == 1 and equal[0] in context.properties and not any(map(_is_nested, context.arguments.values())):
        return [problem(context, [equal[0]], said, kind)]
    wrong = [known for known in context.problems if known.kind == kind]
    exact = [known for known in wrong if _ends_in(before, known.sent)]
    if exact or len(wrong) == 1:
        return exact[:1] or wrong
    sent = [([name], value) for name, value in context.arguments.items()]
    places = [keys for keys, value in (*sent, *context.values) if _ends_in(before, value)]
    if places:
        return [problem(context, list(places[0]), said, kind)]
    return list(context.problems[:1]) if len(context.problems) == 1 else [] if not context.is_known else None


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _ends_in(before: str, value: Any) -> bool:
    try:
        return before.endswith(repr(value)[-300:])
    except Exception:  # whatever was sent may refuse to be printed
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
_THING = r"(?:argument|parameter|field|propert(?:y|ie)|param|key|input)(?:\(s\)|s)?"
_NAMES = r"([\"'`]?[\w.-]{1,80}[\"'`]?(?:,? and [\"'`][\w.-]{1,80}[\"'`]|, ?[\"'`]?[\w.-]{1,80}[\"'`]?){0,10})"
_ITEM = r"(?:^|[\s,;])[\"'`]?([A-Za-z_][\w.\[\]-]{0,80})[\"'`]?: "
_words = _rows(
    (rf"(?i)missing (?:the )?(?:required |mandatory )?{_THING}:? +(?:is |are )?{_NAMES}", "missing"),
    (rf"(?i)missing required:? +(?!{_THING}\b){_NAMES}", "missing"),
    (rf"(?i)required {_THING}:? [\"'`]?([\w.-]{{1,80}})[\"'`]?(?= |$|\.|,)", "missing"),
    (r"[\"'`]([\w.-]{1,80})[\"'`] (?:parameter |argument |field )?(?:is|are) (?:a )?required", "missing"),
    (rf"(?:unexpected|unknown|unrecognized|extra) {_THING}:? [\"'`]([\w.-]{{1,80}})[\"'`]", "unknown"),
    (_ITEM + r"(?:is |field |value )?(?:required|missing)", "missing"),
    (_ITEM + r"(?:is an )?(?:unknown|unexpected|unrecognized|extra)", "unknown"),
    only_known=True,
)

FAMILIES: tuple[Any, ...] = (
    (
        "jsonschema",
        (" is a required property", " is a dependency of", " are not allowed (", *(words for words, _ in _AFTER_VALUE)),
        _jsonschema,
        "Python's jsonschema, which the low-level MCP SDK quotes without a path.",
    ),
    ("ajv", ("must ", "should "), _ajv, "ajv and its kin in JavaScript.", False),
    ("Go", ("missing ", "unexpected additional", "/properties/", "not of type", "unmarshal"), _go,
     "Go's MCP SDK and JSON."),
    ("serde", ("`", "expected"), _rust, "serde, in servers written in Rust."),
    ("Python call", ("argument",), _python, "Calls of Python functions with arguments that do not fit."),
    ("Java and .NET", ("required p", "converted to", "Unrecognized field", "deserialize"), _java,
     "Jackson, Spring, .NET."),
    ("words", ("issing", "required", "unexpected", "unknown", "unrecognized", "extra"), _words,
     "Hand-written checks that name a parameter.", False),
)  # fmt: skip
"""Rows of `validators.Family`."""
