"""`xml`: a `<tool_error>` that says how to recover, a `<validation_error>` that says what is wrong with each field.

<tool_error code="ProjectNotFound" severity="error">
  <message>Project 'proj_xyz' does not exist.</message>
  <recovery>Call projects.list first to get valid IDs, then retry.</recovery>
</tool_error>
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import UNSET

from failwell import codes
from failwell._json import LONGEST_JSON, parse_json, write_json
from failwell._lazy import lazy_pattern
from failwell.dialects._open_part import KEYS, read_failure, read_open_part, write_open_part
from failwell.dialects._wire import Wire, is_error
from failwell.failure import (
    SEVERITIES,
    Failure,
    FieldProblem,
    last_key,
    missing_field,
    missing_field_message,
    parent_path,
    summary,
    valid_code,
    wants_correction,
)
from failwell.redact.canonical import RedactedFailure

name = "xml"

_TOOL_ERROR, _VALIDATION_ERROR = "tool_error", "validation_error"
_ROOTS = frozenset((_TOOL_ERROR, _VALIDATION_ERROR))
_ROUTING_CODES = frozenset(("MISSING_DISCRIMINATOR", "UNKNOWN_ACTION"))
_FIX_FIELDS = "Fix the fields above and call the tool again. Do not explain the error."
_SECONDS = lazy_pattern(r"\s*(\d{1,16}(?:\.\d{1,15})?)\s*(?:s|secs?|seconds?)?\s*")
_LITERALS = {"null": None, "true": True, "false": False}
_JSON_STARTS = frozenset('{["-0123456789')
_NUMBER = lazy_pattern(r"-?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,4})?")
_ELEMENT_NAME = lazy_pattern(r"[A-Za-z_][\w.-]*\Z", re.ASCII)
_TEXTS = frozenset(("message", "recovery", "available_actions", "retry_after"))
_OWN = _TEXTS | {"action", "details", "detail", "field"}
_WRITTEN = frozenset(("code", "severity", "suggestion", "actions", "retry_after", "extra"))
_WRITTEN_WITH_FIELDS = _WRITTEN | {"fields"}
_KEYS = {
    _TOOL_ERROR: KEYS - {"code", "severity", "actions", "retry_after", "suggestion", "message"},
    _VALIDATION_ERROR: KEYS - {"code", "severity", "actions", "retry_after", "fields"},
}
_MISSING_FIELD = lazy_pattern(re.escape(missing_field_message("\0")).replace("\0", '([^"]+)'))


def encode(failure: RedactedFailure) -> Wire:
    """Return a canonical failure as XML."""
    # Its recovery is always to call again with other values.
    is_validation = failure.code == "VALIDATION_FAILED" and bool(failure.fields) and wants_correction(failure)
    lines = _validation_error(failure) if is_validation else _tool_error(failure)
    return Wire("\n".join(lines), is_error(failure))


def _tool_error(failure: Failure) -> list[str]:
    opening = _TOOL_ERROR
    if failure.code is not None:
        opening += f' code="{_escaped_attribute(failure.code)}"'
    lines = [_start_tag(opening, failure), _element("message", failure.message)]
    recovery = [_element("recovery", failure.suggestion)] if failure.suggestion else []
    if failure.code in _ROUTING_CODES and failure.actions and not any("," in action for action in failure.actions):
        lines += [_element("available_actions", ", ".join(failure.actions)), *recovery]
    else:
        lines += [*recovery, *_actions(failure.actions)]
    written = _WRITTEN
    if failure.code in _ROUTING_CODES or failure.fields == _implied_fields(failure.code, failure.message):
        written = _WRITTEN_WITH_FIELDS
    lines += _rest(failure, _TOOL_ERROR, written, {})
    return [*lines, f"</{_TOOL_ERROR}>"]


def _validation_error(failure: Failure) -> list[str]:
    where = "/".join(part for part in (failure.tool, failure.action) if part)
    lines = [
        _start_tag(f'{_VALIDATION_ERROR} action="{_escaped_attribute(where)}"' if where else _VALIDATION_ERROR, failure)
    ]
    for path, sentence in field_sentences(failure.fields):
        lines.append(f'  <field name="{_escaped_attribute(path)}">{_escaped_content(sentence)}</field>')
    lines += [_element("recovery", _FIX_FIELDS), *_actions(failure.actions)]
    also: dict[str, Any] = {}
    if failure.message != summary(failure.fields):
        also["message"] = failure.message
    row = codes.get(failure.code)
    if failure.suggestion and row and failure.suggestion != row.suggestion:
        also["suggestion"] = failure.suggestion
    lines += _rest(failure, _VALIDATION_ERROR, _WRITTEN_WITH_FIELDS, also)
    return [*lines, f"</{_VALIDATION_ERROR}>"]


def _start_tag(opening: str, failure: Failure) -> str:
    return f'<{opening} severity="{failure.severity}">' if failure.severity else f"<{opening}>"


def _element(tag: str, text: str) -> str:
    return f"  <{tag}>{_escaped_content(text)}</{tag}>"


def _actions(actions: Iterable[str]) -> list[str]:
    inner = [f"    <action>{_escaped_content(action)}</action>" for action in actions]
    return ["  <available_actions>", *inner, "  </available_actions>"] if inner else []


def _rest(failure: Failure, root: str, written: frozenset[str], also: dict[str, Any]) -> list[str]:
    extra = failure.extra
    at_top = all(_ELEMENT_NAME.match(key) and isinstance(value, str) for key, value in extra.items())
    if extra and not (at_top and _OWN.isdisjoint(extra)):
        also, extra = {**also, "extra": extra}, {}
    details = write_open_part(failure, failure.code, None, written=written, also=also, keys=_KEYS[root])
    lines: list[str] = []
    if details:
        inner = (
            f'    <detail key="{_escaped_attribute(key)}">{_escaped_content(_detail_text(value))}</detail>'
            for key, value in details.items()
        )
        lines += ["  <details>", *inner, "  </details>"]
    if failure.retry_after is not None:
        lines.append(_element("retry_after", f"{failure.retry_after} seconds"))
    return lines + [_element(key, value) for key, value in extra.items()]


def _detail_text(value: Any) -> str:
    """Return a detail as text: strings as they are, unless they would be read back as something else."""
    if isinstance(value, str) and (not value or _detail_value(value) is value):
        return value
    return write_json(value)


def _detail_value(text: str) -> Any:
    """Return the JSON value a detail's text spells exactly as we write it, else the text itself."""
    if text in _LITERALS:
        return _LITERALS[text]
    if text.isdecimal() and text.isascii() and len(text) < 16:
        return text if text[0] == "0" and text != "0" else int(text)
    if text[:1] in _JSON_STARTS and (text[0] in '{["' or _NUMBER.fullmatch(text)):
        value = parse_json(text)
        if value is not None and write_json(value) == text:
            return value
    return text


