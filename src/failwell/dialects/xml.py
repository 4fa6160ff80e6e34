"""`xml`: a `<tool_error>` that says how to recover, a `<validation_error>` that says what is wrong with each field.

<tool_error code="ProjectNotFound" severity="error">
  <message>Project 'proj_xyz' does not exist.</message>
  <recovery>Call projects.list first to get valid IDs, then retry.</recovery>
</tool_error>
"""

import re
from collections.abc import Iterable
from typing import Any

from failwell import catalog
from failwell.dialects import field_text, json_text, open_part, xml_text
from failwell.dialects.extras import read_failure
from failwell.dialects.wire import Wire, is_error
from failwell.dialects.xml_text import attribute_value, content
from failwell.failure import Failure, FieldProblem, missing_field, missing_field_message, summary

name = "xml"

_TOOL_ERROR, _VALIDATION_ERROR = "tool_error", "validation_error"
_ROOTS = frozenset((_TOOL_ERROR, _VALIDATION_ERROR))
_ROUTING_CODES = frozenset(("MISSING_DISCRIMINATOR", "UNKNOWN_ACTION"))
_FIX_FIELDS = "Fix the fields above and call the tool again. Do not explain the error."
_SECONDS = re.compile(r"\s*(\d{1,16}(?:\.\d{1,15})?)\s*(?:s|secs?|seconds?)?\s*")
_WORDS = {"null": None, "true": True, "false": False}
_JSON_STARTS = frozenset('{["-0123456789')
_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,4})?")
_ELEMENT_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z", re.ASCII)
_TEXTS = frozenset(("message", "recovery", "available_actions", "retry_after"))
_OWN = _TEXTS | {"action", "details", "detail", "field"}
_SAID = frozenset(("code", "severity", "suggestion", "actions", "retry_after", "extra"))
_SAID_WITH_FIELDS = _SAID | {"fields"}
_KEYS = {
    _TOOL_ERROR: open_part.KEYS - {"code", "severity", "actions", "retry_after", "suggestion", "message"},
    _VALIDATION_ERROR: open_part.KEYS - {"code", "severity", "actions", "retry_after", "fields"},
}
_MISSING_FIELD = re.compile(re.escape(missing_field_message("\0")).replace("\0", '([^"]+)'))


def encode(failure: Failure) -> Wire:
    """Return a canonical failure as XML."""
    is_validation = failure.code == "VALIDATION_FAILED" and bool(failure.fields)
    lines = _validation_error(failure) if is_validation else _tool_error(failure)
    return Wire("\n".join(lines), is_error(failure))


def _tool_error(failure: Failure) -> list[str]:
    opening = _TOOL_ERROR
    if failure.code is not None:
        opening += f' code="{attribute_value(failure.code)}"'
    lines = [_opened(opening, failure), _element("message", failure.message)]
    recovery = [_element("recovery", failure.suggestion)] if failure.suggestion else []
    if failure.code in _ROUTING_CODES and failure.actions and not any("," in action for action in failure.actions):
        lines += [_element("available_actions", ", ".join(failure.actions)), *recovery]
    else:
        lines += [*recovery, *_actions(failure.actions)]
    said = _SAID
    if failure.code in _ROUTING_CODES or failure.fields == _implied_fields(failure.code, failure.message):
        said = _SAID_WITH_FIELDS
    lines += _rest(failure, _TOOL_ERROR, said, {})
    return [*lines, f"</{_TOOL_ERROR}>"]


def _validation_error(failure: Failure) -> list[str]:
    where = "/".join(part for part in (failure.tool, failure.action) if part)
    lines = [_opened(f'{_VALIDATION_ERROR} action="{attribute_value(where)}"' if where else _VALIDATION_ERROR, failure)]
    for path, sentence in field_text.sentences(failure.fields):
        lines.append(f'  <field name="{attribute_value(path)}">{content(sentence)}</field>')
    lines += [_element("recovery", _FIX_FIELDS), *_actions(failure.actions)]
    also: dict[str, Any] = {}
    if failure.message != summary(failure.fields):
        also["message"] = failure.message
    row = catalog.get(failure.code)
    if failure.suggestion and row and failure.suggestion != row.suggestion:
        also["suggestion"] = failure.suggestion
    lines += _rest(failure, _VALIDATION_ERROR, _SAID_WITH_FIELDS, also)
    return [*lines, f"</{_VALIDATION_ERROR}>"]


