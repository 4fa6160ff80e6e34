"""JSON with the comments and trailing commas that hosts allow, as values with positions."""

import json
import re
from typing import Any

from failwell.hosts.document import DEEPEST, BadSyntax, Node

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


def parse(text: str) -> Node:
    """Return the values of a text.

    Raises:
        BadSyntax: it is no JSON; the message has the line and the column.
    """
    scanner = JsonScanner(text)
    node = scanner.value(scanner.after_blank(0), depth=0)
    end = scanner.after_blank(node.end)
    if end < len(text):
        raise BadSyntax(text, end, "there is more text after the end of the value")
    return node


def quote(value: str) -> str:
    """Return a string as it is written."""
    return json.dumps(value, ensure_ascii=False)


def string_end(text: str, start: int) -> int:
    """Return where a string ends that begins here, such as a key."""
    found = _STRING.match(text, start)
    assert found is not None
    return found.end()


def after_blank(text: str, position: int) -> int:
    """Return where the next sign is, behind spaces, line ends and comments."""
    found = _BLANK.match(text, position)
    assert found is not None
    return found.end()


class JsonScanner:
    """Walks through a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def after_blank(self, position: int) -> int:
        """Return where the next sign is; a comment must be closed."""
        end = after_blank(self._text, position)
        if self._text.startswith("/*", end):
            raise BadSyntax(self._text, end, "a comment is not closed")
        return end

    def value(self, start: int, *, depth: int) -> Node:
        """Return the value that begins here."""
        if depth > DEEPEST:
            raise BadSyntax(self._text, start, "values are nested too deeply")
        first = self._text[start : start + 1]
        if first == "{":
            return self._object(start, depth)
        if first == "[":
            return self._array(start, depth)
        if first == '"':
            return self._string(start)
        if number := _NUMBER.match(self._text, start):
            return Node("number", start, number.end(), json.loads(number.group()))
        word = _WORD.match(self._text, start)
        if word and word.group() in _WORDS:
            return Node("word", start, word.end(), _WORDS[word.group()])
        raise BadSyntax(self._text, start, f"expected a value, not {self._found(start)}")

    def _string(self, start: int) -> Node:
        found = _STRING.match(self._text, start)
        if found is None:
            raise BadSyntax(self._text, start, "a string is not closed, or has a character that must be escaped")
        return Node("string", start, found.end(), json.loads(found.group()))

    def _object(self, start: int, depth: int) -> Node:
        node = Node("table", start, start)
        position = self.after_blank(start + 1)
        while not self._text.startswith("}", position):
            if not self._text.startswith('"', position):
                raise BadSyntax(self._text, position, f"expected a key in double quotes, not {self._found(position)}")
            key = self._string(position)
            colon = self.after_blank(key.end)
            if not self._text.startswith(":", colon):
                raise BadSyntax(self._text, colon, f"expected a colon after the key, not {self._found(colon)}")
            member = self.value(self.after_blank(colon + 1), depth=depth + 1)
            member.key_start = key.start
            node.members[key.scalar] = member
            position = self._next(member.end, "}")
        node.end = position + 1
        return node

    def _array(self, start: int, depth: int) -> Node:
        node = Node("array", start, start)
        position = self.after_blank(start + 1)
        while not self._text.startswith("]", position):
            node.items.append(self.value(position, depth=depth + 1))
            position = self._next(node.items[-1].end, "]")
        node.end = position + 1
        return node

    def _next(self, position: int, closing: str) -> int:
        """Return where the next member or the end is."""
        position = self.after_blank(position)
        if self._text.startswith(",", position):
            return self.after_blank(position + 1)
        if self._text.startswith(closing, position):
            return position
        raise BadSyntax(self._text, position, f"expected a comma or {closing}, not {self._found(position)}")

    def _found(self, position: int) -> str:
        return repr(self._text[position]) if position < len(self._text) else "the end of the file"