class _Document(NamedTuple):
    """A root element, its attributes, and the leaves below it: tag, its `key` or `name`, text."""

    root: str
    attributes: dict[str, str]
    leaves: list[tuple[str, str, str]]


def decode(wire: Wire) -> Failure | None:
    """Return the failure in an XML text, or None."""
    if "<" not in wire.text[:200]:
        return None
    document = _parse(wire.text, _ROOTS)
    return None if document is None else _from_document(document)


def _from_document(document: _Document) -> Failure | None:
    texts: dict[str, str] = {}
    details: dict[str, Any] = {}
    actions: list[str] = []
    fields: list[FieldProblem] = []
    extra: dict[str, Any] = {}
    for tag, label, text in document.leaves:
        if tag in _TEXTS:
            texts[tag] = text.strip()
        elif tag == "detail":
            details[label] = _detail_value(text)
        elif tag == "action":
            actions.append(text)
        elif tag == "field":
            fields.append(FieldProblem(path=label or "?", message=text.strip()))
        elif tag not in _OWN:
            extra[tag] = text
    values = read_open_part(details, keys=_KEYS[document.root])
    if extra:
        values["extra"] = {**extra, **values.get("extra", {})}
    if "available_actions" in texts:
        actions += [name for name in map(str.strip, texts["available_actions"].split(",")) if name]
    if actions:
        values["actions"] = tuple(actions)
    if "retry_after" in texts and (match := _SECONDS.fullmatch(texts["retry_after"])):
        values["retry_after"] = float(match[1])
    if (severity := document.attributes.get("severity")) in SEVERITIES:
        values["severity"] = severity
    return (_read_validation if document.root == _VALIDATION_ERROR else _read_tool)(document, values, texts, fields)


