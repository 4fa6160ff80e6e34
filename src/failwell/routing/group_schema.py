"""The JSON Schema of a grouped tool, flat enough for every host.

Hosts refuse tools whose schema has `oneOf`, `anyOf` or `allOf` at the top. So the properties of all actions stand side
by side, each naming the actions it belongs to, and what an action requires is checked when it is routed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from failwell.arguments.schema_tree import closed_names
from failwell.json_types import is_array, is_mapping, is_object

_BOOLEANS: dict[Any, dict[str, Any]] = {True: {}, False: {"not": {}}}


def grouped(
    schemas: Mapping[str, Mapping[str, Any]], *, discriminator: str, notes: Mapping[str, str]
) -> dict[str, Any]:
    """Return a schema that takes the arguments of every action, with the discriminator that chooses one."""
    moved = {name: _moved(schema, name) for name, schema in schemas.items()}
    properties: dict[str, dict[str, Any]] = {discriminator: _choice(list(schemas), notes)}
    for field in dict.fromkeys(field for schema in moved.values() for field in schema.get("properties", {})):
        users = {name: schema for name, schema in moved.items() if field in schema.get("properties", {})}
        others = [schema for name, schema in moved.items() if name not in users]
        properties[field] = _united(field, users, others)
    everywhere = [
        field for field in properties if all(field in schema.get("required", ()) for schema in moved.values())
    ]
    grouped: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [discriminator, *everywhere] if schemas else [discriminator],
    }
    if all(_is_closed(schema) for schema in moved.values()):
        grouped["additionalProperties"] = False
    if definitions := {name: moved[name] for name, schema in schemas.items() if moved[name] != schema}:
        grouped["$defs"] = definitions
    return grouped


def _choice(actions: list[str], notes: Mapping[str, str]) -> dict[str, Any]:
    lines = [f"{action}: {notes[action]}" for action in actions if action in notes]
    choice: dict[str, Any] = {"type": "string", "enum": actions}
    return {**choice, "description": "\n".join(["Which action to take.", *lines])} if lines else choice


def _united(field: str, users: Mapping[str, Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one schema for a field of some actions, and say in words of which; others may take anything there."""
    variants: list[dict[str, Any]] = []
    for schema in users.values():
        held = schema["properties"][field]
        variant: dict[str, Any] = held if is_object(held) else _BOOLEANS[held]
        if variant not in variants:
            variants.append(variant)
    if not all(map(_is_closed, others)):
        variants.append({})
    united: dict[str, Any] = dict(variants[0]) if len(variants) == 1 else {"anyOf": variants}
    needing = [name for name, schema in users.items() if field in schema.get("required", ())]
    notes = [f"For {', '.join(users)}."] if others and needing != list(users) else []
    if needing and (others or needing != list(users)):
        notes.append(f"Required for {', '.join(needing)}.")
    note = " ".join(notes)
    if note:
        united["description"] = f"{united['description']} {note}" if united.get("description") else note
    return united


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Tell whether an action takes no arguments but its properties."""
    if schema.get("additionalProperties") is False:
        return "patternProperties" not in schema
    return closed_names(schema) is not None


def _moved(schema: Any, action: str) -> Any:
    """Return a schema with its references to itself pointing to where it stands in the grouped one."""
    if is_mapping(schema):
        place = "#/$defs/" + action.replace("~", "~0").replace("/", "~1").replace("%", "%25")
        return {
            key: place + value[1:]
            if key == "$ref" and isinstance(value, str) and value.startswith("#")
            else _moved(value, action)
            for key, value in schema.items()
        }
    return [_moved(item, action) for item in schema] if is_array(schema) else schema
