-- Items: links as they are stored. An item is 6 bytes of time, then what the client built: flags, 2 bytes of depth, priority + PRIORITY_MAX, route, rest. An
-- item outside its list comes with its history (reclaims, attempts, throttles, flags; 1: bypasses the freshness window) and its rank.

local HISTORY = '>BI2I2B'
local NO_HISTORY = pack(HISTORY, 0, 0, 0, 0)

local function priority_of(item)
  return string.byte(item, 10) - PRIORITY_MAX
end

local function level_of(c, item)
  return c.order == BY_PRIORITY and PRIORITY_MAX - priority_of(item) or PRIORITY_MAX
end

local function push_returned(c, lane, history, item, rank, due)
  local member = history .. pack('>d', rank) .. item
  call('ZADD', returned_key(lane), rank, member)
  lane[RETURNED] = lane[RETURNED] + 1
  local _, best = head_of(c, lane)
  if best == member then lane[SINCE] = max(lane[SERVED], due) end
  touch(lane.h)
end

local function delay_item(c, lane, history, item, rank, due)
  local name = lane.name
  call('ZADD', B .. ':d:' .. c.num, due, pack('>I2c0', #name, name) .. history .. pack('>d', rank) .. item)
  lane[DELAYED] = lane[DELAYED] + 1
  touch(lane.h)
end

local function back_to_pending(c)
  c.pending = c.pending + 1
  count(c, 'pending', 1)
end

-- Back to the queue, now or later.
local function requeue(c, lane, history, item, rank, after)
  if after > 0 then
    delay_item(c, lane, history, item, rank, now + after)
  else
    push_returned(c, lane, history, item, rank, now)
    place_lane(c, lane)
  end
end

-- 64 bits of the SHA-1 of its URL, unless the item holds its own (flag 4: sixteen hex digits after the route).
local function fingerprint_of(h, item)
  local flags = string.byte(item, 7)
  local route = string.byte(item, 11)
  local rest = sub(item, 12 + route)
  if floor(flags / 4) % 2 == 1 then return sub(rest, 1, 16) end
  local cut = string.find(rest, '\0', 1, true)
  local url = cut and sub(rest, 1, cut - 1) or rest
  if floor(flags / 2) % 2 == 0 then url = (flags % 2 == 1 and 'https://' or 'http://') .. h.key .. url end
  return sub(redis.sha1hex(url), 1, 16)
end
