"""`idempotent`: a tool whose effect happens at most once for a key that the caller sends with each try.

The contract is written down in docs/howto/idempotency.md. This module decides; it starts no tool and knows no SDK. The
module of an SDK calls `begin` before the tool, and `end` after it, both in a worker thread: stores block.
"""

import functools
import hashlib
import inspect
import json
import math
import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from failwell._json import is_array, is_object
from failwell._log import log
from failwell._spelling import refuse_misspelt
from failwell.dialects._placement import META_KEY, read_whole, success
from failwell.errors import Conflict
from failwell.failure import Failure, FieldProblem, join_path
from failwell.retry._call_key import KEY
from failwell.server._claims import ClaimState, ClaimStore, Entry, StoreDown, open_claims

REPLAYED = "dev.failwell/replayed"
"""Where in a result's `_meta` it says that this is the answer to an earlier call."""

SHORTEST_KEY, LONGEST_KEY = 16, 255
RETENTION = 24 * 60 * 60.0

_ATTRIBUTE = "__failwell_idempotency__"
_VERIFIED_ATTRIBUTE = "__failwell_verified_by__"
_LARGEST_RESULT = 2**20
_LEASE = 60.0
_IN_PROGRESS_DELAY = 1.0

F = TypeVar("F", bound=Callable[..., Any])
Resolve = Callable[[str, dict[str, Any]], Any]
StoreFailure = Literal["refuse", "proceed"]

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


class Cipher(Protocol):
    """What encrypts stored results, such as a `Fernet` of the package cryptography."""

    def encrypt(self, data: bytes) -> bytes:
        """Return the data so that only `decrypt` can read it."""
        ...

    def decrypt(self, token: bytes) -> bytes:
        """Return what was encrypted."""
        ...


class Resolution(Struct, frozen=True):
    """What `resolve` found: the result of the effect that happened. Returning None says that it did not happen."""

    result: Any = None


class Idempotency:
    """How a tool takes idempotency keys.

    Args:
        store: where claims are kept: a `ClaimStore`, or the address of one, such as `sqlite:///effects.db`.
        resolve: looks up an effect by its key and arguments after a worker died or never learned the outcome of
            it. It returns a `Resolution` if it happened, None if it did not, and raises if it can't tell.
        transactional: the tool settles its claim in the transaction of its effect (`current_claim().settle_in`), so
            that a claim that was not settled had no effect.
        downstream: the tool passes the key to a service that takes it, so that doing it again is safe.
        required: refuse calls without a key.
        retention: how many seconds a key is remembered; it is published, and clients do not retry a key beyond it.
        lease: a worker without a sign of life for this many seconds counts as lost.
        abandoned_after: how many seconds a worker must be lost before `resolve` may say that nothing happened; one that
            can't reach the store may still be running.
        on_store_failure: `refuse` calls with a key while the store is down, or let them `proceed` without protection.
        cipher: encrypts stored results.
        principal: tells who calls, given the SDK's context; the default is the authenticated client and subject.
        largest_result: results of more bytes are not kept; their call is not made again either.

    Raises:
        ValueError: a number is out of range, or the address is not one of a store.
        TypeError: something is not what the setting takes.
        ImportError: a package that the store needs is not installed.
    """

    def __init__(
        self,
        store: ClaimStore | str,
        *,
        resolve: Resolve | None = None,
        transactional: bool = False,
        downstream: bool = False,
        required: bool = False,
        retention: float = RETENTION,
        lease: float = _LEASE,
        abandoned_after: float | None = None,
        on_store_failure: StoreFailure = "refuse",
        cipher: Cipher | None = None,
        principal: Callable[[Any], str | None] | None = None,
        largest_result: int = _LARGEST_RESULT,
    ) -> None:
        _check_number("retention", retention)
        _check_number("lease", lease)
        _check_number("abandoned_after", 1.0 if abandoned_after is None else abandoned_after, may_be_zero=True)
        _check_number("largest_result", largest_result, may_be_zero=True)
        for name, given, method in (("resolve", resolve, "__call__"), ("principal", principal, "__call__")):
            _check_has(name, given, method, "a function")
        _check_has("cipher", cipher, "encrypt", "something with encrypt and decrypt, such as a Fernet")
        if on_store_failure not in ("refuse", "proceed"):
            raise ValueError(f"on_store_failure must be 'refuse' or 'proceed', not {on_store_failure!r}")
        self.store = open_claims(store) if isinstance(store, str) else store
        if not hasattr(self.store, "claim"):
            raise TypeError(f"a store must be an address such as 'sqlite:///effects.db' or a ClaimStore, not {store!r}")
        if transactional and not hasattr(self.store, "settle_in"):
            raise ValueError("a transaction can be shared with SQLite and PostgreSQL only")
        self.resolve = resolve
        self.transactional = transactional
        self.downstream = downstream
        self.required = required
        self.retention = retention
        self.lease = lease
        self.abandoned_after = 5 * lease if abandoned_after is None else abandoned_after
        self.on_store_failure = on_store_failure
        self.cipher = cipher
        self.principal = principal
        self.largest_result = largest_result

    def declaration(self) -> dict[str, Any]:
        """Return what is published of a tool that takes keys."""
        return {"retention": self.retention, "required": self.required}


