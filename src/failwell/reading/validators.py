"""Messages of validators: one row per library, each parsed into field problems."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from failwell._json import is_array, is_object, parse_json_at
from failwell._lazy import lazy_pattern
from failwell._spelling import closest, normalised
from failwell.codes import Outcome
from failwell.failure import FieldProblem, last_key
from failwell.phrases.openings import ERROR_NAMES
from failwell.reading.context import Context, Finding
from failwell.redact.scrubber import clean
from failwell.schema.tree import SchemaTree
from failwell.schema.words import options_of, schema_in_words

_LONGEST_SENTENCE = 300
_MOST_OPTIONS = 10
_MOST_LINES = 200
_MOST_ISSUES = 50

Parser = Callable[[str, Context], list[FieldProblem] | None]


class Family(NamedTuple):
    """A library: what its text holds for certain, how it is read, and where the wording comes from."""

    name: str
    gates: tuple[str, ...]
    parse: Parser
    evidence: str
    is_certain: bool = True


# A word in an error's type or sentence, and the kind of problem it stands for; the first that is there counts.
_KINDS: tuple[tuple[str, str], ...] = (
    ("missing", "missing"),
    ("received undefined", "missing"),
    ("must not be null", "missing"),
    ("unexpected_keyword", "unknown"),
    ("extra_forbidden", "unknown"),
    ("value_error.extra", "unknown"),
    ("unrecognized", "unknown"),
    ("additional", "unknown"),
    ("unknown field", "unknown"),
    ("unexpected", "unknown"),
    ("literal", "enum"),
    ("enum", "enum"),
    ("invalid option", "enum"),
    ("invalid_value", "enum"),
    ("invalid_union_discriminator", "enum"),
    ("one of", "enum"),
    ("allowed values", "enum"),
    ("greater_than", "range"),
    ("less_than", "range"),
    ("minimum", "range"),
    ("maximum", "range"),
    ("multiple", "range"),
    ("number must be", "range"),
    (">=", "range"),
    ("<=", "range"),
    ("too_long", "length"),
    ("too_short", "length"),
    ("minlength", "length"),
    ("maxlength", "length"),
    ("minitems", "length"),
    ("maxitems", "length"),
    ("at least", "length"),
    ("at most", "length"),
    ("too_small", "range"),
    ("too_big", "range"),
    ("too small", "range"),
    ("too big", "range"),
    ("too short", "length"),
    ("too long", "length"),
    ("pattern", "pattern"),
    ("does not match", "pattern"),
    ("invalid_type", "type"),
    ("parsing", "type"),
    ("_type", "type"),
    ("type_error", "type"),
    ("expected", "type"),
    ("of type", "type"),
    ("must be", "type"),
    ("should be", "type"),
    ("format", "format"),
    ("url", "format"),
    ("date", "format"),
    ("required", "missing"),
)


def kind_of(sentence: str) -> str | None:
    """Return the kind of problem that an error's type or sentence stands for; None if it tells nothing."""
    low = sentence[:400].lower()
    return next((kind for word, kind in _KINDS if word in low), None)


def problem(
    context: Context, keys: list[str | int], sentence: str, kind: str | None = None, **more: Any
) -> FieldProblem:
    """Return the problem of the argument that *keys* lead to, in the words of a server."""
    is_safe = len(sentence) <= _LONGEST_SENTENCE and sentence in context.safe_text
    message = (sentence if is_safe else clean(sentence, _LONGEST_SENTENCE)).strip()
    return context.problem(keys, message, kind, **more)


def add_schema_facts(found: FieldProblem, context: Context) -> FieldProblem:
    """Return a problem with what the schema adds to it: the options, what was expected, what was meant."""
    if found.path in context.properties:
        tree = SchemaTree(context.schema)
        part = context.properties[found.path]
        options = options_of(part, tree)
        texts = [option for option in options if isinstance(option, str)]
        meant = closest(found.sent, texts, most=1) if texts and isinstance(found.sent, str) else ()
        return replace(
            found,
            options=options[:_MOST_OPTIONS],
            expected=None if options else schema_in_words(part, tree),
            required=found.path in context.required,
            did_you_mean=meant[0] if meant else None,
        )
    known = next((known for known in context.problems if known.path == found.path), None)
    if known is None:
        return found
    changes = {name: getattr(known, name) for name in ("expected", "options", "did_you_mean", "required", "kind")}
    return replace(found, **changes)


