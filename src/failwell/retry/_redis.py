"""`RedisStore`: the limits of a fleet in Redis or Valkey, one round trip for each step.

Five keys each: the breaker of a tool (a hash), the budget of its server (a number), the calls of the tool that fail
alike (a hash of digests), the rate limit of the tool and that of its server (hashes: until when calls wait, what the
server states, and which processes make calls). Each expires when nothing was noted for a while.
"""

import hashlib
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from failwell.advice import is_rate_limit
from failwell.retry._forks import in_every_fork
from failwell.retry._limits import (
    UNNAMED,
    FailedAttempt,
    Gate,
    Key,
    LimitState,
    RetryPermit,
    Shared,
    StoreUnavailable,
    counts_as_outage,
    counts_as_repeat,
    digest_of,
    reason_of,
)
from failwell.retry._pacer import is_wide, stated_limit

try:
    import redis
    from redis import exceptions
except ImportError as missing:
    raise ImportError("limits in Redis need redis: pip install 'failwell[redis]'") from missing

_BEGINNING = """
local breaker, budget, repeats = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000

local function written(number)
  return string.format('%.6f', number)
end

local function refund(amount, kept)
  local spent = tonumber(redis.call('GET', budget) or 0)
  if amount > 0 and spent > 0 then
    if spent > amount then
      redis.call('SET', budget, written(spent - amount), 'PX', kept)
    else
      redis.call('DEL', budget)
    end
  end
end

local function left(pause)
  local state = redis.call('HMGET', breaker, 'opened', 'prober', 'probe_ends')
  if not state[1] then
    return nil
  end
  local ends = state[2] and tonumber(state[3]) or tonumber(state[1]) + pause
  return ends - now
end

local function noted()
  return redis.call('EXISTS', breaker, budget, repeats)
end
"""

BEGIN = (
    _BEGINNING
    + """
local caller, pause, kept, process = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local function gate(place)
  local stated = redis.call('HMGET', place, 'until', 'capacity', 'window')
  if not stated[1] then
    return '', '0', '0'
  end
  redis.call('HSET', place, 'by ' .. process, '1')
  local share = tonumber(stated[2]) / (redis.call('HLEN', place) - 3)
  return written(math.max(tonumber(stated[1]) - now, 0)), written(share), stated[3]
end

local wait = left(pause)
if wait and wait > 0 then
  return {redis.call('HEXISTS', breaker, 'prober') == 1 and 'probed' or 'refused', written(wait), 1}
end
local own, own_capacity, own_window = gate(KEYS[4])
local wide, wide_capacity, wide_window = gate(KEYS[5])
local status = 'made'
if wait then
  redis.call('HSET', breaker, 'prober', caller, 'probe_ends', written(now + pause))
  redis.call('PEXPIRE', breaker, kept)
  status = 'probe'
end
return {status, written(wait and pause or 0), wait and 1 or noted(),
  own, own_capacity, own_window, wide, wide_capacity, wide_window}
"""
)
"""Arguments: caller, pause, how long keys are kept (ms), the process. Answers: what is done, seconds left, 0 if all is
well; then of the tool's rate limit and of its server's the seconds left (empty: there is none), and how many calls this
process may make in how many seconds.
"""

