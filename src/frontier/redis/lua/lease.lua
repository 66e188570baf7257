-- lease({worker, seq, want, spiders}): up to `want` links, each within the pace of its host, best first.
-- ARGV: time, worker, seq, want, about the worker (JSON or ''), spiders.
-- Replies {idle ms, 1 to drain, {crawl number, id, gen, …}, {lease, …}, {quiet crawl id, …}}; a lease is LEASED, host and item.
clock(true)
local worker, seq, want = ARGV[2], ARGV[3], tonumber(ARGV[4])
local wkey, heldkey = B .. ':worker:' .. worker, B .. ':held:' .. worker
local LEASED = '>I4dddI2I2B'
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

local function leased(l, c, lane, deadline)
  return pack(LEASED, l.num, l.epoch, max(0, l.permit - (now - l.granted)), deadline - now, l.attempts + 1, l.throttles, l.flags % 2)
    .. pack('>I2c0', #lane.host, lane.host) .. l.item
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
          leases[#leases + 1] = leased(l, c, lane_of(c, l.lane), deadline)
        end
      end
    end
  end
  call('HSET', wkey, 'seen', wall)
else
  local inhand = call('SCARD', heldkey)
  local soloheld = w[3] and w[3] ~= '' and call('SISMEMBER', heldkey, w[3]) == 1
  local candidates, exhausted = {}, {}

  local function insert(lane)
    local lo, hi, score, num = 1, #candidates + 1, lane.pos, lane.num
    while lo < hi do
      local mid = floor((lo + hi) / 2)
      local other = candidates[mid]
      if other.pos < score or (other.pos == score and other.num < num) then lo = mid + 1 else hi = mid end
    end
    table.insert(candidates, lo, lane)
    lane.listed = true
  end

  -- Links that fell due, lanes that may be open again.
  for _, c in ipairs(running) do
    if c.state == 'running' and not budget_spent(c) then
      local dkey = B .. ':d:' .. c.num
      local due = call('ZRANGEBYSCORE', dkey, '-inf', now, 'WITHSCORES', 'LIMIT', 0, MOVED)
      if #due > 0 then
        local gone = {}
        for n = 1, #due, 2 do
          local name, at = unpackstruct('>I2c0', due[n])
          local lane = lane_of(c, name)
          push_returned(lane, sub(due[n], at, at + 5), sub(due[n], at + 6), tonumber(due[n + 1]))
          gone[#gone + 1] = due[n]
          place_lane(lane)
        end
        vcall('ZREM', dkey, gone)
      end
      local woken = call('ZRANGEBYSCORE', B .. ':w:' .. c.num, '-inf', now, 'LIMIT', 0, MOVED)
      local recheck = call('ZPOPMIN', B .. ':a:' .. c.num, MOVED)
      local wake, missing = {}, {}
      for n = 1, #woken do wake[n] = sub(woken[n], 5) end
      for n = 1, #recheck, 2 do wake[#wake + 1] = sub(recheck[n], 5) end
      for _, name in ipairs(wake) do if not c.lanes[name] then missing[#missing + 1] = name end end
      if #missing > 0 then
        local found = call('HMGET', B .. ':l:' .. c.num, unpack(missing))
        for n, name in ipairs(missing) do lane_from(c, name, found[n]) end
        local unknown = {}
        for _, name in ipairs(missing) do
          local host = c.lanes[name].host
          if not hosts[host] then unknown[#unknown + 1] = host end
        end
        if #unknown > 0 then
          local records = call('HMGET', B .. ':h', unpack(unknown))
          for n, host in ipairs(unknown) do if not hosts[host] then host_from(host, records[n]) end end
        end
      end
      for _, name in ipairs(wake) do
        local lane = c.lanes[name]
        -- It may stand among those to be looked at again and nowhere else.
        if #recheck > 0 and lane.phase == WAITING then lane.pos = -1 end
        place_lane(lane)
      end
    else
      exhausted[c] = true
    end
  end

  local taken = {}
  local function fetch()
    candidates = {}
    for _, c in ipairs(running) do
      if not exhausted[c] then
        vcall('ZREM', B .. ':r:' .. c.num, c.readyrem)
        vcall('ZADD', B .. ':r:' .. c.num, c.readyadd)
        c.readyrem, c.readyadd = {}, {}
        local size = min(want - #leases, 200) + 8
        local top = call('ZRANGE', B .. ':r:' .. c.num, 0, size - 1)
        c.more = #top == size
        local missing, unknown = {}, {}
        for n, member in ipairs(top) do
          local name = sub(member, 5)
          top[n] = name
          if not c.lanes[name] then missing[#missing + 1] = name end
        end
        if #missing > 0 then
          local found = call('HMGET', B .. ':l:' .. c.num, unpack(missing))
          for n, name in ipairs(missing) do lane_from(c, name, found[n]) end
        end
        for _, name in ipairs(top) do
          local host = c.lanes[name].host
          if not hosts[host] then unknown[#unknown + 1] = host end
        end
        if #unknown > 0 then
          local records = call('HMGET', B .. ':h', unpack(unknown))
          for n, host in ipairs(unknown) do if not hosts[host] then host_from(host, records[n]) end end
        end
        c.edge = nil
        for _, name in ipairs(top) do
          local lane = c.lanes[name]
          if not lane.skipped then
            insert(lane)
            c.edge = lane
          end
        end
      end
    end
  end

  -- Every lane better than the edge of its crawl is among the candidates; beyond it others may come first.
  local function beyond_edge(lane)
    for _, c in ipairs(running) do
      if not exhausted[c] and c.more and c.edge then
        local edge = c.edge
        if c.edgepos < lane.pos or (c.edgepos == lane.pos and edge.num < lane.num) then return true end
      end
    end
    return false
  end
  local function refetch()
    fetch()
    for _, c in ipairs(running) do c.edgepos = c.edge and c.edge.pos end
  end

  local epoch = tonumber(call('GET', B .. ':epoch') or 0)
  local records, deadlines, epochs = {}, {}, {}
  refetch()
  while #leases < want and patience > 0 do
    if soloheld then
      if #leases == 0 then drain = 1 end
      break
    end
    local lane = candidates[1]
    if not lane then
      local more = false
      for _, c in ipairs(running) do more = more or (not exhausted[c] and c.more) end
      if not more then break end
      refetch()
      patience = patience - 1
      lane = candidates[1]
      if not lane then break end
    elseif beyond_edge(lane) then
      refetch()
      patience = patience - 1
      lane = candidates[1]
    end
    table.remove(candidates, 1)
    local c, h = lane.c, host_of(lane.host)
    local at, full, permit, interval, routeinterval = gates(lane, h)
    if full or at > now then
      patience = patience - 1
      place_lane(lane)
    else
      local rank, back = head_of(lane)
      local solo = back and string.byte(back, 1) >= SOLO_AFTER
      if solo and inhand > 0 then
        drain = 1
        lane.skipped = true
        patience = patience - 1
      else
        local l = { num = c.num, seq = tonumber(seq), granted = now, permit = permit, slot = now, worker = worker, lane = lane.name, guests = {},
          attempts = 0, throttles = 0, reclaims = 0, flags = 0 }
        if back then
          call('ZREM', returned_key(lane), back)
          lane.returned = lane.returned - 1
          local flags
          l.reclaims, l.attempts, l.throttles, flags = unpackstruct(HISTORY, back)
          l.flags = flags + (solo and 2 or 0)
          l.item = sub(back, 7)
        else
          flush_pushes(c)
          local lv = lane.lv
          l.item = call(c.order == 2 and 'RPOP' or 'LPOP', list_key(lane, lv[1]))
          lv[2] = lv[2] - 1
          if lv[2] == 0 then
            table.remove(lv, 1)
            table.remove(lv, 1)
          end
        end
        start_on(h, interval, true)
        touch_host(h)
        if lane.route ~= '' then start_on(lane, routeinterval, true) end
        lane.served, lane.since = now, now
        touch_lane(lane)
        local main = main_of(lane)
        main.pending, main.leased = main.pending - 1, main.leased + 1
        touch_lane(main)
        c.pending, c.leased = c.pending - 1, c.leased + 1
        count(c, 'pending', -1)
        count(c, 'leased', 1)
        if not c.started then
          c.started = wall
          set_crawl(c, 'started', wall)
        end
        epoch = max(epoch + 1, micros)
        l.epoch = epoch
        local name = fmt('%.0f', epoch)
        epochs[#epochs + 1] = name
        records[#records + 1], records[#records + 2] = name, lease_bytes(l)
        deadlines[#deadlines + 1], deadlines[#deadlines + 2] = now + c.visibility, name
        name_crawl(c)
        leases[#leases + 1] = leased(l, c, lane, now + c.visibility)
        inhand = inhand + 1
        if solo then
          soloheld = true
          call('HSET', wkey, 'solo', name)
        end
        place_lane(lane)
        if lane.phase == READY and not (c.more and c.edge and (lane.pos > c.edgepos or (lane.pos == c.edgepos and lane.num > c.edge.num))) then
          insert(lane)
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
