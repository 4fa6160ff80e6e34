"""`SchemaGraph`: estimate how much work a JSON Schema takes before doing it.

A schema may come from a server that nobody here knows, and evaluating it holds the interpreter. Unions within unions,
references that meet again and recursion double the work with each level, so it is counted first: of the schema alone
in time linear in its size, and where that does not settle it, of the schema and the arguments together.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from failwell._json import is_array, is_mapping, members
from failwell.failure import join_path

DEEPEST = 200
"""Levels of a schema, and of arguments. A recursive schema follows them on the stack; 20,000 would end the process."""
MOST_SCHEMA_VALUES = 100_000
"""Values in a schema: keywords, options, defaults and all that they hold."""
MOST_PATTERNS = 100
"""Different patterns in a schema; each may take a megabyte."""
MOST_IN_PLACE = 2_000
"""Parts of a schema that speak of one and the same value, each as often as it is referred to."""

REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_BRANCHES = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")
_IN_PLACE_BY_NAME = ("dependentSchemas", "dependencies")
_OF_MEMBERS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_OF_ITEMS = ("additionalItems", "unevaluatedItems", "contains")
_DEFINITIONS = ("$defs", "definitions")
_NAMES = ("$id", "id", "$anchor", "$dynamicAnchor")
_UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))
# What is left over is found by evaluating the parts beside it again, and with them what is left over there.
_TIMES_UNEVALUATED = 4
_OPTIONS_PER_STEP = 50
_ENDLESS = 1 << 40


def names_in_pointer(pointer: str) -> list[str]:
    """Return the names that a pointer into a schema, such as `#/$defs/item`, goes along."""
    from urllib.parse import unquote  # only now: few schemas refer to their parts

    return [unquote(step).replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


class _Node:
    """One schema: what it costs itself, the schemas it applies to the same value, and those it applies to members."""

    __slots__ = (
        "in_place",
        "listed",
        "number",
        "of_items",
        "of_members",
        "prefix",
        "properties",
        "rank",
        "times",
        "weight",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.rank = 0
        self.weight = self.times = 1
        self.listed = 0
        self.in_place: list[_Node] = []
        self.properties: dict[str, _Node] = {}
        self.of_members: list[_Node] = []
        self.prefix: list[_Node] = []
        self.of_items: list[_Node] = []

    def deeper(self) -> Iterator["_Node"]:
        """Yield the schemas for members of whatever name or index."""
        yield from self.properties.values()
        yield from self.of_members
        yield from self.prefix
        yield from self.of_items

    def applied_to(self, key: str | int) -> Iterator["_Node"]:
        """Yield the schemas for one member of an object or array."""
        if isinstance(key, str):
            if key in self.properties:
                yield self.properties[key]
            yield from self.of_members
        else:
            if key < len(self.prefix):
                yield self.prefix[key]
            yield from self.of_items


class SchemaGraph:
    """The parts of a schema and how they are applied.

    Attributes:
        cost: how many parts are evaluated for one value at most; endless for a schema that recurs.
        patterns: the regular expressions in it.
        has_unions: whether one problem may hold many others.
        checks_patterns: whether arguments must be regular expressions themselves.
        unresolved: a reference that leads out of the schema or nowhere, if there is one.

    Raises:
        ValueError: it is too large, or combines too much, to be checked.
    """

    def __init__(self, schema: Any) -> None:
        _check_size(schema)
        self.patterns: set[str] = set()
        self.has_unions = self.checks_patterns = False
        self.unresolved: str | None = None
        self._root = schema
        self._nodes: list[_Node] = []
        self._numbers: dict[int, int] = {}
        self._unread: list[tuple[Any, _Node, Any]] = []
        self._named: dict[str, list[Any]] = {}
        self._references: list[tuple[_Node, str, Any]] = []
        self._node(schema, schema)
        while self._unread:
            self._read(*self._unread.pop())
        for node, reference, root in self._references:
            self._follow(node, reference, root)
            while self._unread:
                self._read(*self._unread.pop())
        if len(self.patterns) > MOST_PATTERNS:
            raise ValueError(f"it has more than {MOST_PATTERNS} patterns")
        if max(self._costs(is_deep=False)) > MOST_IN_PLACE:
            raise ValueError(f"more than {MOST_IN_PLACE:,} of its parts speak of one value")
        self.cost = self._costs(is_deep=True)[0]

    @property
    def recurs(self) -> bool:
        """Whether some part applies to itself, deeper down."""
        return self.cost >= _ENDLESS

    def is_within(self, arguments: Any, most: int, *, in_words: bool = False) -> bool:
        """Tell whether judging these arguments, or saying what is wrong, takes at most so many steps.

        Telling takes no more than that itself.
        """
        if not self.recurs and not holds_more_than(arguments, most // self.cost - 1):
            return True
        waiting: list[tuple[Any, Counter[int]]] = [(arguments, Counter({0: 1}))]
        while waiting:
            value, counts = waiting.pop()
            reached = self._reached(counts)
            most -= sum((node.weight + in_words * node.listed) * times for node, times in reached)
            for key, item in members(value):
                most -= len(reached)
                if most < 0:
                    return False
                applied: Counter[int] = Counter()
                for node, times in reached:
                    for part in node.applied_to(key):
                        applied[part.number] += times
                if applied:
                    waiting.append((item, applied))
        return most >= 0

    def _reached(self, counts: Counter[int]) -> list[tuple[_Node, int]]:
        """Return the parts that are evaluated for a value, and how often, given those that are applied to it."""
        nodes, waiting = self._nodes, list(counts)
        found = set(waiting)
        while waiting:
            for part in nodes[waiting.pop()].in_place:
                if part.number not in found:
                    found.add(part.number)
                    waiting.append(part.number)
        ordered = sorted((nodes[number] for number in found), key=lambda node: node.rank, reverse=True)
        totals = counts.copy()
        for node in ordered:
            for part in node.in_place:
                totals[part.number] += totals[node.number] * node.times
        return [(node, totals[node.number]) for node in ordered]

    def _node(self, schema: Any, root: Any) -> _Node:
        number = self._numbers.get(id(schema))
        if number is not None:
            return self._nodes[number]
        node = _Node(len(self._nodes))
        self._numbers[id(schema)] = node.number
        self._nodes.append(node)
        self._unread.append((schema, node, root))
        return node

    def _parts(self, schemas: Any, root: Any) -> list[_Node]:
        """Return the nodes of those that are schemas with keywords: true and false cost nothing."""
        return [self._node(schema, root) for schema in schemas if is_mapping(schema)] if is_array(schemas) else []

    def _read(self, schema: Any, node: _Node, root: Any) -> None:
        if not is_mapping(schema):
            return
        for name in (schema[key] for key in _NAMES if isinstance(schema.get(key), str)):
            for known in {name.strip("#"), _last_part(name)}:
                self._named.setdefault(known, []).append(schema)
        if "$id" in schema or "id" in schema:
            root = schema
        by_name = {key: value for key in (*_IN_PLACE_BY_NAME, *_DEFINITIONS) if is_mapping(value := schema.get(key))}
        for key in _BRANCHES:
            node.in_place += self._parts(schema.get(key), root)
        node.in_place += self._parts([schema[key] for key in _IN_PLACE if key in schema], root)
        for key in _IN_PLACE_BY_NAME:
            node.in_place += self._parts(list(by_name.get(key, {}).values()), root)
        for key in _DEFINITIONS:
            self._parts(list(by_name.get(key, {}).values()), root)
        self._read_members(schema, node, root)
        self._references += [(node, schema[key], root) for key in REFERENCES if isinstance(schema.get(key), str)]
        if is_array(options := schema.get("enum")):
            # Plain options are looked up, others compared one by one; a problem lists them all.
            node.weight += sum(isinstance(one, dict | list) for one in options)
            node.listed = len(options) // _OPTIONS_PER_STEP
        node.times = 1 if _UNEVALUATED.isdisjoint(schema) else _TIMES_UNEVALUATED
        self.has_unions = self.has_unions or "anyOf" in schema or "oneOf" in schema
        self.checks_patterns = self.checks_patterns or schema.get("format") == "regex"
        if isinstance(schema.get("pattern"), str):
            self.patterns.add(schema["pattern"])

    def _read_members(self, schema: Any, node: _Node, root: Any) -> None:
        properties, patterned = schema.get("properties"), schema.get("patternProperties")
        if is_mapping(properties):
            node.properties = {name: self._node(part, root) for name, part in properties.items() if is_mapping(part)}
        if is_mapping(patterned):
            self.patterns.update(name for name in patterned if isinstance(name, str))
            node.of_members += self._parts(list(patterned.values()), root)
        node.of_members += self._parts([schema[key] for key in _OF_MEMBERS if key in schema], root)
        items = schema.get("items")
        for listed in (schema.get("prefixItems"), items):
            if is_array(listed):
                node.prefix += [self._node(part, root) for part in listed]
        node.of_items += self._parts([items, *(schema[key] for key in _OF_ITEMS if key in schema)], root)

    def _follow(self, node: _Node, reference: str, root: Any) -> None:
        """Add what a reference leads to: all that it could mean where a name stands for several."""
        base, _, fragment = reference.partition("#")
        starts = [root, self._root]
        if base:
            starts = self._named.get(base if "://" in base else _last_part(base), [])
        if fragment and not fragment.startswith("/"):
            targets = self._named.get(fragment, [])
        else:
            targets = [self._target(start, fragment) for start in starts]
        found = [self._node(target, root) for target in targets if target is not None]
        if not found:
            self.unresolved = reference
        node.in_place += {one.number: one for one in found}.values()

    @staticmethod
    def _target(start: Any, pointer: str) -> Any:
        found = start
        for name in names_in_pointer(pointer):
            if is_mapping(found):
                found = found.get(name)
            else:
                index = int(name) if name.isdecimal() and len(name) < 10 else -1
                found = found[index] if is_array(found) and 0 <= index < len(found) else None
        return found if is_mapping(found) or isinstance(found, bool) else None

    def _costs(self, *, is_deep: bool) -> list[int]:
        """Return for each part how many are evaluated with it, for the same value or deeper down too."""
        costs = [0] * len(self._nodes)
        is_open = [False] * len(self._nodes)
        rank = 0
        for start in self._nodes:
            waiting = [start]
            while waiting:
                node = waiting[-1]
                if costs[node.number]:
                    waiting.pop()
                    continue
                within = [*node.in_place, *(node.deeper() if is_deep else ())]
                if not is_open[node.number]:
                    is_open[node.number] = True
                    unknown = [one for one in within if not costs[one.number]]
                    waiting += (one for one in unknown if not is_open[one.number])
                    if any(is_open[one.number] for one in unknown):
                        costs[node.number] = _ENDLESS
                    continue
                waiting.pop()
                beside = node.times * sum(costs[one.number] for one in node.in_place)
                deeper = sum(costs[one.number] for one in node.deeper()) if is_deep else 0
                costs[node.number] = min(node.weight + node.listed + beside + deeper, _ENDLESS)
                if not is_deep:
                    node.rank, rank = rank, rank + 1
        return costs


def _check_size(schema: Any) -> None:
    waiting: list[tuple[Any, int, str | int]] = [(schema, 1, "")]
    left = MOST_SCHEMA_VALUES
    while waiting:
        held, level, first = waiting.pop()
        found = members(held)
        left -= len(found)
        if left < 0:
            raise ValueError(f"it holds more than {MOST_SCHEMA_VALUES:,} values")
        if level > DEEPEST:
            raise ValueError(f"{join_path((first,))}: Nested more than {DEEPEST} levels deep")
        waiting += [(one, level + 1, first or key) for key, one in found if isinstance(one, dict | list | tuple)]


def _last_part(name: str) -> str:
    return name.strip("#").rpartition("/")[2]


def holds_more_than(value: Any, count: int) -> bool:
    """Tell whether there are more than *count* values in arrays and objects, at any depth."""
    waiting = [value]
    while waiting:
        held = members(waiting.pop())
        count -= len(held)
        if count < 0:
            return True
        waiting += [item for _, item in held if isinstance(item, dict | list | tuple)]
    return False