FAILED = (
    _BEGINNING
    + """
local caller, pause, kept = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local kind, most, window, settling = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local digest, reason, most_alike, most_digests = ARGV[8], ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])
local delay, price, capacity = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local gate, process, asked, most_calls, in_time = KEYS[4], ARGV[15], tonumber(ARGV[16]), ARGV[17], ARGV[18]

if asked then
  local ends = math.max(now + asked, tonumber(redis.call('HGET', gate, 'until') or 0))
  redis.call('HSET', gate, 'until', written(ends), 'capacity', most_calls, 'window', in_time, 'by ' .. process, '1')
  redis.call('PEXPIRE', gate, math.ceil((ends - now) * 1000) + 60000)
end

local function count()
  local state = redis.call('HMGET', breaker, 'failures', 'since')
  local recent, since = {}, state[2]
  for at in string.gmatch(state[1] or '', '%S+') do
    if tonumber(at) > now - window then
      recent[#recent + 1] = at
    end
  end
  if #recent == 0 then
    since = written(now)
  end
  recent[#recent + 1] = written(now)
  while #recent > most do
    table.remove(recent, 1)
  end
  redis.call('HSET', breaker, 'failures', table.concat(recent, ' '), 'since', since)
  if #recent >= most and now - tonumber(since) >= settling then
    redis.call('HSET', breaker, 'opened', written(now))
  end
  redis.call('PEXPIRE', breaker, kept)
end

local function counted_alike()
  local before = redis.call('HGET', repeats, digest)
  local row = 1
  if before and string.match(before, '^%S+') == reason then
    row = tonumber(string.match(before, '^%S+ (%S+)')) + 1
  end
  redis.call('HSET', repeats, digest, reason .. ' ' .. row .. ' ' .. written(now))
  redis.call('PEXPIRE', repeats, kept)
  if redis.call('HLEN', repeats) > most_digests then
    local all, times = redis.call('HGETALL', repeats), {}
    for index = 2, #all, 2 do
      times[#times + 1] = tonumber(string.match(all[index], '%S+$'))
    end
    table.sort(times)
    for index = 2, #all, 2 do
      if tonumber(string.match(all[index], '%S+$')) <= times[math.floor(#times / 2)] then
        redis.call('HDEL', repeats, all[index - 1])
      end
    end
  end
  return row
end

if kind == 'closes' then
  redis.call('DEL', breaker)
elseif kind ~= 'nameless' then
  local state = redis.call('HMGET', breaker, 'opened', 'prober')
  if not state[1] and kind == 'counts' then
    count()
  elseif state[1] and state[2] == caller then
    redis.call('HSET', breaker, 'opened', written(now))
    redis.call('HDEL', breaker, 'prober', 'probe_ends')
    redis.call('PEXPIRE', breaker, kept)
  end
end
local wait = left(pause) or 0
local shown = written(math.max(wait, 0))
if digest ~= '' and counted_alike() >= most_alike then
  return {'alike', shown, 1}
end
if not delay then
  return {'counted', shown, noted()}
end
if wait > delay then
  return {'suspended', shown, 1}
end
if price == 0 then
  return {'paid', shown, noted()}
end
local spent = tonumber(redis.call('GET', budget) or 0) + price
if spent > capacity then
  return {'poor', shown, 1}
end
redis.call('SET', budget, written(spent), 'PX', kept)
return {'paid', shown, 1}
"""
)
"""Arguments: as those of `BEGIN`; then how it counts, the breaker's figures and how long a row of failures must last;
then the digest and reason of the call, how many alike are too many, how many digests are kept; then the delay of the
wanted retry (empty: none), its price, and the budget's capacity; then the process, for how many seconds the server asks
everyone to wait (empty: it does not), and how many calls it takes in how many seconds.
"""

SUCCEEDED = (
    _BEGINNING
    + """
local digest, amount, kept = ARGV[1], tonumber(ARGV[2]), ARGV[3]
redis.call('DEL', breaker)
refund(amount, kept)
if digest ~= '' then
  redis.call('HDEL', repeats, digest)
end
return {'noted', '0', noted()}
"""
)
"""Arguments: the digest of the call, the tokens that come back, how long keys are kept (ms)."""

RELEASED = (
    _BEGINNING
    + """
if redis.call('HGET', breaker, 'prober') == ARGV[1] then
  redis.call('HDEL', breaker, 'prober', 'probe_ends')
end
return {'noted', '0', noted()}
"""
)
"""Arguments: the caller."""

CHECK = """
redis.call('SET', KEYS[1], '1', 'PX', 60000)
return redis.call('TIME')
"""
"""Writes, since some that answer do not."""


