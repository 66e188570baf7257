-- Goes in front of every script that changes something (keys.ts lists the keys, codec.ts the records). KEYS[1] is the shard's hash tag,
-- and every key of the shard begins with it; ARGV[1] is the time (see `clock`). Records are read on demand, changed in Lua tables and
-- written by flush() at the end, in variadic commands. Arguments are checked by the client, which makes them; loops are bounded by the caller's
-- batch or by a constant here.
local B, call, pack, unpackstruct = KEYS[1], redis.call, struct.pack, struct.unpack
local floor, ceil, max, min, fmt, sub = math.floor, math.ceil, math.max, math.min, string.format, string.sub

local FAR = 1e15            -- wake time of a lane whose host has no free slot: a release will move it; on top of BLOCKED while a host is closed by hand
local CLOSED_WAIT_MS = 60000
local UNKNOWN = -1e15      -- latency of a host that was never asked (a worker's clock may give negative ones)
local LEVEL = 4294967296     -- room between two levels in a rank, 2^32
local NEWEST = 4294967295
local SOLO_AFTER = 2
local IDLE, READY, WAITING = 0, 1, 2

-- The queue's own time runs while somebody asks: after a silence (Redis was away, its clock jumped, no worker ran) it goes on where it was, and
-- it never goes back. Leases and host pace live by it, so neither a jump of the clock nor an outage ends every lease at once.
-- What people read (wall) and epochs (micros) are the server's time. Tests give the time, or a jump of the server's clock ('+3600000').
local now, wall, micros
local function clock(writes)
  local QUIET_MS, given = 2000, ARGV[1]
  local jump, longest = 0, QUIET_MS
  if given ~= '' and string.find(given, '^%d') then
    wall, longest = tonumber(given), FAR
    micros = floor(wall * 1000 + 0.5)
  else
    if given ~= '' then jump = tonumber(given) end
    local t = call('TIME')
    wall = t[1] * 1000 + floor(t[2] / 1000) + jump
    micros = t[1] * 1000000 + t[2] + jump * 1000
  end
  local seen = call('GET', B .. ':clock')
  local step = FAR
  now = wall
  if seen then
    local lastwall, last = unpackstruct('>dd', seen)
    step = wall - lastwall
    -- Not even the longest allowed step is taken for a silence: two seconds at once would open every host too early.
    now = last + (step > longest and 1 or max(0, step))
  end
  -- Written ten times a second at most: a jump is told from the time between two writes.
  if writes and (step >= 100 or step < 0) then call('SET', B .. ':clock', pack('>dd', wall, now)) end
end

-- Variadic commands are what makes this fast; unpack fails near 8,000.
local function vcall(command, key, args)
  local n = #args
  if n == 0 then return end
  if n <= 2000 then return call(command, key, unpack(args)) end
  for i = 1, n, 2000 do call(command, key, unpack(args, i, min(n, i + 1999))) end
end

-- Redis turns numbers into text with %.17g, which costs as much as the command; most numbers of a call are the same few.
local texts = {}
local function text_of(number)
  local text = texts[number]
  if not text then
    text = number % 1 == 0 and fmt('%d', number) or fmt('%.17g', number)
    texts[number] = text
  end
  return text
end

-- Crawls ------------------------------------------------------------------------------------------------------------------

-- Behind it, when the delay follows the host's latency, ADAPTIVE: target and longest delay.
local SPEC, ADAPTIVE = '>BdddddddddddddddB', '>dd'
local crawls, touched_crawls = {}, {}

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
  -- One constructor with every field: a table that grows field by field is laid out anew five times.
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

-- Nothing in hand, and nothing that would be handed out. Over several shards only all of them together can say that the crawl is finished.
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

-- Hosts and their lanes ---------------------------------------------------------------------------------------------------
-- One record for a host: its pace, then its lanes in all crawls. Both are arrays that one constructor makes. What most hosts and lanes never have (rates,
-- blocks, settings, links that came back …) is a string of its own, absent while all of it is at rest. The first three fields are the same in both, so that a
-- route's pace is kept like a host's.

local STARTED, ARRIVAL, INFLIGHT = 1, 2, 3
local HOST, HOST_RARE = '>dI4dBc0', '>dddI4ddd'
local BLOCKED, BLOCKEDAT, THROTTLES, LATENCY, SETDELAY, SETCONC, FLOOR = 4, 5, 6, 7, 8, 9, 10
local LANE, LANE_RARE = '>I4Bc0I4I4I4BdddI4Bc0B', '>ddI4I4I4I4I4I2I4'
local DONE, FAILED, DEAD, SKIPPED, LEASED, DELAYED, NUM, PHASE, POS, SINCE, SERVED, POPS, TURNS, RETURNED = 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
local hosts, touched_hosts = {}, {}

local function touch(h)
  if not h.dirty then
    h.dirty = true
    touched_hosts[#touched_hosts + 1] = h
  end
end

-- One lane of the host, and where the next begins.
local function read_lane(h, bytes, at)
  local num, route, done, leased, number, phase, pos, since, served, pops, rare, levels
  num, route, done, leased, number, phase, pos, since, served, pops, rare, levels, at = unpackstruct(LANE, bytes, at)
  local lv
  if levels == 1 then
    local level, popped
    level, popped, at = unpackstruct('>BI4', bytes, at)
    lv = { level, popped }
  else
    lv = {}
    for i = 1, 2 * levels, 2 do lv[i], lv[i + 1], at = unpackstruct('>BI4', bytes, at) end
  end
  local key = h.key
  local lane = { 0, 0, 0, done, 0, 0, 0, leased, 0, number, phase, pos, since, served, pops, 0, 0,
    crawl = num, route = route, h = h, lv = lv, name = route == '' and key or key .. '\n' .. route, member = false, score = 0, tie = number,
    skipped = false, listed = 0 }
  if rare ~= '' then
    lane[STARTED], lane[ARRIVAL], lane[INFLIGHT], lane[FAILED], lane[DEAD], lane[SKIPPED], lane[DELAYED], lane[TURNS], lane[RETURNED] =
      unpackstruct(LANE_RARE, rare)
    if lane[STARTED] > now then lane[STARTED] = now end
  end
  return lane, at
end

local function host_from(key, bytes)
  local h
  if bytes then
    local started, inflight, latency, rare, at = unpackstruct(HOST, bytes)
    -- A clock that stepped back: no request can have started later than now.
    if started > now then started = now end
    local lanes, size, n = {}, #bytes, 0
    if rare == '' then
      h = { started, 0, inflight, 0, 0, 0, latency, -1, -1, -1, key = key, lanes = lanes, dirty = false, reopened = false }
    else
      local arrival, blocked, blockedat, throttles, setdelay, setconc, least = unpackstruct(HOST_RARE, rare)
      h = { started, arrival, inflight, blocked, blockedat, throttles, latency, setdelay, setconc, least, key = key, lanes = lanes, dirty = false,
        reopened = false }
    end
    while at <= size do
      local lane
      lane, at = read_lane(h, bytes, at)
      n = n + 1
      lanes[n] = lane
    end
  else
    h = { 0, 0, 0, 0, 0, 0, UNKNOWN, -1, -1, -1, key = key, lanes = {}, dirty = false, reopened = false }
  end
  hosts[key] = h
  return h
end

-- Most hosts have one lane of one level and nothing rare: a record of this format and length. Scripts on the way of every page work on its bytes, without a
-- table, which costs a third: `raw` holds what was read, and changed if `rawdirty`; a host that needs more is made a table of, by host_of.
local SIMPLE, SIMPLE_BYTES = '>dI4dBI4BI4I4I4BdddI4BBBI4', 74
local RESTING = '>dI4dBI4BI4I4I4BdddI4BB'   -- the same without its level: the list is empty
local raw, rawdirty = {}, {}

local function set_raw(key, bytes)
  if not rawdirty[key] then
    rawdirty[key] = true
    rawdirty[#rawdirty + 1] = key
  end
  raw[key] = bytes
end

local function host_of(key)
  local h = hosts[key]
  if h then return h end
  local bytes = raw[key]
  if bytes == nil then return host_from(key, call('HGET', B .. ':h', key)) end
  h = host_from(key, bytes)
  raw[key] = nil
  if rawdirty[key] then
    rawdirty[key] = nil
    touch(h)
  end
  return h
end

-- Reads the records of hosts, all at once.
local function read_hosts(keys)
  local missing, n, asked = {}, 0, {}
  for i = 1, #keys do
    local key = keys[i]
    if not hosts[key] and raw[key] == nil and not asked[key] then
      asked[key] = true
      n = n + 1
      missing[n] = key
    end
  end
  for from = 1, n, 1000 do
    local to = min(n, from + 999)
    local found = call('HMGET', B .. ':h', unpack(missing, from, to))
    for i = from, to do raw[missing[i]] = found[i - from + 1] end
  end
end

local function load_hosts(keys)
  read_hosts(keys)
  for i = 1, #keys do host_of(keys[i]) end
end

local function new_lane(c, h, route)
  local lane = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, IDLE, 0, 0, 0, 0, 0, 0, crawl = c.num, route = route, h = h, lv = {},
    name = route == '' and h.key or h.key .. '\n' .. route, member = false, score = 0, tie = 0, skipped = false, listed = 0 }
  h.lanes[#h.lanes + 1] = lane
  return lane
end

local function find_lane(c, h, route)
  local lanes, num = h.lanes, c.num
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane.crawl == num and lane.route == route then return lane end
  end
  -- The crawl had ended, and its lanes were put aside (`rest_lane`).
  local bytes = c.rests and call('HGET', B .. ':l:' .. num, route == '' and h.key or h.key .. '\n' .. route)
  if not bytes then return nil end
  local lane = read_lane(h, bytes, 1)
  lanes[#lanes + 1] = lane
  return lane
end

local function lane_of(c, h, route)
  return find_lane(c, h, route) or new_lane(c, h, route)
end

-- The lane without a route counts for its host, over all lanes of the crawl there.
local function main_of(c, lane)
  if lane.route == '' then return lane end
  return lane_of(c, lane.h, '')
end

local function split_name(name)
  local cut = string.find(name, '\n', 1, true)
  if not cut then return name, '' end
  return sub(name, 1, cut - 1), sub(name, cut + 1)
end

local function lane_named(c, name)
  local key, route = split_name(name)
  return lane_of(c, host_of(key), route)
end

-- The first link: the lane gets its number, which decides ties.
local function enlist(c, lane)
  lane[NUM] = call('INCR', B .. ':lanes')
  lane.tie = lane[NUM]
  main_of(c, lane)
  touch(lane.h)
  call('ZADD', B .. ':n:' .. c.num, 0, lane.h.key)
end

local function member_of(lane)
  local member = lane.member
  if not member then
    member = pack('>I4', lane[NUM]) .. lane.name
    lane.member = member
  end
  return member
end

local function list_key(c, level, name)
  return c.lists .. text_of(level) .. ':' .. name
end

local function returned_key(lane)
  return B .. ':b:' .. lane.crawl .. ':' .. lane[NUM]
end

local function list_length(c, lane, level)
  return call('LLEN', list_key(c, level, lane.name))
end

local function drop_level(lane)
  table.remove(lane.lv, 1)
  table.remove(lane.lv, 1)
end

-- The order within a lane is by rank, smaller first: the level, then the place. A list is in order by itself; the place of its head is the number of links taken
-- from the level before it, and a link that comes back has the place it was taken from. One that goes behind its equals, or waits for its time, stands behind
-- the end of the list as it is now, by a fraction that grows. Newest first: places are counted upwards for the whole lane, and an item carries its own in front.
local function newest_rank(level, place)
  return level * LEVEL + NEWEST - place
end

local function list_rank(c, lane, level, popped)
  if c.order ~= 2 then return level * LEVEL + popped + 1 end
  return newest_rank(level, (unpackstruct('>I4', call('LINDEX', list_key(c, level, lane.name), -1))))
end

local function next_place(lane)
  lane[POPS] = lane[POPS] + 1
  return lane[POPS]
end

local function rank_behind(c, lane, level)
  if c.order == 2 then return newest_rank(level, next_place(lane)) end
  local turn = lane[TURNS]
  lane[TURNS] = (turn + 1) % 4095
  local popped, lv = lane[POPS], lane.lv
  for i = 1, #lv, 2 do if lv[i] == level then popped = lv[i + 1] end end
  return level * LEVEL + popped + list_length(c, lane, level) + (turn + 1) / 4096
end

-- In front of all others: below zero, by priority and first in first; what was promoted last is the smallest. FRONTS are counted for the whole shard, so that a link
-- that is in hand keeps its place too. Newest first: as if it came now.
local function front_rank(c, lane)
  if c.order == 2 then return newest_rank(100, next_place(lane)) end
  return -call('INCR', B .. ':fronts')
end

-- Rank of the best link, and its member when it is one of those that came back. Nil: nothing is left. A level whose list has run empty is found out
-- here if there is another one to compare with; the only one is found out when somebody takes from it.
local function head_of(c, lane)
  local lv = lane.lv
  while (lv[3] or (lv[1] and lane[RETURNED] > 0)) and list_length(c, lane, lv[1]) == 0 do drop_level(lane) end
  local level = lv[1]
  if lane[RETURNED] == 0 then return level and level * LEVEL + 1, nil end
  local best = call('ZRANGE', returned_key(lane), 0, 0, 'WITHSCORES')
  local rank = tonumber(best[2])
  if not level or rank < list_rank(c, lane, level, lv[2]) then return rank, best[1] end
  return level * LEVEL + 1, nil
end

local function has_links(c, lane)
  if lane[RETURNED] > 0 then return true end
  local lv = lane.lv
  for i = 1, #lv, 2 do if list_length(c, lane, lv[i]) > 0 then return true end end
  return false
end

local function has_work(c, h)
  local lanes, num = h.lanes, c.num
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane.crawl == num and (lane[LEASED] > 0 or lane[DELAYED] > 0 or has_links(c, lane)) then return true end
  end
  return false
end

-- Links of the crawl on the host, in any state.
local function host_total(c, h)
  find_lane(c, h, '')
  local total, lanes = 0, h.lanes
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane.crawl == c.num then
      total = total + lane[DONE] + lane[DEAD] + lane[SKIPPED] + lane[LEASED] + lane[DELAYED] + lane[RETURNED]
      for n = 1, #lane.lv, 2 do total = total + list_length(c, lane, lane.lv[n]) end
    end
  end
  return total
end

-- Limits ------------------------------------------------------------------------------------------------------------------

local LIMITS = '>dddd'   -- and ADAPTIVE behind it, or not

-- pace.ts, adapted. A latency nobody knows is below every delay.
local function adapted(delay, target, maxdelay, latency)
  if target == 0 then return delay end
  local slow = ceil(latency / target)
  if slow > maxdelay then slow = maxdelay end
  return slow > delay and slow or delay
end

-- pace.ts, meanLatency: FAILURE_CAP_MS, FAILURE_MS, LATENCY_WEIGHT.
local function mean_latency(old, elapsed, failed)
  if failed then elapsed = max(elapsed, min(60000, max(1000, 2 * old))) end
  if old == UNKNOWN then return elapsed end
  return old + 0.2 * (elapsed - old)
end

local function own_limits(c, key)
  if c.special >= 2 then
    local known = c.kl[key]
    if known == nil then
      known = call('HGET', B .. ':c:' .. c.num, 'k:' .. key)
      c.kl[key] = known
    end
    if known then
      local delay, conc, interval, burst = unpackstruct(LIMITS, known)
      if #known == 32 then return delay, conc, interval, burst, 0, 0 end
      return delay, conc, interval, burst, unpackstruct(ADAPTIVE, known, 33)
    end
  end
  return c.delay, c.conc, c.interval, c.burst, c.target, c.maxdelay
end

-- The strictest of the running crawls with work on the host, what was set for the host itself, and how it answers. The fifth is the delay without that.
local function host_limits(h, asking)
  local delay, conc, interval, burst, target, maxdelay
  if asking.special >= 2 then delay, conc, interval, burst, target, maxdelay = own_limits(asking, h.key)
  else delay, conc, interval, burst, target, maxdelay = asking.delay, asking.conc, asking.interval, asking.burst, asking.target, asking.maxdelay end
  local lanes, last = h.lanes, asking.num
  for i = 1, #lanes do
    local num = lanes[i].crawl
    if num ~= asking.num and num ~= last then
      last = num
      local c = crawl_by_number(num)
      if c and c.state == 'running' and has_work(c, h) then
        local d, n, t, b, goal, most = own_limits(c, h.key)
        delay, conc = max(delay, d), min(conc, n)
        if goal > 0 then
          target = target > 0 and min(target, goal) or goal
          maxdelay = max(maxdelay, most)
        end
        if t > 0 then
          if interval > 0 then
            burst = min(burst, b)
            interval = max(interval, t)
          else
            interval, burst = t, b
          end
        end
      end
    end
  end
  if h[SETDELAY] >= 0 then delay, target = h[SETDELAY], 0 end
  if h[FLOOR] > delay then delay = h[FLOOR] end
  if h[SETCONC] >= 0 then conc = h[SETCONC] end
  return adapted(delay, target, maxdelay, h[LATENCY]), conc, interval, burst, delay
end

local function route_limits(c, route)
  local known = c.rl[route]
  if known == nil then
    known = call('HGET', B .. ':c:' .. c.num, 'r:' .. route)
    c.rl[route] = known
  end
  if known then return unpackstruct(LIMITS, known) end
  return 0, 1e9, 0, 1
end

-- pace.ts says the same in TypeScript: earliestStart, permitMs, afterStart.
local function opening(p, blocked, delay, interval, burst)
  local at = blocked
  if delay > 0 and p[STARTED] + delay > at then at = p[STARTED] + delay end
  if interval > 0 then
    local byrate = ceil(p[ARRIVAL] - (burst - 1) * interval - 0.01)
    if byrate > at then at = byrate end
  end
  return at
end

local function permit_ms(delay, interval, burst)
  local PERMIT_MAX_MS = 2000
  local gap = (interval > 0 and burst == 1 and interval > delay) and interval or delay
  if gap <= 0 then return PERMIT_MAX_MS end
  return min(PERMIT_MAX_MS, max(5, gap / 10))
end

local function start_on(p, interval, slot)
  if slot then p[INFLIGHT] = p[INFLIGHT] + 1 end
  if now > p[STARTED] then p[STARTED] = now end
  if interval > 0 then p[ARRIVAL] = max(p[ARRIVAL], now) + interval end
end

-- When the lane's gates open, whether a slot is missing, how long a permit is good for, and the intervals of host and route.
local function gates(c, lane)
  local h = lane.h
  local delay, conc, interval, burst = host_limits(h, c)
  local at, full, permit = opening(h, h[BLOCKED], delay, interval, burst), h[INFLIGHT] >= conc, permit_ms(delay, interval, burst)
  if lane.route == '' then return at, full, permit, interval, 0 end
  local d, n, t, b = route_limits(c, lane.route)
  return max(at, opening(lane, 0, d, t, b)), full or lane[INFLIGHT] >= n, min(permit, permit_ms(d, t, b)), interval, t
end

local function score_of(c, lane, rank)
  -- One that was promoted has the highest priority, where priorities count.
  if rank < 0 then rank = c.order == 0 and 0 or 100 * LEVEL end
  return floor(lane[SINCE] - (100 - floor(rank / LEVEL)) * c.aging + 0.5)
end

-- From one phase to another. Members are put in before others are taken out: one that leaves and comes back within a call is not taken out.
local function move_lane(c, member, old, phase, pos)
  if old ~= phase and old ~= IDLE then
    local gone = old == READY and c.readyrem or c.waitrem
    gone[#gone + 1] = member
    gone[member] = #gone
  end
  if phase ~= IDLE then
    local adds, gone = c.readyadd, c.readyrem
    if phase == WAITING then adds, gone = c.waitadd, c.waitrem end
    local n, out = #adds, gone[member]
    adds[n + 1], adds[n + 2] = text_of(pos), member
    if out then
      gone[out], gone[member] = '', nil
    end
  end
end

local function put_lane(c, lane, phase, pos)
  local old = lane[PHASE]
  if phase == old and pos == lane[POS] then return end
  move_lane(c, member_of(lane), old, phase, pos)
  lane[PHASE], lane[POS] = phase, pos
  touch(lane.h)
end

-- Where the lane belongs: idle, ready by score, or waiting until its host opens.
local function place_lane(c, lane)
  if lane[NUM] == 0 or (lane.lv[1] == nil and lane[RETURNED] == 0) then return put_lane(c, lane, IDLE, 0) end
  local at, full = gates(c, lane)
  if full then return put_lane(c, lane, WAITING, FAR) end
  if at > now then return put_lane(c, lane, WAITING, at) end
  local rank = head_of(c, lane)
  if not rank then return put_lane(c, lane, IDLE, 0) end
  put_lane(c, lane, READY, score_of(c, lane, rank))
end

-- A link arrived. The host is not asked: a lane that is wrongly ready is found out when its turn comes.
local function wake_lane(c, lane)
  if lane[PHASE] == WAITING then return end
  put_lane(c, lane, READY, score_of(c, lane, (head_of(c, lane))))
end

-- A slot was freed: lanes that waited for one may open. Those that wait for a time, and ready ones, are looked at when their turn comes; all that wait, when the
-- host's limits changed (`limits`), which the end of one crawl's work there may do for another, and every answer where the delay follows the latency.
local function place_lanes_of(h, limits)
  local lanes = h.lanes
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane[PHASE] == WAITING then
      local c = crawl_by_number(lane.crawl)
      if c and (limits or lane[POS] >= FAR or c.target > 0 or c.special >= 2 or (#lanes > 1 and c.state == 'running')) then place_lane(c, lane) end
    end
  end
end

-- Items ------------------------------------------------------------------------------------------------------------------
-- An item is 6 bytes of time, then the client's: flags, 2 of depth, priority + 100, route, rest. With it goes what happened to it so far (history):
-- reclaims, attempts, throttles, flags (1: bypasses the freshness window), and outside its list its rank.

local HISTORY = '>BI2I2B'
local NO_HISTORY = pack(HISTORY, 0, 0, 0, 0)

local function priority_of(item)
  return string.byte(item, 10) - 100
end

local function level_of(c, item)
  return c.order == 0 and 100 - priority_of(item) or 100
end

local function push_returned(c, lane, history, item, rank, due)
  local member = history .. pack('>d', rank) .. item
  call('ZADD', returned_key(lane), rank, member)
  lane[RETURNED] = lane[RETURNED] + 1
  local _, best = head_of(c, lane)
  if best == member then lane[SINCE] = max(lane[SERVED], due) end
  touch(lane.h)
end

local function delay_item(c, lane, history, item, rank, due)
  local name = lane.name
  call('ZADD', B .. ':d:' .. c.num, due, pack('>I2c0', #name, name) .. history .. pack('>d', rank) .. item)
  lane[DELAYED] = lane[DELAYED] + 1
  touch(lane.h)
end

-- Back to the queue, now or later.
local function requeue(c, lane, history, item, rank, after)
  if after > 0 then
    delay_item(c, lane, history, item, rank, now + after)
  else
    push_returned(c, lane, history, item, rank, now)
    place_lane(c, lane)
  end
end

-- 64 bits of the SHA-1 of its URL, unless it says otherwise (flag 4: sixteen hex digits behind the route).
local function fingerprint_of(h, item)
  local flags = string.byte(item, 7)
  local route = string.byte(item, 11)
  local rest = sub(item, 12 + route)
  if floor(flags / 4) % 2 == 1 then return sub(rest, 1, 16) end
  local cut = string.find(rest, '\0', 1, true)
  local url = cut and sub(rest, 1, cut - 1) or rest
  if floor(flags / 2) % 2 == 0 then url = (flags % 2 == 1 and 'https://' or 'http://') .. h.key .. url end
  return sub(redis.sha1hex(url), 1, 16)
end

-- Failures and ends -------------------------------------------------------------------------------------------------------

local function keep_failure(c, fp, text)
  local FAILURES_KEPT = 20
  local key = B .. ':f:' .. c.num
  local kept = call('HGET', key, fp) or ''
  local entries, at, size = {}, 1, #kept
  while at <= size do
    local from = at
    local _, length = unpackstruct('>dI4', kept, at)
    at = at + 12 + length
    entries[#entries + 1] = sub(kept, from, at - 1)
  end
  entries[#entries + 1] = pack('>dI4', wall, #text) .. text
  call('HSET', key, fp, table.concat(entries, '', max(1, #entries - FAILURES_KEPT + 1)))
end

-- Dead letters and skipped links are kept with their reason; a link that is done is a fingerprint among the seen.
local function end_kept(c, lane, fp, state, code, history, item, at, rank)
  local name = lane.name
  local record = pack('>BdBc0', state == 'dead' and 4 or 5, at or wall, #code, code) .. pack('>I2c0', #name, name) .. history
    .. pack('>d', rank) .. item
  call('HSET', B .. ':e:' .. c.num, fp, record)
  call('ZADD', B .. (state == 'dead' and ':x:' or ':y:') .. c.num, call('INCR', B .. ':ends'), fp)
  count(c, state, 1)
  local main = main_of(c, lane)
  if state == 'dead' then
    main[DEAD] = main[DEAD] + 1
    call('HINCRBY', B .. ':xc:' .. c.num, code, 1)
    call('HSETNX', B .. ':xs:' .. c.num, code, fp)
  else
    main[SKIPPED] = main[SKIPPED] + 1
  end
  touch(lane.h)
  c.endings = c.endings + 1
end

-- Leases ------------------------------------------------------------------------------------------------------------------

local LEASE = '>I4ddddI2I2BBdBc0I2c0B'
local workers, gone_leases = {}, {}

local function lease_from(epoch, bytes)
  local num, seq, granted, permit, slot, attempts, throttles, reclaims, flags, rank, worker, lane, count, at = unpackstruct(LEASE, bytes)
  local guests = {}
  for i = 1, count do
    local host, since
    host, since, at = unpackstruct('>I2c0d', bytes, at)
    guests[i] = { host, since }
  end
  return { epoch = epoch, num = num, seq = seq, granted = granted, permit = permit, slot = slot, attempts = attempts, throttles = throttles,
    reclaims = reclaims, flags = flags, rank = rank, worker = worker, lane = lane, guests = guests, item = sub(bytes, at), over = false }
end

local function lease_bytes(l)
  local head = pack(LEASE, l.num, l.seq, l.granted, l.permit, l.slot, l.attempts, l.throttles, l.reclaims, l.flags, l.rank, #l.worker, l.worker, #l.lane,
    l.lane, #l.guests)
  if #l.guests == 0 then return head .. l.item end
  local parts = { head }
  for _, guest in ipairs(l.guests) do parts[#parts + 1] = pack('>I2c0d', #guest[1], guest[1], guest[2]) end
  parts[#parts + 1] = l.item
  return table.concat(parts)
end

local function history_of(l)
  return pack(HISTORY, l.reclaims, l.attempts, l.throttles, l.flags % 2)
end

local function tally(worker)
  local w = workers[worker]
  if not w then
    w = { done = 0, failed = 0, drop = {} }
    workers[worker] = w
  end
  return w
end

local function slot_freed(p, elapsed)
  p[INFLIGHT] = max(0, p[INFLIGHT] - 1)
  if elapsed and now - max(0, elapsed) > p[STARTED] then p[STARTED] = now - max(0, elapsed) end
end

local function forget_lease(c, epoch, worker)
  gone_leases[#gone_leases + 1] = epoch
  local drop = tally(worker).drop
  drop[#drop + 1] = epoch
  c.leased, c.ended = c.leased - 1, c.ended + 1
end

local function is_simple(c, key)
  local bytes = raw[key]
  return bytes and #bytes == SIMPLE_BYTES and c.interval == 0 and c.special < 2
end

-- A request on a simple host ended (`elapsed` ms after its dispatch, if somebody can say), or with it the link: as slot_freed, place_lane and end_lease have it.
local function end_simple(c, key, frees, elapsed, done_too, failed)
  local started, inflight, latency, _, num, _, done, leased, number, phase, pos, since, served, pops, _, _, level, popped = unpackstruct(SIMPLE, raw[key])
  if started > now then started = now end
  if elapsed then
    if now - max(0, elapsed) > started then started = now - max(0, elapsed) end
    latency = mean_latency(latency, elapsed, failed)
  end
  if frees then inflight = max(0, inflight - 1) end
  local at = FAR
  if phase == WAITING and inflight < c.conc and (c.target > 0 or (frees and pos >= FAR)) then
    local delay = adapted(c.delay, c.target, c.maxdelay, latency)
    at = delay > 0 and started + delay or 0
  end
  -- One that wakes too early is found out when its turn comes.
  if at < pos then
    local to = WAITING
    pos = at
    if pos <= now then to, pos = READY, floor(since - (100 - level) * c.aging + 0.5) end
    move_lane(c, pack('>I4', number) .. key, phase, to, pos)
    phase = to
  end
  if done_too then done, leased = done + 1, leased - 1 end
  set_raw(key, pack(SIMPLE, started, inflight, latency, 0, num, 0, done, leased, number, phase, pos, since, served, pops, 0, 1, level, popped))
end

-- The lease is over: what it held is free, its record goes with the flush. The host's lanes are placed there too.
local function end_lease(c, l, lane)
  local h = lane.h
  if l.slot >= 0 then
    l.slot = -1
    slot_freed(h)
    h.reopened = true
    if lane.route ~= '' then slot_freed(lane) end
  elseif #h.lanes > 1 and not h.reopened then
    -- Its crawl may have no work there any more, and so no say in the pace of the others.
    h.reopened = true
  end
  for _, guest in ipairs(l.guests) do
    local other = host_of(guest[1])
    slot_freed(other)
    other.reopened = true
    touch(other)
  end
  l.guests = {}
  forget_lease(c, l.epoch, l.worker)
  local main = main_of(c, lane)
  main[LEASED] = main[LEASED] - 1
  touch(h)
end

local function back_to_pending(c)
  c.pending = c.pending + 1
  count(c, 'pending', 1)
end

-- The lease ran out, or its worker is dead.
local function reclaim(l)
  local c = crawl_by_number(l.num)
  if not c then
    gone_leases[#gone_leases + 1] = l.epoch
    local drop = tally(l.worker).drop
    drop[#drop + 1] = l.epoch
    return
  end
  local lane = lane_named(c, l.lane)
  end_lease(c, l, lane)
  count(c, 'reclaimed', 1)
  l.reclaims = min(255, l.reclaims + 1)
  if l.reclaims >= SOLO_AFTER + c.maxreclaims then
    local fp = fingerprint_of(lane.h, l.item)
    keep_failure(c, fp, '{"code":"poison","message":"its lease ran out ' .. l.reclaims .. ' times"}')
    l.flags = 0
    end_kept(c, lane, fp, 'dead', 'poison', history_of(l), l.item, nil, l.rank)
  else
    back_to_pending(c)
    requeue(c, lane, history_of(l), l.item, l.rank, 0)
  end
  end_if_done(c)
end

local function lane_bytes(lane)
  local rare, lv = '', lane.lv
  if lane[RETURNED] > 0 or lane[DELAYED] > 0 or lane[TURNS] > 0 or lane[FAILED] > 0 or lane[DEAD] > 0 or lane[SKIPPED] > 0 or lane[STARTED] ~= 0 then
    rare = pack(LANE_RARE, lane[STARTED], lane[ARRIVAL], lane[INFLIGHT], lane[FAILED], lane[DEAD], lane[SKIPPED], lane[DELAYED], lane[TURNS], lane[RETURNED])
  end
  local bytes = pack(LANE, lane.crawl, #lane.route, lane.route, lane[DONE], lane[LEASED], lane[NUM], lane[PHASE], lane[POS], lane[SINCE], lane[SERVED],
    lane[POPS], #rare, rare, #lv / 2)
  for n = 1, #lv, 2 do bytes = bytes .. pack('>BI4', lv[n], lv[n + 1]) end
  return bytes
end

-- A site that is crawled every day would carry the lanes of a year in its host's record: those of crawls that have ended, and that have nothing left there, are put
-- aside. They keep the crawl's counters, and come back when somebody asks.
local function rest_lane(c, lane)
  if (c.state ~= 'finished' and c.state ~= 'cancelled') or lane[LEASED] > 0 or lane[DELAYED] > 0 or has_links(c, lane) then return false end
  put_lane(c, lane, IDLE, 0)
  lane.lv = {}
  call('HSET', B .. ':l:' .. c.num, lane.name, lane_bytes(lane))
  if not c.rests then
    c.rests = true
    set_crawl(c, 'rests', '1')
  end
  return true
end

local function host_bytes(h)
  local rare = ''
  if h[ARRIVAL] ~= 0 or h[BLOCKED] ~= 0 or h[THROTTLES] ~= 0 or h[SETDELAY] >= 0 or h[SETCONC] >= 0 or h[FLOOR] >= 0 then
    rare = pack(HOST_RARE, h[ARRIVAL], h[BLOCKED], h[BLOCKEDAT], h[THROTTLES], h[SETDELAY], h[SETCONC], h[FLOOR])
  end
  local parts, lanes = { pack(HOST, h[STARTED], h[INFLIGHT], h[LATENCY], #rare, rare) }, h.lanes
  for i = 1, #lanes do
    local lane = lanes[i]
    if #lanes == 1 then
      parts[2] = lane_bytes(lane)
    else
      local c = crawl_by_number(lane.crawl)
      -- Lanes of crawls that were removed stay until they are swept: they tell which keys to delete. Those without a number never had any.
      if (c and not rest_lane(c, lane)) or (not c and lane[NUM] > 0) then parts[#parts + 1] = lane_bytes(lane) end
    end
  end
  return table.concat(parts)
end

-- Writes everything that changed. Nothing may fail from here on.
local function flush()
  local i = 1
  while i <= #touched_hosts do
    local h = touched_hosts[i]
    if h.reopened then
      local limits = h.reopened == 'limits'
      h.reopened = false
      place_lanes_of(h, limits)
    end
    i = i + 1
  end
  local args, n = {}, 0
  for i = 1, #touched_hosts do
    local h = touched_hosts[i]
    args[n + 1], args[n + 2] = h.key, host_bytes(h)
    n = n + 2
  end
  for i = 1, #rawdirty do
    local key = rawdirty[i]
    if rawdirty[key] then
      args[n + 1], args[n + 2] = key, raw[key]
      n = n + 2
    end
  end
  vcall('HSET', B .. ':h', args)
  for _, c in ipairs(touched_crawls) do
    vcall('ZADD', B .. ':r:' .. c.num, c.readyadd)
    vcall('ZADD', B .. ':w:' .. c.num, c.waitadd)
    vcall('ZREM', B .. ':r:' .. c.num, c.readyrem)
    vcall('ZREM', B .. ':w:' .. c.num, c.waitrem)
    local key = B .. ':c:' .. c.num
    if c.ended > 0 then count(c, 'leased', -c.ended) end
    if c.done > 0 then count(c, 'done', c.done) end
    if c.read > 0 then count(c, 'bytes', c.read) end
    for field, by in pairs(c.inc) do if by ~= 0 then call('HINCRBY', key, field, text_of(by)) end end
    vcall('HSET', key, c.set)
    if c.endings > 0 then
      -- Endings of the last minute: a ring of 64 seconds.
      local second = floor(wall / 1000)
      local ring, slot = B .. ':t:' .. c.num, second % 64
      local held = call('HGET', ring, slot)
      local n = 0
      if held then
        local at, so_far = unpackstruct('>I6I4', held)
        if at == second then n = so_far end
      end
      call('HSET', ring, slot, pack('>I6I4', second, n + c.endings))
    end
  end
  if #gone_leases > 0 then
    vcall('HDEL', B .. ':leases', gone_leases)
    vcall('ZREM', B .. ':deadlines', gone_leases)
  end
  for name, w in pairs(workers) do
    vcall('SREM', B .. ':held:' .. name, w.drop)
    if w.settled and call('EXISTS', B .. ':worker:' .. name) == 1 then
      local key = B .. ':worker:' .. name
      if w.done > 0 then call('HINCRBY', key, 'done', w.done) end
      if w.failed > 0 then call('HINCRBY', key, 'failed', w.failed) end
      if w.ended then call('HSET', key, 'seen', wall, 'progress', wall) else call('HSET', key, 'seen', wall) end
    end
  end
end

-- The limits of many hosts may have changed: the waiting lanes of all running crawls are looked at again, some with each lease call.
-- A host that many crawls share may open earlier than it was told; without this it would sleep on.
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
