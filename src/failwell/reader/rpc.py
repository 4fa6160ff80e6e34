"""JSON-RPC errors: what their `data` or message states, then what number and wording say together."""

from typing import Any

from failwell.dialects import json_text
from failwell.failure import Failure
from failwell.json_types import is_object
from failwell.reader import flat_text, foreign
from failwell.reader.flat_text import CERTAIN, Reading
from failwell.reader.shapes import from_shape
from failwell.reader.text.context import Context

# Numbers that servers send for whatever went wrong: clear words beat them.
_UNSPECIFIC = frozenset((-32000, -32001, -32600, -32602, -32603))
# Numbers whose meaning differs from server to server: without clear words nobody knows.
_UNSURE = frozenset((-32000, -32001))


def in_rpc_error(error: dict[str, Any]) -> Failure | None:
    """Return the failure of a known shape that a JSON-RPC error carries, or None."""
    for payload in (error.get("data"), json_text.parse_object(error["message"])):
        if is_object(payload) and (found := from_shape(payload)):
            return found
    return None


def from_rpc(error: dict[str, Any], context: Context) -> Reading:
    """Return the failure that the number and the words of a JSON-RPC error tell of."""
    stated = foreign.from_rpc_error(error)
    if stated.origin != "read" or (is_object(error.get("data")) and "code" in error["data"]):
        return Reading(stated)
    if error["code"] not in _UNSPECIFIC and stated.code is not None:
        return Reading(stated)
    reading = flat_text.verdict(error["message"], context)
    worded = reading.failure
    if worded.confidence is None or worded.confidence < CERTAIN:
        return Reading(stated)
    if worded.type == stated.type and not worded.fields:
        return Reading(stated)
    return Reading(worded.replace(details=stated.details, message=stated.message), reading.rule)
