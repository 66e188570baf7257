-- Crawls: their specs, counters and states.

-- When the delay follows the host's latency, ADAPTIVE (target and longest delay) comes after it.
local SPEC, ADAPTIVE = '>BdddddddddddddddB', '>dd'

local function crawl_by_number(num)
  local c = crawls[num]
  if c ~= nil then return c end
  local v = call('HMGET', B .. ':c:' .. num, 'id', 'spider', 'state', 's', 'seeding', 'pending', 'leased', 'total', 'bytes', 'started', 'gen', 'seen', 'rests')
  if not v[1] then
    crawls[num] = false
    return false
  end
  local order, delay, conc, interval, burst, visibility, retrystep, aging, maxreclaims, maxpending, overflow, bpages, bperhost, bbytes, bms, shards,
    special = unpackstruct(SPEC, v[4])
  local target, maxdelay = 0, 0
  if #v[4] > 122 then target, maxdelay = unpackstruct(ADAPTIVE, v[4], 123) end
  local started = v[10] and tonumber(v[10])
  -- One constructor with every field: a table that grows field by field is reallocated five times.
  c = { num = num, id = v[1], spider = v[2], state = v[3], seeding = v[5] == '1', pending = tonumber(v[6]), leased = tonumber(v[7]),
    total = tonumber(v[8]), bytes = tonumber(v[9]), started = started, gen = v[11], seen = v[12], rests = v[13] == '1', order = order, delay = delay, conc = conc,
    interval = interval, burst = burst, target = target, maxdelay = maxdelay, visibility = visibility, retrystep = retrystep, aging = aging, maxreclaims = maxreclaims,
    maxpending = maxpending, overflow = overflow, bpages = bpages, bperhost = bperhost, bbytes = bbytes, bms = bms, shards = shards,
    special = special, lists = B .. ':q:' .. num .. ':', endings = 0, given = 0, ended = 0, done = 0, read = 0, store = false, before = false, more = false, edge = false, edgepos = 0,
    inc = {}, set = {}, rl = {}, kl = {}, readyadd = {}, readyrem = {}, waitadd = {}, waitrem = {} }
  crawls[num] = c
  touched_crawls[#touched_crawls + 1] = c
  return c
end

local function crawl_by_id(id)
  local num = call('HGET', B .. ':crawls', id)
  return num and crawl_by_number(tonumber(num))
end

local function count(c, field, by)
  c.inc[field] = (c.inc[field] or 0) + by
end

local function budget_spent(c)
  if c.bbytes >= 0 and c.bytes >= c.bbytes then return 'budget_bytes' end
  if c.bms >= 0 and c.started and wall - c.started >= c.bms then return 'budget_time' end
  return nil
end

local function has_nothing_left(c)
  return c.pending == 0 and not c.seeding
end

-- Nothing is leased, and nothing would be handed out. Over several shards only all of them together can say that the crawl is finished.
local function is_quiet(c)
  return c.state == 'running' and c.leased == 0 and (has_nothing_left(c) or budget_spent(c) ~= nil)
end

local function set_crawl(c, field, value)
  c.set[#c.set + 1] = field
  c.set[#c.set + 1] = value
end

local function finish(c)
  local by = not has_nothing_left(c) and budget_spent(c) or ''
  c.state = 'finished'
  set_crawl(c, 'state', 'finished')
  set_crawl(c, 'endedBy', by)
  set_crawl(c, 'finished', wall)
  call('SREM', B .. ':running:' .. c.spider, c.num)
end

local function end_if_done(c)
  if c.shards == 1 and is_quiet(c) then finish(c) end
end

local function wake_crawl(c)
  if c.state ~= 'finished' then return false end
  c.state = 'running'
  set_crawl(c, 'state', 'running')
  set_crawl(c, 'endedBy', '')
  set_crawl(c, 'finished', '')
  call('SADD', B .. ':running:' .. c.spider, c.num)
  return true
end

-- The limits of many hosts may have changed: the waiting lanes of all running crawls are checked again, some with each lease call. Without this, a host
-- that several crawls share would sleep until the time that its old limits set.
local function recheck_lanes()
  for _, num in pairs(call('HVALS', B .. ':crawls')) do
    local waiting, again = B .. ':w:' .. num, B .. ':a:' .. num
    if call('EXISTS', waiting) == 1 then
      if call('EXISTS', again) == 1 then
        call('ZUNIONSTORE', again, 2, again, waiting)
        call('UNLINK', waiting)
      else
        call('RENAME', waiting, again)
      end
    end
  end
end
