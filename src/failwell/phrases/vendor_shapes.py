"""How a service is told from the shape of its error object, so that its own codes count.

A shape is marks with blanks between them, all of which must hold. A mark is a dotted path with an optional test:

    path            there, and not null
    path:str        a text that is not empty; also int, bool, list and object
    path=false      equal: true, false, null, a whole number, else the text itself
    path^prefix     a text that begins so
    path>9999       a whole number above

Digits in a path are indices of a list. Shapes are found by the first part of the path of their first mark.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from failwell._json import is_array, is_object
from failwell.phrases.language import snake
from failwell.phrases.meanings import Meaning, Rows, by_code

_LONGEST_CODE = 80
_MARK = re.compile(r"(?P<path>[^\s=:^>]+)(?:(?P<test>[=:^>])(?P<value>\S*))?")
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}
_KINDS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str) and value != "",
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "list": lambda value: is_array(value) and len(value) > 0,
    "object": lambda value: is_object(value) and len(value) > 0,
}


class Vendor(NamedTuple):
    """One service: its codes with their meanings, the shapes that its error objects have, and where its code stands.

    The paths of `codes` are needed where no key says that it holds a code, or where a code looks like something else: a
    number like an HTTP status, a text with blanks, several codes with slashes between them.
    """

    name: str
    rows: Rows
    shapes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class Mark(NamedTuple):
    """One thing that must hold of an object."""

    path: tuple[str, ...]
    holds: Callable[[Any], bool]


class Vendors:
    """Services, found by the shape of an error object, and what their codes mean. Made ready when first asked."""

    def __init__(self, vendors: Iterable[Vendor]) -> None:
        self._vendors = tuple(vendors)
        self._by_key: dict[str, list[tuple[tuple[Mark, ...], Vendor]]] | None = None
        self._meanings: dict[str, tuple[dict[str, Meaning], dict[str, Meaning]]] = {}

    def of(self, payload: Any) -> tuple[Vendor, ...]:
        """Return the services whose shape an object, or a list of them, has."""
        by_key = self._by_key or self._indexed()
        keys: Iterable[Any] = payload if is_object(payload) else ("0",) if is_array(payload) else ()
        found: dict[str, Vendor] = {}
        for key in keys:
            for marks, vendor in by_key.get(key, ()):
                if vendor.name not in found and all(mark.holds(_at(payload, mark.path)) for mark in marks):
                    found[vendor.name] = vendor
        return tuple(found.values())

    def _indexed(self) -> dict[str, list[tuple[tuple[Mark, ...], Vendor]]]:
        found: dict[str, list[tuple[tuple[Mark, ...], Vendor]]] = defaultdict(list)
        for vendor in self._vendors:
            for shape in vendor.shapes:
                marks = parse_shape(shape)
                found[marks[0].path[0]].append((marks, vendor))
        self._by_key = dict(found)
        return self._by_key

    def codes_in(self, payload: Any, vendors: Iterable[Vendor]) -> Iterator[str]:
        """Yield the codes that stand where some services put them and have a row, the last of several first."""
        for vendor in vendors:
            for path in vendor.codes:
                value = _at(payload, tuple(path.split(".")))
                if isinstance(value, bool) or not isinstance(value, str | int):
                    continue
                for code in reversed(str(value)[:_LONGEST_CODE].split("/")):
                    if self.meaning_of(code, (vendor,)) is not None:
                        yield code
                        break

    def meaning_of(self, code: str, vendors: Iterable[Vendor]) -> tuple[Meaning, Vendor] | None:
        """Return what a code means to the first of some services that has a row for it, in whatever case it came."""
        if len(code) > _LONGEST_CODE:
            return None
        for vendor in vendors:
            exact, loose = self._meanings.get(vendor.name) or self._read_rows(vendor)
            meaning = exact.get(code) or loose.get(snake(code))
            if meaning is not None:
                return meaning, vendor
        return None

    def _read_rows(self, vendor: Vendor) -> tuple[dict[str, Meaning], dict[str, Meaning]]:
        exact = by_code(vendor.rows)
        found = self._meanings[vendor.name] = exact, {snake(code): meaning for code, meaning in exact.items()}
        return found


def parse_shape(shape: str) -> tuple[Mark, ...]:
    """Return the marks of a shape.

    Raises:
        ValueError: a mark is not written as the table asks for, or there is none.
    """
    marks: list[Mark] = []
    for word in shape.split():
        parts = _MARK.fullmatch(word)
        if parts is None or (parts["test"] == ":" and parts["value"] not in _KINDS):
            raise ValueError(f"{word!r} is not a mark of a shape")
        marks.append(Mark(tuple(parts["path"].split(".")), _test(parts["test"], parts["value"])))
    if not marks:
        raise ValueError("a shape has at least one mark")
    return tuple(marks)


def _test(test: str | None, value: str) -> Callable[[Any], bool]:
    match test:
        case None:
            return lambda found: found is not None
        case ":":
            return _KINDS[value]
        case "^":
            return lambda found: isinstance(found, str) and found.startswith(value)
        case ">":
            least = int(value)
            return lambda found: _KINDS["int"](found) and found > least
        case _:
            wanted = _LITERALS.get(value, int(value) if value.lstrip("-").isdecimal() else value)
            return lambda found: type(found) is type(wanted) and found == wanted


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if is_object(value):
            value = value.get(key)
        elif is_array(value) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
