-- reap(limit): puts links of expired leases back, oldest first, then those of lost workers; slots that leases of other shards hold here and did not renew
-- are freed. ARGV: time, limit. Replies {number, {quiet crawl id, …}}.
clock(true)
local limit, GUESTS_CHECKED = max(0, tonumber(ARGV[2])), 500
local expired = limit > 0 and call('ZRANGEBYSCORE', B .. ':deadlines', '-inf', now, 'LIMIT', 0, limit) or {}
local touched = reclaim_all(expired)
local reaped, gone = #expired, {}
for _, epoch in ipairs(expired) do gone[epoch] = true end

-- What nobody watched is no evidence (../../liveness.ts). There are no more beats than workers, and this is rare.
local watched = tonumber(call('GET', B .. ':watched') or -FAR)
if now < watched or now - watched > WATCH_GAP_MS then
  for _, worker in ipairs(call('ZRANGE', B .. ':lost', 0, -1)) do call('ZADD', B .. ':lost', now + lost_after(worker), worker) end
  call('SET', B .. ':watchedsince', text_of(wall))
end
call('SET', B .. ':watched', text_of(now))
for _, worker in ipairs(call('ZRANGEBYSCORE', B .. ':lost', '-inf', now, 'LIMIT', 0, LOST_AT_ONCE)) do
  local held = held_by(worker, gone)
  local left = min(limit - reaped, #held)
  for num in pairs(reclaim_all({ unpack(held, 1, left) })) do touched[num] = true end
  reaped = reaped + left
  if left < #held then break end
  free_guests_of(worker, GUESTS_CHECKED)
  forget_beat(worker)
end
for _, field in ipairs(call('ZRANGEBYSCORE', B .. ':guestends', '-inf', now, 'LIMIT', 0, max(1, limit))) do free_guest(field) end
flush()
return { reaped, quiet_ids(touched) }
