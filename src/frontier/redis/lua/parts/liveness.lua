-- Workers that beat (../beat.lua): in `lost` by the queue time at which they are lost, in `beats` with the time of people and how long they may be silent.

local function lost_after(worker)
  local ms = string.match(call('HGET', B .. ':beats', worker) or '', ' (%d+)')
  return tonumber(ms or LOST_AFTER_MS)
end

local function forget_beat(worker)
  call('ZREM', B .. ':lost', worker)
  call('HDEL', B .. ':beats', worker)
end

-- Its leases, oldest first, without those that this call has ended: they are held until flush().
local function held_by(worker, gone)
  local held = {}
  for _, epoch in ipairs(call('SMEMBERS', B .. ':held:' .. worker)) do
    if not gone[epoch] then held[#held + 1] = epoch end
  end
  table.sort(held, function(a, b) return tonumber(a) < tonumber(b) end)
  return held
end

-- Slots that its leases of other shards hold here.
local function free_guests_of(worker, limit)
  for _, field in ipairs(call('ZRANGE', B .. ':guestends', 0, limit)) do
    local _, holder = unpackstruct('>dBc0', call('HGET', B .. ':guests', field))
    if holder == worker then free_guest(field) end
  end
end