_MOST_CONNECTIONS = 8
_MOST_DIGESTS = 100
_MOST_FAILURES = 1000
_KEPT = 600.0
_LONGEST = 365 * 24 * 3600.0
_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
_UNNAMED = "the store"
_BAD_URL = "limits must be the address of a Redis or Valkey server, such as redis://localhost:6379/0"

# By what the script answers to a failed try; any other answer: the retry is paid.
_PERMITS = {
    b"alike": RetryPermit(keeps_failing=True),
    b"counted": RetryPermit(),
    b"suspended": RetryPermit(is_suspended=True),
    b"poor": RetryPermit(),
}


class _Script(Struct, frozen=True):
    text: str
    name: str

    @classmethod
    def of(cls, text: str) -> "_Script":
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


_BEGIN = _Script.of(BEGIN)
_FAILED = _Script.of(FAILED)
_SUCCEEDED = _Script.of(SUCCEEDED)
_RELEASED = _Script.of(RELEASED)
_CHECK = _Script.of(CHECK)


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
        ValueError: it is not an address, or a figure is too large to be kept.
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
        self.name = _public_name(url)
        self._budget = figures.budget
        self._breaker = figures.breaker
        self._repeats = figures.repeats
        self._scope = scope
        self._prefix = prefix
        self._settling = settling
        self._kept = round(max(_KEPT, 2 * (self._breaker.window + self._breaker.pause)) * 1000)
        self._connect = partial(_connect, url, patience)
        self._reset_after_fork()
        in_every_fork(self._reset_after_fork)
        self._secret = _secret_of(self._redis)

    def begin(self, key: Key, *, caller: str) -> LimitState:
        """Ask whether a call may be made."""
        keys = (*self._keys(key), self._gate(key), self._gate((key[0], "")))
        said = self._eval(_BEGIN, keys, caller, self._breaker.pause, self._kept, _process_of(caller))
        status, left, noted, *gates = said
        is_own_probe, is_probed = status == b"probe", status in (b"probe", b"probed")
        return LimitState(float(left), is_probed, is_own_probe, bool(noted), gates=_gates(gates))

    def failed(self, attempt: FailedAttempt, *, caller: str) -> LimitState:
        """Count a failed try, and pay for the retry that is wanted."""
        key, failure, breaker = attempt.key, attempt.failure, self._breaker
        is_like_others = key != UNNAMED and counts_as_repeat(attempt)
        price = 0.0 if is_rate_limit(failure) else self._budget.price(failure)
        capacity, window = stated_limit(failure)
        is_gated = attempt.is_paced and (failure.retry_after is not None or capacity > 0)
        gate = self._gate((key[0], "") if is_wide(failure) else key)
        status, left, has_failures = self._run(
            _FAILED,
            (*self._keys(key), gate),
            caller,
            breaker.pause,
            self._kept,
            _kind(attempt),
            breaker.most,
            breaker.window,
            self._settling,
            self._digest(digest_of(attempt.arguments).hex()) if is_like_others else "",
            self._digest(reason_of(failure)),
            self._repeats.most,
            _MOST_DIGESTS,
            "" if attempt.delay is None else attempt.delay,
            price,
            self._budget.capacity,
            _process_of(caller),
            (failure.retry_after or 0.0) if is_gated else "",
            capacity,
            window,
        )
        permit = _PERMITS.get(status) or RetryPermit(price)
        if permit.is_suspended:
            permit = RetryPermit(is_suspended=True, left=left)
        return LimitState(left=left, has_failures=has_failures, permit=permit)

    def succeeded(self, key: Key, *, digest: str, refund: float) -> LimitState:
        """Note a success."""
        alike = self._digest(digest) if digest else ""
        _, _, has_failures = self._run(_SUCCEEDED, self._keys(key), alike, refund, self._kept)
        return LimitState(has_failures=has_failures)

    def released(self, key: Key, *, caller: str) -> None:
        """Note that a call ended without an answer."""
        self._run(_RELEASED, self._keys(key), caller)

    def check(self) -> None:
        """Make sure that it serves: one that only answers, such as a replica, does not."""
        self._eval(_CHECK, (f"{self._prefix}:alive",))

    def close(self) -> None:
        """Close the connections."""
        self._redis.connection_pool.disconnect()

    def _reset_after_fork(self) -> None:
        self._redis = self._connect()

    def _keys(self, key: Key) -> tuple[str, str, str]:
        """Return the keys of a tool. The braces keep those of a server together where keys are spread."""
        server, tool = key
        place = f"{self._prefix}:{{{self._digest(self._scope, server)}}}"
        name = self._digest(tool)
        return f"{place}:breaker:{name}", f"{place}:budget", f"{place}:repeats:{name}"

    def _gate(self, key: Key) -> str:
        """Return the key of the rate limit of a tool, or of a whole server."""
        server, tool = key
        return f"{self._prefix}:{{{self._digest(self._scope, server)}}}:gate:{self._digest(tool)}"

    def _digest(self, *texts: str) -> str:
        found = hashlib.blake2b(digest_size=12, key=self._secret)
        for text in texts:
            found.update(text.encode(errors="surrogatepass") + b"\0")
        return found.hexdigest()

    def _run(self, script: _Script, keys: tuple[str, ...], *arguments: object) -> tuple[bytes, float, bool]:
        status, left, noted = self._eval(script, keys, *arguments)
        return status, float(left), bool(noted)

    def _eval(self, script: _Script, keys: tuple[str, ...], *arguments: object) -> Any:
        given = cast(tuple[str, ...], (*keys, *arguments))
        try:
            try:
                return self._redis.evalsha(script.name, len(keys), *given)
            except exceptions.NoScriptError:
                return self._redis.eval(script.text, len(keys), *given)
        except Exception as failed:  # also what the library raises where a connection is closed while it is used
            raise StoreUnavailable(_reason(failed)) from None


