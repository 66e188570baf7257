-- Loaded before every script of the ledger (../keys.ts lists the keys; ../../proxy-state.ts says the same in TypeScript). KEYS[1] is the hash tag.
-- Records are read on demand, changed as tables and written by flush() at the end. Pools, proxies, hosts and sites are opaque names. Names in capitals that no
-- file defines are constants of TypeScript, filled in by ../redis-ledger.ts.
local B, call, pack, unpackstruct = KEYS[1], redis.call, struct.pack, struct.unpack
local floor, ceil, max, min, sub = math.floor, math.ceil, math.max, math.min, string.sub

local SWEPT = 5             -- records checked for each new one: at most one in five of those kept is forgotten

-- A health: proved, strikes, rests, rested at, rests until, in flight, used at; then the counts, which a grant does not read. In memory it is an array
-- built by one constructor, with the time of its last use before this call and the bytes it was read from.
local HEALTH, HEALTH_BYTES = '>BI4I4ddI4d', 37
local PROVED, STRIKES, RESTS, RESTEDAT, RESTSUNTIL, INFLIGHT, USED, BEFORE, BYTES, COUNTED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
-- Good, neutral, banned, broken, bytes, cost; then twelve buckets of latency.
local COUNTS, BUCKETS, COUNTS_BYTES = '>dddddd', '>I4I4I4I4I4I4I4I4I4I4I4I4', 96
local NO_COUNTS = string.rep('\0', COUNTS_BYTES)
-- A pace: started at, arrival at, in flight, used at.
local PACE = '>ddI4d'
local STARTED, ARRIVAL, UNDERWAY, PACEUSED, PACEBEFORE = 1, 2, 3, 4, 5
-- A hold: granted at, ends at, permit; pool, proxy, host, site.
local HOLD = '>dddI2c0I2c0I2c0I2c0'

local HOLDS, ENDS = B .. ':holds', B .. ':ends'

local function health_from(bytes)
  if bytes then
    local proved, strikes, rests, restedat, restsuntil, inflight, used = unpackstruct(HEALTH, bytes)
    if used > now - FORGET_MS then
      -- The clock stepped back: no rest began later than now.
      if restedat > now then restedat, restsuntil = now, restsuntil - (restedat - now) end
      return { proved, strikes, rests, restedat, restsuntil, inflight, used, used, bytes, false }
    end
  end
  return { 0, 0, 0, 0, 0, 0, 0, 0, false, false }
end

local function counts_of(health)
  if health[COUNTED] then return health[COUNTED] end
  return health[BYTES] and sub(health[BYTES], HEALTH_BYTES + 1) or NO_COUNTS
end

local function pace_from(bytes)
  if bytes then
    local started, arrival, underway, used = unpackstruct(PACE, bytes)
    if used > now - FORGET_MS then return { min(started, now), arrival, underway, used, used } end
  end
  return { 0, 0, 0, 0, 0 }
end

-- Hashes of records by proxy, each read as far as it is needed and written once.
local books = {}
local function book(key, decode, pool, site)
  local b = books[key]
  if not b then
    b = { key = key, decode = decode, pool = pool, site = site, records = {}, changed = {} }
    books[key] = b
  end
  return b
end

local function health_key(pool, site) return site == '' and B .. ':w:' .. pool or B .. ':s:' .. pool .. '\n' .. site end
local function healths(pool, site) return book(health_key(pool, site), health_from, pool, site) end
local function paces(pool, host) return book(B .. ':p:' .. pool .. '\n' .. host, pace_from) end

-- Reads the records of the arguments from `first` to `last` that are not read yet, in one command.
local function read_range(b, first, last)
  local records, decode, wanted, n = b.records, b.decode, {}, 0
  for i = first, last do
    local proxy = ARGV[i]
    if not records[proxy] then
      n = n + 1
      wanted[n] = proxy
    end
  end
  if n == 0 then return end
  local found = call('HMGET', b.key, unpack(wanted))
  for i = 1, n do records[wanted[i]] = decode(found[i]) end
end

local function of(b, proxy)
  local record = b.records[proxy]
  if not record then
    record = b.decode(call('HGET', b.key, proxy))
    b.records[proxy] = record
  end
  return record
end

local function change(b, proxy) b.changed[proxy] = true end

local function state_of(pool, proxy, host, site)
  local w, s, p = healths(pool, ''), healths(pool, site), paces(pool, host)
  change(w, proxy)
  change(s, proxy)
  change(p, proxy)
  return of(w, proxy), of(s, proxy), of(p, proxy)
