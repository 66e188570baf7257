-- Behind prelude.lua in the scripts that take links: what was seen, and the door for new links.

-- Seen --------------------------------------------------------------------------------------------------------------------
-- exact: sets of 64-bit integers, kept below 512 members so that Redis stores them as sorted arrays of 8 bytes each (intset). The number of buckets
-- grows by linear hashing: one bucket is split for every LOAD links added, so no call ever moves more than a few hundred. A bucket about to
-- be split holds up to twice the mean, 400 ± 20.
-- bloom: 64 bitmaps, k bits in one of them for each link. set: one plain set.
-- With a TTL there is one store for each period of that length, and the one before is asked too.

local LOAD = 200
local SEGMENTS = 64
local seen_stores = {}

local function seen_store(key, mode, settings)
  local s = seen_stores[key]
  if s then return s end
  s = { key = key, mode = mode, settings = settings }
  if mode ~= 'set' then
    local v = call('HMGET', key .. ':m', 'n', 'l', 'p')
    s.n, s.l, s.p = tonumber(v[1] or 0), tonumber(v[2] or 0), tonumber(v[3] or 0)
    s.low, s.high = 2 ^ s.l, 2 ^ (s.l + 1)
  end
  seen_stores[key] = s
  return s
end

-- A fingerprint is the decimal text of a signed 64-bit integer, which a Lua number cannot hold: its last nine digits spread well enough.
local function spread(fp)
  return math.abs(tonumber(sub(fp, -9)))
end

local function bucket_of(s, fp)
  local hash = spread(fp)
  local bucket = hash % s.low
  if bucket < s.p then bucket = hash % s.high end
  return s.key .. ':' .. bucket
end

