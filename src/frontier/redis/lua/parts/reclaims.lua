-- Reclaiming: leases that ran out, or whose worker is dead.

-- The link returns to the queue, or becomes a dead letter when it has taken too many workers down (../../../transitions.ts, afterReclaim).
-- `poisoned`: its failure, with %d for the number of reclaims.
local function reclaim(l, poisoned)
  local c = crawl_by_number(l.num)
  if not c then
    gone_leases[#gone_leases + 1] = l.epoch
    local drop = tally(l.worker).drop
    drop[#drop + 1] = l.epoch
    return
  end
  local lane = lane_named(c, l.lane)
  end_lease(c, l, lane)
  count(c, 'reclaimed', 1)
  l.reclaims = min(255, l.reclaims + 1)
  if l.reclaims >= SOLO_AFTER + c.maxreclaims then
    local fp = fingerprint_of(lane.h, l.item)
    keep_failure(c, fp, fmt(poisoned or POISONED, l.reclaims))
    l.flags = 0
    end_kept(c, lane, fp, 'dead', 'poison', history_of(l), l.item, nil, l.rank)
  else
    back_to_pending(c)
    requeue(c, lane, history_of(l), l.item, l.rank, 0)
  end
  end_if_done(c)
end

-- Reclaims those of the leases that still exist. Answers the numbers of their crawls.
local function reclaim_all(epochs, poisoned)
  local crawl_numbers = {}
  if #epochs == 0 then return crawl_numbers end
  local records = call('HMGET', B .. ':leases', unpack(epochs))
  for n, epoch in ipairs(epochs) do
    if records[n] then
      local l = lease_from(epoch, records[n])
      reclaim(l, poisoned)
      crawl_numbers[l.num] = true
    else
      gone_leases[#gone_leases + 1] = epoch
    end
  end
  return crawl_numbers
end

-- Frees the slot that a lease of another shard holds here; the field is its token, a line feed, the host.
local function free_guest(field)
  call('ZREM', B .. ':guestends', field)
  if call('HDEL', B .. ':guests', field) == 0 then return end
  local h = host_of(sub(field, (string.find(field, '\n', 1, true)) + 1))
  slot_freed(h)
  h.reopened = true
  touch(h)
end

local function quiet_ids(crawl_numbers)
  local quiet = {}
  for num in pairs(crawl_numbers) do
    local c = crawl_by_number(num)
    if c and is_quiet(c) then quiet[#quiet + 1] = c.id end
  end
  return quiet
end
