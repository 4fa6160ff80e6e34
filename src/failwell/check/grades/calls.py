"""Judges of the call: is it flagged, is it a tool's error, was it quick, does the server live, can it be mended?

A judge returns True, or the reason why not, or None where the question does not arise.
"""

from failwell.check.evidence import Evidence

SLOWEST = 2.0
"""So many seconds may pass until a wrong call is refused."""

_NOT_FLAGGED = {
    "unflagged": "the error is sent as a success: without isError, hosts and agents take it for the result",
    "accepted": "the call succeeded, though its arguments break the tool's own schema",
    "hung": "there was no answer in time",
    "crashed": "the server ended without an answer",
}


def flagged(seen: Evidence) -> bool | str | None:
    """Judge whether the failure is flagged as one."""
    return _NOT_FLAGGED.get(seen.ending, True)


def tool_error(seen: Evidence) -> bool | str | None:
    """Judge whether wrong arguments are answered with a tool error, which a model sees."""
    if not seen.probe.breaks_schema or seen.failure is None or seen.ending != "refused":
        return None
    if seen.is_protocol_error:
        return "a JSON-RPC error: many hosts never show it to the model (SEP-1303 asks for a tool error)"
    return True


def quick(seen: Evidence) -> bool | str | None:
    """Judge whether the refusal came soon."""
    if seen.ending == "hung":
        return "there was no answer in time"
    return True if seen.seconds <= SLOWEST else f"it took {seen.seconds:.1f} s, more than {SLOWEST:g} s"


def alive(seen: Evidence) -> bool | str | None:
    """Judge whether the server still answers."""
    return True if seen.alive else "the server did not answer any more after this call"


def repairable(seen: Evidence) -> bool | str | None:
    """Judge whether an agent who knows only the error can make the call that was meant."""
    if not seen.probe.breaks_schema and not seen.tools:
        return None
    if seen.repaired is not None:
        return True
    return "an agent that changes only what the error names cannot mend the call"