_NAMED = lazy_pattern(r"[\"'`]([^\"'`\n]{1,80})[\"'`] is a (?:required property|dependency of)")
_UNEXPECTED = lazy_pattern(r"roperties are not allowed \(([^\n]{1,400}?) (?:was|were) unexpected\)")
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
_QUOTED_NAME = lazy_pattern(r"[\"'`]([^\"'`\n]{1,80})[\"'`]")


def _jsonschema(text: str, context: Context) -> list[FieldProblem] | None:
    if match := _NAMED.search(text):
        return [_by_name(match[1], "missing", match[0], context)]
    if match := _UNEXPECTED.search(text):
        return [_by_name(name, "unknown", match[0], context) for name in _QUOTED_NAME.findall(match[1])[:20]]
    for words, kind in _AFTER_VALUE:
        at = text.find(words)
        if at > 0:
            return _by_value(text[:at].rpartition("\n")[2], kind, text[: at + 200], context)
    return None


def _by_name(name: str, kind: str, sentence: str, context: Context) -> FieldProblem:
    """Return the problem of a key that is named without its place; the schema knows where it is missing."""
    if name in context.properties and name not in context.arguments:
        return problem(context, [name], sentence, kind)
    for known in context.problems:
        if known.kind == kind and last_key(known.path) == name:
            return known
    return problem(context, [name], sentence, kind)


def _by_value(before: str, kind: str, sentence: str, context: Context) -> list[FieldProblem] | None:
    """Return the problem of the value that *before* ends in, found among what was sent; None if it is not there."""
    equal = [name for name, value in context.arguments.items() if _ends_in(before, value)]
    if len(equal) == 1 and equal[0] in context.properties and not any(map(_is_nested, context.arguments.values())):
        return [problem(context, [equal[0]], sentence, kind)]
    wrong = [known for known in context.problems if known.kind == kind]
    exact = [known for known in wrong if _ends_in(before, known.sent)]
    if exact or len(wrong) == 1:
        return exact[:1] or wrong
    sent = [([name], value) for name, value in context.arguments.items()]
    places = [keys for keys, value in (*sent, *context.values) if _ends_in(before, value)]
    if places:
        return [problem(context, list(places[0]), sentence, kind)]
    return list(context.problems[:1]) if len(context.problems) == 1 else [] if not context.is_known else None


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _ends_in(before: str, value: Any) -> bool:
    try:
        return before.endswith(repr(value)[-300:])
    except Exception:  # whatever was sent may refuse to be printed
        return False


def _rows(*rows: tuple[str, ...]) -> Callable[[str, Context], list[FieldProblem] | None]:
    """Return a parser that takes the names which any of its patterns finds for those of arguments.

    A row has a pattern, the kind of problem, and for a pattern that begins with no fixed words, what a text in lower
    case must hold one of before that is tried. A name that the schema does not know is another one's, such as that of a
    function inside the tool.
    """
    compiled = [(lazy_pattern(pattern), kind, signs) for pattern, kind, *signs in rows]

    def parse(text: str, context: Context) -> list[FieldProblem] | None:
        found: list[FieldProblem] = []
        matched = is_foreign = False
        low = text.lower()
        for pattern, kind, signs in compiled:
            if signs and not any(map(low.__contains__, signs)):
                continue
            for match in pattern.finditer(text):
                matched = True
                given = next((part for part in match.groups() if part), "")
                names = _QUOTED_NAME.findall(given) or [name for name in re.split(r"[\s,]+(?:and\s+)?", given) if name]
                for name in names[:20]:
                    keys: list[str | int] = [*re.split(r"[/.]", name.strip("/.$").replace("properties/", ""))]
                    if context.properties and context.keys.isdisjoint(map(str, keys)):
                        is_foreign = True
                    else:
                        found.append(problem(context, keys, match[0], kind))
        return found if matched and (found or not is_foreign) else None

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
_DECODED = ("cannot unmarshal ", "could not be converted to ")
_OF_INPUT = lazy_pattern(r"\b(?:arguments?|args|parameters?|params|inputs?|request body)\b", re.IGNORECASE)


