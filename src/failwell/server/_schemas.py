"""The tools that a server lists, and checks of arguments and results against their schemas.

Names that a schema does not mention are refused, unless the schema is open to others: an argument that is silently
ignored is a call that does something else. Formats are reported along with other problems, and never alone.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from failwell._automatic import is_automatic
from failwell._json import is_mapping, is_object
from failwell._log import log
from failwell.failure import Failure, FieldProblem
from failwell.schema.problems import MOST_PROBLEMS, Argument, invalid, unknown_problem
from failwell.schema.tree import closed_names

_MOST_SCHEMAS = 512
_encoder = msgspec.json.Encoder()


@cache
def _log_missing() -> None:
    log.warning(
        "jsonschema-rs is not installed, so low-level servers don't check arguments and results, and other servers "
        "name fewer wrong fields; to install it: pip install 'failwell[validation]'"
    )


class SchemaChecks:
    """Checks against any number of schemas, each compiled once; checks nothing where jsonschema-rs is not installed.

    Args:
        are_fixed: no schema is ever changed in place, so that none is looked through to find out whether it was.
    """

    def __init__(self, *, are_fixed: bool = False) -> None:
        try:
            from failwell.schema import validator as validation  # optional: needs jsonschema-rs
        except ImportError:
            validation = None  # type: ignore[assignment]  # the module or nothing
            _log_missing()
        self._validation: Any = validation
        self._key_of: Callable[[Any], int | bytes] = id if are_fixed else _content
        self._checkers: dict[int | bytes, tuple[Any, Any]] = {}

    @property
    def are_possible(self) -> bool:
        """Whether anything can be checked."""
        return self._validation is not None

    def accept(self, arguments: Any, schema: Any, *, tool: str) -> bool:
        """Return whether there is nothing against arguments in a tool's input schema; why not is not looked for."""
        checker = self._checker(schema, tool)
        return checker is None or checker.accepts(arguments) or not is_automatic()

    def refused(self, arguments: Any, schema: Any, *, tool: str) -> Failure | None:
        """Return the failure of a call with arguments that a tool's input schema refuses, or None."""
        checker = self._checker(schema, tool)
        problems = checker.problems(arguments) if checker is not None else ()
        if not problems or all(problem.kind == "format" for problem in problems) or not is_automatic():
            return None
        strict = () if names_all(schema, arguments) else self._strict(arguments, schema, tool)
        return invalid(strict or problems, tool=tool)

    def explained(
        self, problems: Iterable[FieldProblem], arguments: Any, schema: Any, *, tool: str
    ) -> tuple[FieldProblem, ...]:
        """Return what another validator found wrong, with all that the schema says of it, and unknown names added."""
        found = tuple(problems)
        checker = self._checker(schema, tool)
        if checker is None:
            return found
        is_complete = names_all(schema, arguments)
        said = checker.problems(arguments) if is_complete else self._strict(arguments, schema, tool)
        known = {(problem.path, problem.kind): problem for problem in said}
        merged = {problem.path: known.get((problem.path, problem.kind), problem) for problem in found}
        for problem in known.values():
            if problem.kind == "unknown":
                merged.setdefault(problem.path, problem)
        return tuple(merged.values())

    def is_broken(self, value: Any, schema: Any, *, tool: str) -> bool:
        """Return whether a result is not what a tool's output schema promises; None, whether it promises any."""
        if value is None:
            return is_automatic()
        checker = self._checker(schema, tool)
        problems = checker.problems(value) if checker is not None else ()
        return bool(problems) and any(problem.kind != "format" for problem in problems) and is_automatic()

    def _strict(self, arguments: Any, schema: Any, tool: str) -> tuple[FieldProblem, ...]:
        """Return all that is wrong with arguments, names that the schema does not mention among it."""
        try:
            failure: Failure | None = self._validation.check_arguments(arguments, schema, tool=tool)
        except (ValueError, TypeError):  # what was refused without these names is told without them
            return ()
        return failure.fields if failure else ()

    def _checker(self, schema: Any, tool: str) -> Any:
        if self._validation is None or not is_mapping(schema):
            return None
        key = self._key_of(schema)
        if (known := self._checkers.get(key)) is None:
            while len(self._checkers) >= _MOST_SCHEMAS:
                self._checkers.pop(next(iter(self._checkers)), None)
            known = self._checkers[key] = (schema, self._compiled(schema, tool))  # no other object gets its `id` then
        return known[1]

    def _compiled(self, schema: Mapping[str, Any], tool: str) -> Any:
        if "unevaluatedProperties" not in schema:
            schema = {"additionalProperties": True, **schema}
        schema = deepcopy(schema)  # the checker explains by it, and must not see later changes
        try:
            return self._validation.Checker(schema, tool=tool)
        except (ValueError, TypeError) as error:
            log.warning("a schema of tool %s is not used for checks: %s", tool, error)
            return None