def _check_number(name: str, number: object, *, may_be_zero: bool = False) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise TypeError(f"{name} must be a number, not {number!r}")
    if not 0 <= number < math.inf or (number == 0 and not may_be_zero):
        raise ValueError(f"{name} must be a positive number, not {number!r}")


def _check_has(name: str, given: object, method: str, wanted: str) -> None:
    if given is not None and not hasattr(given, method):
        raise TypeError(f"{name} must be {wanted}, not {given!r}")


class Claim:
    """A call that runs under a key. A tool gets it from `current_claim`: to pass the key on, or to settle it itself."""

    def __init__(self, settings: Idempotency, key: str, id: str, arguments: dict[str, Any], owner: str) -> None:
        self.settings = settings
        self.key = key
        self.id = id
        self.arguments = arguments
        self.owner = owner
        self.is_mine = True
        self.resolution: Resolution | None = None

    def settle_in(self, connection: Any) -> None:
        """Note in the transaction of the effect that it happens: both are committed, or neither.

        *connection* is one to the store's own database, of its driver or of SQLAlchemy.

        Raises:
            Conflict: the claim went to another worker meanwhile, so the transaction must not be committed.
        """
        store: Any = self.settings.store
        if not self.is_mine or not store.settle_in(connection, self.id, self.owner):
            self.is_mine = False
            raise Conflict("Another worker took over the call, so nothing was done.")


_current: ContextVar[Claim | None] = ContextVar("failwell_claim", default=None)


def current_claim() -> Claim | None:
    """Return the claim that the running tool call has; None if its caller sent no key."""
    return _current.get()


def idempotent(store: ClaimStore | str, **settings: Any) -> Callable[[F], F]:
    """Make a tool of a protected server take idempotency keys. The settings are those of `Idempotency`.

    Put it below the SDK's decorator. `protect` makes sure that the effect happens at most once for a key.

    Raises:
        TypeError: a setting does not exist or has the wrong type, or the store is missing.
        ValueError: a number is out of range, or the address is not one of a store.
        ImportError: a package that the store needs is not installed.
    """
    if inspect.isfunction(store):
        raise TypeError("idempotent needs a store: write @idempotent('sqlite:///effects.db')")
    known = inspect.signature(Idempotency).parameters
    refuse_misspelt("idempotent", settings, known)
    return with_idempotency(Idempotency(store, **settings))


def with_idempotency(settings: Idempotency) -> Callable[[F], F]:
    """Return a decorator that gives a tool these settings, which several tools may share."""

    def mark(function: F) -> F:
        marked = _unless_resolved(function) if settings.resolve is not None else function
        setattr(marked, _ATTRIBUTE, settings)
        marks.are_any = True
        return marked

    return mark


class Marks:
    """Whether a function of this process was ever marked, so that calls have to look for one."""

    are_any = False


marks = Marks()


def _unless_resolved(function: F) -> F:
    """Return a tool that gives what `resolve` found instead of running, so that the SDK makes a result of it."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            found = _resolution()
            return await function(*args, **kwargs) if found is None else found.result

        return run_async  # type: ignore[return-value]  # the same signature

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        found = _resolution()
        return function(*args, **kwargs) if found is None else found.result

    return run  # type: ignore[return-value]  # the same signature


def _resolution() -> "Resolution | None":
    claim = _current.get()
    return claim.resolution if claim is not None else None


def idempotency_of(function: Any) -> Idempotency | None:
    """Return the settings that a function was marked with."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Idempotency) else None


class Pairing(Struct, frozen=True):
    """The tool that tells whether an effect happened; `arguments` maps its arguments to those of the call."""

    tool: str
    arguments: dict[str, str] = {}