def _is_of_answer(text: str, context: Context) -> bool:
    """Tell whether a decoder may as well speak of what a service answered: nothing says that it speaks of arguments."""
    if context.properties or context.is_known or not any(map(text.__contains__, _DECODED)):
        return False
    return _OF_INPUT.search(text) is None


def _of_arguments(parse: Parser) -> Parser:
    def parse_arguments(text: str, context: Context) -> list[FieldProblem] | None:
        found = None if _is_of_answer(text, context) else parse(text, context)
        if found and context.is_known and any(map(text.__contains__, _DECODED)):
            # A field that nobody sent, and nobody could, is one of an answer.
            found = [problem for problem in found if last_key(problem.path) in context.keys] or None
        return found

    return parse_arguments


# Structs of Go name their fields in their own way: `StartDate` is the argument `start_date`.
_PLAYGROUND = lazy_pattern(r"Error:(Field validation for '([\w.\[\]]{1,80})' failed on the '(\w{1,40})' tag)")
_KIND_OF_TAG = {
    "required": "missing", "oneof": "enum", "len": "length", "min": "range", "max": "range", "gt": "range",
    "gte": "range", "lt": "range", "lte": "range",
}  # fmt: skip


def _go_tags(text: str, context: Context) -> list[FieldProblem] | None:
    """Read what the validator of Go's structs says: it names a tag for each field that breaks it."""
    found: list[FieldProblem] = []
    is_foreign = False
    for match in _PLAYGROUND.finditer(text):
        name = own_name(match[2], context)
        if name is None:
            is_foreign = bool(context.names)
        else:
            found.append(problem(context, [name], match[1], _KIND_OF_TAG.get(match[3], "format")))
    return found[:_MOST_ISSUES] or (None if is_foreign else [])


def own_name(name: str, context: Context) -> str | None:
    """Return the argument that a name is of, in whatever spelling; None if there is none, or several."""
    if name in context.names:
        return name
    plain = normalised(name)
    alike = [own for own in context.names if normalised(own) == plain]
    return alike[0] if len(alike) == 1 else None


_serde = _rows(
    (r"missing field `([^`\n]{1,80})`", "missing"),
    (r"unknown field `([^`\n]{1,80})`", "unknown"),
    (r"unknown variant `[^`\n]{1,80}`(), expected", "enum"),
    (r"invalid (?:type|value|length): [^\n]{1,120}, expected ()", "type"),
)
_PLACE = lazy_pattern(r" at line \d{1,9} column \d{1,9}")


_SERDE_VALUE = lazy_pattern(
    r"(?:unknown (variant) |invalid (?:type|value): (?:string|integer|floating point|boolean|character) )"
    r"(?:`([^`\n]{1,80})`|\"([^\"\n]{1,80})\"), expected "
)


def _rust(text: str, context: Context) -> list[FieldProblem] | None:
    """Read what serde has against arguments.

    With a line and a column it speaks of a text that was decoded: of the arguments, if it quotes one.
    """
    if (match := _SERDE_VALUE.search(text)) is not None:
        holders = [keys for keys, value in context.values if _shown(value) == (match[2] or match[3])]
        if len(holders) == 1:
            return [problem(context, list(holders[0]), match[0], "enum" if match[1] else "type")]
    return None if " at line " in text and _PLACE.search(text) else _serde(text, context)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
    (r"\(through reference chain: [^\n]{0,300}?\[\"([\w-]{1,80})\"\]\)", "type"),
    (r"Cannot deserialize value of type [^\n]{1,120}()", "type"),
)
_THING = r"(?:argument|parameter|field|propert(?:y|ie)|param|key|input)(?:\(s\)|s)?"
# A last name without quotes ends its sentence: of "missing argument: name and try again", `try` is none.
_NAMES = (
    r"([\"'`]?[\w.-]{1,80}[\"'`]?(?:,? and [\"'`][\w.-]{1,80}[\"'`]|,? and [\w.-]{1,80}(?=[;,)\"'\n]|$)"
    r"|, ?[\"'`]?[\w.-]{1,80}[\"'`]?){0,10})"
)
# What stands before a colon is a field, unless it is the name of an error.
_ERROR_NAME = r"(?!(?:Unauthori[sz]ed|Forbidden|BadRequest|error|Failed|\w{0,80}(?:Error|Exception))[\"'`]?: )"
_ITEM = rf"(?:^|[\s,;])[\"'`]?{_ERROR_NAME}([A-Za-z_][\w.\[\]-]{{0,80}})[\"'`]?: "
_words = _rows(
    (rf"(?i)missing (?:the )?(?:required |mandatory )?{_THING}:? +(?:is |are )?{_NAMES}", "missing", "missing "),
    (rf"(?i)missing required:? +(?!{_THING}\b){_NAMES}", "missing", "missing required"),
    (rf"(?i)required {_THING}:? [\"'`]?([\w.-]{{1,80}})[\"'`]?(?= |$|\.|,)", "missing", "required "),
    (r"[\"'`]([\w.-]{1,80})[\"'`] (?:parameter |argument |field )?(?:is|are) (?:a )?required", "missing", " required"),
    (
        rf"(?:unexpected|unknown|unrecognized|extra) {_THING}:? [\"'`]([\w.-]{{1,80}})[\"'`]",
        "unknown", "unexpected ", "unknown ", "unrecognized ", "extra ",
    ),
    (
        _ITEM + r"(?:is |field |value )?(?:required|missing)",
        "missing", ": required", ": missing", ": is ", ": field ", ": value ",
    ),
    (
        _ITEM + r"(?:is an )?(?:unknown|unexpected|unrecognized|extra)",
        "unknown", ": unknown", ": unexpected", ": unrecognized", ": extra", ": is an ",
    ),
)  # fmt: skip