end

local dropped = {}

-- The grant is over: reported, or run out (elapsed nil).
local function end_hold(ask, pool, proxy, host, site, elapsed)
  dropped[#dropped + 1] = ask
  local whole, site_, pace = state_of(pool, proxy, host, site)
  whole[INFLIGHT] = max(0, whole[INFLIGHT] - 1)
  site_[INFLIGHT] = max(0, site_[INFLIGHT] - 1)
  pace[UNDERWAY] = max(0, pace[UNDERWAY] - 1)
  if elapsed then pace[STARTED] = max(pace[STARTED], now - max(0, elapsed)) end
  return whole, site_
end

-- Their workers died: nothing is known of the proxies.
local ended = {}
local function end_holds()
  local asks = call('ZRANGEBYSCORE', ENDS, '-inf', now, 'LIMIT', 0, REAP_AT_ONCE)
  if #asks == 0 then return end
  local found = call('HMGET', HOLDS, unpack(asks))
  for i, record in ipairs(found) do
    ended[asks[i]] = true
    if record then
      local _, _, _, pool, proxy, host, site = unpackstruct(HOLD, record)
      end_hold(asks[i], pool, proxy, host, site, nil)
    else
      dropped[#dropped + 1] = asks[i]
    end
  end
end

local HOUR_MS = 3600000

local function health_used(bytes) return (select(7, unpackstruct(HEALTH, bytes))) end
local function pace_used(bytes) return (select(4, unpackstruct(PACE, bytes))) end

-- Checks a few records of a hash that got a new one: those that were not used for a week are deleted.
local function sweep(key, used_of)
  local some = call('HRANDFIELD', key, SWEPT, 'WITHVALUES')
  local old = {}
  for i = 1, #some, 2 do
    if used_of(some[i + 1]) <= now - FORGET_MS then old[#old + 1] = some[i] end
  end
  if #old > 0 then call('HDEL', key, unpack(old)) end
end

local function split_name(name) return string.match(name, '^([^\n]*)\n(.*)$') end

-- A few of the list of names, when there is a new one: those without a record go.
local function sweep_names(key, pool)
  for _, name in ipairs(call('ZRANDMEMBER', key, SWEPT)) do
    local proxy, site = split_name(name)
    if call('HEXISTS', health_key(pool, site), proxy) == 0 then call('ZREM', key, name) end
  end
end

-- The first use of a record in each hour keeps its key alive and lists its name: every request doing so would cost too much.
local function flush()
  local hour, names = floor(now / HOUR_MS), {}
  for _, b in pairs(books) do
    local args, first_use = {}, false
    for proxy in pairs(b.changed) do
      local r = b.records[proxy]
      local used, before
      args[#args + 1] = proxy
      if b.site then
        args[#args + 1] = pack(HEALTH, r[PROVED], r[STRIKES], r[RESTS], r[RESTEDAT], r[RESTSUNTIL], r[INFLIGHT], r[USED]) .. counts_of(r)
        used, before = r[USED], r[BEFORE]
      else
        args[#args + 1] = pack(PACE, r[STARTED], r[ARRIVAL], r[UNDERWAY], r[PACEUSED])
        used, before = r[PACEUSED], r[PACEBEFORE]
      end
      if used == now and floor(before / HOUR_MS) ~= hour then
        first_use = true
        if b.site then
          local list = names[b.pool] or {}
          names[b.pool] = list
          list[#list + 1], list[#list + 2] = 0, proxy .. '\n' .. b.site
        end
      end
    end
    local fresh = 0
    for i = 1, #args, 2000 do fresh = fresh + call('HSET', b.key, unpack(args, i, min(#args, i + 1999))) end
    if first_use then call('PEXPIRE', b.key, FORGET_MS + HOUR_MS) end
    if fresh > 0 then sweep(b.key, b.site and health_used or pace_used) end
  end
  for pool, list in pairs(names) do
    local key = B .. ':n:' .. pool
    local added = call('ZADD', key, unpack(list))
    call('PEXPIRE', key, FORGET_MS + HOUR_MS)
    if added > 0 then sweep_names(key, pool) end
  end
  if #dropped > 0 then
    call('HDEL', HOLDS, unpack(dropped))
    call('ZREM', ENDS, unpack(dropped))
  end
end
