-- Behind prelude.lua in the scripts that take links: what was seen, and the door for new links.

-- Seen --------------------------------------------------------------------------------------------------------------------
-- exact: sets of 64-bit integers, kept below 512 members so that Redis stores them as sorted arrays of 8 bytes each (intset). A fingerprint is the decimal
-- text of a signed integer, which a Lua number cannot hold; its last digits name the bucket. When the buckets of l digits hold 400 on average they are split
-- one after another, each into ten: for every forty links added, one; no call ever moves more than a few of them. p: those split so far.
-- bloom: 64 bitmaps, k bits in one of them for each link. set: one plain set.
-- With a TTL there is one store for each period of that length, and the one before is asked too.

local split_bucket, seen_of, was_seen, see, flush_seen
do
  local FULL, STEP = 400, 40
  local SEGMENTS = 64
  local seen_stores = {}

  local function set_splits(s)
    s.edge = s.l > 0 and fmt('%0' .. s.l .. 'd', s.p) or ''
    s.room = FULL * 10 ^ s.l + STEP * s.p
    s.split = s.p > 0
  end

  local function seen_store(key, mode, settings)
    local s = seen_stores[key]
    if s then return s end
    s = { key = key, mode = mode, settings = settings, n = 0, l = 0, p = 0, prefix = '', edge = '', room = 0, split = false, changed = false }
    if mode ~= 'set' then
      local v = call('HMGET', key .. ':m', 'n', 'l', 'p')
      s.n, s.l, s.p = tonumber(v[1] or 0), tonumber(v[2] or 0), tonumber(v[3] or 0)
      s.prefix = key .. ':'
      if mode == 'exact' then set_splits(s) end
    end
    seen_stores[key] = s
    return s
  end

  local function bucket_of(s, fp)
    local digits = s.l
    if digits == 0 then return s.prefix end
    local name = sub(fp, -digits)
    if s.split and name < s.edge then name = sub(fp, -digits - 1) end
    return s.prefix .. name
  end

  function split_bucket(s)
    local from = s.prefix .. s.edge
    local parts = {}
    for _, fp in ipairs(call('SMEMBERS', from)) do
      local name = sub(fp, -s.l - 1)
      local part = parts[name]
      if part then part[#part + 1] = fp else parts[name] = { fp } end
    end
    call('DEL', from)
    for name, part in pairs(parts) do
      vcall('SADD', s.prefix .. name, part)
      if s.settings.ttl > 0 then call('PEXPIRE', s.prefix .. name, s.settings.ttl * 2) end
    end
    s.p = s.p + 1
    if s.p == 10 ^ s.l then s.l, s.p = s.l + 1, 0 end
    set_splits(s)
  end

  -- Filter number s.l is the one that is being filled; each holds `capacity` links, and has half the error of the one before.
  local function bloom_bits(s, fp, filter)
    local error = s.settings.error / 2 ^ filter
    local bits = ceil(-s.settings.capacity * math.log(error) / 0.4804530139182 / SEGMENTS)
    local digits = '000000000000000000' .. string.gsub(fp, '-', '')
    local one, two = tonumber(sub(digits, -9)), tonumber(sub(digits, -18, -10))
    local step, positions = floor(one / SEGMENTS) % bits, {}
    for i = 0, ceil(-math.log(error) / 0.6931471805599) - 1 do positions[i + 1] = (two + i * step + i * i * i) % bits end
    return s.key .. ':b:' .. filter .. ':' .. (one % SEGMENTS), positions, bits
  end

  local function bloom_has(s, fp)
    for filter = 0, s.l do
      local key, positions = bloom_bits(s, fp, filter)
      local args = {}
      for _, at in ipairs(positions) do
        args[#args + 1], args[#args + 2], args[#args + 3] = 'GET', 'u1', at
      end
      local missing = false
      for _, bit in ipairs(call('BITFIELD', key, unpack(args))) do missing = missing or bit == 0 end
      if not missing then return true end
    end
    return false
  end

  local function bloom_add(s, fp)
    if s.n >= s.settings.capacity then s.l, s.n = s.l + 1, 0 end
    local key, positions, bits = bloom_bits(s, fp, s.l)
    -- In its full length at once: a string that grows by its last bit is moved again and again, and takes twice the room.
    if call('EXISTS', key) == 0 then call('SET', key, string.rep('\0', ceil(bits / 8))) end
    local args = {}
    for _, at in ipairs(positions) do
      args[#args + 1], args[#args + 2], args[#args + 3], args[#args + 4] = 'SET', 'u1', at, 1
    end
    local missing = false
    for _, bit in ipairs(call('BITFIELD', key, unpack(args))) do missing = missing or bit == 0 end
    if missing and s.settings.ttl > 0 then call('PEXPIRE', key, s.settings.ttl * 2) end
    return missing
  end

  local function store_has(s, fp)
    if s.mode == 'bloom' then return bloom_has(s, fp) end
    return call('SISMEMBER', s.mode == 'set' and s.key or bucket_of(s, fp), fp) == 1
  end

  local function store_add(s, fp)
    local new
    if s.mode == 'bloom' then
      if s.l > 0 and bloom_has(s, fp) then return false end
      new = bloom_add(s, fp)
    else
      local key = s.mode == 'set' and s.key or bucket_of(s, fp)
      new = call('SADD', key, fp) == 1
      if new and s.settings.ttl > 0 then call('PEXPIRE', key, s.settings.ttl * 2) end
    end
    if new and s.mode ~= 'set' then
      s.n, s.changed = s.n + 1, true
      if s.mode == 'exact' and s.n > s.room then split_bucket(s) end
    end
    return new
  end

  -- Answers the store to write to, and the one of the period before.
  function seen_of(c)
    if c.store then return c.store, c.before end
    local mode, key, ttl, error, capacity = string.match(c.seen, '^(%w+)|([^|]*)|(%d+)|([%d.e-]+)|(%d+)$')
    local settings = { ttl = tonumber(ttl), error = tonumber(error), capacity = tonumber(capacity) }
    if settings.ttl == 0 then
      c.store = seen_store(B .. ':s:' .. key, mode, settings)
    else
      local period = floor(wall / settings.ttl)
      c.store = seen_store(B .. ':s:' .. key .. '@' .. period, mode, settings)
      c.before = seen_store(B .. ':s:' .. key .. '@' .. (period - 1), mode, settings)
    end
    return c.store, c.before
  end

  function was_seen(c, fp)
    local store, before = seen_of(c)
    return store_has(store, fp) or (before and store_has(before, fp))
  end

  function see(c, fp)
    local store, before = seen_of(c)
    if before and store_has(before, fp) then return false end
    return store_add(store, fp)
  end

  function flush_seen()
    for _, s in pairs(seen_stores) do
      if s.changed then
        call('HSET', s.key .. ':m', 'n', s.n, 'l', s.l, 'p', s.p)
        if s.settings.ttl > 0 then call('PEXPIRE', s.key .. ':m', s.settings.ttl * 2) end
      end
    end
  end
end

-- Links -------------------------------------------------------------------------------------------------------------------

local function lane_route(c, route)
  if c.special % 2 == 0 then return '' end
  local limited = c.rl[route]
  if limited == nil then
    limited = call('HGET', B .. ':c:' .. c.num, 'r:' .. route)
    c.rl[route] = limited
  end
  return limited and route or ''
end

-- The list had been empty: the lane must learn of the level, and that it has a new head.
local function list_began(c, lane, level)
  if lane[NUM] == 0 then enlist(c, lane) end
  local lv, best = lane.lv, nil
  -- What stands in front of it, leaving out levels that have run empty unnoticed.
  local kept, known = {}, false
  for i = 1, #lv, 2 do
    if lv[i] == level then
      known = true
      kept[#kept + 1], kept[#kept + 2] = lv[i], lv[i + 1]
    elseif list_length(c, lane, lv[i]) > 0 then
      if not best then best = lv[i] end
      kept[#kept + 1], kept[#kept + 2] = lv[i], lv[i + 1]
    end
  end
  if not known then
    local at = 1
    while kept[at] and kept[at] < level do at = at + 2 end
    table.insert(kept, at, level)
    table.insert(kept, at + 1, lane[POPS])
  end
  lane.lv = kept
  local heads = best == nil or level < best
  if heads and lane[RETURNED] > 0 then
    local first = tonumber(call('ZRANGE', returned_key(lane), 0, 0, 'WITHSCORES')[2])
    local popped
    for i = 1, #kept, 2 do if kept[i] == level then popped = kept[i + 1] end end
    heads = list_rank(c, lane, level, popped) < first
  end
  if heads then lane[SINCE] = max(lane[SERVED], now) end
  touch(lane.h)
  wake_lane(c, lane)
end

local function is_full(c, key)
  return (c.overflow == 0 and c.pending >= c.maxpending) or (c.bpages >= 0 and c.total >= c.bpages)
    -- No host can have more links than the crawl.
    or (c.bperhost >= 0 and c.total >= c.bperhost and host_total(c, host_of(key)) >= c.bperhost)
end

-- Known, and to be visited again: out of where it ended, with nothing used up. False when it did not end: a link that is done is not to be told
-- from one that waits, so as many links as are done may be queued twice.
local function leave_end(c, lane, item)
  local main, fp = main_of(c, lane), fingerprint_of(lane.h, item)
  local record = call('HGET', B .. ':e:' .. c.num, fp)
  if record then
    local state, _, code = unpackstruct('>BdBc0', record)
    call('HDEL', B .. ':e:' .. c.num, fp)
    if state == 4 then
      leave_dead(c, code, fp)
      main[DEAD] = main[DEAD] - 1
      count(c, 'dead', -1)
    else
      call('ZREM', B .. ':y:' .. c.num, fp)
      main[SKIPPED] = main[SKIPPED] - 1
      count(c, 'skipped', -1)
    end
    return true
  end
  if main[DONE] == 0 then return false end
  main[DONE] = main[DONE] - 1
  count(c, 'done', -1)
  return true
end

local RUN = '>BdBI4Bc0'

-- ARGV[from … to]: runs of links of the same lane, level and delay. Each begins with RUN (100 − priority, delay in ms, 1 when to be visited again, number of
-- links, route) and the host; then comes for each link its fingerprint and the client's part of the item.
-- A host's record is read only when its list was empty: most links cost one SADD and one RPUSH.
local function add_links(c, from, to, uncounted)
  local added, known, refused, stamp = 0, 0, 0, pack('>I6', wall)
  local lists, began, i = c.lists, {}, from
  local store, before = seen_of(c)
  local plain = store.mode == 'exact' and not before
  -- The lanes learn of the lists that began, all of their hosts read at once.
  local function tell_lanes()
    local keys = {}
    for n = 1, #began do keys[n] = began[n][1] end
    load_hosts(keys)
    for n = 1, #began do list_began(c, lane_of(c, hosts[began[n][1]], began[n][2]), began[n][3]) end
    began = {}
  end
  while i <= to do
    local level, delay, again, n, route, at = unpackstruct(RUN, ARGV[i])
    local key = sub(ARGV[i], at)
    if c.special % 2 == 1 then route = lane_route(c, route) else route = '' end
    if c.order ~= 0 then level = 100 end
    -- With room for the whole run none of its links can be one too many.
    local limited = (c.overflow == 0 and c.pending + n > c.maxpending) or (c.bpages >= 0 and c.total + n > c.bpages)
      or (c.bperhost >= 0 and c.total + n > c.bperhost)
    -- Lanes are numbered in the order of their first links; what is counted below must be known.
    if #began > 0 and (limited or delay > 0 or again == 1) then tell_lanes() end
    local items, count_items = nil, 0
    i = i + 1
    for link = i, i + 2 * n - 1, 2 do
      local fp, full, new = ARGV[link], false, nil
      if limited then full = is_full(c, key) end
      if full then
        new = not was_seen(c, fp)
      elseif plain then
        -- store_add, written out: this line is what a known link costs.
        local digits = store.l
        local bucket = digits > 0 and sub(fp, -digits) or ''
        if store.split and bucket < store.edge then bucket = sub(fp, -digits - 1) end
        new = call('SADD', store.prefix .. bucket, fp) == 1
        if new then
          store.n, store.changed = store.n + 1, true
          if store.n > store.room then split_bucket(store) end
        end
      else
        new = see(c, fp)
      end
      if new and full then
        refused = refused + 1
      elseif new then
        added = added + 1
        c.total, c.pending = c.total + 1, c.pending + 1
        local item = stamp .. ARGV[link + 1]
        if delay > 0 then
          local lane = lane_of(c, host_of(key), route)
          if lane[NUM] == 0 then enlist(c, lane) end
          delay_item(c, lane, NO_HISTORY, item, rank_behind(c, lane, level), now + delay)
        elseif limited or c.order == 2 then
          -- One by one: what is in the list counts for the next link, and the newest is the head.
          local lane = c.order == 2 and lane_of(c, host_of(key), route)
          if lane then item = pack('>I4', next_place(lane)) .. item end
          local name = route == '' and key or key .. '\n' .. route
          local length = call('RPUSH', lists .. text_of(level) .. ':' .. name, item)
          if length == 1 or lane then list_began(c, lane_of(c, host_of(key), route), level) end
        elseif items then
          count_items = count_items + 1
          items[count_items] = item
        else
          items, count_items = { item }, 1
        end
      elseif again == 0 then
        known = known + 1
      else
        local lane, item = lane_of(c, host_of(key), route), stamp .. ARGV[link + 1]
        if full then
          refused = refused + 1
        elseif leave_end(c, lane, item) then
          if lane[NUM] == 0 then enlist(c, lane) end
          c.pending = c.pending + 1
          count(c, 'total', -1)
          added = added + 1
          local history, rank = pack(HISTORY, 0, 0, 0, 1), rank_behind(c, lane, level)
          if delay > 0 then
            delay_item(c, lane, history, item, rank, now + delay)
          else
            push_returned(c, lane, history, item, rank, now)
            wake_lane(c, lane)
          end
        else
          known = known + 1
        end
      end
    end
    i = i + 2 * n
    if items then
      local name = route == '' and key or key .. '\n' .. route
      local list, length = lists .. text_of(level) .. ':' .. name, nil
      if count_items == 1 then
        length = call('RPUSH', list, items[1])
      else
        for first = 1, count_items, 2000 do length = call('RPUSH', list, unpack(items, first, min(count_items, first + 1999))) end
      end
      if length == count_items then began[#began + 1] = { key, route, level } end
    end
  end
  if #began > 0 then tell_lanes() end
  count(c, 'total', added)
  count(c, 'pending', added)
  if refused > 0 and not uncounted then count(c, 'refused', refused) end
  return added, known, refused
end