def verified_by(tool: str, **arguments: str) -> Callable[[F], F]:
    """Name the tool that tells whether the effect of this one happened.

    `@verified_by("get_payment", reference="order_id")`: its argument `reference` is this tool's `order_id`. It is
    published, and an answer whose outcome is unknown names it.

    Raises:
        TypeError: something is not a name.
    """
    if not tool or not isinstance(tool, str):
        raise TypeError(f"verified_by takes the name of a tool, not {tool!r}")
    for name, argument in arguments.items():
        if not isinstance(argument, str):
            raise TypeError(f"verified_by takes the name of an argument of this tool for {name!r}, not {argument!r}")
    pairing = Pairing(tool, dict(arguments))

    def mark(function: F) -> F:
        setattr(function, _VERIFIED_ATTRIBUTE, pairing)
        return function

    return mark


def pairing_of(function: Any) -> Pairing | None:
    """Return the tool that verifies a function's effect, if one was named."""
    found = getattr(function, _VERIFIED_ATTRIBUTE, None)
    return found if isinstance(found, Pairing) else None


class Replay(Struct, frozen=True):
    """The call was made before: this is what it was answered with."""

    wire: dict[str, Any]


class Refusal(Struct, frozen=True):
    """The call must not be made: this is why."""

    failure: Failure


class Lookup(Struct, frozen=True):
    """What came of an earlier call is not known: `resolve` has to be asked, and `resolved` told."""

    claim: Claim


Beginning = Claim | Replay | Refusal | Lookup | None
"""What becomes of a call; None: it is made without a claim."""


def begin(
    settings: Idempotency, *, key: Any, principal: str | None, server: str, tool: str, arguments: Any
) -> Beginning:
    """Claim the key of a call, before anything of it runs. *principal* is None where callers can't be told apart."""
    if key is None:
        return (
            Refusal(_key_failure("An idempotency key is required.", tool, kind="missing"))
            if settings.required
            else None
        )
    if not _is_key(key):
        wanted = f"The idempotency key must be a text of {SHORTEST_KEY} to {LONGEST_KEY} characters."
        return Refusal(_key_failure(wanted, tool, kind="value"))
    if principal is None:
        return Refusal(_no_principal(tool))
    sent: dict[str, Any] = arguments if is_object(arguments) else {}
    try:
        fingerprint = _fingerprint(sent)
    except RecursionError:
        return Refusal(_too_deep(tool))
    claim = Claim(settings, key, _scoped(principal, server, tool, key), sent, os.urandom(12).hex())
    try:
        return _claimed(claim, fingerprint, tool)
    except Exception as exc:
        _renewer.release_later(claim)
        _log_trouble(f"the store of idempotency keys is down; tool {tool}", exc)
        if settings.on_store_failure == "proceed":
            return None
        return Refusal(_store_down(tool))


def _is_key(key: Any) -> bool:
    if not isinstance(key, str) or not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in key)  # halves of characters, which are no text


def _log_trouble(what: str, exc: Exception) -> None:
    """Log that a store did not do its part: in one line if it is down, else with the mistake that is in it."""
    log.warning("%s (%s)", what, exc, exc_info=None if isinstance(exc, StoreDown) else exc)


def _claimed(claim: Claim, fingerprint: str, tool: str) -> Beginning:
    settings = claim.settings
    lease, retention = settings.lease, settings.retention
    entry = settings.store.claim(claim.id, fingerprint, claim.owner, lease=lease, retention=retention)
    if entry is None:
        _renewer.watch(claim)
        return claim
    if entry.fingerprint != fingerprint:
        return Refusal(_mismatch(tool))
    if entry.state == "done":
        return _replay(settings, entry, tool)
    may_run = settings.transactional or settings.downstream
    # A worker that only can't reach the store may still be at work, and nothing stops it.
    patience = 0.0 if may_run or settings.resolve is None else settings.abandoned_after
    if entry.state == "running" and (-entry.lease < patience or entry.lease > 0 or _renewer.is_at_work(claim.id)):
        return Refusal(_in_progress(tool))
    if not may_run and settings.resolve is None:
        return Refusal(unknown_outcome(tool))
    if not settings.store.take_over(claim.id, claim.owner, entry.owner, lease=lease):
        return Refusal(_in_progress(tool))
    _renewer.watch(claim)
    return claim if may_run else Lookup(claim)


