-- steer(crawl, link, order): a person promotes, retries or removes one link, which the client has found (../../transitions.ts, afterSteer).
-- ARGV: time, crawl id, 'promote', 'retry' or 'remove', fingerprint (hex), where it was found, lane, level, item or member, failure (JSON) of `remove`, most
-- links looked through.
--   queued: the item in the list of its level. returned, delayed: the member of its zset. dead: nothing more.
-- Replies {1, 1 when a finished crawl runs again, 1 when quiet}, 'moved' when it is no longer there, 'unknown' or 'cancelled'.
clock(true)
local order, fp, where, name, found = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[8]
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if c.state == 'cancelled' and order ~= 'remove' then return 'cancelled' end

-- What it was, as it would be outside its list.
local lane, history, item, rank, due, code, ended
local listkey, level, index
local newest = c.order == NEWEST_FIRST
if where == 'dead' then
  local record = call('HGET', B .. ':e:' .. c.num, fp)
  if not record or string.byte(record, 1) ~= DEAD_LETTER then return 'moved' end
  local at, _
  _, ended, code, name, at = unpackstruct('>BdBc0I2c0', record)
  lane = lane_named(c, name)
  history, rank, item = sub(record, at, at + 5), unpackstruct('>d', record, at + 6), sub(record, at + 14)
else
  lane = lane_named(c, name)
  if where == 'queued' then
    level = tonumber(ARGV[7])
    listkey = list_key(c, level, name)
    index = call('LPOS', listkey, found, 'RANK', newest and -1 or 1, 'MAXLEN', ARGV[10])
    if not index then return 'moved' end
    history, item = NO_HISTORY, newest and sub(found, 5) or found
    rank = level * LEVEL
  elseif where == 'returned' then
    if not call('ZSCORE', returned_key(lane), found) then return 'moved' end
    history, rank, item = sub(found, 1, 6), unpackstruct('>d', found, 7), sub(found, 15)
  else
    due = call('ZSCORE', B .. ':d:' .. c.num, found)
    if not due then return 'moved' end
    local at
    name, at = unpackstruct('>I2c0', found)
    history, rank, item = sub(found, at, at + 5), unpackstruct('>d', found, at + 6), sub(found, at + 14)
  end
end
if order == 'retry' and where ~= 'dead' and (not due or tonumber(due) <= now) then return { 1, 0, 0 } end

local main = main_of(c, lane)
touch(lane.h)
if where == 'queued' and (newest or lane[RETURNED] + lane[DELAYED] == 0) then
  call('LREM', listkey, newest and -1 or 1, found)
elseif where == 'queued' then
  -- A link's place is where it is in the list (parts/order.lua): without this one, those behind it would move up, past links that are delayed or returned. So
  -- those in front leave the list with their rank, and this one counts as taken; the client looks through POSITION_CAP links at most.
  local lv, front = lane.lv, index > 0 and call('LRANGE', listkey, 0, index - 1) or {}
  for i = 1, #lv, 2 do
    if lv[i] == level then
      local args = {}
      for n, other in ipairs(front) do
        local place = level * LEVEL + lv[i + 1] + n
        args[2 * n - 1], args[2 * n] = text_of(place), NO_HISTORY .. pack('>d', place) .. other
      end
      vcall('ZADD', returned_key(lane), args)
      call('LTRIM', listkey, index + 1, -1)
      lv[i + 1], lane[POPS], lane[RETURNED] = lv[i + 1] + index + 1, lane[POPS] + index + 1, lane[RETURNED] + index
    end
  end
elseif where == 'returned' then
  call('ZREM', returned_key(lane), found)
  lane[RETURNED] = lane[RETURNED] - 1
elseif where == 'delayed' then
  call('ZREM', B .. ':d:' .. c.num, found)
  lane[DELAYED] = lane[DELAYED] - 1
else
  main[DEAD] = main[DEAD] - 1
  count(c, 'dead', -1)
  leave_dead(c, code, fp)
  call('HDEL', B .. ':e:' .. c.num, fp)
end

local woke = false
if order == 'remove' then
  keep_failure(c, fp, ARGV[9])
  if where ~= 'dead' then
    c.pending = c.pending - 1
    count(c, 'pending', -1)
    history = sub(history, 1, 5) .. '\0'
    -- The next head may be younger or older than it was: the lane's turn counts from now.
    lane[SERVED], lane[SINCE] = now, now
    place_lane(c, lane)
  end
  local endings = c.endings
  end_kept(c, lane, fp, 'skipped', 'removed', history, item, ended, rank)
  -- A dead letter had ended before.
  if where == 'dead' then c.endings = endings end
else
  if order == 'promote' then
    if c.order == BY_PRIORITY then item = sub(item, 1, 9) .. string.char(2 * PRIORITY_MAX) .. sub(item, 11) end
    rank = front_rank(c, lane)
  end
  if where == 'dead' then
    history = pack(HISTORY, 0, 0, 0, 1)
    back_to_pending(c)
    woke = wake_crawl(c)
  end
  requeue(c, lane, history, item, rank, 0)
end
end_if_done(c)
flush()
return { 1, woke and 1 or 0, is_quiet(c) and 1 or 0 }
