-- Leases and the slots they hold. `guests` are hosts other than the link's own.

local LEASE = '>I4ddddI2I2BBdBc0I2c0B'

-- The lane alone, whose place depends on the length of the worker's name (byte 51). Struct is the dearest part of these scripts.
local function lane_in(record)
  return (unpackstruct('>I2c0', record, 52 + string.byte(record, 51)))
end

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

-- A request on a simple host ended (`elapsed` ms after its dispatch and with a latency of `took`, if that is known), or the link with it: what slot_freed, place_lane and end_lease do, on bytes.
local function end_simple(c, key, frees, elapsed, done_too, failed, took)
  local started, inflight, latency, _, num, _, done, leased, number, phase, pos, since, served, pops, _, _, level, popped = unpackstruct(SIMPLE, raw[key])
  if started > now then started = now end
  if elapsed then
    if now - max(0, elapsed) > started then started = now - max(0, elapsed) end
    latency = mean_latency(latency, took, failed)
  end
  if frees then inflight = max(0, inflight - 1) end
  local at = FAR
  if phase == WAITING and inflight < c.conc and (c.target > 0 or (frees and pos >= FAR)) then
    local delay = adapted(c.delay, c.target, c.maxdelay, latency)
    at = delay > 0 and started + delay or 0
  end
  -- A lane that wakes too early is noticed when its turn comes.
  if at < pos then
    local to = WAITING
    pos = at
    if pos <= now then to, pos = READY, floor(since - (PRIORITY_MAX - level) * c.aging + 0.5) end
    move_lane(c, pack('>I4', number) .. key, phase, to, pos)
    phase = to
  end
  if done_too then done, leased = done + 1, leased - 1 end
  set_raw(key, pack(SIMPLE, started, inflight, latency, 0, num, 0, done, leased, number, phase, pos, since, served, pops, 0, 1, level, popped))
end

-- The lease is over: its slots are free; flush() deletes its record and places the host's lanes.
local function end_lease(c, l, lane)
  local h = lane.h
  if l.slot >= 0 then
    l.slot = -1
    slot_freed(h)
    h.reopened = true
    if lane.route ~= '' then slot_freed(lane) end
  elseif #h.lanes > 1 and not h.reopened then
    -- Its crawl may have no work left there, so its limits no longer count for the others.
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
