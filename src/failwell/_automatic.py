"""`is_automatic`: whether automatic actions are on; one environment variable turns all of them off."""

import os

VARIABLE = "FAILWELL_AUTOMATIC"
SWITCHED_OFF = f"Automatic actions are turned off by {VARIABLE}."

_ON = ("", "on", "1", "true", "yes")


def is_automatic() -> bool:
    """Return whether to act on a failure: retry, repair, answer in place of a tool, call a result an error.

    It is looked up each time. Any value but those that mean on switches it off, as who sets it wants that.
    """
    return os.environ.get(VARIABLE, "").strip().lower() in _ON
