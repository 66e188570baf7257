-- The pace of hosts and routes: ../../../pace.ts says the same in TypeScript.

local LIMITS = '>dddd'   -- optionally followed by ADAPTIVE

-- pace.ts, adapted. An unknown latency is below every delay.
local function adapted(delay, target, maxdelay, latency)
  if target == 0 then return delay end
  local slow = ceil(latency / target)
  if slow > maxdelay then slow = maxdelay end
  return slow > delay and slow or delay
end

-- pace.ts, meanLatency.
local function mean_latency(old, took, failed)
  if failed then took = max(took, min(FAILURE_CAP_MS, max(FAILURE_MS, 2 * old))) end
  if old == UNKNOWN_LATENCY then return took end
  return old + LATENCY_WEIGHT * (took - old)
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

-- The strictest limits of the running crawls with work on the host, then the host's own settings and its latency. The fifth value is the delay before latency
-- counts.
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
  return 0, NO_LIMIT, 0, 1
end

-- pace.ts, earliestStart.
local function opening(p, blocked, delay, interval, burst)
  local at = blocked
  if delay > 0 and p[STARTED] + delay > at then at = p[STARTED] + delay end
  if interval > 0 then
    local byrate = ceil(p[ARRIVAL] - (burst - 1) * interval - NO_TIME_MS)
    if byrate > at then at = byrate end
  end
  return at
end

-- pace.ts, gapMs.
local function gap_ms(delay, interval, burst)
  return (interval > 0 and burst == 1 and interval > delay) and interval or delay
end

-- pace.ts, permitMs.
local function permit_ms(delay, interval, burst)
  local gap = gap_ms(delay, interval, burst)
  if gap <= 0 then return PERMIT_MAX_MS end
  return min(PERMIT_MAX_MS, max(PERMIT_MIN_MS, gap / PERMITS_PER_GAP))
end

-- pace.ts, afterStart.
local function start_on(p, interval, slot)
  if slot then p[INFLIGHT] = p[INFLIGHT] + 1 end
  if now > p[STARTED] then p[STARTED] = now end
  if interval > 0 then p[ARRIVAL] = max(p[ARRIVAL], now) + interval end
end

-- When the lane may start a request, whether a slot is missing, how long a permit is valid, the intervals of host and route, and the gap between two starts.
local function gates(c, lane)
  local h = lane.h
  local delay, conc, interval, burst = host_limits(h, c)
  local at, full, permit = opening(h, h[BLOCKED], delay, interval, burst), h[INFLIGHT] >= conc, permit_ms(delay, interval, burst)
  local gap = gap_ms(delay, interval, burst)
  if lane.route == '' then return at, full, permit, interval, 0, gap end
  local d, n, t, b = route_limits(c, lane.route)
  return max(at, opening(lane, 0, d, t, b)), full or lane[INFLIGHT] >= n, min(permit, permit_ms(d, t, b)), interval, t, max(gap, gap_ms(d, t, b))
end
