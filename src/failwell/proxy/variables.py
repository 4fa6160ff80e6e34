"""`filled`: values of options with the variables that they name, so that no secret stands on a command line."""

import os
import re
from collections.abc import Callable

from failwell.proxy.options import Misuse

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def filled(value: str, *, option: str, written: Callable[[str], str] = str) -> str:
    """Return a value with each `${NAME}` replaced by the variable of that name, *written* as the place needs it.

    Raises:
        Misuse: a variable is not set.
    """

    def variable(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in os.environ:
            raise Misuse(f"{option} needs the variable {name}, which is not set")
        return written(os.environ[name])

    return _VARIABLE.sub(variable, value)