def resolved(claim: Claim, found: Any, tool: str, *, is_marked: bool) -> Claim | Replay | Refusal:
    """Return what becomes of a call after `resolve` answered: the result of its effect, or the call itself.

    A function that *is_marked* returns by itself what was found.
    """
    if found is not None and not isinstance(found, Resolution):
        log.error("resolve of tool %s returned %s; it returns a Resolution or None", tool, type(found).__name__)
        return unresolved(claim, tool)
    claim.resolution = found
    if found is None or is_marked:
        return claim
    result = found.result
    wire = result if is_object(result) and is_array(result.get("content")) else success(result)
    end(claim, wire)
    return Replay(as_replayed(wire))


def unresolved(claim: Claim, tool: str) -> Refusal:
    """Return the answer to a call of which `resolve` can't tell either what came of it."""
    _settle(claim, "unknown", None)
    return Refusal(unknown_outcome(tool))


def end(claim: Claim, wire: Mapping[str, Any] | None, *, is_open: bool = False) -> None:
    """Note what a call was answered with; None: nothing is known of it, as it was cancelled or crashed.

    *is_open* says that the server asks the client for more, so that the call is not over and nothing is settled.
    """
    outcome = "unknown" if wire is None else _outcome(wire)
    if is_open or outcome in ("not_executed", "rejected"):
        _release(claim)
    elif outcome == "executed":
        _settle(claim, "done", wire)
    # A claim that its tool settles within the transaction of the effect had none if it is not settled yet.
    elif not (claim.settings.transactional and _release(claim)):
        _settle(claim, "unknown", None)


def enter(claim: Claim) -> Any:
    """Make a claim the current one, and return what `leave` takes."""
    return _current.set(claim)


def leave(token: Any) -> None:
    """End what `enter` began."""
    _current.reset(token)


def _outcome(wire: Mapping[str, Any]) -> str:
    if wire.get("isError") is not True:
        return "executed"
    meta = wire.get("_meta")
    failure = read_whole(meta.get(META_KEY)) if is_object(meta) else None
    return failure.outcome if failure is not None else "unknown"


def _release(claim: Claim) -> bool:
    _renewer.forget(claim)
    try:
        return claim.settings.store.release(claim.id, claim.owner)
    except Exception as exc:
        _log_trouble("a claim could not be released", exc)
        _renewer.release_later(claim)
        return True


def _settle(claim: Claim, state: ClaimState, wire: Mapping[str, Any] | None) -> None:
    settings = claim.settings
    _renewer.forget(claim)
    try:
        kept = None if wire is None else _sealed(settings, wire)
        if not settings.store.settle(claim.id, claim.owner, state, kept, retention=settings.retention):
            log.warning("a claim was settled too late: another worker has it")
    except Exception as exc:  # its lease ends, and then it counts as unknown
        _log_trouble("a claim could not be settled", exc)


def _sealed(settings: Idempotency, wire: Mapping[str, Any]) -> bytes | None:
    """Return a result as it is stored; None: it can't be, and a repeat is told only that the call took effect."""
    try:
        data = _encode(wire)
        if len(data) > settings.largest_result:
            return None
        return data if settings.cipher is None else settings.cipher.encrypt(data)
    except Exception:
        log.exception("a result could not be stored")
        return None


def _replay(settings: Idempotency, entry: Entry, tool: str) -> Beginning:
    if entry.result is None:
        return Refusal(_result_lost(tool))
    try:
        data = entry.result if settings.cipher is None else settings.cipher.decrypt(entry.result)
        wire = _decode(data)
    except Exception:  # another key, or damaged
        log.exception("a stored result of tool %s can't be read", tool)
        return Refusal(_result_lost(tool))
    return Replay(as_replayed(wire))


def as_replayed(wire: dict[str, Any]) -> dict[str, Any]:
    """Return a result that says that it is the answer to an earlier call."""
    meta = wire.get("_meta")
    return {**wire, "_meta": {**(meta if is_object(meta) else {}), REPLAYED: True}}


def _scoped(principal: str, server: str, tool: str, key: str) -> str:
    return hashlib.sha256(_encode([principal, server, tool, key])).hexdigest()


