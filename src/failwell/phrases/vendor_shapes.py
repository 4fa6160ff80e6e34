"""Recognize a service by the shape of its error object, so that its own codes apply.

A shape is marks with blanks between them, all of which must hold. A mark is a dotted path with an optional test:

    path            there, and not null
    path:str        a text that is not empty; also int, bool, list and object
    path=false      equal: true, false, null, a whole number, else the text itself
    path^prefix     a text that begins so
    path>9999       a whole number above

Digits in a path are indices of a list.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from failwell._json import is_array, is_object
from failwell._lazy import lazy_pattern
from failwell.phrases.language import snake
from failwell.phrases.meanings import Meaning, Rows, by_code

_LONGEST_CODE = 80
_MARK = lazy_pattern(r"(?P<path>[^\s=:^>]+)(?:(?P<test>[=:^>])(?P<value>\S*))?")
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


_Path = tuple[str, ...]
_Shape = tuple[frozenset[_Path], tuple[Mark, ...], Vendor]
_INDEXED = 2
_MOST_KEYS = 60


def _by_path(payload: Any) -> dict[_Path, Any]:
    """Return what is in an object, or in a list of them, by paths of one or two parts."""
    found: dict[_Path, Any] = {}
    for key, value in _members(payload):
        found[key,] = value
        for inner, part in _members(value):
            found[key, inner] = part
    return found


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    if is_object(value):
        return islice(value.items(), _MOST_KEYS)
    return (("0", value[0]),) if is_array(value) and value else ()


def _has(payload: Any, values: dict[_Path, Any], marks: tuple[Mark, ...]) -> bool:
    for path, holds in marks:  # noqa: SIM110 - a generator would take twice as long
        if not holds(values.get(path) if len(path) <= _INDEXED else _at(payload, path)):
            return False
    return True


class Vendors:
    """Services, found by the shape of an error object, and what their codes mean. Made ready when first asked."""

    def __init__(self, load: Callable[[], tuple[Vendor, ...]]) -> None:
        self._load = load
        self._by_path: dict[_Path, list[_Shape]] | None = None
        self._meanings: dict[str, tuple[dict[str, Meaning], dict[str, Meaning]]] = {}

    def of(self, payload: Any) -> tuple[Vendor, ...]:
        """Return the services whose shape an object, or a list of them, has."""
        by_path = self._by_path or self._indexed()
        values = _by_path(payload)
        present = frozenset(values)
        found: dict[str, Vendor] = {}
        for path in present & by_path.keys():
            for needed, marks, vendor in by_path[path]:
                if needed <= present and vendor.name not in found and _has(payload, values, marks):
                    found[vendor.name] = vendor
        return (
            tuple(vendor for vendor in self._load() if vendor.name in found) if len(found) > 1 else (*found.values(),)
        )

    def _indexed(self) -> dict[_Path, list[_Shape]]:
        """Put each shape under the path in it that the fewest shapes have, so that few are tried."""
        shapes = [(parse_shape(shape), vendor) for vendor in self._load() for shape in vendor.shapes]
        counts = Counter(mark.path[:_INDEXED] for marks, _ in shapes for mark in marks)
        found: dict[_Path, list[_Shape]] = defaultdict(list)
        for marks, vendor in shapes:
            needed = frozenset(mark.path[:_INDEXED] for mark in marks if not mark.holds(None))
            rarest = min(needed, key=lambda path: (counts[path], path))
            found[rarest].append((needed, marks, vendor))
        self._by_path = dict(found)
        return self._by_path

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
