"""Check arguments and results against the schemas that tools publish, refusing only what JSON Schema refuses.

Names a schema does not mention and formats are reported along with other problems, and never alone: a call that worked
before a server was protected works afterwards.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from failwell._json import is_mapping, is_object
from failwell._log import log
from failwell.failure import Failure, FieldProblem
from failwell.schema.problems import invalid

_MOST_SCHEMAS = 512


class SchemaChecks:
    """Checks against any number of schemas, each compiled once; checks nothing where jsonschema-rs is not installed."""

    def __init__(self) -> None:
        try:
            from failwell.schema import validator as validation  # optional: needs jsonschema-rs
        except ImportError:
            validation = None  # type: ignore[assignment]  # the module or nothing
        self._validation: Any = validation
        self._checkers: dict[int, tuple[Any, Any]] = {}

    @property
    def are_possible(self) -> bool:
        """Whether anything can be checked."""
        return self._validation is not None

    def refused(self, arguments: Any, schema: Any, *, tool: str) -> Failure | None:
        """Return the failure of a call with arguments that a tool's input schema refuses, or None."""
        checker = self._checker(schema, tool)
        problems = checker.problems(arguments) if checker is not None else ()
        if all(problem.kind == "format" for problem in problems):
            return None
        strict = () if _names_all(schema, arguments) else self._strict(arguments, schema, tool)
        return invalid(strict or problems, tool=tool)

    def explained(
        self, problems: Iterable[FieldProblem], arguments: Any, schema: Any, *, tool: str
    ) -> tuple[FieldProblem, ...]:
        """Return what another validator found wrong, with all that the schema says of it, and unknown names added."""
        found = tuple(problems)
        checker = self._checker(schema, tool)
        if checker is None:
            return found
        is_complete = _names_all(schema, arguments)
        said = checker.problems(arguments) if is_complete else self._strict(arguments, schema, tool)
        known = {(problem.path, problem.kind): problem for problem in said}
        merged = {problem.path: known.get((problem.path, problem.kind), problem) for problem in found}
        for problem in known.values():
            if problem.kind == "unknown":
                merged.setdefault(problem.path, problem)
        return tuple(merged.values())

    def is_broken(self, value: Any, schema: Any, *, tool: str) -> bool:
        """Return whether a result is not what a tool's output schema promises."""
        checker = self._checker(schema, tool)
        return checker is not None and any(problem.kind != "format" for problem in checker.problems(value))

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
        held = self._checkers.get(id(schema))
        if held is None or held[0] is not schema:
            while len(self._checkers) >= _MOST_SCHEMAS:
                self._checkers.pop(next(iter(self._checkers)), None)
            # Holding the schema keeps its id from being given to another.
            held = self._checkers[id(schema)] = (schema, self._compiled(schema, tool))
        return held[1]

    def _compiled(self, schema: Mapping[str, Any], tool: str) -> Any:
        if "unevaluatedProperties" not in schema:
            schema = {"additionalProperties": True, **schema}
        try:
            return self._validation.Checker(schema, tool=tool)
        except (ValueError, TypeError) as error:
            log.warning("nothing is checked against a schema of tool %s: %s", tool, error)
            return None


def _names_all(schema: Mapping[str, Any], arguments: Any) -> bool:
    """Return whether a schema mentions every name that was sent, so that being strict about names finds no more."""
    properties = schema.get("properties")
    return is_object(arguments) and is_mapping(properties) and arguments.keys() <= properties.keys()