def _opened(opening: str, failure: Failure) -> str:
    return f'<{opening} severity="{failure.severity}">' if failure.severity else f"<{opening}>"


def _element(tag: str, text: str) -> str:
    return f"  <{tag}>{content(text)}</{tag}>"


def _actions(actions: Iterable[str]) -> list[str]:
    inner = [f"    <action>{content(action)}</action>" for action in actions]
    return ["  <available_actions>", *inner, "  </available_actions>"] if inner else []


def _rest(failure: Failure, root: str, said: frozenset[str], also: dict[str, Any]) -> list[str]:
    extra = failure.extra
    at_top = all(_ELEMENT_NAME.match(key) and isinstance(value, str) for key, value in extra.items())
    if extra and not (at_top and _OWN.isdisjoint(extra)):
        also, extra = {**also, "extra": extra}, {}
    details = open_part.write(failure, failure.code, None, said=said, also=also, keys=_KEYS[root])
    lines: list[str] = []
    if details:
        inner = (
            f'    <detail key="{attribute_value(key)}">{content(_shown(value))}</detail>'
            for key, value in details.items()
        )
        lines += ["  <details>", *inner, "  </details>"]
    if failure.retry_after is not None:
        lines.append(_element("retry_after", f"{failure.retry_after} seconds"))
    return lines + [_element(key, value) for key, value in extra.items()]


def _shown(value: Any) -> str:
    """Return a detail as text: strings as they are, unless they would be read back as something else."""
    if isinstance(value, str) and (not value or _value_of(value) is value):
        return value
    return json_text.write(value)


def _value_of(text: str) -> Any:
    """Return the JSON value a detail's text spells exactly as we write it, else the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text.isdecimal() and text.isascii() and len(text) < 16:
        return text if text[0] == "0" and text != "0" else int(text)
    if text[:1] in _JSON_STARTS and (text[0] in '{["' or _NUMBER.fullmatch(text)):
        value = json_text.parse(text)
        if value is not None and json_text.write(value) == text:
            return value
    return text


def decode(wire: Wire) -> Failure | None:
    """Return the failure in an XML text, or None."""
    if "<" not in wire.text[:200]:
        return None
    document = xml_text.parse(wire.text, _ROOTS)
    return None if document is None else _from_document(document)


def _from_document(document: xml_text.Document) -> Failure | None:
    texts: dict[str, str] = {}
    details: dict[str, Any] = {}
    actions: list[str] = []
    fields: list[FieldProblem] = []
    extra: dict[str, Any] = {}
    for tag, label, text in document.leaves:
        if tag in _TEXTS:
            texts[tag] = text.strip()
        elif tag == "detail":
            details[label] = _value_of(text)
        elif tag == "action":
            actions.append(text)
        elif tag == "field":
            fields.append(FieldProblem(path=label or "?", message=text.strip()))
        elif tag not in _OWN:
            extra[tag] = text
    values = open_part.read(details, keys=_KEYS[document.root])
    if extra:
        values["extra"] = {**extra, **values.get("extra", {})}
    if "available_actions" in texts:
        actions += [name for name in map(str.strip, texts["available_actions"].split(",")) if name]
    if actions:
        values["actions"] = tuple(actions)
    if "retry_after" in texts and (match := _SECONDS.fullmatch(texts["retry_after"])):
        values["retry_after"] = float(match[1])
    if (severity := document.attributes.get("severity")) in ("warning", "error", "critical"):
        values["severity"] = severity
    return (_read_validation if document.root == _VALIDATION_ERROR else _read_tool)(document, values, texts, fields)


def _read_tool(
    document: xml_text.Document, values: dict[str, Any], texts: dict[str, str], fields: list[FieldProblem]
) -> Failure | None:
    message = texts.get("message", "")
    if not (message or document.attributes.get("code")):
        return None
    if isinstance(code := open_part.code(document.attributes.get("code")), str):
        values["code"] = code
    if texts.get("recovery"):
        values["suggestion"] = texts["recovery"]
    if found := tuple(fields) or _implied_fields(values.get("code"), message):
        values.setdefault("fields", found)
    return read_failure(values, message)


def _read_validation(
    document: xml_text.Document, values: dict[str, Any], texts: dict[str, str], fields: list[FieldProblem]
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
