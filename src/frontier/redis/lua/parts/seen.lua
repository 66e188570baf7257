-- Which links were seen.
-- exact: sets of 64-bit integers, kept below 512 members so that Redis stores them as sorted arrays of 8 bytes each (intset). A fingerprint is the decimal
-- text of a signed integer, which a Lua number cannot hold; its last digits name the bucket. When the buckets of l digits hold 400 on average they are split
-- one after another, each into ten: for every forty links added, one; no call ever moves more than a few of them. p: those split so far.
-- bloom: 64 bitmaps, k bits in one of them for each link. set: one plain set.
-- With a TTL there is one store for each period of that length, and the previous one is checked too.

local FULL, STEP = 400, 40
local SEGMENTS = 64
local seen_stores = {}

local function set_splits(s)
  s.edge = s.l > 0 and fmt('%0' .. s.l .. 'd', s.p) or ''
  s.room = FULL * 10 ^ s.l + STEP * s.p
  s.split = s.p > 0
end

local function seen_store(key, mode, settings)
  local s = seen_stores[key]
  if s then return s end
  s = { key = key, mode = mode, settings = settings, n = 0, l = 0, p = 0, prefix = '', edge = '', room = 0, split = false, changed = false }
  if mode ~= 'set' then
    local v = call('HMGET', key .. ':m', 'n', 'l', 'p')
    s.n, s.l, s.p = tonumber(v[1] or 0), tonumber(v[2] or 0), tonumber(v[3] or 0)
    s.prefix = key .. ':'
    if mode == 'exact' then set_splits(s) end
  end
  seen_stores[key] = s
  return s
end

local function bucket_of(s, fp)
  local digits = s.l
  if digits == 0 then return s.prefix end
  local name = sub(fp, -digits)
  if s.split and name < s.edge then name = sub(fp, -digits - 1) end
  return s.prefix .. name
end

local function split_bucket(s)
  local from = s.prefix .. s.edge
  local parts = {}
  for _, fp in ipairs(call('SMEMBERS', from)) do
    local name = sub(fp, -s.l - 1)
    local part = parts[name]
    if part then part[#part + 1] = fp else parts[name] = { fp } end
  end
  call('DEL', from)
  for name, part in pairs(parts) do
    vcall('SADD', s.prefix .. name, part)
    if s.settings.ttl > 0 then call('PEXPIRE', s.prefix .. name, s.settings.ttl * 2) end
  end
  s.p = s.p + 1
  if s.p == 10 ^ s.l then s.l, s.p = s.l + 1, 0 end
  set_splits(s)
end

-- Filter number s.l is the one being filled; each holds `capacity` links and has half the error rate of the previous one.
local function bloom_bits(s, fp, filter)
  local error = s.settings.error / 2 ^ filter
  local bits = ceil(-s.settings.capacity * math.log(error) / 0.4804530139182 / SEGMENTS)
  local digits = '000000000000000000' .. string.gsub(fp, '-', '')
  local one, two = tonumber(sub(digits, -9)), tonumber(sub(digits, -18, -10))
  local step, positions = floor(one / SEGMENTS) % bits, {}
  for i = 0, ceil(-math.log(error) / 0.6931471805599) - 1 do positions[i + 1] = (two + i * step + i * i * i) % bits end
  return s.key .. ':b:' .. filter .. ':' .. (one % SEGMENTS), positions, bits
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
  local key, positions, bits = bloom_bits(s, fp, s.l)
  -- In its full length at once: a string that grows by its last bit is reallocated again and again, and takes twice the space.
  if call('EXISTS', key) == 0 then call('SET', key, string.rep('\0', ceil(bits / 8))) end
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
    if s.l > 0 and bloom_has(s, fp) then return false end
    new = bloom_add(s, fp)
  else
    local key = s.mode == 'set' and s.key or bucket_of(s, fp)
    new = call('SADD', key, fp) == 1
    if new and s.settings.ttl > 0 then call('PEXPIRE', key, s.settings.ttl * 2) end
  end
  if new and s.mode ~= 'set' then
    s.n, s.changed = s.n + 1, true
    if s.mode == 'exact' and s.n > s.room then split_bucket(s) end
  end
  return new
end

-- Answers the store to write to, and that of the previous period.
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
  return store_has(store, fp) or (before and store_has(before, fp))
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
