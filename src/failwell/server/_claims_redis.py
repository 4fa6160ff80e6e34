"""`RedisClaims`: claims in Redis or Valkey, for a fleet of servers: `pip install 'failwell[redis]'`.

A claim that Redis forgets in a crash is no claim: it must write each command to disk (`appendonly yes` with
`appendfsync always`), and never evict keys (`maxmemory-policy noeviction`).
"""

from typing import Any, cast

from failwell.server._claims import ClaimState, Entry, StoreDown

try:
    import redis
    from redis import exceptions
except ImportError as missing:
    raise ImportError("claims in Redis need redis: pip install 'failwell[redis]'") from missing

_PATIENCE = 5.0
_BEGINNING = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local kept = redis.call('HMGET', KEYS[1], 'fingerprint', 'state', 'owner', 'lease_ends', 'result')
local state, owner, lease_ends = kept[2], kept[3], tonumber(kept[4] or 0)
local function keep(seconds) redis.call('PEXPIRE', KEYS[1], math.ceil(seconds * 1000)) end
local function ends(seconds) return string.format('%.6f', now + seconds) end
"""
# Redis forgets a key by itself when its time is over; a running call prolongs that with its lease.
_CLAIM = (
    _BEGINNING
    + """
if state then
  return {kept[1], state, owner, string.format('%.6f', lease_ends - now), kept[5]}
end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'state', 'running', 'owner', ARGV[2], 'lease_ends', ends(ARGV[3]),
  'retention', ARGV[4])
keep(math.max(tonumber(ARGV[3]), tonumber(ARGV[4])))
return false
"""
)
_TAKE_OVER = (
    _BEGINNING
    + """
if owner ~= ARGV[2] or not (state == 'unknown' or (state == 'running' and lease_ends <= now)) then return 0 end
redis.call('HSET', KEYS[1], 'state', 'running', 'owner', ARGV[1], 'lease_ends', ends(ARGV[3]))
return 1
"""
)
_RENEW = (
    _BEGINNING
    + """
if owner ~= ARGV[1] or state ~= 'running' then return 0 end
redis.call('HSET', KEYS[1], 'lease_ends', ends(ARGV[2]))
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) * 1000 then keep(ARGV[2]) end
return 1
"""
)
_SETTLE = (
    _BEGINNING
    + """
if owner ~= ARGV[1] or (state == 'done' and ARGV[2] ~= 'done') then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
if ARGV[4] then redis.call('HSET', KEYS[1], 'result', ARGV[4]) else redis.call('HDEL', KEYS[1], 'result') end
keep(ARGV[3])
return 1
"""
)
_RELEASE = (
    _BEGINNING
    + """
if owner ~= ARGV[1] or state ~= 'running' then return 0 end
redis.call('DEL', KEYS[1])
return 1
"""
)


class RedisClaims:
    """Claims in Redis: `redis://user:password@host:6379/0`."""

    def __init__(self, address: str) -> None:
        # No retries by the client: whether a script ran is not known then, and `claim` twice finds its own claim.
        self._client = cast(Any, redis.Redis).from_url(
            address, socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE
        )
        self._claim, self._take_over, self._renew, self._settle, self._release = (
            self._client.register_script(text) for text in (_CLAIM, _TAKE_OVER, _RENEW, _SETTLE, _RELEASE)
        )

    def claim(self, key: str, fingerprint: str, owner: str, *, lease: float, retention: float) -> Entry | None:
        """Claim a free or expired key and return None; otherwise return the existing claim."""
        row = self._run(self._claim, key, fingerprint, owner, lease, retention)
        if row is None:
            return None
        found, state, holder, left, result = row
        if holder.decode() == owner:  # the answer to the first try of this very claim was lost
            return None
        return Entry(
            fingerprint=found.decode(),
            state=state.decode(),
            owner=holder.decode(),
            lease=float(left),
            result=result,
        )

    def take_over(self, key: str, owner: str, previous: str, *, lease: float) -> bool:
        """Take over a claim that *previous* left unsettled, and return whether that worked."""
        return bool(self._run(self._take_over, key, owner, previous, lease))

    def renew(self, key: str, owner: str, *, lease: float) -> bool:
        """Extend the lease of a running call, and return whether *owner* still has the claim."""
        return bool(self._run(self._renew, key, owner, lease))

    def settle(self, key: str, owner: str, state: ClaimState, result: bytes | None, *, retention: float) -> bool:
        """Store the outcome of the call, and return whether *owner* still had the claim."""
        rest = () if result is None else (result,)
        return bool(self._run(self._settle, key, owner, state, retention, *rest))

    def release(self, key: str, owner: str) -> bool:
        """Delete the claim of a call that had no effect, and return whether *owner* still had it."""
        return bool(self._run(self._release, key, owner))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _run(self, script: Any, key: str, *values: Any) -> Any:
        try:
            return script(keys=[f"failwell:claim:{key}"], args=values)
        except (exceptions.RedisError, OSError) as exc:
            raise StoreDown(type(exc).__name__) from exc
