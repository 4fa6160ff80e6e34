"""Probes of the field that chooses what a tool does: left out, unknown, misspelt."""

from collections.abc import Iterator
from typing import Any

from failwell._json import is_object
from failwell.check.arguments import PLACEHOLDER, listed_in, shapes, with_value, without_value
from failwell.check.probes.names import REQUIRED, misspelling
from failwell.check.probes.probe import CheckedTool, ProposedCall


def discriminator(tool: CheckedTool) -> Iterator[ProposedCall]:
    """The field that tells the alternatives apart: left out, with a value of none of them, with a slip in it."""
    for name, options in _discriminators(tool):
        base = next((arguments for _, arguments in tool.valid_arguments if arguments.get(name) in options), None)
        if base is None:
            continue
        rest = without_value(base, (name,))
        if rest is not None:
            violates = f"{name}, which selects what to do, is left out"
            yield ProposedCall(rest, base, (name,), violates, (name,), REQUIRED, options, variant="missing")
        slip = next((found for option in options if (found := misspelling(option)) and found not in options), None)
        for value, variant in ((PLACEHOLDER, "unknown"), (slip, "misspelt")):
            arguments = with_value(base, (name,), value) if value is not None else None
            if arguments is not None:
                violates = f"{name} is {value}, which is not one of the choices"
                yield ProposedCall(arguments, base, (name,), violates, (name,), options, options, variant=variant)


def _discriminators(tool: CheckedTool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names of required fields that hold one certain text in each shape, with these texts."""
    if len(tool.shapes) < 2:
        return
    texts = [dict(_fixed_texts(tool, shape)) for shape in tool.shapes]
    for name in texts[0]:
        options = tuple(dict.fromkeys(found[name] for found in texts if name in found))
        if len(options) > 1 and all(name in found for found in texts):
            yield name, options


def _fixed_texts(tool: CheckedTool, shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    properties = shape.get("properties")
    for name, schema in properties.items() if is_object(properties) else ():
        made = shapes(schema, tool.tree)
        listed = listed_in(made[0]) if len(made) == 1 else []
        if len(listed) == 1 and isinstance(listed[0], str) and name in shape.get("required", ()):
            yield name, listed[0]
