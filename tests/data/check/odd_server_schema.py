"""The input schema of the odd server's tools."""

from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "copies": {"type": "integer", "maximum": 3}},
    "required": ["to"],
    "additionalProperties": False,
}
