"""`RedisStore`: the limits of a fleet in Redis or Valkey. One round trip for each step."""

import hashlib
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from failwell.fleet import scripts
from failwell.fleet.store import Away, State
from failwell.retry import breaker
from failwell.retry.forks import in_every_fork
from failwell.retry.limits import NOBODY, Failing, Key, Taken
from failwell.retry.repeats import digest_of, reason_of
from failwell.retry.shared import Shared

try:
    import redis
    from redis import exceptions
except ImportError as missing:
    raise ImportError("limits in Redis need redis: pip install 'failwell[redis]'") from missing

_MOST_CONNECTIONS = 8
_MOST_DIGESTS = 100
_MOST_FAILURES = 1000
_KEPT = 600.0
_LONGEST = 365 * 24 * 3600.0
_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
_UNNAMED = "the store"
_WRONG = "limits must be the address of a Redis or Valkey server, such as redis://localhost:6379/0"

# What the script says of a failed try.
_TAKEN = {
    b"alike": Taken(keeps_failing=True),
    b"counted": Taken(),
    b"suspended": Taken(is_suspended=True),
    b"poor": Taken(),
}


class _Script(Struct, frozen=True):
    text: str
    name: str

    @classmethod
    def of(cls, text: str) -> "_Script":
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


_BEGIN = _Script.of(scripts.BEGIN)
_FAILED = _Script.of(scripts.FAILED)
_SUCCEEDED = _Script.of(scripts.SUCCEEDED)
_RELEASED = _Script.of(scripts.RELEASED)
_CHECK = _Script.of(scripts.CHECK)


class RedisStore:
    """Keeps limits under keys that hold digests only, each with an end.

    Args:
        url: `redis://`, `rediss://`, `valkey://`, `valkeys://` or `unix://`.
        figures: the figures of budget, breaker and repeats; the same in every process.
        scope: what tells one upstream from another if their servers have no names.
        prefix: begins every key.
        patience: how many seconds an answer is waited for.
        settling: how many seconds a row of failures must last to open a breaker.

    Raises:
        ValueError: that is no address, or a figure is too large to be kept.
    """

    def __init__(
        self,
        url: str,
        figures: Shared,
        *,
        scope: str = "",
        prefix: str = "failwell",
        patience: float = 0.25,
        settling: float = 1.0,
    ) -> None:
        if figures.breaker.most > _MOST_FAILURES:
            raise ValueError(f"a shared breaker opens after at most {_MOST_FAILURES} failures")
        if max(figures.breaker.window, figures.breaker.pause) > _LONGEST:
            raise ValueError("window and pause of a shared breaker are at most a year")
        self.name = _shown(url)
        self._budget = figures.budget
        self._breaker = figures.breaker
        self._repeats = figures.repeats
        self._scope = scope
        self._prefix = prefix
        self._settling = settling
        self._kept = round(max(_KEPT, 2 * (self._breaker.window + self._breaker.pause)) * 1000)
        self._connect = partial(_connected, url, patience)
        self._begin_anew()
        in_every_fork(self._begin_anew)
        self._secret = _secret_of(self._redis)

    def begin(self, key: Key, *, caller: str) -> State:
        """Ask whether a call may be made."""
        said, left, is_noted = self._run(_BEGIN, self._keys(key), caller, self._breaker.pause, self._kept)
        is_own_probe = said == b"probe"
        return State(left, said == b"probed" or is_own_probe, is_own_probe, is_noted)

    def failed(self, failing: Failing, *, caller: str) -> State:
        """Count a failed try, and pay for the retry that is wanted."""
        key, failure, breaker = failing.key, failing.failure, self._breaker
        is_like_others = key != NOBODY and not failing.is_counted and failing.arguments is not None
        price = self._budget.price(failure)
        said, left, is_noted = self._run(
            _FAILED,
            self._keys(key),
            caller,
            breaker.pause,
            self._kept,
            _kind(failing),
            breaker.most,
            breaker.window,
            self._settling,
            self._digest(digest_of(failing.arguments).hex()) if is_like_others else "",
            self._digest(reason_of(failure)),
            self._repeats.most,
            _MOST_DIGESTS,
            "" if failing.delay is None else failing.delay,
            price,
            self._budget.capacity,
        )
        return State(left=left, is_noted=is_noted, taken=_TAKEN.get(said) or Taken(price))

    def succeeded(self, key: Key, *, digest: str, refund: float) -> State:
        """Note a success."""
        alike = self._digest(digest) if digest else ""
        _, _, is_noted = self._run(_SUCCEEDED, self._keys(key), alike, refund, self._kept)
        return State(is_noted=is_noted)

    def released(self, key: Key, *, caller: str) -> None:
        """Note that a call ended without an answer."""
        self._run(_RELEASED, self._keys(key), caller)

    def check(self) -> None:
        """Make sure that it serves: one that only answers, such as a replica, does not."""
        self._eval(_CHECK, (f"{self._prefix}:alive",))

    def close(self) -> None:
        """Close the connections."""
        self._redis.connection_pool.disconnect()

    def _begin_anew(self) -> None:
        self._redis = self._connect()

    def _keys(self, key: Key) -> tuple[str, str, str]:
        """Return the keys of a tool. The braces keep those of a server together where keys are spread."""
        server, tool = key
        place = f"{self._prefix}:{{{self._digest(self._scope, server)}}}"
        name = self._digest(tool)
        return f"{place}:breaker:{name}", f"{place}:budget", f"{place}:repeats:{name}"

    def _digest(self, *texts: str) -> str:
        found = hashlib.blake2b(digest_size=12, key=self._secret)
        for text in texts:
            found.update(text.encode(errors="surrogatepass") + b"\0")
        return found.hexdigest()

    def _run(self, script: _Script, keys: tuple[str, ...], *arguments: object) -> tuple[bytes, float, bool]:
        said, left, noted = self._eval(script, keys, *arguments)
        return said, float(left), bool(noted)

    def _eval(self, script: _Script, keys: tuple[str, ...], *arguments: object) -> Any:
        given = cast(tuple[str, ...], (*keys, *arguments))
        try:
            try:
                return self._redis.evalsha(script.name, len(keys), *given)
            except exceptions.NoScriptError:
                return self._redis.eval(script.text, len(keys), *given)
        except Exception as failed:  # also what the library raises where a connection is closed while it is used
            raise Away(_reason(failed)) from None


