"""`Repeats`: the same call failing the same way again and again is not worth another try."""

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Any

import msgspec

from failwell.failure import Failure
from failwell.retry.forks import in_every_fork
from failwell.retry.limits import Key

_MOST_TOOLS = 250
_MOST_CALLS = 50


class Repeats:
    """Counts how often calls of the same tool with the same arguments failed with the same code, one after another.

    The *most*-th is not tried again. The tries of one call count once. Of arguments, which may be long or secret, it
    keeps a digest only.
    """

    def __init__(self, *, most: int = 3) -> None:
        if most < 1:
            raise ValueError(f"a call may fail at least once, not {most!r}")
        self.most = most
        self.failing: OrderedDict[Key, OrderedDict[bytes, tuple[str, int]]] = OrderedDict()
        self._unlock()
        in_every_fork(self._unlock)

    def failed(self, key: Key, arguments: Any, failure: Failure) -> bool:
        """Count a failed call and return whether calls like it have failed like this too often."""
        digest = digest_of(arguments)
        reason = reason_of(failure)
        with self._lock:
            calls = self.failing.setdefault(key, OrderedDict())
            self.failing.move_to_end(key)
            before, count = calls.get(digest, (reason, 0))
            count = count + 1 if before == reason else 1
            calls[digest] = (reason, count)
            calls.move_to_end(digest)
            if len(calls) > _MOST_CALLS:
                calls.popitem(last=False)
            if len(self.failing) > _MOST_TOOLS:
                self.failing.popitem(last=False)
        return count >= self.most

    def succeeded(self, key: Key, arguments: Any) -> None:
        """Forget the failures of a call that succeeded."""
        if key not in self.failing:
            return
        digest = digest_of(arguments)
        with self._lock:
            calls = self.failing.get(key, OrderedDict[bytes, tuple[str, int]]())
            calls.pop(digest, None)
            if not calls:
                self.failing.pop(key, None)

    def _unlock(self) -> None:
        self._lock = Lock()


def reason_of(failure: Failure) -> str:
    """Return what two failures of the same kind have in common."""
    return failure.code or failure.type


def digest_of(arguments: Any) -> bytes:
    """Return what two calls with the same arguments have in common, in whatever order they are named."""
    try:
        told = msgspec.json.encode(arguments, enc_hook=repr, order="deterministic")
    except Exception:  # too deep, a key that JSON does not know, an object that does not like to be looked at
        told = str(id(arguments)).encode()
    return hashlib.blake2b(told, digest_size=16).digest()
