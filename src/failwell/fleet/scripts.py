"""What Redis does in each step, as scripts: nothing comes between their parts, and its own clock counts.

Three keys each: the breaker of a tool (a hash), the budget of its server (a number), the calls of the tool that fail
alike (a hash of digests). Each expires when nothing was noted for a while.
"""

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
local caller, pause, kept = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local wait = left(pause)
if wait and wait > 0 then
  return {redis.call('HEXISTS', breaker, 'prober') == 1 and 'probed' or 'refused', written(wait), 1}
end
if wait then
  redis.call('HSET', breaker, 'prober', caller, 'probe_ends', written(now + pause))
  redis.call('PEXPIRE', breaker, kept)
  return {'probe', written(pause), 1}
end
return {'made', '0', noted()}
"""
)
"""Arguments: caller, pause, how long keys are kept (ms). Answers: what is done, seconds left, 0 if all is well."""

FAILED = (
    _BEGINNING
    + """
local caller, pause, kept = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local kind, most, window, settling = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local digest, reason, most_alike, most_digests = ARGV[8], ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])
local delay, price, capacity = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])

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
wanted retry (empty: none), its price, and the budget's capacity.
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
