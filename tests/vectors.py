"""The published contracts' examples as data, and the failures they are made of."""

import json
from pathlib import Path
from typing import Any

import failwell as fw

FOLDER = Path(__file__).parent / "data" / "vectors"
DIALECTS = ("compact", "envelope", "flat", "meta", "xml")


class AuthenticationError(fw.ToolFailure):
    """The custom class that a vector of the meta dialect names."""


_CLASSES = {
    "validation": fw.Invalid,
    "timeout": fw.TimedOut,
    "network": fw.NetworkFailure,
    "custom AuthenticationError": AuthenticationError,
}


def load(dialect: str) -> dict[str, Any]:
    """Return the vectors of a dialect."""
    found: dict[str, Any] = json.loads((FOLDER / f"{dialect}.json").read_text())
    return found


def cases(dialect: str) -> list[dict[str, Any]]:
    """Return the encoding vectors of a dialect."""
    found: list[dict[str, Any]] = load(dialect)["encode"]
    return found


def failure_of(given: dict[str, Any]) -> fw.Failure:
    """Return the failure that a vector's `given` describes."""
    values = {key: value for key, value in given.items() if key not in ("clock", "version", "helper")}
    match given:
        case {"helper": "error"}:
            return fw.error(**values)
        case {"helper": "required"}:
            return fw.required(**values)
        case {"helper": "tool_error"}:
            return fw.tool_error(values.pop("code"), **values)
        case {"validation": {"tool": tool, "fields": fields}}:
            problems = fw.Validation(tool=tool)
            for field in fields:
                problems.add(field.pop("path"), field.pop("sent"), field.pop("message", None), **field)
            return _raised(problems.raise_if_any)
        case {"schema": schema, "arguments": arguments, "action": action}:
            found = fw.check_arguments(arguments, schema, action=action)
            assert found is not None
            return found
        case {"group": group, "arguments": arguments}:
            routed = fw.Group("billing", discriminator=group["discriminator"])
            for action in group["actions"]:
                routed.add(action, lambda: None)
            return _raised(lambda: routed.route(arguments))
        case {"kind": kind}:
            values.pop("kind")
            return _CLASSES[kind](values.pop("message"), **values).failure
        case _:
            return fw.Failure(**values)


def _raised(call: Any) -> fw.Failure:
    try:
        call()
    except fw.ToolFailure as failed:
        return failed.failure
    raise AssertionError("nothing was raised")
