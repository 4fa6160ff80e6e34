"""Read and write the small flat XML that errors are made of: one root, leaves, no entities of its own, no DTD."""

import re
from typing import NamedTuple

from failwell.dialects.json_text import LONGEST

_ROOT = re.compile(r"\s*(?:<\?xml[^<>]*\?>\s*)?<([A-Za-z_][\w.-]*)((?:\s[^<>]*)?)>")
_LEAF = re.compile(r"""<([\w.-]++)(?:\s(?:key|name)="([^"<>]*+)")?+((?:\s[^<>]*+)?+)>([^<]*+)</\1\s*+>""")
_TAG = re.compile(r"<[^<>]*+>")
_LABEL = re.compile(r"""\s(?:key|name)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

# Element content: what the contract escapes, and what a parser would refuse or fold.
_CONTENT = {ord("&"): "&amp;", ord("<"): "&lt;", ord("\r"): "&#13;"}
_ATTRIBUTE_VALUE = _CONTENT | {
    ord(">"): "&gt;", ord('"'): "&quot;", ord("'"): "&apos;", ord("\t"): "&#9;", ord("\n"): "&#10;",
}  # fmt: skip
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Document(NamedTuple):
    """A root element, its attributes, and the leaves below it: tag, its `key` or `name`, text."""

    root: str
    attributes: dict[str, str]
    leaves: list[tuple[str, str, str]]


def content(text: str) -> str:
    """Return a text escaped for the inside of an element."""
    if _is_plain(text) and ">" not in text:
        return text
    return _FORBIDDEN.sub("", text).translate(_CONTENT).replace("]]>", "]]&gt;")


def attribute_value(text: str) -> str:
    """Return a text escaped for an attribute in double quotes."""
    if _is_plain(text) and not (">" in text or '"' in text or "'" in text):
        return text
    return _FORBIDDEN.sub("", text).translate(_ATTRIBUTE_VALUE)


def _is_plain(text: str) -> bool:
    """Return whether nothing needs to be escaped, but for what only one place asks for."""
    return text.isascii() and text.isprintable() and "&" not in text and "<" not in text


def parse(text: str, roots: frozenset[str]) -> Document | None:
    """Return the document a text holds, or None if it is none of *roots*, broken, too long, or has a `<!` in it."""
    start = _ROOT.match(text)
    if start is None or start[1] not in roots or len(text) > LONGEST or "<!" in text:
        return None
    root = start[1]
    end = text.rstrip()
    if not end.endswith(f"</{root}>"):
        return None
    body = end[start.end() : -len(root) - 3]
    leaves = [(tag, label or (rest and _label(rest)), inside) for tag, label, rest, inside in _LEAF.findall(body)]
    if "&" in body:
        leaves = [(tag, _resolved(label), _resolved(inside)) for tag, label, inside in leaves]
    if not leaves and "<" not in body:
        leaves = [("message", "", _resolved(body))]
    elif "<message>" in body and not any(leaf[0] == "message" for leaf in leaves):
        marked_up = body.partition("<message>")[2].partition("</message>")[0]
        leaves.append(("message", "", _resolved(_TAG.sub("", marked_up))))
    return Document(root, _attributes(start[2]), leaves)


def _attributes(raw: str) -> dict[str, str]:
    if not raw:
        return {}
    return {name: _resolved(double or single) for name, double, single in _ATTRIBUTE.findall(raw)}


def _label(raw: str) -> str:
    found = _LABEL.search(raw)
    return (found[1] or found[2] or "") if found else ""


def _resolved(text: str) -> str:
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _NAMED[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