def _read_tool(
    document: _Document, values: dict[str, Any], texts: dict[str, str], fields: list[FieldProblem]
) -> Failure | None:
    message = texts.get("message", "")
    if not (message or document.attributes.get("code")):
        return None
    if isinstance(code := valid_code(document.attributes.get("code")), str):
        values["code"] = code
    if texts.get("recovery"):
        values["suggestion"] = texts["recovery"]
    if found := tuple(fields) or _implied_fields(values.get("code"), message):
        values.setdefault("fields", found)
    return read_failure(values, message)


def _read_validation(
    document: _Document, values: dict[str, Any], texts: dict[str, str], fields: list[FieldProblem]
) -> Failure | None:
    if not fields:
        return None
    values |= {"code": "VALIDATION_FAILED", "fields": tuple(fields)}
    tool, slash, action = document.attributes.get("action", "").partition("/")
    if tool:
        values.setdefault("tool", tool)
    if slash and action:
        values.setdefault("action", action)
    if texts.get("recovery", _FIX_FIELDS) != _FIX_FIELDS:
        values.setdefault("suggestion", texts["recovery"])
    return read_failure(values, texts.get("message") or summary(fields))


def _implied_fields(code: str | None, message: str) -> tuple[FieldProblem, ...]:
    """Return the field problems that the sentence of a missing field states already."""
    match = _MISSING_FIELD.fullmatch(message) if code == "MISSING_REQUIRED_FIELD" else None
    return (missing_field(match[1]),) if match else ()


_NOTHING_SENT = ("missing", "unknown")


def field_sentences(problems: Iterable[FieldProblem]) -> Iterator[tuple[str, str]]:
    """Yield a path and a sentence for each problem; unrecognized keys of one object share theirs."""
    problems = tuple(problems)
    grouped: set[str] = set()
    for problem in problems:
        if not _is_plain_unknown(problem):
            yield problem.path, field_sentence(problem)
            continue
        where = parent_path(problem.path)
        if where not in grouped:
            grouped.add(where)
            yield where, _unknown([p for p in problems if _is_plain_unknown(p) and parent_path(p.path) == where])


def field_sentence(problem: FieldProblem) -> str:
    """Return one problem in words."""
    parts = [_with_full_stop(problem.message)]
    if problem.sent is not UNSET and problem.kind not in _NOTHING_SENT:
        parts.append(f"You sent: {_quoted(problem.sent)}.")
    if problem.expected:
        parts.append(f"Expected: {_with_full_stop(problem.expected)}")
    if problem.options:
        parts.append(f"Valid options: {', '.join(map(_quoted, problem.options))}.")
    if problem.did_you_mean:
        parts.append(f"Did you mean {_quoted(problem.did_you_mean)}?")
    return " ".join(parts)


def _is_plain_unknown(problem: FieldProblem) -> bool:
    return problem.kind == "unknown" and problem.message == FieldProblem(path=problem.path, kind="unknown").message