local function split_bucket(s)
  local from, to = s.key .. ':' .. s.p, s.p + s.low
  local stay, move = {}, {}
  for _, fp in ipairs(call('SMEMBERS', from)) do
    local half = spread(fp) % s.high == to and move or stay
    half[#half + 1] = fp
  end
  call('DEL', from)
  vcall('SADD', from, stay)
  vcall('SADD', s.key .. ':' .. to, move)
  if s.settings.ttl > 0 then
    call('PEXPIRE', from, s.settings.ttl * 2)
    call('PEXPIRE', s.key .. ':' .. to, s.settings.ttl * 2)
  end
  s.p = s.p + 1
  if s.p == s.low then
    s.l, s.p = s.l + 1, 0
    s.low, s.high = 2 ^ s.l, 2 ^ (s.l + 1)
  end
end

-- Filter number s.l is the one that is being filled; each holds `capacity` links, and has half the error of the one before.
local function bloom_bits(s, fp, filter)
  local error = s.settings.error / 2 ^ filter
  local bits = ceil(-s.settings.capacity * math.log(error) / 0.4804530139182 / SEGMENTS)
  local digits = '000000000000000000' .. string.gsub(fp, '-', '')
  local one, two = tonumber(sub(digits, -9)), tonumber(sub(digits, -18, -10))
  local step, positions = floor(one / SEGMENTS) % bits, {}
  for i = 0, ceil(-math.log(error) / 0.6931471805599) - 1 do positions[i + 1] = (two + i * step + i * i * i) % bits end
  return s.key .. ':b:' .. filter .. ':' .. (one % SEGMENTS), positions
end

local function bloom_has(s, fp)
  for filter = 0, s.l do
    local key, positions = bloom_bits(s, fp, filter)
    local args = {}
    for _, at in ipairs(positions) do
      args[#args + 1], args[#args + 2], args[#args + 3] = 'GET', 'u1', at
    end
    local missing = false
    for _, bit in ipairs(call('BITFIELD', key, unpack(args))) do missing = missing or bit == 0 end
    if not missing then return true end
  end
  return false
end

local function bloom_add(s, fp)
  if s.n >= s.settings.capacity then s.l, s.n = s.l + 1, 0 end
  local key, positions = bloom_bits(s, fp, s.l)
  local args = {}
  for _, at in ipairs(positions) do
    args[#args + 1], args[#args + 2], args[#args + 3], args[#args + 4] = 'SET', 'u1', at, 1
  end
  local missing = false
  for _, bit in ipairs(call('BITFIELD', key, unpack(args))) do missing = missing or bit == 0 end
  if missing and s.settings.ttl > 0 then call('PEXPIRE', key, s.settings.ttl * 2) end
  return missing
end

local function store_has(s, fp)
  if s.mode == 'bloom' then return bloom_has(s, fp) end
  return call('SISMEMBER', s.mode == 'set' and s.key or bucket_of(s, fp), fp) == 1
end

local function store_add(s, fp)
  local new
  if s.mode == 'bloom' then
    for filter = 0, s.l - 1 do
      if bloom_has(s, fp) then return false end
      break
    end
    new = bloom_add(s, fp)
  else
    local key = s.mode == 'set' and s.key or bucket_of(s, fp)
    new = call('SADD', key, fp) == 1
    if new and s.settings.ttl > 0 then call('PEXPIRE', key, s.settings.ttl * 2) end
  end
  if new and s.mode ~= 'set' then
    s.n, s.changed = s.n + 1, true
    if s.mode == 'exact' and s.n > LOAD * (s.low + s.p) then split_bucket(s) end
  end
  return new
end

-- Answers the store to write to, and the one of the period before.
local function seen_of(c)
  if c.store then return c.store, c.before end
  local mode, key, ttl, error, capacity = string.match(c.seen, '^(%w+)|([^|]*)|(%d+)|([%d.e-]+)|(%d+)$')
  local settings = { ttl = tonumber(ttl), error = tonumber(error), capacity = tonumber(capacity) }
  if settings.ttl == 0 then
    c.store = seen_store(B .. ':s:' .. key, mode, settings)
  else
    local period = floor(wall / settings.ttl)
    c.store = seen_store(B .. ':s:' .. key .. '@' .. period, mode, settings)
    c.before = seen_store(B .. ':s:' .. key .. '@' .. (period - 1), mode, settings)
  end
  return c.store, c.before
end

local function was_seen(c, fp)
  local store, before = seen_of(c)
  return store_has(store, fp) or (before ~= nil and store_has(before, fp))
end

local function see(c, fp)
  local store, before = seen_of(c)
  if before and store_has(before, fp) then return false end
  return store_add(store, fp)
end

local function flush_seen()
  for _, s in pairs(seen_stores) do
    if s.changed then
      call('HSET', s.key .. ':m', 'n', s.n, 'l', s.l, 'p', s.p)
      if s.settings.ttl > 0 then call('PEXPIRE', s.key .. ':m', s.settings.ttl * 2) end
    end
  end
end

-- Links -------------------------------------------------------------------------------------------------------------------

local function lane_name(c, host, route)
  if c.special % 2 == 0 then return host end
  local limited = c.rl[route]
  if limited == nil then
    limited = call('HGET', B .. ':c:' .. c.num, 'r:' .. route)
    c.rl[route] = limited
  end
  return limited and host .. '\n' .. route or host
end

-- A new link at the end of its list.
local function push_new(lane, level, item)
  local c, lv = lane.c, lane.lv
  local heads = c.order == 2 or lv[1] == nil or level < lv[1]
  if heads and c.order ~= 2 and lane.returned > 0 then
    heads = level < floor(tonumber(call('ZRANGE', returned_key(lane), 0, 0, 'WITHSCORES')[2]) / PLACES)
  end
  if heads then lane.since = max(lane.served, now) end
  local at = 1
  while lv[at] and lv[at] < level do at = at + 2 end
  if lv[at] == level then
    lv[at + 1] = lv[at + 1] + 1
  else
    table.insert(lv, at, level)
    table.insert(lv, at + 1, 1)
  end
  local key = list_key(lane, level)
  local items = c.pushes[key]
  if items then
    items[#items + 1] = item
  else
    c.pushes[key] = { item }
    c.pushkeys[#c.pushkeys + 1] = key
  end
  return heads
end

local function is_full(c, main)
  return (c.overflow == 0 and c.pending >= c.maxpending) or (c.bpages >= 0 and c.total >= c.bpages)
    or (c.bperhost >= 0 and main.total >= c.bperhost)
end

local function count_new(c, main)
  c.total, c.pending = c.total + 1, c.pending + 1
  main.total, main.pending = main.total + 1, main.pending + 1
end

-- Known, and to be visited again: out of where it ended, with nothing used up. False when it did not end: a link that is done is not to be told
-- from one that waits, so as many links as are done may be queued twice.
local function leave_end(c, lane, main, item)
  local fp = fingerprint_of(lane, item)
  local record = call('HGET', B .. ':e:' .. c.num, fp)
  if record then
    local state, _, code = unpackstruct('>BdBc0', record)
    call('HDEL', B .. ':e:' .. c.num, fp)
    call('ZREM', B .. (state == 4 and ':x:' or ':y:') .. c.num, fp)
    if state == 4 then
      call('HINCRBY', B .. ':xc:' .. c.num, code, -1)
      main.dead = main.dead - 1
      count(c, 'dead', -1)
    else
      count(c, 'skipped', -1)
    end
    return true
  end
  if main.done == 0 then return false end
  main.done = main.done - 1
  count(c, 'done', -1)
  return true
end

-- ARGV[from … to]: runs of links of the same lane, level and delay. Each: host, route, 100 − priority, delay in ms, 1 when to be visited
-- again, number of links; then for each link its fingerprint (signed decimal) and the client's part of the item.
local function add_links(c, from, to)
  local i, missing = from, {}
  while i <= to do
    local name = lane_name(c, ARGV[i], ARGV[i + 1])
    if not c.lanes[name] then missing[#missing + 1] = name end
    i = i + 6 + 2 * tonumber(ARGV[i + 5])
  end
  if #missing > 0 then
    local found = call('HMGET', B .. ':l:' .. c.num, unpack(missing))
    for n, name in ipairs(missing) do lane_from(c, name, found[n]) end
  end
  local added, known, refused, stamp = 0, 0, 0, pack('>I6', wall)
  i = from
  while i <= to do
    local lane = lane_of(c, lane_name(c, ARGV[i], ARGV[i + 1]))
    local main = main_of(lane)
    local level, delay, again, n = c.order == 0 and tonumber(ARGV[i + 2]) or 100, tonumber(ARGV[i + 3]), ARGV[i + 4] == '1', tonumber(ARGV[i + 5])
    local before, heads = added, false
    i = i + 6
    for at = i, i + 2 * n - 1, 2 do
      local fp, full = ARGV[at], is_full(c, main)
      local new
      if full then new = not was_seen(c, fp) else new = see(c, fp) end
      if new and full then
        refused = refused + 1
      elseif new then
        if lane.num == 0 then enlist(lane) end
        local item = stamp .. next_place(lane) .. ARGV[at + 1]
        count_new(c, main)
        added = added + 1
        if delay > 0 then
          delay_item(lane, NO_HISTORY, item, now + delay)
        elseif push_new(lane, level, item) then
          heads = true
        end
      elseif not again then
        known = known + 1
      else
        if lane.num == 0 then enlist(lane) end
        local item = stamp .. next_place(lane) .. ARGV[at + 1]
        if full then
          refused = refused + 1
        elseif leave_end(c, lane, main, item) then
          c.pending, main.pending = c.pending + 1, main.pending + 1
          count(c, 'total', -1)
          added = added + 1
          local history = pack(HISTORY, 0, 0, 0, 1)
          if delay > 0 then delay_item(lane, history, item, now + delay) else push_returned(lane, history, item, now) end
          heads = true
        else
          known = known + 1
        end
      end
    end
    i = i + 2 * n
    if added > before then
      touch_lane(lane)
      touch_lane(main)
      if lane.phase == IDLE or (heads and lane.phase == READY) then place_lane(lane, true) end
    end
  end
  count(c, 'total', added)
  count(c, 'pending', added)
  if refused > 0 then count(c, 'refused', refused) end
  return added, known, refused
end
