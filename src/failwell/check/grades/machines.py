"""Judges of what programs read: `_meta`, structured content, or a text that is structured itself.

A judge returns True, or the reason why not, or None where the question does not arise.
"""

from failwell.check.evidence import Evidence
from failwell.failure import Failure, last_key, path_keys

_NOTHING = "there is no failure to read"
_FLAT = "nothing but words: a program can only guess"


def is_typed(seen: Evidence) -> bool | str | None:
    """Judge whether a program learns the type and the code of the failure."""
    found = seen.failure
    if found is None:
        return _NOTHING
    if not seen.is_structured:
        return _FLAT
    if found.code is None:
        return "no code"
    if seen.probe.types and found.type not in seen.probe.types:
        return f"the type is {found.type}, and not {' or '.join(seen.probe.types)}"
    if seen.probe.code is not None and found.code != seen.probe.code:
        return f"the code is {found.code}, and not {seen.probe.code}"
    return True


def is_stable(seen: Evidence) -> bool | str | None:
    """Judge whether the same call fails with the same code again."""
    if seen.failure is None or seen.again is None or not seen.is_structured:
        return None
    before, after = _mark(seen.failure), _mark(seen.again)
    return True if before == after else f"the same call failed with {before} first and with {after} then"


def points_to_field(seen: Evidence) -> bool | str | None:
    """Judge whether a program learns which field is wrong."""
    if not seen.probe.breaks_schema or not seen.probe.named:
        return None
    if seen.failure is None or not seen.is_structured:
        return _NOTHING if seen.failure is None else _FLAT
    known = {last_key(problem.path) for problem in seen.failure.fields}
    known |= {key for problem in seen.failure.fields for key in path_keys(problem.path) if isinstance(key, str)}
    lost = [name for name in seen.probe.named if name not in known]
    return True if not lost else f"no field problem for {', '.join(lost)}"


def tells_retry(seen: Evidence) -> bool | str | None:
    """Judge whether a program learns if the same call may be made again."""
    if seen.failure is None:
        return _NOTHING
    if not seen.is_structured:
        return _FLAT
    return True if seen.failure.retryable is not None else "nothing says whether the same call may succeed later"


def _mark(failure: Failure) -> str:
    return failure.code or failure.type
