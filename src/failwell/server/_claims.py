"""`ClaimStore`: who runs the call with an idempotency key, and how it ended; `open_claims` opens one.

A store does five things, each atomic. Its own clock counts: the database's where there is one, so that servers whose
clocks differ agree. Keys come hashed; a store never sees who called which tool with what.
"""

from importlib import import_module
from threading import Lock
from time import time
from typing import Literal, Protocol

from msgspec import Struct

ClaimState = Literal["running", "done", "unknown"]


class Entry(Struct, frozen=True, kw_only=True):
    """What a store knows of a key.

    `lease` is how many seconds are left until the worker that runs the call counts as lost; negative since when it
    does. `result` is what was answered, if it was kept.
    """

    fingerprint: str
    state: ClaimState
    owner: str
    lease: float
    result: bytes | None = None


class StoreDown(Exception):
    """The store did not answer, or refused: nothing is known of the key."""


class ClaimStore(Protocol):
    """Keeps the claims. Every method may block, is called from worker threads, and raises `StoreDown`."""

    def claim(self, key: str, fingerprint: str, owner: str, *, lease: float, retention: float) -> Entry | None:
        """Claim a free or expired key and return None; otherwise return the existing claim."""
        ...

    def take_over(self, key: str, owner: str, previous: str, *, lease: float) -> bool:
        """Take over a claim that *previous* left unsettled, and return whether that worked."""
        ...

    def renew(self, key: str, owner: str, *, lease: float) -> bool:
        """Extend the lease of a running call, and return whether *owner* still has the claim."""
        ...

    def settle(self, key: str, owner: str, state: ClaimState, result: bytes | None, *, retention: float) -> bool:
        """Store the outcome of the call, and return whether *owner* still had the claim."""
        ...

    def release(self, key: str, owner: str) -> bool:
        """Delete the claim of a call that had no effect, and return whether *owner* still had it."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


class _Kept(Struct):
    fingerprint: str
    state: ClaimState
    owner: str
    lease_ends: float
    expires: float
    result: bytes | None = None


class MemoryClaims:
    """Claims in the memory of one process, for tests: other processes don't see them, and they end with it."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = Lock()

    def claim(self, key: str, fingerprint: str, owner: str, *, lease: float, retention: float) -> Entry | None:
        """Claim a free or expired key and return None; otherwise return the existing claim."""
        now = time()
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or is_forgotten(kept.state, kept.lease_ends, kept.expires, now=now):
                self._kept[key] = _Kept(fingerprint, "running", owner, now + lease, now + retention)
                return None
            return Entry(
                fingerprint=kept.fingerprint,
                state=kept.state,
                owner=kept.owner,
                lease=kept.lease_ends - now,
                result=kept.result,
            )

    def take_over(self, key: str, owner: str, previous: str, *, lease: float) -> bool:
        """Take over a claim that *previous* left unsettled, and return whether that worked."""
        now = time()
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.owner != previous or kept.state == "done":
                return False
            if kept.state == "running" and kept.lease_ends > now:
                return False
            kept.state, kept.owner, kept.lease_ends = "running", owner, now + lease
            return True

    def renew(self, key: str, owner: str, *, lease: float) -> bool:
        """Extend the lease of a running call, and return whether *owner* still has the claim."""
        with self._lock:
            kept = self._running(key, owner)
            if kept is not None:
                kept.lease_ends = time() + lease
            return kept is not None

    def settle(self, key: str, owner: str, state: ClaimState, result: bytes | None, *, retention: float) -> bool:
        """Store the outcome of the call, and return whether *owner* still had the claim."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.owner != owner or (kept.state == "done" and state != "done"):
                return False
            kept.state, kept.result, kept.expires = state, result, time() + retention
            return True

    def release(self, key: str, owner: str) -> bool:
        """Delete the claim of a call that had no effect, and return whether *owner* still had it."""
        with self._lock:
            found = self._running(key, owner)
            if found is not None:
                del self._kept[key]
            return found is not None

    def close(self) -> None:
        """Do nothing: memory needs no closing."""

    def _running(self, key: str, owner: str) -> _Kept | None:
        kept = self._kept.get(key)
        return kept if kept is not None and kept.owner == owner and kept.state == "running" else None


def is_forgotten(state: str, lease_ends: float, expires: float, *, now: float) -> bool:
    """Return whether a key is beyond its retention; a call that still runs is never forgotten."""
    return expires <= now and not (state == "running" and lease_ends > now)


# One row for each kind of store: how its addresses begin, and what opens it.
_STORES: dict[str, tuple[str, str]] = {
    "sqlite": ("failwell.server._claims_sql", "SqliteClaims"),
    "postgresql": ("failwell.server._claims_postgres", "PostgresClaims"),
    "postgres": ("failwell.server._claims_postgres", "PostgresClaims"),
    "redis": ("failwell.server._claims_redis", "RedisClaims"),
    "rediss": ("failwell.server._claims_redis", "RedisClaims"),
}


def open_claims(address: str) -> ClaimStore:
    """Return the store at `sqlite:///FILE`, `postgresql://HOST/DATABASE` or `redis://HOST`.

    Raises:
        ValueError: it is not the address of a store.
        ImportError: the package that it needs is not installed.
    """
    scheme = address.partition(":")[0]
    if scheme not in _STORES:
        raise ValueError("a store needs an address such as sqlite:///effects.db, postgresql://host/db or redis://host")
    module, name = _STORES[scheme]
    store: ClaimStore = getattr(import_module(module), name)(address)
    return store
