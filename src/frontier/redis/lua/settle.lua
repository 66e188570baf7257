-- settle(settlements): ends leases, each in one step: links found, acknowledgement, counters.
-- ARGV: time, then for each settlement: crawl id, epoch, SETTLEMENT, text, and as many arguments of links (parts/links.lua) as it says.
--   SETTLEMENT: crawl number, kind, a, b, number of arguments of links, fingerprint (hex).
--   done: a = bytes, text = TALLY for each thing that was counted (name, number, example): a reason of the filter, or '=' and a name of the spider's. retry: a = after ms, b = 1 when it counts, text = failure. dead, skipped: text = code, a line feed, failure. back: a = after ms.
-- Replies {1 or 0 (lost) for each, or 1 + the number of its links that were refused where limits are shared with other shards; {quiet crawl id, …}}.
clock(true)
local SETTLEMENT = '>I4BdBI4c16'
local KINDS = OUTCOME_KINDS
local TALLY = '>Bc0I4I2c0'
local starts, epochs, i = {}, {}, 2
while i <= #ARGV do
  starts[#starts + 1] = i
  epochs[#epochs + 1] = ARGV[i + 1]
  local _, _, _, _, size = unpackstruct(SETTLEMENT, ARGV[i + 2])
  i = i + 4 + size
end
local records = call('HMGET', B .. ':leases', unpack(epochs))
-- Usually no lease of the whole shard has run out, and it is cheaper to count those than to read a deadline for each.
local deadlines = call('ZCOUNT', B .. ':deadlines', '-inf', text_of(now)) > 0 and call('ZMSCORE', B .. ':deadlines', unpack(epochs))

-- The hosts of the whole batch at once.
local keys, over = {}, {}
for _, record in ipairs(records) do
  if record then
    keys[#keys + 1] = (split_name(lane_in(record)))
  end
end
read_hosts(keys)

local answers, settled, touched, refused_by = {}, {}, {}, {}
-- Settled tokens are remembered for five minutes, by the tenth of a second in which they were leased: sets small enough to be stored as integers.
local function memory_of(epoch)
  return B .. ':settled:' .. sub(epoch, 1, -6)
end

-- What the spider's code counted. A new name that is one too many counts as the others together.
local function count_named(c, name, by)
  local key, field = B .. ':c:' .. c.num, 'count:' .. name
  if name ~= OTHER_COUNTS and not c.inc[field] and call('HEXISTS', key, field) == 0 then
    local names = tonumber(call('HGET', key, 'countnames') or 0) + (c.inc.countnames or 0)
    if names >= MAX_COUNT_NAMES then
      field = 'count:' .. OTHER_COUNTS
    else
      count(c, 'countnames', 1)
    end
  end
  count(c, field, by)
end

-- What the filter did to the links of a page (the first example of a reason stays), and what the spider's code counted.
local function count_tallies(c, text)
  local at = 1
  while at <= #text do
    local name, by, example
    name, by, example, at = unpackstruct(TALLY, text, at)
    if sub(name, 1, 1) == '=' then
      count_named(c, sub(name, 2), by)
    else
      count(c, 'filtered:' .. name, by)
      if example ~= '' then call('HSETNX', B .. ':c:' .. c.num, 'example:' .. name, example) end
    end
  end
end

local function settle_one(n, at)
  local id, epoch, text = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local num, kind, a, b, size, fp = unpackstruct(SETTLEMENT, ARGV[at + 2])
  kind = KINDS[kind]
  local record = records[n]
  local lnum, slot, attempts, throttles, reclaims, flags, worker, lanename, guests, _
  local c = false
  if record then
    lnum, _, _, _, slot, attempts, throttles, reclaims, flags, _, worker, lanename, guests = unpackstruct(LEASE, record)
    c = crawl_by_number(lnum)
  end
  local live = c and c.id == id and not over[epoch] and (not deadlines or tonumber(deadlines[n]) > now)
  if not live then
    local bucket = memory_of(epoch)
    local asked = crawl_by_id(id)
    local again = asked and asked.num == num
      and (settled[bucket] and settled[bucket][epoch] or (not record and call('SISMEMBER', bucket, epoch) == 1))
    answers[n] = again and 1 or 0
    if asked and not again then count(asked, 'stale', 1) end
  else
    answers[n] = 1
    over[epoch] = true
    local bucket = memory_of(epoch)
    settled[bucket] = settled[bucket] or {}
    settled[bucket][epoch] = true
    touched[c] = true
    local l, lane
    if kind == 'done' and guests == 0 and is_simple(c, lanename) then
      end_simple(c, lanename, slot >= 0, nil, true)
      forget_lease(c, epoch, worker)
    else
      l = lease_from(epoch, record)
      lane = lane_named(c, lanename)
      end_lease(c, l, lane)
      if kind == 'done' then
        local main = main_of(c, lane)
        main[DONE] = main[DONE] + 1
      end
    end
    local w = tally(worker)
    w.settled = true
    if kind == 'done' then
      c.bytes, c.read, c.done = c.bytes + a, c.read + a, c.done + 1
      w.done, w.ended = w.done + 1, true
      c.endings = c.endings + 1
      if text ~= '' then count_tallies(c, text) end
      if attempts + throttles + reclaims + flags > 0 then call('HDEL', B .. ':f:' .. c.num, fp) end
      if size > 0 and c.state ~= 'cancelled' then refused_by[n] = select(3, add_links(c, at + 4, at + 3 + size, c.shards > 1)) end
    elseif kind == 'retry' then
      keep_failure(c, fp, text)
      if b == 1 then
        l.attempts = l.attempts + 1
        w.failed = w.failed + 1
        local main = main_of(c, lane)
        main[FAILED] = main[FAILED] + 1
        count(c, 'failed', 1)
        count(c, 'retried', 1)
        local priority = max(PRIORITY_MIN, min(PRIORITY_MAX, floor(priority_of(l.item) - c.retrystep + 0.5)))
        l.item = sub(l.item, 1, 9) .. string.char(priority + PRIORITY_MAX) .. sub(l.item, 11)
        l.rank = rank_behind(c, lane, level_of(c, l.item))
      else
        l.throttles = l.throttles + 1
        count(c, 'throttled', 1)
      end
      back_to_pending(c)
      requeue(c, lane, history_of(l), l.item, l.rank, a)
    elseif kind == 'back' then
      back_to_pending(c)
      requeue(c, lane, history_of(l), l.item, l.rank, a)
    else
      local main = main_of(c, lane)
      local cut = string.find(text, '\n', 1, true)
      local code = sub(text, 1, cut - 1)
      keep_failure(c, fp, sub(text, cut + 1))
      if kind == 'dead' then
        l.attempts = l.attempts + 1
        w.failed = w.failed + 1
        main[FAILED] = main[FAILED] + 1
        count(c, 'failed', 1)
      end
      l.flags = 0
      w.ended = true
      end_kept(c, lane, fp, kind, code, history_of(l), l.item, nil, l.rank)
    end
    end_if_done(c)
  end
end

for n, at in ipairs(starts) do settle_one(n, at) end
for bucket, members in pairs(settled) do
  local args = {}
  for epoch in pairs(members) do args[#args + 1] = epoch end
  vcall('SADD', bucket, args)
  call('EXPIRE', bucket, 300)
end
flush()
flush_seen()
local quiet = {}
for c in pairs(touched) do if is_quiet(c) then quiet[#quiet + 1] = c.id end end
if #touched_crawls > 0 and touched_crawls[1].shards > 1 then
  for n, refused in pairs(refused_by) do answers[n] = answers[n] + refused end
end
return { answers, quiet }
