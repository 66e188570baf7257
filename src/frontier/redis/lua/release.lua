-- release(releases): the body is read; frees the slot on `host` and records how the host did.
-- ARGV: time, then for each: crawl id, epoch, host, REPORT (elapsed ms, kind, ms asked for or −1, latency ms), '' or the token of a lease in another shard.
clock(true)
local REPORT, KINDS = '>dBdd', REPORT_KINDS

-- pace.ts, afterReport.
local function report(h, kind, retryafter, granted)
  local before = granted <= h[BLOCKEDAT]
  if kind == 'failed' then return end
  local from = now + (h[BLOCKED] >= FAR and FAR or 0)
  if kind == 'wait' then
    h[BLOCKED] = max(h[BLOCKED], from + min(retryafter, RETRY_AFTER_CAP_MS))
    return
  end
  if kind == 'ok' then
    if not before then h[THROTTLES] = 0 end
    return
  end
  local asked = retryafter > 0 and retryafter or nil
  if before and not asked then return end
  if not before then h[THROTTLES] = h[THROTTLES] + 1 end
  local block = asked and min(asked, RETRY_AFTER_CAP_MS) or min(THROTTLE_CAP_MS, THROTTLE_BASE_MS * 2 ^ (h[THROTTLES] - 1))
  h[BLOCKED] = max(h[BLOCKED], from + block)
  if not before then h[BLOCKEDAT] = now end
end

local epochs, seen = {}, {}
for i = 2, #ARGV, 5 do
  if ARGV[i + 4] == '' and not seen[ARGV[i + 1]] then
    seen[ARGV[i + 1]] = true
    epochs[#epochs + 1] = ARGV[i + 1]
  end
end
local records, changed = {}, {}
local NO_SLOT = pack('>d', -1)
if #epochs > 0 then
  local keys = {}
  for n, record in ipairs(call('HMGET', B .. ':leases', unpack(epochs))) do
    if record then
      records[epochs[n]] = record
      keys[#keys + 1] = (split_name(lane_in(record)))
    end
  end
  read_hosts(keys)
end

for i = 2, #ARGV, 5 do
  local id, epoch, host, reported, guest = unpack(ARGV, i, i + 4)
  local elapsed, kind, retryafter, latency = unpackstruct(REPORT, reported)
  elapsed, kind, latency = max(0, elapsed), KINDS[kind], max(0, latency)
  -- Nothing was sent.
  if kind == 'wait' then elapsed = nil end
  local granted, _
  if guest ~= '' then
    local field = guest .. '\n' .. host
    local held = call('HGET', B .. ':guests', field)
    if held then
      granted = unpackstruct('>d', held)
      call('HDEL', B .. ':guests', field)
      call('ZREM', B .. ':guestends', field)
      slot_freed(host_of(host), elapsed)
    end
  else
    local record = records[epoch]
    local num, slot, lanename, c
    if record then
      num, _, _, _, slot, _, _, _, _, _, _, lanename = unpackstruct(LEASE, record)
      c = crawl_by_number(num)
    end
    if c and c.id == id and lanename == host and slot >= 0 and (kind == 'ok' or kind == 'failed') and is_simple(c, host) then
      -- The slot comes after number, seq, grant and permit.
      records[epoch] = sub(record, 1, 28) .. NO_SLOT .. sub(record, 37)
      changed[epoch] = true
      end_simple(c, host, true, elapsed, false, kind == 'failed', latency)
    elseif c and c.id == id then
      local l = lease_from(epoch, record)
      local lane = lane_named(c, l.lane)
      if lane.h.key == host then
        if l.slot >= 0 then
          granted = l.slot
          l.slot = -1
          slot_freed(host_of(host), elapsed)
          if lane.route ~= '' then slot_freed(lane, elapsed) end
        end
      else
        for n, held in ipairs(l.guests) do
          if held[1] == host then
            granted = held[2]
            table.remove(l.guests, n)
            slot_freed(host_of(host), elapsed)
            break
          end
        end
      end
      if granted then
        records[epoch] = lease_bytes(l)
        changed[epoch] = true
      end
    end
  end
  if granted then
    local h = host_of(host)
    report(h, kind, retryafter, granted)
    if elapsed then h[LATENCY] = mean_latency(h[LATENCY], latency, kind == 'failed') end
    h.reopened = true
    touch(h)
  end
end
local args = {}
for epoch in pairs(changed) do args[#args + 1], args[#args + 2] = epoch, records[epoch] end
vcall('HSET', B .. ':leases', args)
flush()
return 1
