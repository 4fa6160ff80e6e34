"""`in_every_fork`: run functions in each forked process, where the threads that held a lock no longer exist."""

import os
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any
from weakref import WeakMethod, ref

_renewals: set["ref[Any]"] = set()


def in_every_fork(renew: Callable[[], object]) -> None:
    """Run a function of a module in each forked process, or a method for as long as its object exists."""
    is_method = isinstance(renew, MethodType)
    _renewals.add(WeakMethod(renew, _renewals.discard) if is_method else ref(renew))


def _renew() -> None:
    for found in _renewals.copy():
        renew = found()
        if renew is not None:
            renew()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_renew)
