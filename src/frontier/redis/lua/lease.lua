-- lease({worker, seq, want, spiders}): up to `want` links, each within the pace of its host, best first.
-- ARGV: time, worker, seq, want, about the worker (JSON or ''), spiders.
-- Replies {idle ms, 1 to drain, {crawl number, id, gen, …}, {lease, …}, {quiet crawl id, …}}; a lease is GRANTED, host and item.
clock(true)
local worker, seq, want = ARGV[2], ARGV[3], tonumber(ARGV[4])
local wkey, heldkey = B .. ':worker:' .. worker, B .. ':held:' .. worker
local GRANTED = '>I4dddI2I2B'
-- Lanes that turn out to be closed when their turn comes are put to sleep; a call does not look at more of them than this.
local patience = 200 + 2 * want
local MOVED = 200

local w = call('HMGET', wkey, 'seq', 'batch', 'solo')
if w[1] == false then
  call('SADD', B .. ':workers', worker)
  call('HSET', wkey, 'started', wall, 'done', 0, 'failed', 0, 'progress', '', 'about', '')
end
if ARGV[5] ~= '' then call('HSET', wkey, 'about', ARGV[5]) end

local running = {}
for i = 6, #ARGV do
  for _, num in ipairs(call('SMEMBERS', B .. ':running:' .. ARGV[i])) do
    local c = crawl_by_number(tonumber(num))
    if c then
      end_if_done(c)
      running[#running + 1] = c
    end
  end
end

local function granted(l, key, deadline)
  return pack(GRANTED, l.num, l.epoch, max(0, l.permit - (now - l.granted)), deadline - now, l.attempts + 1, l.throttles, l.flags % 2)
    .. pack('>I2c0', #key, key) .. l.item
end

local leases, drain, names, named = {}, 0, {}, {}
local function name_crawl(c)
  if not named[c] then
    named[c] = true
    names[#names + 1] = c.num
    names[#names + 1] = c.id
    names[#names + 1] = c.gen
  end
end

if w[1] == seq then
  -- The reply was lost: the same batch, as far as it is still held.
  local epochs = {}
  for epoch in string.gmatch(w[2] or '', '%d+') do epochs[#epochs + 1] = epoch end
  if #epochs > 0 then
    local records, deadlines = call('HMGET', B .. ':leases', unpack(epochs)), call('ZMSCORE', B .. ':deadlines', unpack(epochs))
    for n, record in ipairs(records) do
      local deadline = deadlines[n] and tonumber(deadlines[n])
      if record and deadline and deadline > now then
        local l = lease_from(tonumber(epochs[n]), record)
        local c = crawl_by_number(l.num)
        if c then
          name_crawl(c)
          leases[#leases + 1] = granted(l, (split_name(l.lane)), deadline)
        end
      end
    end
  end
  call('HSET', wkey, 'seen', wall)
else
  local inhand = call('SCARD', heldkey)
  local soloheld = w[3] and w[3] ~= '' and call('SISMEMBER', heldkey, w[3]) == 1
  local candidates, giving = {}, {}

  -- By score, then by age of the lane.
  local function insert(lane, score)
    lane.score = score
    local lo, hi, num = 1, #candidates + 1, lane[NUM]
    while lo < hi do
      local mid = floor((lo + hi) / 2)
      local other = candidates[mid]
      if other.score < score or (other.score == score and other[NUM] < num) then lo = mid + 1 else hi = mid end
    end
    table.insert(candidates, lo, lane)
  end

  -- Links that fell due.
  for _, c in ipairs(running) do
    if c.state == 'running' and not budget_spent(c) then
      giving[#giving + 1] = c
      local dkey = B .. ':d:' .. c.num
      local due = call('ZRANGEBYSCORE', dkey, '-inf', now, 'WITHSCORES', 'LIMIT', 0, MOVED)
      if #due > 0 then
        local gone = {}
        for n = 1, #due, 2 do
          local name, at = unpackstruct('>I2c0', due[n])
          local lane = lane_named(c, name)
          lane[DELAYED] = lane[DELAYED] - 1
          push_returned(c, lane, sub(due[n], at, at + 5), sub(due[n], at + 14), (unpackstruct('>d', due[n], at + 6)), tonumber(due[n + 1]))
          gone[#gone + 1] = due[n]
          place_lane(c, lane)
        end
        vcall('ZREM', dkey, gone)
      end
    end
  end

  -- Lanes that may be open, some more than wanted: those ready, those whose time has come, those whose limits changed. Of the ready ones the
  -- best are read; beyond the last of them (the edge) others may come first.
  local function fetch()
    candidates = {}
    local size = min(want - #leases, 400) + 16
    for _, c in ipairs(giving) do
      vcall('ZADD', B .. ':r:' .. c.num, c.readyadd)
      vcall('ZREM', B .. ':r:' .. c.num, c.readyrem)
      vcall('ZADD', B .. ':w:' .. c.num, c.waitadd)
      vcall('ZREM', B .. ':w:' .. c.num, c.waitrem)
      c.readyrem, c.readyadd, c.waitrem, c.waitadd = {}, {}, {}, {}
      local recheck = call('ZPOPMIN', B .. ':a:' .. c.num, MOVED)
      local woken = call('ZRANGEBYSCORE', B .. ':w:' .. c.num, '-inf', now, 'LIMIT', 0, size)
      local ready = call('ZRANGE', B .. ':r:' .. c.num, 0, size - 1)
      local keys, routes = {}, {}
      local function name(member)
        local key, route = split_name(sub(member, 5))
        keys[#keys + 1], routes[#routes + 1] = key, route
      end
      for n = 1, #recheck, 2 do name(recheck[n]) end
      for n = 1, #woken do name(woken[n]) end
      for n = 1, #ready do name(ready[n]) end
      load_hosts(keys)
      local again, edge = #recheck / 2, nil
      for n = 1, #keys do
        local lane = lane_of(c, hosts[keys[n]], routes[n])
        if n <= again then
          -- It stood among those to be looked at again and nowhere else.
          if lane[PHASE] == WAITING then
            lane[POS] = -1
            place_lane(c, lane)
          end
        end
        if not lane.skipped and (n > again or lane[PHASE] == READY) then
          if lane[PHASE] == READY then
            insert(lane, lane[POS])
            if n > again then edge = lane end
          else
            local rank = head_of(c, lane)
            if rank then insert(lane, score_of(c, lane, rank)) else put_lane(c, lane, IDLE, 0) end
          end
        end
      end
      c.more = #ready == size or #woken == size
      c.edge = #ready == size and edge or nil
      c.edgepos = c.edge and c.edge[POS]
    end
  end

  local function beyond(c, lane)
    return c.edge and (c.edgepos < lane.score or (c.edgepos == lane.score and c.edge[NUM] < lane[NUM]))
  end
  local function beyond_any(lane)
    for n = 1, #giving do if beyond(giving[n], lane) then return true end end
    return false
  end

  local epoch = tonumber(call('GET', B .. ':epoch') or 0)
  local records, deadlines, epochs = {}, {}, {}
  fetch()
  while #leases < want and patience > 0 do
    if soloheld then
      if #leases == 0 then drain = 1 end
      break
    end
    local lane = candidates[1]
    if not lane or beyond_any(lane) then
      local more = lane ~= nil
      for _, c in ipairs(giving) do more = more or c.more end
      if not more then break end
      patience = patience - 10
      fetch()
      lane = candidates[1]
      if not lane then break end
    end
    table.remove(candidates, 1)
    local c, h = crawls[lane.crawl], lane.h
    local at, full, permit, interval, routeinterval = gates(c, lane)
    if full or at > now then
      patience = patience - 1
      place_lane(c, lane)
    else
      local rank, back = head_of(c, lane)
      local solo = back and string.byte(back, 1) >= SOLO_AFTER
      local item
      local attempts, throttles, reclaims, flags = 0, 0, 0, 0
      if solo and inhand > 0 then
        drain = 1
        lane.skipped = true
        patience = patience - 1
      elseif back then
        call('ZREM', returned_key(lane), back)
        lane[RETURNED] = lane[RETURNED] - 1
        reclaims, attempts, throttles, flags, rank = unpackstruct('>BI2I2Bd', back)
        item = sub(back, 15)
      elseif rank then
        local lv = lane.lv
        local key = list_key(c, lv[1], name_of(lane))
        if c.order == 2 then
          item = call('RPOP', key)
          if item then
            local turn = lane[TURNS]
            lane[TURNS] = (turn + 1) % 4095
            rank = lv[1] * LEVEL + NEWEST - call('LLEN', key) - (turn + 1) / 4096
          end
        else
          item = call('LPOP', key)
          rank = lv[1] * LEVEL + lv[2] + 1
        end
        if item then
          lv[2] = lv[2] + 1
          lane[POPS] = lane[POPS] + 1
        else
          -- It had run empty; the next level is the head, if there is one.
          drop_level(lane)
          patience = patience - 1
          place_lane(c, lane)
          if lane[PHASE] == READY then insert(lane, lane[POS]) end
        end
      else
        place_lane(c, lane)
      end
      if item then
        start_on(h, interval, true)
        if lane.route ~= '' then start_on(lane, routeinterval, true) end
        lane[SERVED], lane[SINCE] = now, now
        local main = main_of(c, lane)
        main[LEASED] = main[LEASED] + 1
        touch(h)
        c.pending, c.leased = c.pending - 1, c.leased + 1
        count(c, 'pending', -1)
        count(c, 'leased', 1)
        if not c.started then
          c.started = wall
          set_crawl(c, 'started', wall)
        end
        epoch = max(epoch + 1, micros)
        local l = { num = c.num, seq = tonumber(seq), granted = now, permit = permit, slot = now, worker = worker, lane = name_of(lane), guests = {},
          attempts = attempts, throttles = throttles, reclaims = reclaims, flags = flags + (solo and 2 or 0), rank = rank, item = item, epoch = epoch }
        local n, text = #leases + 1, fmt('%.0f', epoch)
        epochs[n] = text
        records[2 * n - 1], records[2 * n] = text, lease_bytes(l)
        deadlines[2 * n - 1], deadlines[2 * n] = now + c.visibility, text
        name_crawl(c)
        leases[n] = granted(l, h.key, now + c.visibility)
        inhand = inhand + 1
        if solo then
          soloheld = true
          call('HSET', wkey, 'solo', text)
        end
        place_lane(c, lane)
        if lane[PHASE] == READY then
          lane.score = lane[POS]
          if not beyond(c, lane) then insert(lane, lane[POS]) end
        end
      end
    end
  end
  if #leases > 0 then
    call('SET', B .. ':epoch', fmt('%.0f', epoch))
    vcall('HSET', B .. ':leases', records)
    vcall('ZADD', B .. ':deadlines', deadlines)
    vcall('SADD', heldkey, epochs)
  end
  call('HSET', wkey, 'seq', seq, 'batch', table.concat(epochs, ','), 'seen', wall)
end
flush()

-- What the passing of time changes next.
local soonest, quiet = now + 1000, {}
for _, c in ipairs(running) do
  if is_quiet(c) then quiet[#quiet + 1] = c.id end
  if c.state == 'running' and not budget_spent(c) then
    for _, key in ipairs({ ':w:', ':d:' }) do
      local first = call('ZRANGE', B .. key .. c.num, 0, 0, 'WITHSCORES')
      if first[2] then soonest = min(soonest, tonumber(first[2])) end
    end
    if drain == 0 and call('EXISTS', B .. ':r:' .. c.num) == 1 then soonest = now end
  end
end
local expiry = call('ZRANGEBYSCORE', B .. ':deadlines', '(' .. fmt('%.17g', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if expiry[2] then soonest = min(soonest, tonumber(expiry[2])) end
return { max(1, min(1000, ceil(soonest - now))), drain, names, leases, quiet }