_PYDANTIC_HEAD = lazy_pattern(r"\d{1,6} validation errors? for ")
_PYDANTIC_KIND = lazy_pattern(r"[\[(]type=([\w.]{1,80})")


_MODEL = lazy_pattern(r"\d{1,6} validation errors? for ([\w.\[\]-]{1,200})\n([^\s][^\n]{0,300})")
_OF_ARGUMENTS = lazy_pattern(r"(?:Arguments|Args|Params|Parameters|Input|Request)$|^call\[")
_OF_RESULTS = lazy_pattern(r"(?:Output|Response|Result|Results|Reply|Answer)$")
_OF_SERVER = lazy_pattern(r"(?:Settings|Config|Configuration|Environment)$")


# The result is the text of an error, or an object that holds one, where a type was declared that allows neither.
_IS_ERROR = lazy_pattern(
    rf"input_value=(?:[\"'](?:{ERROR_NAMES}\b|Unable to |Could(?: not|n't) |Can(?:not|'t| not) "
    r"|\w{1,40}(?:Error|Exception): )"
    r"|\{[\"']errors?[\"']: [^NF])"
)


def about_another_model(text: str, context: Context) -> Finding | None:
    """Return that pydantic refused something else than arguments: the result, an upstream answer, the settings."""
    match = _MODEL.search(text)
    if match is None:
        return None
    name, first = match[1], _keys(match[2].strip(), " -> " if " -> " in match[2] else ".")[:1]
    if _OF_ARGUMENTS.search(name):
        return None
    is_foreign = bool(context.names) and context.keys.isdisjoint(map(str, first)) and "Unexpected" not in text
    if _OF_RESULTS.search(name):
        is_own = context.tool is not None and name in (f"{context.tool}Output", f"{context.tool}DictOutput")
        outcome: Outcome = "executed" if is_own and not _IS_ERROR.search(text) else "unknown"
        return Finding(rule="pydantic text about a result", code="INTERNAL_ERROR", confidence=0.9, outcome=outcome)
    if not is_foreign:
        return None
    code = "CONFIG_ERROR" if _OF_SERVER.search(name) else "BAD_UPSTREAM_RESPONSE"
    return Finding(rule="pydantic text about no argument", code=code, confidence=0.8, retryable=None, outcome="unknown")


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
            sentence = line.strip()
            kind = _PYDANTIC_KIND.search(sentence)
            words = sentence[: kind.start()].strip() if kind else sentence
            found.append(problem(context, keys, words, kind_of(kind[1] if kind else words)))
            keys = []
    return found


def _keys(path: str, separator: str) -> list[str | int]:
    return [int(key) if key.isdecimal() and len(key) < 6 else key for key in path[:300].split(separator) if key]