def _connected(url: str, patience: float) -> "redis.Redis":
    scheme, separator, rest = url.partition("://")
    known = _SCHEMES.get(scheme.lower())
    if known is None or not separator or not rest:
        raise ValueError(_WRONG)
    try:
        pool = cast(Any, redis.BlockingConnectionPool).from_url(
            f"{known}://{rest}",
            max_connections=_MOST_CONNECTIONS,
            timeout=patience,
            socket_timeout=patience,
            socket_connect_timeout=patience,
            protocol=2,  # the newer one takes another round trip to connect, and says nothing that is needed here
        )
        pool.connection_class(**pool.connection_kwargs)  # does not connect yet: wrong options show themselves here
        return redis.Redis(connection_pool=pool)
    except Exception:  # whatever it is, its text may hold a password
        raise ValueError(_WRONG) from None


def _shown(url: str) -> str:
    """Return a URL without what is secret in it, or no part of it where that may be anywhere."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return _UNNAMED
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":  # a password with a sign in it that ends the host
        return _UNNAMED
    path = parts.path if parts.scheme == "unix" or parts.path[1:].isdecimal() else ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{path}"


def _kind(failing: Failing) -> str:
    if failing.key == NOBODY:
        return "nameless"
    if not breaker.counts(failing.failure):
        return "closes"
    return "again" if failing.is_counted else "counts"


def _secret_of(client: "redis.Redis") -> bytes:
    """Return what all processes know and readers of a copy of the data do not: short values cannot be guessed then."""
    password = cast(Any, client).connection_pool.connection_kwargs.get("password") or ""
    return hashlib.blake2b(str(password).encode(), digest_size=16).digest()


# By the class of the library, nearest first: its texts may hold addresses and names of users.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.AuthenticationError, "it does not know the user or the password"),
    (exceptions.NoPermissionError, "the user may not do that"),
    (exceptions.ReadOnlyError, "it is a replica, which cannot be written to"),
    (exceptions.OutOfMemoryError, "it has no memory left"),
    (exceptions.BusyLoadingError, "it is loading its data"),
    (exceptions.TimeoutError, "it does not answer in time"),
    (exceptions.ConnectionError, "the connection failed"),
    (exceptions.ResponseError, "it refuses what it is asked"),
    (Exception, "it cannot be used"),
)


def _reason(failed: Exception) -> str:
    return next(said for kind, said in _REASONS if isinstance(failed, kind))
