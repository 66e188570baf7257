-- report(reports): ends grants, counts their results, and lets proxies rest.
-- ARGV: time, then for each: REPORT (verdict, retry-after ms or −1, elapsed ms or −1, bucket of latency from 1, bytes, cost; strikes, base ms, cap ms), ask, pool,
-- proxy. A report for an ask that is not held changes nothing.
local REPORT = '>BddBddddd'

local function count(health, verdict, bucket, bytes, cost)
  local counts = counts_of(health)
  local good, neutral, banned, broken, allbytes, allcost, at = unpackstruct(COUNTS, counts)
  local buckets = { unpackstruct(BUCKETS, counts, at) }
  buckets[bucket] = buckets[bucket] + 1
  if verdict == GOOD then good = good + 1
  elseif verdict == NEUTRAL then neutral = neutral + 1
  elseif verdict == BROKEN then broken = broken + 1
  else banned = banned + 1 end
  health[COUNTED] = pack(COUNTS, good, neutral, banned, broken, allbytes + bytes, allcost + cost) .. pack(BUCKETS, unpack(buckets, 1, 12))
  health[USED] = now
end

-- Nothing is granted during a rest, so a grant of the same millisecond came before it, and says nothing about the time after.
local function good(health, granted)
  if granted <= health[RESTEDAT] then return end
  health[PROVED], health[STRIKES], health[RESTS] = 1, 0, 0
end

-- proxy-state.ts, afterBad.
local function bad(health, strikes, base, cap, retryafter, granted)
  local asked = retryafter > 0 and min(retryafter, cap) or nil
  if granted <= health[RESTEDAT] then
    if asked then health[RESTSUNTIL] = max(health[RESTSUNTIL], now + asked) end
    return
  end
  health[STRIKES] = health[STRIKES] + 1
  if not asked and health[STRIKES] < (health[RESTS] > 0 and 1 or strikes) then return end
  local rest = asked or min(cap, base * 2 ^ min(health[RESTS], MOST_DOUBLINGS))
  health[PROVED], health[RESTS], health[RESTEDAT], health[RESTSUNTIL] = 0, health[RESTS] + 1, now, now + rest
end

end_holds()
local asks = {}
for i = 3, #ARGV, 4 do asks[#asks + 1] = ARGV[i] end
local holds = #asks > 0 and call('HMGET', HOLDS, unpack(asks)) or {}
local done = {}
for n, record in ipairs(holds) do
  local i = 2 + (n - 1) * 4
  local reported, ask, pool, proxy = unpack(ARGV, i, i + 3)
  if record and not ended[ask] and not done[ask] then
    local granted, _, _, heldpool, heldproxy, host, site = unpackstruct(HOLD, record)
    if heldpool == pool and heldproxy == proxy then
      done[ask] = true
      local verdict, retryafter, elapsed, bucket, bytes, cost, strikes, base, cap = unpackstruct(REPORT, reported)
      local whole, onsite = end_hold(ask, pool, proxy, host, site, elapsed >= 0 and elapsed or nil)
      if elapsed >= 0 then
        count(whole, verdict, bucket, bytes, cost)
        count(onsite, verdict, bucket, bytes, cost)
        if verdict == GOOD then
          good(whole, granted)
          good(onsite, granted)
        elseif verdict == BROKEN then
          bad(whole, strikes, base, cap, -1, granted)
        elseif verdict == BANNED then
          bad(onsite, strikes, base, cap, retryafter, granted)
        end
      end
    end
  end
end
flush()
return 1