def _connect(url: str, patience: float) -> "redis.Redis":
    scheme, separator, rest = url.partition("://")
    known = _SCHEMES.get(scheme.lower())
    if known is None or not separator or not rest:
        raise ValueError(_BAD_URL)
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
        raise ValueError(_BAD_URL) from None


def _public_name(url: str) -> str:
    """Return a URL without its secrets, or a name in its place if a secret may stand anywhere in it."""
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


def _gates(said: list[bytes]) -> tuple[Gate, ...]:
    """Return the rate limits of the tool and of its server, as far as there are any."""
    found = ((said[index : index + 3], index > 0) for index in range(0, len(said), 3))
    return tuple(
        Gate(left=float(left), capacity=float(capacity), window=float(window), is_wide=is_wide)
        for (left, capacity, window), is_wide in found
        if left
    )


def _process_of(caller: str) -> str:
    return caller.partition(":")[0]


def _kind(attempt: FailedAttempt) -> str:
    if attempt.key == UNNAMED:
        return "nameless"
    if not counts_as_outage(attempt.failure):
        return "closes"
    return "again" if attempt.is_counted else "counts"


def _secret_of(client: "redis.Redis") -> bytes:
    """Return a key that all processes know and readers of the data don't, so that they can't guess short values."""
    password = cast(Any, client).connection_pool.connection_kwargs.get("password") or ""
    return hashlib.blake2b(str(password).encode(), digest_size=16).digest()


# By the class of the library, nearest first: its texts may hold addresses and names of users.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.AuthenticationError, "it rejected the user or password"),
    (exceptions.NoPermissionError, "the user is not allowed to do that"),
    (exceptions.ReadOnlyError, "it is a replica, which cannot be written to"),
    (exceptions.OutOfMemoryError, "it has no memory left"),
    (exceptions.BusyLoadingError, "it is loading its data"),
    (exceptions.TimeoutError, "it did not answer in time"),
    (exceptions.ConnectionError, "the connection failed"),
    (exceptions.ResponseError, "it refused the command"),
    (Exception, "it cannot be used"),
)


def _reason(failed: Exception) -> str:
    return next(reason for kind, reason in _REASONS if isinstance(failed, kind))