def _issues(text: str, context: Context) -> list[FieldProblem] | None:
    """Read a JSON array of issues: zod, ajv, FastAPI, joi."""
    for start in (match.start() for match in re.finditer(r"\[\s{0,20}\{|\{\s{0,20}\"(?:issues|errors|detail)\"", text)):
        try:
            issues = parse_json_at(text, start)
        except (ValueError, RecursionError):
            return None
        if is_object(issues):
            issues = next((issues[key] for key in ("issues", "errors", "detail") if is_array(issues.get(key))), None)
        return list(issues_of(issues, context)) or None if is_array(issues) else None
    return None


def issues_of(issues: Any, context: Context) -> Iterator[FieldProblem]:
    """Yield a problem for each issue in a parsed array, whichever library wrote it."""
    for issue in issues[:_MOST_ISSUES]:
        if not is_object(issue) or "locations" in issue or "extensions" in issue:  # an error of GraphQL is no issue
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
_ZOD_PAIR = lazy_pattern(rf"(?:^|[\s,;.•*-])[\"'`]?([A-Za-z_$][\w$.\[\]-]{{0,80}})[\"'`]?: (?=({_ZOD_SAYS}))")
_QUOTED = lazy_pattern(r"[\"']([^\"'\n]{1,80})[\"']")
_ZOD_AT = lazy_pattern(r"(?:^|[:;\n] ?)([^\n\";:]{1,120}) at \"([\w$.\[\]-]{1,80})\"")
_ZOD_LINE = lazy_pattern(
    r"(?:^|[\n:] ?)((?:Invalid|Expected|Required|Too|Unrecognized|String|Number|Array|Must)\b[^\n]{0,200}?)"
    r" at ([A-Za-z_$][\w$.\[\]-]{0,80})(?=\n|$)"
)
_ZOD_BRACKETS = lazy_pattern(
    r"(?:^|[\s,;:])([A-Za-z_$][\w$.\[\]-]{0,80}) \(((?:Required|(?:Invalid|Expected|String|Number) [^()\n]{1,200}))\)"
)
_ZOD_ARROW = lazy_pattern(r"✖ ([^\n]{1,300})\n\s{0,8}→ at ([\w$.\[\]-]{1,80})")
_ZOD_KEYS = lazy_pattern(r"Unrecognized keys?(?:\(s\) in object)?:? ((?:[\"'][^\"'\n]{1,80}[\"'](?:, )?){1,20})")
_RECEIVED = lazy_pattern(
    r"[Ee]xpected [\w|\" ]{1,60}, received "
    r"(?:string|number|undefined|null|object|array|boolean|nan|NaN|integer|date|function)\b"
)


# Where a sentence names its place: what must be in the text, the pattern, and which groups hold sentence and place.
_ZOD_FORMS: tuple[tuple[str, re.Pattern[str], int, int], ...] = (
    ("→ at ", _ZOD_ARROW, 1, 2),
    (' at "', _ZOD_AT, 1, 2),
    (" at ", _ZOD_LINE, 1, 2),
    (": ", _ZOD_PAIR, 2, 1),
    (" (", _ZOD_BRACKETS, 2, 1),
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
    Family(
        "jsonschema",
        (" is a required property", " is a dependency of", " are not allowed (", *(words for words, _ in _AFTER_VALUE)),
        _jsonschema,
        "Python's jsonschema, which the low-level MCP SDK quotes without a path.",
    ),
    Family("ajv", ("must ", "should "), _ajv, "ajv and its kin in JavaScript.", is_certain=False),
    Family(
        "Go",
        ("missing ", "unexpected additional", "/properties/", "not of type", "unmarshal"),
        _of_arguments(_go),
        "Go's MCP SDK and JSON.",
    ),
    Family("Go validator", ("Error:Field validation for '",), _go_tags, "Tags of go-playground/validator."),
    Family("serde", ("`", "expected"), _rust, "serde, in servers written in Rust."),
    Family("Python call", ("argument",), _python, "Calls of Python functions with arguments that do not fit."),
    Family(
        "Java and .NET",
        ("required p", "converted to", "Unrecognized field", "deserialize"),
        _of_arguments(_java),
        "Jackson, Spring, .NET.",
    ),
    Family(
        "words",
        ("issing", "required", "unexpected", "unknown", "unrecognized", "extra"),
        _words,
        "Hand-written checks that name a parameter.",
        is_certain=False,
    ),
)
"""Every library whose text is read, tried in this order."""