def _unknown(problems: list[FieldProblem]) -> str:
    names = ", ".join(f"'{last_key(problem.path)}'" for problem in problems)
    meant = [
        f" Did you mean '{problem.did_you_mean}' instead of '{last_key(problem.path)}'?"
        for problem in problems
        if problem.did_you_mean
    ]
    return (
        f"Unrecognized key(s) in object: {names}. Remove or correct unrecognized fields: {names}. Check for typos."
        + "".join(meant)
    )


def _with_full_stop(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _quoted(value: Any) -> str:
    if not isinstance(value, str):
        return write_json(value)
    return "'" + " ".join(value.splitlines()).replace("'", "\\'") + "'"


# XML as text: escaped for writing, and read by a tolerant parser that knows no entities but the five of XML itself.

_ROOT = lazy_pattern(r"\s*(?:<\?xml[^<>]*\?>\s*)?<([A-Za-z_][\w.-]*)((?:\s[^<>]*)?)>")
_LEAF = lazy_pattern(r"""<([\w.-]++)(?:\s(?:key|name)="([^"<>]*+)")?+((?:\s[^<>]*+)?+)>([^<]*+)</\1\s*+>""")
_TAG = lazy_pattern(r"<[^<>]*+>")
_LABEL = lazy_pattern(r"""\s(?:key|name)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_XML_ATTRIBUTE = lazy_pattern(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = lazy_pattern(r"&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

# Element content: what the contract escapes, and what a parser would refuse or fold.
_CONTENT_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord("\r"): "&#13;"}
_ATTRIBUTE_ESCAPES = _CONTENT_ESCAPES | {
    ord(">"): "&gt;", ord('"'): "&quot;", ord("'"): "&apos;", ord("\t"): "&#9;", ord("\n"): "&#10;",
}  # fmt: skip
_NOT_IN_XML = lazy_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _escaped_content(text: str) -> str:
    """Return a text escaped for the inside of an element."""
    if _is_plain(text) and ">" not in text:
        return text
    return _NOT_IN_XML.sub("", text).translate(_CONTENT_ESCAPES).replace("]]>", "]]&gt;")


def _escaped_attribute(text: str) -> str:
    """Return a text escaped for an attribute in double quotes."""
    if _is_plain(text) and not (">" in text or '"' in text or "'" in text):
        return text
    return _NOT_IN_XML.sub("", text).translate(_ATTRIBUTE_ESCAPES)


def _is_plain(text: str) -> bool:
    """Return whether nothing needs to be escaped, but for what only one place asks for."""
    return text.isascii() and text.isprintable() and "&" not in text and "<" not in text


def _parse(text: str, roots: frozenset[str]) -> _Document | None:
    """Return the document a text holds, or None if it is none of *roots*, broken, too long, or has a `<!` in it."""
    start = _ROOT.match(text)
    if start is None or start[1] not in roots or len(text) > LONGEST_JSON or "<!" in text:
        return None
    root = start[1]
    end = text.rstrip()
    if not end.endswith(f"</{root}>"):
        return None
    body = end[start.end() : -len(root) - 3]
    leaves = [(tag, label or (rest and _label(rest)), inside) for tag, label, rest, inside in _LEAF.findall(body)]
    if "&" in body:
        leaves = [(tag, _unescaped(label), _unescaped(inside)) for tag, label, inside in leaves]
    if not leaves and "<" not in body:
        leaves = [("message", "", _unescaped(body))]
    elif "<message>" in body and not any(leaf[0] == "message" for leaf in leaves):
        marked_up = body.partition("<message>")[2].partition("</message>")[0]
        leaves.append(("message", "", _unescaped(_TAG.sub("", marked_up))))
    return _Document(root, _attributes(start[2]), leaves)


def _attributes(raw: str) -> dict[str, str]:
    if not raw:
        return {}
    return {name: _unescaped(double or single) for name, double, single in _XML_ATTRIBUTE.findall(raw)}


def _label(raw: str) -> str:
    found = _LABEL.search(raw)
    return (found[1] or found[2] or "") if found else ""


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _ENTITIES[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
