"""A mechanical agent that knows only the error, and the call it would make next.

It changes only what the error names. What to put there it takes from the error, or from the tool's published schema,
as any agent can. If the error names nothing, it is at a loss.
"""

import copy
from typing import Any

from failwell._json import is_object
from failwell._spelling import closest
from failwell.check.arguments import NOTHING, Keys, SchemaField, schema_fields, value_at, with_value, without_value
from failwell.check.evidence import Evidence
from failwell.check.probes.probe import CheckedTool
from failwell.failure import ROOT, Failure, FieldProblem, last_key, parent_path, path_keys
from failwell.schema.repair import repair

_MOST_TRIES = 20


def correct_arguments(failure: Failure | None, arguments: dict[str, Any], tool: CheckedTool) -> dict[str, Any] | None:
    """Return arguments that the schema accepts, made by correcting what the error names; None if it does not tell."""
    problems = [problem for problem in failure.fields if problem.path != ROOT] if failure else []
    if failure is None or not problems:
        return None
    named = {problem.path for problem in problems}
    proposal = repair(failure, arguments, tool.schema)
    if proposal is not None and _changes_only(proposal.changes, named) and tool.is_valid(proposal.arguments):
        return proposal.arguments
    corrected: dict[str, Any] | None = copy.deepcopy(arguments)
    for problem in sorted(problems, key=lambda one: one.kind != "unknown"):
        corrected = _correct_field(corrected, problem, tool) if corrected is not None else None
    return corrected if corrected is not None and tool.is_valid(corrected) else None


def repair_call(evidence: Evidence, tool: CheckedTool) -> dict[str, Any] | None:
    """Return the arguments that the agent would send next; None if neither the whole answer nor its text tells."""
    readings = (evidence.failure, evidence.from_text)
    corrected = (correct_arguments(failure, evidence.probe.arguments, tool) for failure in readings)
    return next((arguments for arguments in corrected if arguments is not None), None)


def choose_tool(failure: Failure | None, sent: str, tools: tuple[str, ...]) -> str | None:
    """Return the tool that the error points to; None if it points to none."""
    if failure is None:
        return None
    named = [name for name in failure.actions if name in tools]
    return next(iter(closest(sent, named, most=1) or named), None)


def _changes_only(changes: Any, named: set[str]) -> bool:
    """Tell whether a repair touches nothing but what the error names, or what a named field is called rightly."""
    return all(change.path in named or _is_renamed(change.path, change.reason, named) for change in changes)


def _is_renamed(path: str, reason: str, named: set[str]) -> bool:
    return any(reason.startswith(f"{last_key(name)} is called ") and parent_path(name) == parent_path(path)
               for name in named)  # fmt: skip


def _correct_field(arguments: dict[str, Any], problem: FieldProblem, tool: CheckedTool) -> dict[str, Any] | None:
    keys = path_keys(problem.path)
    field = _find_field(keys, tool)
    sent = value_at(arguments, keys)
    if field is None or problem.kind == "unknown":
        return _rename_field(arguments, keys, problem, tool) if sent is not NOTHING else arguments
    if sent is NOTHING and value_at(arguments, keys[:-1]) is NOTHING:
        return arguments
    options = [option for option in problem.options if option is not None]
    for value in (*options[:1], *_first_values(tool.values.candidates(field.schema)), *options):
        corrected = with_value(arguments, keys, value)
        if corrected is not None and not _has_error_at(corrected, keys, tool):
            return corrected
    return None


def _rename_field(
    arguments: dict[str, Any], keys: Keys, problem: FieldProblem, tool: CheckedTool
) -> dict[str, Any] | None:
    rest = without_value(arguments, keys)
    if rest is None:
        return None
    name, holder = problem.did_you_mean, value_at(arguments, keys[:-1])
    if name and is_object(holder) and name not in holder and _find_field((*keys[:-1], name), tool):
        return with_value(rest, (*keys[:-1], name), value_at(arguments, keys))
    return rest


def _has_error_at(arguments: dict[str, Any], keys: Keys, tool: CheckedTool) -> bool:
    return any(tuple(error.instance_path)[: len(keys)] == keys for error in tool.errors(arguments))


def _first_values(candidates: Any) -> list[Any]:
    return [value for value, _ in zip(candidates, range(_MOST_TRIES), strict=False)]


def _find_field(keys: Any, tool: CheckedTool) -> SchemaField | None:
    fields = (field for shape in tool.shapes for field in schema_fields(shape, tool.tree))
    wanted = tuple(0 if isinstance(key, int) else key for key in keys)
    return next((field for field in fields if field.keys == wanted), None)
