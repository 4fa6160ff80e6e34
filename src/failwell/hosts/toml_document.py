"""TOML as values with positions: tomllib parses it, a scanner finds where each value is."""

import json
import re
import tomllib

from failwell._json import is_array, is_object
from failwell.hosts.document import DEEPEST, BadConfig, BadSyntax, Node

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_OTHER = re.compile(r"[^\s,\]}#]+(?: \d[^\s,\]}#]*)?")
_KEYS = re.compile(r"\((?:'[^']*'(?:, |,?(?=\))))+\)")  # a key as tomllib shows it: ('mcp_servers', 'a')
_QUOTED_KEY = re.compile(r"'([^']*)'")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def parse(text: str) -> Node:
    """Return the values of a text.

    Raises:
        BadSyntax: it is no TOML; the message has the line and the column.
        BadConfig: it is TOML of a form that the scanner does not see through.
    """
    body = text.removeprefix("\ufeff")
    try:
        meaning = tomllib.loads(body)
    except tomllib.TOMLDecodeError as wrong:
        raise _bad_syntax(body, str(wrong)) from None
    except RecursionError:
        raise BadConfig("values are nested too deeply") from None
    root = TomlScanner(text).document()
    # A position that is wrong would put the proxy into the wrong place.
    if root.value != _plain(meaning):
        raise BadConfig("it is valid, but written in a form that cannot be changed in place")
    return root


def quote(value: str) -> str:
    """Return a string as it is written."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def after_blank(text: str, position: int) -> int:
    """Return where the next sign is, behind spaces, line ends and comments."""
    found = _BLANK.match(text, position)
    assert found is not None
    return found.end()


def _bad_syntax(text: str, message: str) -> BadSyntax:
    what = _KEYS.sub(lambda keys: ".".join(_QUOTED_KEY.findall(keys[0])), _PLACE.sub("", message))
    what = what[:1].lower() + what[1:]
    if not (place := _PLACE.search(message)) or place.group(1) is None:
        return BadSyntax(text, len(text), what)
    lines = text.split("\n")
    line = int(place.group(1)) - 1
    return BadSyntax(text, sum(len(one) + 1 for one in lines[:line]) + int(place.group(2)) - 1, what)


def _plain(value: object) -> object:
    """Return values as the scanner gives them: those that are neither strings, tables nor arrays are not told apart."""
    if is_object(value):
        return {key: _plain(member) for key, member in value.items()}
    if is_array(value):
        return [_plain(item) for item in value]
    return value if isinstance(value, str) else None


class TomlScanner:
    """Walks through a text that tomllib has accepted."""

    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> Node:
        """Return the whole text as a table."""
        root = table = Node("table", 0, len(self._text), is_inline=False)
        position = self._after_blank(0)
        while position < len(self._text):
            if self._text.startswith("[", position):
                is_many = self._text.startswith("[[", position)
                keys, end = self._keys(position + 1 + is_many)
                table = self._open(root, keys, position, is_many=is_many)
                position = self._after_blank(end + 1 + is_many)
            else:
                position = self._after_blank(self._pair(table, position, depth=0))
        return root

    def _open(self, root: Node, keys: list[str], start: int, *, is_many: bool) -> Node:
        table = self._below(root, keys[:-1], start)
        known = table.members.get(keys[-1])
        new = Node("table", start, start, key_start=start, is_inline=False)
        if is_many:
            array = table.members.setdefault(keys[-1], Node("array", start, start, key_start=start, is_inline=False))
            array.items.append(new)
        elif known is None:
            table.members[keys[-1]] = new
        else:
            return known
        return new

    def _below(self, table: Node, keys: list[str], start: int) -> Node:
        """Return the table at the end of keys, made where it is only implied; of arrays the last item counts."""
        for key in keys:
            node = table.members.setdefault(key, Node("table", start, start, key_start=start, is_inline=False))
            table = node.items[-1] if node.kind == "array" else node
        return table

    def _pair(self, table: Node, start: int, *, depth: int) -> int:
        keys, end = self._keys(start)
        node = self._value(self._after_space(end + 1), depth=depth + 1)
        node.key_start = start
        self._below(table, keys[:-1], start).members[keys[-1]] = node
        return node.end

    def _keys(self, position: int) -> tuple[list[str], int]:
        """Return the parts of a dotted key, and where it ends: at the sign behind it."""
        keys: list[str] = []
        while True:
            position = self._after_space(position)
            if bare := _BARE_KEY.match(self._text, position):
                keys.append(bare.group())
                position = bare.end()
            else:
                node = self._string(position)
                keys.append(node.scalar)
                position = node.end
            position = self._after_space(position)
            if not self._text.startswith(".", position):
                return keys, position
            position += 1

    def _value(self, start: int, *, depth: int) -> Node:
        if depth > DEEPEST:
            raise BadSyntax(self._text, start, "values are nested too deeply")
        first = self._text[start : start + 1]
        if first in ('"', "'"):
            return self._string(start)
        node = Node("array" if first == "[" else "table", start, start)
        if first not in ("[", "{"):
            other = _OTHER.match(self._text, start)
            assert other is not None
            return Node("other", start, other.end())
        closing = "]" if first == "[" else "}"
        position = self._after_blank(start + 1)
        while not self._text.startswith(closing, position):
            if first == "[":
                node.items.append(self._value(position, depth=depth + 1))
                position = node.items[-1].end
            else:
                position = self._pair(node, position, depth=depth)
            position = self._after_blank(position)
            if self._text.startswith(",", position):
                position = self._after_blank(position + 1)
        node.end = position + 1
        return node

    def _string(self, start: int) -> Node:
        for pattern in _STRINGS:
            if found := pattern.match(self._text, start):
                return Node("string", start, found.end(), tomllib.loads(f"v = {found.group()}")["v"])
        raise BadSyntax(self._text, start, "a string is expected")

    def _after_blank(self, position: int) -> int:
        return after_blank(self._text, position)

    def _after_space(self, position: int) -> int:
        found = _SPACE.match(self._text, position)
        assert found is not None
        return found.end()
