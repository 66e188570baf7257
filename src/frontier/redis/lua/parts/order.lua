-- The order of links within a lane: by rank, smallest first. A rank is a level (LEVEL apart from the next) and a place in it. A list is in order already; the
-- place of its head is the number of links taken from the level so far, and a link that returns keeps the place it was taken from. One that goes behind its
-- equals, or is delayed, gets a place behind the current end of the list, plus a fraction that grows. Newest first: places are numbered for the whole lane,
-- and every item starts with its own.
local function newest_rank(level, place)
  return level * LEVEL + LEVEL - 1 - place
end

local function list_rank(c, lane, level, popped)
  if c.order ~= NEWEST_FIRST then return level * LEVEL + popped + 1 end
  return newest_rank(level, (unpackstruct('>I4', call('LINDEX', list_key(c, level, lane.name), -1))))
end

local function next_place(lane)
  lane[POPS] = lane[POPS] + 1
  return lane[POPS]
end

local function rank_behind(c, lane, level)
  if c.order == NEWEST_FIRST then return newest_rank(level, next_place(lane)) end
  local turn = lane[TURNS]
  lane[TURNS] = (turn + 1) % 4095
  local popped, lv = lane[POPS], lane.lv
  for i = 1, #lv, 2 do if lv[i] == level then popped = lv[i + 1] end end
  return level * LEVEL + popped + list_length(c, lane, level) + (turn + 1) / 4096
end

-- In front of all others: below zero when ordered by priority or first in, and the link promoted last has the smallest rank. `fronts` is counted for the whole
-- shard, so that a link that is leased meanwhile keeps its place. Newest first: as if it had just been added.
local function front_rank(c, lane)
  if c.order == NEWEST_FIRST then return newest_rank(PRIORITY_MAX, next_place(lane)) end
  return -call('INCR', B .. ':fronts')
end

-- Rank of the best link, and its member when it is one that returned. Nil: nothing is left. A level whose list has run empty is noticed here if there is
-- another one to compare with; the only one is noticed when somebody takes from it.
local function head_of(c, lane)
  local lv = lane.lv
  while (lv[3] or (lv[1] and lane[RETURNED] > 0)) and list_length(c, lane, lv[1]) == 0 do drop_level(lane) end
  local level = lv[1]
  if lane[RETURNED] == 0 then return level and level * LEVEL + 1, nil end
  local best = call('ZRANGE', returned_key(lane), 0, 0, 'WITHSCORES')
  local rank = tonumber(best[2])
  if not level or rank < list_rank(c, lane, level, lv[2]) then return rank, best[1] end
  return level * LEVEL + 1, nil
end

local function has_links(c, lane)
  if lane[RETURNED] > 0 then return true end
  local lv = lane.lv
  for i = 1, #lv, 2 do if list_length(c, lane, lv[i]) > 0 then return true end end
  return false
end

local function has_work(c, h)
  local lanes, num = h.lanes, c.num
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane.crawl == num and (lane[LEASED] > 0 or lane[DELAYED] > 0 or has_links(c, lane)) then return true end
  end
  return false
end

-- Links of the crawl on the host, in any state.
local function host_total(c, h)
  find_lane(c, h, '')
  local total, lanes = 0, h.lanes
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane.crawl == c.num then
      total = total + lane[DONE] + lane[DEAD] + lane[SKIPPED] + lane[LEASED] + lane[DELAYED] + lane[RETURNED]
      for n = 1, #lane.lv, 2 do total = total + list_length(c, lane, lane.lv[n]) end
    end
  end
  return total
end
