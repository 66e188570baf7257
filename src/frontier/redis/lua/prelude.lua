-- Goes in front of every script that changes something (keys.ts lists the keys, codec.ts the records). KEYS[1] is the shard's hash tag,
-- and every key of the shard begins with it; ARGV[1] is the time (see `clock`). Records are read on demand, changed in Lua tables and
-- written by flush() at the end, in variadic commands. Arguments are checked by the client, which makes them; loops are bounded by the caller's
-- batch or by a constant here.
local B, call, pack, unpackstruct = KEYS[1], redis.call, struct.pack, struct.unpack
local floor, ceil, max, min, fmt, sub = math.floor, math.ceil, math.max, math.min, string.format, string.sub

local FAR = 1e15            -- wake time of a lane whose host has no free slot: a release will move it
local UNKNOWN = -1e15      -- latency of a host that was never asked (a worker's clock may give negative ones)
local PLACES = 4294967296   -- places of a lane, 2^32
local SOLO_AFTER = 2
local FAILURES_KEPT = 20
local PERMIT_MAX_MS = 2000
local QUIET_MS = 2000
local IDLE, READY, WAITING = 0, 1, 2

-- The queue's own time runs while somebody asks: after a silence (Redis was away, its clock jumped, no worker ran) it goes on where it was, and
-- it never goes back. Leases and host pace live by it, so neither a jump of the clock nor an outage ends every lease at once.
-- What people read (wall) and epochs (micros) are the server's time. Tests give the time, or a jump of the server's clock ('+3600000').
local now, wall, micros
local function clock(writes)
  local given = ARGV[1]
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
    now = last + max(0, min(step, longest))
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

-- Crawls ------------------------------------------------------------------------------------------------------------------

local SPEC = '>BdddddddddddddddB'
local crawls, touched_crawls = {}, {}

local function crawl_by_number(num)
  local c = crawls[num]
  if c ~= nil then return c end
  local v = call('HMGET', B .. ':c:' .. num, 'id', 'spider', 'state', 's', 'seeding', 'pending', 'leased', 'total', 'bytes', 'started', 'gen', 'seen')
  if not v[1] then
    crawls[num] = false
    return false
  end
  c = { num = num, id = v[1], spider = v[2], state = v[3], seeding = v[5] == '1', pending = tonumber(v[6]), leased = tonumber(v[7]),
    total = tonumber(v[8]), bytes = tonumber(v[9]), started = v[10] and tonumber(v[10]), gen = v[11], seen = v[12],
    inc = {}, set = {}, lanes = {}, rl = {}, kl = {}, pushes = {}, pushkeys = {}, readyadd = {}, readyrem = {}, waitadd = {}, waitrem = {} }
  c.order, c.delay, c.conc, c.interval, c.burst, c.visibility, c.retrystep, c.aging, c.maxreclaims, c.maxpending, c.overflow,
    c.bpages, c.bperhost, c.bbytes, c.bms, c.shards, c.special = unpackstruct(SPEC, v[4])
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

-- Hosts -------------------------------------------------------------------------------------------------------------------

local HOST = '>ddI4ddI4dddd'
local hosts, touched_hosts = {}, {}

local function host_from(key, bytes)
  local h = { key = key, lanes = {}, started = 0, arrival = 0, inflight = 0, blocked = 0, blockedat = 0, level = 0, latency = UNKNOWN,
    setdelay = -1, setconc = -1, floor = -1 }
  if bytes then
    local at
    h.started, h.arrival, h.inflight, h.blocked, h.blockedat, h.level, h.latency, h.setdelay, h.setconc, h.floor, at = unpackstruct(HOST, bytes)
    local size = #bytes
    while at <= size do
      local num, route
      num, route, at = unpackstruct('>I4Bc0', bytes, at)
      h.lanes[#h.lanes + 1] = { num, route }
    end
    -- A clock that stepped back: no request can have started later than now.
    if h.started > now then h.started = now end
  end
  hosts[key] = h
  return h
end

local function host_of(key)
  return hosts[key] or host_from(key, call('HGET', B .. ':h', key))
end

local function touch_host(h)
  if not h.dirty then
    h.dirty = true
    touched_hosts[#touched_hosts + 1] = h
  end
end

-- Lanes -------------------------------------------------------------------------------------------------------------------

local LANE = '>I4I4I4I4I4I4I4BdddI4I4ddI4'
local touched_lanes = {}

local function lane_from(c, name, bytes)
  local lane = c.lanes[name]
  if lane then return lane end
  lane = { c = c, name = name, total = 0, pending = 0, leased = 0, done = 0, failed = 0, dead = 0, num = 0, phase = IDLE, pos = 0, since = 0,
    served = 0, place = 0, returned = 0, started = 0, arrival = 0, inflight = 0, lv = {} }
  local cut = string.find(name, '\n', 1, true)
  lane.host = cut and sub(name, 1, cut - 1) or name
  lane.route = cut and sub(name, cut + 1) or ''
  if bytes then
    local at
    lane.total, lane.pending, lane.leased, lane.done, lane.failed, lane.dead, lane.num, lane.phase, lane.pos, lane.since, lane.served,
      lane.place, lane.returned, lane.started, lane.arrival, lane.inflight, at = unpackstruct(LANE, bytes)
    local size, lv, n = #bytes, lane.lv, 0
    while at <= size do
      lv[n + 1], lv[n + 2], at = unpackstruct('>BI4', bytes, at)
      n = n + 2
    end
    if lane.started > now then lane.started = now end
  else
    lane.fresh = true
  end
  c.lanes[name] = lane
  return lane
end

local function lane_of(c, name)
  return c.lanes[name] or lane_from(c, name, call('HGET', B .. ':l:' .. c.num, name))
end

-- The lane without a route counts for its host, over all lanes of the crawl there.
local function main_of(lane)
  if lane.route == '' then return lane end
  return lane_of(lane.c, lane.host)
end

local function touch_lane(lane)
  if not lane.dirty then
    lane.dirty = true
    touched_lanes[#touched_lanes + 1] = lane
  end
end

-- The first link: the lane gets its number, which decides ties, and its host learns of it.
local function enlist(lane)
  lane.num = call('INCR', B .. ':lanes')
  if lane.route ~= '' then
    local main = main_of(lane)
    if main.fresh then touch_lane(main) end
  end
  local h = host_of(lane.host)
  h.lanes[#h.lanes + 1] = { lane.c.num, lane.route }
  touch_host(h)
  call('ZADD', B .. ':n:' .. lane.c.num, 0, lane.host)
end

local function member_of(lane)
  local member = lane.member
  if not member then
    member = pack('>I4', lane.num) .. lane.name
    lane.member = member
  end
  return member
end

local function list_key(lane, level)
  return B .. ':q:' .. lane.c.num .. ':' .. lane.num .. ':' .. level
end

local function returned_key(lane)
  return B .. ':b:' .. lane.c.num .. ':' .. lane.num
end

local function queued(lane)
  local n, lv = lane.returned, lane.lv
  for i = 2, #lv, 2 do n = n + lv[i] end
  return n
end

-- The order within a lane: smaller first.
local function rank_of(c, level, place)
  return level * PLACES + (c.order == 2 and PLACES - 1 - place or place)
end

local function flush_pushes(c)
  if #c.pushkeys == 0 then return end
  for _, key in ipairs(c.pushkeys) do vcall('RPUSH', key, c.pushes[key]) end
  c.pushes, c.pushkeys = {}, {}
end

-- Answers: rank of the best link, and its member when it is one of those that came back.
local function head_of(lane)
  local c, level = lane.c, lane.lv[1]
  if lane.returned == 0 then return level and level * PLACES, nil end
  local best = call('ZRANGE', returned_key(lane), 0, 0, 'WITHSCORES')
  local rank = tonumber(best[2])
  if not level then return rank, best[1] end
  local rlevel = floor(rank / PLACES)
  if rlevel < level then return rank, best[1] end
  if rlevel > level then return level * PLACES, nil end
  flush_pushes(c)
  local item = call('LINDEX', list_key(lane, level), c.order == 2 and -1 or 0)
  local place = unpackstruct('>I4', item, 7)
  local listrank = rank_of(c, level, place)
  if rank < listrank then return rank, best[1] end
  return listrank, nil
end

-- Limits ------------------------------------------------------------------------------------------------------------------

local LIMITS = '>dddd'

local function own_limits(c, key)
  if c.special >= 2 then
    local known = c.kl[key]
    if known == nil then
      known = call('HGET', B .. ':c:' .. c.num, 'k:' .. key)
      c.kl[key] = known
    end
    if known then return unpackstruct(LIMITS, known) end
  end
  return c.delay, c.conc, c.interval, c.burst
end

-- The strictest of the running crawls with work on the host, and what was set for the host itself.
local function host_limits(h, asking)
  local delay, conc, interval, burst = own_limits(asking, h.key)
  local refs = h.lanes
  for i = 1, #refs do
    local num = refs[i][1]
    if num ~= asking.num then
      local c = crawl_by_number(num)
      if c and c.state == 'running' then
        local main = lane_of(c, h.key)
        if main.pending + main.leased > 0 then
          local d, n, t, b = own_limits(c, h.key)
          delay, conc = max(delay, d), min(conc, n)
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
  end
  if h.setdelay >= 0 then delay = h.setdelay end
  if h.floor > delay then delay = h.floor end
  if h.setconc >= 0 then conc = h.setconc end
  return delay, conc, interval, burst
end

local function route_limits(lane)
  local c, known = lane.c, lane.c.rl[lane.route]
  if known == nil then
    known = call('HGET', B .. ':c:' .. c.num, 'r:' .. lane.route)
    c.rl[lane.route] = known
  end
  if known then return unpackstruct(LIMITS, known) end
  return 0, 1e9, 0, 1
end

-- pace.ts says the same in TypeScript: earliestStart, permitMs, afterStart.
local function opening(p, blocked, delay, interval, burst)
  local at = blocked
  if delay > 0 and p.started + delay > at then at = p.started + delay end
  if interval > 0 then
    local byrate = ceil(p.arrival - (burst - 1) * interval - 0.01)
    if byrate > at then at = byrate end
  end
  return at
end

local function permit_ms(delay, interval, burst)
  local gap = (interval > 0 and burst == 1 and interval > delay) and interval or delay
  if gap <= 0 then return PERMIT_MAX_MS end
  return min(PERMIT_MAX_MS, max(5, gap / 10))
end

local function start_on(p, interval, slot)
  if slot then p.inflight = p.inflight + 1 end
  if now > p.started then p.started = now end
  if interval > 0 then p.arrival = max(p.arrival, now) + interval end
end

-- When the lane's gates open, whether a slot is missing, and how long a permit is good for.
local function gates(lane, h)
  local delay, conc, interval, burst = host_limits(h, lane.c)
  local at, full, permit = opening(h, h.blocked, delay, interval, burst), h.inflight >= conc, permit_ms(delay, interval, burst)
  if lane.route == '' then return at, full, permit, interval, 0 end
  local d, n, t, b = route_limits(lane)
  return max(at, opening(lane, 0, d, t, b)), full or lane.inflight >= n, min(permit, permit_ms(d, t, b)), interval, t
end

local function score_of(lane, rank)
  return floor(lane.since - (100 - floor(rank / PLACES)) * lane.c.aging + 0.5)
end

-- Where the lane belongs: idle, ready by score, or waiting until its host opens.
-- With `lazily` the host is not asked: a lane that is wrongly ready is found out when its turn comes.
local function place_lane(lane, lazily)
  local phase, pos, c = IDLE, 0, lane.c
  if lane.num > 0 and queued(lane) > 0 then
    local at, full = 0, false
    if not lazily then at, full = gates(lane, host_of(lane.host)) end
    if full then
      phase, pos = WAITING, FAR
    elseif at > now then
      phase, pos = WAITING, at
    else
      phase, pos = READY, score_of(lane, (head_of(lane)))
    end
  end
  if phase == lane.phase and pos == lane.pos then return end
  local member = member_of(lane)
  if lane.phase == READY and phase ~= READY then c.readyrem[#c.readyrem + 1] = member end
  if lane.phase == WAITING and phase ~= WAITING then c.waitrem[#c.waitrem + 1] = member end
  local adds = phase == READY and c.readyadd or phase == WAITING and c.waitadd
  if adds then
    adds[#adds + 1] = pos
    adds[#adds + 1] = member
  end
  lane.phase, lane.pos = phase, pos
  touch_lane(lane)
end

-- The host changed: its waiting lanes may open, now or at another time. Ready ones are looked at when their turn comes.
local function place_lanes_of(h)
  for i = 1, #h.lanes do
    local c = crawl_by_number(h.lanes[i][1])
    if c then
      local route = h.lanes[i][2]
      local lane = lane_of(c, route == '' and h.key or h.key .. '\n' .. route)
      if lane.phase == WAITING then place_lane(lane) end
    end
  end
end

-- Items ------------------------------------------------------------------------------------------------------------------
-- An item is 6 bytes of time, 4 of place, then the client's: flags, 2 of depth, priority + 100, route, rest. With it goes what happened to it so
-- far (history): reclaims, attempts, throttles, flags (1: bypasses the freshness window).

local HISTORY = '>BI2I2B'
local NO_HISTORY = pack(HISTORY, 0, 0, 0, 0)

local function priority_of(item)
  return string.byte(item, 14) - 100
end

local function level_of(c, item)
  return c.order == 0 and 100 - priority_of(item) or 100
end

local function push_returned(lane, history, item, due)
  local c = lane.c
  local member = history .. item
  local rank = rank_of(c, level_of(c, item), (unpackstruct('>I4', item, 7)))
  call('ZADD', returned_key(lane), rank, member)
  lane.returned = lane.returned + 1
  local _, best = head_of(lane)
  if best == member then lane.since = max(lane.served, due) end
  touch_lane(lane)
end

local function delay_item(lane, history, item, due)
  call('ZADD', B .. ':d:' .. lane.c.num, due, pack('>I2c0', #lane.name, lane.name) .. history .. item)
end

local function next_place(lane)
  local place = lane.place
  lane.place = place + 1
  return pack('>I4', place)
end

-- Back to the queue, now or later.
local function requeue(lane, history, item, after)
  if after > 0 then delay_item(lane, history, item, now + after) else push_returned(lane, history, item, now) end
  place_lane(lane)
end

-- 64 bits of the SHA-1 of its URL, unless it says otherwise (flag 4: sixteen hex digits behind the route).
local function fingerprint_of(lane, item)
  local flags = string.byte(item, 11)
  local route = string.byte(item, 15)
  local rest = sub(item, 16 + route)
  if floor(flags / 4) % 2 == 1 then return sub(rest, 1, 16) end
  local cut = string.find(rest, '\0', 1, true)
  local url = cut and sub(rest, 1, cut - 1) or rest
  if floor(flags / 2) % 2 == 0 then url = (flags % 2 == 1 and 'https://' or 'http://') .. lane.host .. url end
  return sub(redis.sha1hex(url), 1, 16)
end

-- Failures and ends -------------------------------------------------------------------------------------------------------

local function keep_failure(c, fp, text)
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

local function count_ending(c)
  c.endings = (c.endings or 0) + 1
end

-- Dead letters and skipped links are kept with their reason; a link that is done is a fingerprint among the seen.
local function end_kept(lane, fp, state, code, history, item, at)
  local c = lane.c
  local record = pack('>BdBc0', state == 'dead' and 4 or 5, at or wall, #code, code) .. pack('>I2c0', #lane.name, lane.name) .. history .. item
  call('HSET', B .. ':e:' .. c.num, fp, record)
  call('ZADD', B .. (state == 'dead' and ':x:' or ':y:') .. c.num, call('INCR', B .. ':ends'), fp)
  count(c, state, 1)
  if state == 'dead' then
    local main = main_of(lane)
    main.dead = main.dead + 1
    touch_lane(main)
    call('HINCRBY', B .. ':xc:' .. c.num, code, 1)
  end
  count_ending(c)
end

-- Leases ------------------------------------------------------------------------------------------------------------------

local LEASE = '>I4ddddI2I2BBBc0I2c0B'
local workers = {}

local function lease_from(epoch, bytes)
  local l = { epoch = epoch }
  local at, guests
  l.num, l.seq, l.granted, l.permit, l.slot, l.attempts, l.throttles, l.reclaims, l.flags, l.worker, l.lane, guests, at = unpackstruct(LEASE, bytes)
  l.guests = {}
  for i = 1, guests do
    local host, since
    host, since, at = unpackstruct('>I2c0d', bytes, at)
    l.guests[i] = { host, since }
  end
  l.item = sub(bytes, at)
  return l
end

local function lease_bytes(l)
  local parts = { pack(LEASE, l.num, l.seq, l.granted, l.permit, l.slot, l.attempts, l.throttles, l.reclaims, l.flags, #l.worker, l.worker,
    #l.lane, l.lane, #l.guests) }
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
  p.inflight = max(0, p.inflight - 1)
  if elapsed and now - max(0, elapsed) > p.started then p.started = now - max(0, elapsed) end
end

-- Frees the slots that the lease still holds; the host's lanes are placed by the caller's flush.
local function free_slots(l, lane)
  if l.slot >= 0 then
    l.slot = -1
    local h = host_of(lane.host)
    slot_freed(h)
    h.reopened = true
    touch_host(h)
    if lane.route ~= '' then
      slot_freed(lane)
      touch_lane(lane)
    end
  end
  for _, guest in ipairs(l.guests) do
    local h = host_of(guest[1])
    slot_freed(h)
    h.reopened = true
    touch_host(h)
  end
  l.guests = {}
end

local gone_leases = {}

-- The lease is over: what it held is free, its record goes with the flush.
local function end_lease(l, lane)
  free_slots(l, lane)
  gone_leases[#gone_leases + 1] = l.epoch
  local w = tally(l.worker)
  w.drop[#w.drop + 1] = l.epoch
  local c, main = lane.c, main_of(lane)
  c.leased = c.leased - 1
  count(c, 'leased', -1)
  main.leased = main.leased - 1
  touch_lane(main)
end

local function back_to_pending(lane)
  local c, main = lane.c, main_of(lane)
  c.pending = c.pending + 1
  count(c, 'pending', 1)
  main.pending = main.pending + 1
  touch_lane(main)
end

-- The lease ran out, or its worker is dead.
local function reclaim(l)
  local c = crawl_by_number(l.num)
  if not c then
    gone_leases[#gone_leases + 1] = l.epoch
    local w = tally(l.worker)
    w.drop[#w.drop + 1] = l.epoch
    return
  end
  local lane = lane_of(c, l.lane)
  end_lease(l, lane)
  count(c, 'reclaimed', 1)
  l.reclaims = min(255, l.reclaims + 1)
  if l.reclaims >= SOLO_AFTER + c.maxreclaims then
    local fp = fingerprint_of(lane, l.item)
    keep_failure(c, fp, '{"code":"poison","message":"its lease ran out ' .. l.reclaims .. ' times"}')
    l.flags = 0
    end_kept(lane, fp, 'dead', 'poison', history_of(l), l.item)
  else
    back_to_pending(lane)
    requeue(lane, history_of(l), l.item, 0)
  end
  end_if_done(c)
end

-- Writes everything that changed. Nothing may fail from here on.
local function flush()
  for _, c in ipairs(touched_crawls) do flush_pushes(c) end
  local i = 1
  while i <= #touched_hosts do
    local h = touched_hosts[i]
    if h.reopened then
      h.reopened = false
      place_lanes_of(h)
    end
    i = i + 1
  end
  if #touched_hosts > 0 then
    local args = {}
    for n, h in ipairs(touched_hosts) do
      local bytes = pack(HOST, h.started, h.arrival, h.inflight, h.blocked, h.blockedat, h.level, h.latency, h.setdelay, h.setconc, h.floor)
      local refs = h.lanes
      if #refs == 1 then
        bytes = bytes .. pack('>I4Bc0', refs[1][1], #refs[1][2], refs[1][2])
      elseif #refs > 1 then
        local parts = { bytes }
        -- Lanes of crawls that were removed go when the host is next written.
        for _, ref in ipairs(refs) do
          if crawl_by_number(ref[1]) then parts[#parts + 1] = pack('>I4Bc0', ref[1], #ref[2], ref[2]) end
        end
        bytes = table.concat(parts)
      end
      args[n * 2 - 1], args[n * 2] = h.key, bytes
    end
    vcall('HSET', B .. ':h', args)
  end
  local byCrawl = {}
  for _, lane in ipairs(touched_lanes) do
    local bytes = pack(LANE, lane.total, lane.pending, lane.leased, lane.done, lane.failed, lane.dead, lane.num, lane.phase, lane.pos, lane.since,
      lane.served, lane.place, lane.returned, lane.started, lane.arrival, lane.inflight)
    local lv = lane.lv
    for n = 1, #lv, 2 do bytes = bytes .. pack('>BI4', lv[n], lv[n + 1]) end
    local args = byCrawl[lane.c]
    if not args then
      args = {}
      byCrawl[lane.c] = args
    end
    args[#args + 1], args[#args + 2] = lane.name, bytes
  end
  for c, args in pairs(byCrawl) do vcall('HSET', B .. ':l:' .. c.num, args) end
  for _, c in ipairs(touched_crawls) do
    vcall('ZREM', B .. ':r:' .. c.num, c.readyrem)
    vcall('ZREM', B .. ':w:' .. c.num, c.waitrem)
    vcall('ZADD', B .. ':r:' .. c.num, c.readyadd)
    vcall('ZADD', B .. ':w:' .. c.num, c.waitadd)
    local key = B .. ':c:' .. c.num
    for field, by in pairs(c.inc) do if by ~= 0 then call('HINCRBY', key, field, by) end end
    vcall('HSET', key, c.set)
    if c.endings then
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
        call('DEL', waiting)
      else
        call('RENAME', waiting, again)
      end
    end
  end
end
