"""`in_every_fork`: what is done first in a process that was forked, where no other thread lives on to open a lock."""

import os
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any
from weakref import WeakMethod, ref

_renewals: set["ref[Any]"] = set()


def in_every_fork(renew: Callable[[], object]) -> None:
    """Have a function of a module done, or a method for as long as its object is there."""
    is_method = isinstance(renew, MethodType)
    _renewals.add(WeakMethod(renew, _renewals.discard) if is_method else ref(renew))


def _renew() -> None:
    for found in _renewals.copy():
        renew = found()
        if renew is not None:
            renew()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_renew)
