-- Adding links.

local function lane_route(c, route)
  if c.special % 2 == 0 then return '' end
  local limited = c.rl[route]
  if limited == nil then
    limited = call('HGET', B .. ':c:' .. c.num, 'r:' .. route)
    c.rl[route] = limited
  end
  return limited and route or ''
end

-- The list was empty before: the lane gets the level and a new head.
local function list_began(c, lane, level)
  if lane[NUM] == 0 then enlist(c, lane) end
  local lv, best = lane.lv, nil
  -- The levels before it, without those that have run empty unnoticed.
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

-- A known link is to be visited again: it leaves the state it ended in, with nothing used up. False when it has not ended. A link that is done cannot be
-- distinguished from one that waits, so as many links as are done may be queued twice.
local function leave_end(c, lane, item)
  local main, fp = main_of(c, lane), fingerprint_of(lane.h, item)
  local record = call('HGET', B .. ':e:' .. c.num, fp)
  if record then
    local state, _, code = unpackstruct('>BdBc0', record)
    call('HDEL', B .. ':e:' .. c.num, fp)
    if state == DEAD_LETTER then
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

-- ARGV[from … to]: runs of links of the same lane, level and delay. Each begins with RUN (PRIORITY_MAX − priority, delay in ms, 1 when to be visited again, number of
-- links, route) and the host; then comes for each link its fingerprint and the client's part of the item.
-- A host's record is read only when its list was empty: most links cost one SADD and one RPUSH.
local function add_links(c, from, to, uncounted)
  local added, known, refused, stamp = 0, 0, 0, pack('>I6', wall)
  local lists, began, i = c.lists, {}, from
  local store, before = seen_of(c)
  local plain = store.mode == 'exact' and not before
  -- Lists that were empty before: their lanes are updated, with all of their hosts read at once.
  local function update_lanes()
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
    if c.order ~= BY_PRIORITY then level = PRIORITY_MAX end
    -- With room for the whole run none of its links can be one too many.
    local limited = (c.overflow == 0 and c.pending + n > c.maxpending) or (c.bpages >= 0 and c.total + n > c.bpages)
      or (c.bperhost >= 0 and c.total + n > c.bperhost)
    -- Lanes are numbered in the order of their first links, and what follows counts links.
    if #began > 0 and (limited or delay > 0 or again == 1) then update_lanes() end
    local items, count_items = nil, 0
    i = i + 1
    for link = i, i + 2 * n - 1, 2 do
      local fp, full, new = ARGV[link], false, nil
      if limited then full = is_full(c, key) end
      if full then
        new = not was_seen(c, fp)
      elseif plain then
        -- store_add, inlined: this is all that a known link costs.
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
        elseif limited or c.order == NEWEST_FIRST then
          -- One by one: the list's length counts for the next link, and the newest one is the head.
          local lane = c.order == NEWEST_FIRST and lane_of(c, host_of(key), route)
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
  if #began > 0 then update_lanes() end
  count(c, 'total', added)
  count(c, 'pending', added)
  if refused > 0 and not uncounted then count(c, 'refused', refused) end
  return added, known, refused
end
