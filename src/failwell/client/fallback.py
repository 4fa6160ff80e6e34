"""When a fallback is due: only if the tool could not do its work, and certainly did not do it."""

from collections.abc import Callable
from typing import Any

from failwell.failure import Failure

Fallback = Callable[[Failure, dict[str, Any]], Any]
"""Takes the failure and the arguments; returns a value, or an awaitable that gives one."""

# Whatever the input, the tool cannot do its work. The others are answers: the agent corrects its call or its plan.
_UNABLE = ("TRANSIENT", "INTERNAL", "PERMISSION")


def is_due(failure: Failure, *, repeatable: bool) -> bool:
    """Return whether something may stand in for the tool; *repeatable* says that it does no harm if it ran as well."""
    if failure.type not in _UNABLE or failure.severity == "warning" or failure.outcome == "executed":
        return False
    return repeatable or (failure.outcome != "unknown" and failure.origin != "inferred")