def _fingerprint(arguments: dict[str, Any]) -> str:
    plain = _plain(arguments)
    try:
        data = _encode(plain)
    except UnicodeEncodeError:  # halves of characters, which only escapes can express
        data = json.dumps(plain, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """Return a value so that what is the same in JSON is the same here, 1.0 and 1, and nothing else is."""
    if is_object(value):
        return {str(name): _plain(item) for name, item in value.items()}
    if is_array(value):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return f"\0{value}"  # would be written as null
        if value.is_integer() and abs(value) < 2**53:
            return int(value)
    return value


def _key_failure(message: str, tool: str, *, kind: Literal["missing", "value"]) -> Failure:
    problem = FieldProblem(path=join_path(["_meta", KEY]), message=message)
    code = "MISSING_REQUIRED_FIELD" if kind == "missing" else "INVALID_FIELD_VALUE"
    return Failure(code=code, message=message, fields=(problem,), tool=tool)


def _too_deep(tool: str) -> Failure:
    message = "The arguments are nested too deeply to be compared with those of another call."
    return Failure(code="VALIDATION_FAILED", message=message, outcome="not_executed", tool=tool)


def _no_principal(tool: str) -> Failure:
    return Failure(
        code="UNAUTHORIZED",
        message="This server takes idempotency keys from authenticated callers only.",
        outcome="not_executed",
        tool=tool,
    )


def _mismatch(tool: str) -> Failure:
    return Failure(
        code="IDEMPOTENCY_MISMATCH",
        message="This idempotency key was used with different arguments.",
        outcome="not_executed",
        tool=tool,
    )


def _in_progress(tool: str) -> Failure:
    return Failure(
        code="IDEMPOTENCY_IN_PROGRESS",
        message="The call with this idempotency key is still running.",
        retry_after=_IN_PROGRESS_DELAY,
        tool=tool,
    )


def unknown_outcome(tool: str) -> Failure:
    """Return the failure of a call whose key was used before, by a call of which nothing is known."""
    return Failure(
        code="OUTCOME_UNKNOWN",
        message="An earlier call with this idempotency key did not report its outcome.",
        tool=tool,
    )


def _result_lost(tool: str) -> Failure:
    return Failure(
        code="RESULT_NOT_KEPT",
        message="The call with this idempotency key took effect. Its result was not kept.",
        tool=tool,
    )


def _store_down(tool: str) -> Failure:
    return Failure(
        code="SERVICE_UNAVAILABLE",
        message="The store of idempotency keys is not responding, so the call was not made.",
        outcome="not_executed",
        retryable=True,
        tool=tool,
    )


class _Renewer:
    """Keeps the claims of running calls alive, in a thread that ends when there are none."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[str, Claim] = {}
        self._stale: list[Claim] = []
        self._wake = Event()
        self._thread: Thread | None = None
        self._process = 0

    def watch(self, claim: Claim) -> None:
        with self._lock:
            self._running[claim.id] = claim
            self._start()

    def forget(self, claim: Claim) -> None:
        with self._lock:
            if self._running.get(claim.id) is claim:
                del self._running[claim.id]

    def release_later(self, claim: Claim) -> None:
        """Release a claim that the store may have noted although it did not say so."""
        with self._lock:
            self._stale.append(claim)
            self._start()

    def is_at_work(self, id: str) -> bool:
        with self._lock:
            return id in self._running

    def _start(self) -> None:
        if self._process != os.getpid():  # a fork has no threads
            self._thread, self._process = None, os.getpid()
        if self._thread is None:
            self._thread = Thread(target=self._run, name="failwell-claims", daemon=True)
            self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        renewed: dict[str, float] = {}
        while True:
            with self._lock:
                claims, stale, self._stale = list(self._running.values()), self._stale, []
                if not claims and not stale:
                    self._thread = None
                    return
            now = monotonic()
            for claim in claims:
                if now - renewed.setdefault(claim.id, now) >= claim.settings.lease / 3:
                    self._renew(claim)
                    renewed[claim.id] = now
            waiting = [claim for claim in stale if not self._is_released(claim)]
            with self._lock:
                self._stale += waiting
            ids = {claim.id for claim in claims}
            renewed = {id: when for id, when in renewed.items() if id in ids}
            soonest = min((claim.settings.lease for claim in (*claims, *waiting)), default=1.0)
            self._wake.clear()
            self._wake.wait(soonest / 6)

    def _renew(self, claim: Claim) -> None:
        try:
            if not claim.settings.store.renew(claim.id, claim.owner, lease=claim.settings.lease):
                claim.is_mine = False
        except StoreDown as exc:
            log.warning("a claim could not be renewed (%s)", exc)
        except Exception:
            log.exception("a claim could not be renewed")

    def _is_released(self, claim: Claim) -> bool:
        try:
            claim.settings.store.release(claim.id, claim.owner)
        except StoreDown:
            return False
        except Exception:
            log.exception("a claim could not be released")
        return True


_renewer = _Renewer()
