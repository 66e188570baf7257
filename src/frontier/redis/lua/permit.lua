-- permit(lease, host): one more request of the lease may start on `host`, now.
-- ARGV: time, crawl id, epoch, host, '' or, when the lease belongs to another shard, its token and worker.
-- Replies {1, permit in thousandths of a ms}, {0, ms to wait} or 'lost'.
clock(true)
local id, epoch, host, guest, worker = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local c, l, lane
local guestfield = guest .. '\n' .. host
if guest == '' then
  local record, deadline = call('HGET', B .. ':leases', epoch), call('ZSCORE', B .. ':deadlines', epoch)
  if not record or tonumber(deadline) <= now then return 'lost' end
  l = lease_from(epoch, record)
  c = crawl_by_number(l.num)
  if not c or c.id ~= id then return 'lost' end
  lane = lane_named(c, l.lane)
else
  c = crawl_by_id(id)
  if not c then return 'lost' end
end

local h = host_of(host)
local own = lane and lane.h == h
local delay, conc, interval, burst = host_limits(h, c)
local at, full, permit, routeinterval = opening(h, h[BLOCKED], delay, interval, burst), h[INFLIGHT] >= conc, permit_ms(delay, interval, burst), 0
if own and lane.route ~= '' then at, full, permit, interval, routeinterval = gates(c, lane) end
if at >= FAR then return { 0, CLOSED_WAIT_MS } end
if at > now then return { 0, ceil(at - now) } end

local slot
if own then
  slot = l.slot >= 0
elseif l then
  for _, held in ipairs(l.guests) do slot = slot or held[1] == host end
else
  slot = call('HEXISTS', B .. ':guests', guestfield) == 1
end
if not slot and full then return { 0, SLOT_WAIT_MS } end

start_on(h, interval, not slot)
touch(h)
if own and lane.route ~= '' then start_on(lane, routeinterval, not slot) end
if own then
  l.slot = now
elseif l then
  local known = false
  for _, held in ipairs(l.guests) do
    if held[1] == host then
      held[2] = now
      known = true
    end
  end
  if not known then l.guests[#l.guests + 1] = { host, now } end
else
  call('HSET', B .. ':guests', guestfield, pack('>dBc0', now, #worker, worker))
  call('ZADD', B .. ':guestends', now + c.visibility, guestfield)
end
if l then call('HSET', B .. ':leases', epoch, lease_bytes(l)) end
flush()
return { 1, floor(permit * 1000 + 0.5) }