def _content(schema: Mapping[str, Any]) -> bytes:
    """Return what a schema says now: one that is changed in place is another one, though it is the same object."""
    try:
        return _encoder.encode(schema)
    except Exception:  # it holds what JSON does not know, or is too deep
        return repr(schema).encode(errors="replace")


def names_all(schema: Any, arguments: Any) -> bool:
    """Return whether a schema mentions every name that was sent, so that being strict about names finds no more."""
    try:
        return bool(arguments.keys() <= schema["properties"].keys())
    except (AttributeError, KeyError, TypeError):  # no objects, or a schema that names none
        return False


def unknown_arguments(arguments: Any, schema: Any, *, tool: str) -> Failure | None:
    """Return the failure of a call with arguments that a tool does not have, or None; this needs no validator."""
    if not is_object(arguments) or names_all(schema, arguments) or not is_automatic():
        return None
    names = closed_names(schema)
    if names is None or arguments.keys() <= names:
        return None
    free = [name for name in names if name not in arguments]
    strange = [name for name in arguments if name not in names][:MOST_PROBLEMS]
    return invalid([unknown_problem(Argument((name,), arguments[name]), free) for name in strange], tool=tool)


class RememberedTools:
    """The tools that a server listed last: to each session, and to any."""

    def __init__(self) -> None:
        self.by_session: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
        self.last: dict[str, Any] = {}


class CallersTools:
    """The tools of a server as the caller of one request is listed them.

    Lists may change, and differ from caller to caller. What was listed before is good enough to let a call pass.
    Nothing is refused, called unknown or called safe to repeat by what another caller was listed, nor refused before
    the tools were listed again.

    Args:
        known: what the server listed so far.
        session: what stands for the caller as long as it is connected; None if nothing does.
        list_all: lists all tools, to this caller.
    """

    def __init__(
        self, known: RememberedTools, session: Any, list_all: Callable[[], Awaitable[Iterable[Any]]] | None
    ) -> None:
        self._known = known
        self._session = session
        self._list_all = list_all
        self._fresh: dict[str, Any] | None = None

    def remembered(self, name: str) -> Any:
        """Return a tool as it was listed last, to this caller or to another; None if it never was."""
        return self._own.get(name) or self._known.last.get(name)

    async def listed(self, name: str) -> Any:
        """Return a tool as it is listed now, to this caller, or None."""
        return (await self._list()).get(name)

    async def described(self, name: str) -> Any:
        """Return a tool as it was listed to this caller, or None."""
        return self._own.get(name) or await self.listed(name)

    async def refusal(
        self, name: str, accepts: Callable[[Any], bool], check: Callable[[Any], Failure | None]
    ) -> Failure | None:
        """Return what *check* has against a call of a tool, as it is listed now; none that it *accepts* as it was."""
        tool = self.remembered(name) or await self.listed(name)
        if tool is None or accepts(tool):
            return None
        tool = await self.listed(name)
        return None if tool is None else check(tool)

    async def names(self) -> Collection[str]:
        """Return the names of all tools that are listed now, to this caller."""
        return (await self._list()).keys()

    def note(self, tools: Iterable[Any], *, is_first_page: bool = True) -> None:
        """Remember what was listed to this caller."""
        found = {**({} if is_first_page else self._own), **{tool.name: tool for tool in tools}}
        self._known.last = found
        if self._session is not None:
            self._known.by_session[self._session] = found

    @property
    def _own(self) -> dict[str, Any]:
        if self._fresh is not None or self._session is None:
            return self._fresh or {}
        return self._known.by_session.get(self._session, {})

    async def _list(self) -> dict[str, Any]:
        """Return the tools that are listed now, asking once for each call; none if they cannot be listed."""
        if self._fresh is None:
            self._fresh = {}
            if self._list_all is not None:
                try:
                    self._fresh = {tool.name: tool for tool in await self._list_all()}
                    self.note(self._fresh.values())
                except Exception:
                    log.exception("the tools could not be listed, so their schemas are not checked")
        return self._fresh
