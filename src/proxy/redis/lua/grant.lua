-- grant(asks): for each the first of its proxies that may be used.
-- ARGV: time, then for each ask: ASK (delay, concurrency, interval of the rate or 0, burst, hold ms, number of proxies), ask, pool, host, site, proxies.
-- Replies for each: {proxy, ms of the permit as text}, or {0, ms to wait, 'paced' | 'resting' | 'none'}.
local ASK = '>dddddI4'
local FIRST_READ, NEXT_READ = 4, 128   -- most asks are granted one of the first few proxies

-- pace.ts, earliestStart.
local function earliest(pace, delay, interval, burst)
  local byrate = interval > 0 and ceil(pace[ARRIVAL] - (burst - 1) * interval - NO_TIME_MS) or 0
  return max(delay > 0 and pace[STARTED] + delay or 0, byrate)
end

-- pace.ts, permitMs.
local function permit_ms(delay, interval, burst)
  local gap = max(delay, burst == 1 and interval or 0)
  return gap > 0 and min(PERMIT_MAX_MS, max(PERMIT_MIN_MS, gap / PERMITS_PER_GAP)) or PERMIT_MAX_MS
end

local function on_probation(health) return health[PROVED] == 0 or health[STRIKES] > 0 end

-- proxy-state.ts, obstacle: nil when the proxy may be used now, otherwise ms to wait, and whether it rests.
local function obstacle(whole, site, pace, delay, conc, interval, burst)
  local rests = max(whole[RESTSUNTIL], site[RESTSUNTIL])
  if rests > now then return ceil(rests - now), true end
  local full = pace[UNDERWAY] >= conc or (whole[INFLIGHT] > 0 and on_probation(whole)) or (site[INFLIGHT] > 0 and on_probation(site))
  local at = earliest(pace, delay, interval, burst)
  if not full and at <= now then return nil end
  return max(ceil(at - now), full and SLOT_WAIT_MS or 1), false
end

end_holds()

local granted, fields, ends = {}, {}, {}

-- Where each ask begins, and which of them are granted already, in one read.
local starts, asks, holds, i = {}, {}, {}, 2
while i <= #ARGV do
  local _, _, _, _, _, count = unpackstruct(ASK, ARGV[i])
  starts[#starts + 1], asks[#asks + 1] = i, ARGV[i + 1]
  i = i + 5 + count
end
if #asks > 0 then
  for n, record in ipairs(call('HMGET', HOLDS, unpack(asks))) do holds[asks[n]] = record end
end

local function held(ask)
  if granted[ask] then return unpack(granted[ask]) end
  if ended[ask] then return nil end
  local record = holds[ask]
  if not record then return nil end
  local at, _, permit, _, proxy = unpackstruct(HOLD, record)
  return proxy, permit, at
end

local function grant(head, ask, pool, host, site, first)
  local proxy, permit, at = held(ask)
  if proxy then return { proxy, string.format('%.17g', max(0, permit - max(0, now - at))) } end
  local delay, conc, interval, burst, holdms, count = unpackstruct(ASK, head)
  local last = first + count - 1
  local w, s, p = healths(pool, ''), healths(pool, site), paces(pool, host)
  local wait, paced = nil, false
  for i = first, last do
    local index = i - first
    if index == 0 or index % NEXT_READ == FIRST_READ then
      local upto = min(last, i + (index == 0 and FIRST_READ or NEXT_READ) - 1)
      read_range(w, i, upto)
      read_range(s, i, upto)
      read_range(p, i, upto)
    end
    proxy = ARGV[i]
    local whole, onsite, pace = w.records[proxy], s.records[proxy], p.records[proxy]
    local ms, resting = obstacle(whole, onsite, pace, delay, conc, interval, burst)
    if not ms then
      whole[INFLIGHT], whole[USED] = whole[INFLIGHT] + 1, now
      onsite[INFLIGHT], onsite[USED] = onsite[INFLIGHT] + 1, now
      pace[UNDERWAY], pace[PACEUSED], pace[STARTED] = pace[UNDERWAY] + 1, now, max(pace[STARTED], now)
      if interval > 0 then pace[ARRIVAL] = max(pace[ARRIVAL], now) + interval end
      change(w, proxy)
      change(s, proxy)
      change(p, proxy)
      permit = permit_ms(delay, interval, burst)
      granted[ask] = { proxy, permit, now }
      fields[#fields + 1] = ask
      fields[#fields + 1] = pack(HOLD, now, now + holdms, permit, #pool, pool, #proxy, proxy, #host, host, #site, site)
      ends[#ends + 1] = now + holdms
      ends[#ends + 1] = ask
      return { proxy, string.format('%.17g', permit) }
    end
    wait = wait and min(wait, ms) or ms
    paced = paced or not resting
  end
  return { 0, wait or 0, not wait and 'none' or paced and 'paced' or 'resting' }
end

local replies = {}
for n, at in ipairs(starts) do
  replies[n] = grant(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], at + 5)
end

flush()
if #fields > 0 then
  call('HSET', HOLDS, unpack(fields))
  call('ZADD', ENDS, unpack(ends))
  call('PEXPIRE', HOLDS, FORGET_MS)
  call('PEXPIRE', ENDS, FORGET_MS)
end
return replies
