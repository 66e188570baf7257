-- Writing what a call changed.

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

-- A site that is crawled every day would carry a year of lanes in its host's record: lanes of crawls that have ended, with nothing left in them, are archived.
-- They keep the crawl's counters, and find_lane reads them back when they are needed.
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
      -- Lanes of removed crawls stay until they are swept: they say which keys to delete. Those without a number never had any.
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
