-- Lanes among each other: idle, ready by score, or waiting until their host opens. FAR is the wake time of one that waits for a slot; a release moves it.

local function score_of(c, lane, rank)
  -- A promoted link has the highest priority, where priorities count.
  if rank < 0 then rank = c.order == BY_PRIORITY and 0 or PRIORITY_MAX * LEVEL end
  return floor(lane[SINCE] - (PRIORITY_MAX - floor(rank / LEVEL)) * c.aging + 0.5)
end

-- From one phase to another. flush() adds members before it removes others: one that leaves and returns within a call is not removed.
local function move_lane(c, member, old, phase, pos)
  if old ~= phase and old ~= IDLE then
    local gone = old == READY and c.readyrem or c.waitrem
    gone[#gone + 1] = member
    gone[member] = #gone
  end
  if phase ~= IDLE then
    local adds, gone = c.readyadd, c.readyrem
    if phase == WAITING then adds, gone = c.waitadd, c.waitrem end
    local n, out = #adds, gone[member]
    adds[n + 1], adds[n + 2] = text_of(pos), member
    if out then
      gone[out], gone[member] = '', nil
    end
  end
end

local function put_lane(c, lane, phase, pos)
  local old = lane[PHASE]
  if phase == old and pos == lane[POS] then return end
  move_lane(c, member_of(lane), old, phase, pos)
  lane[PHASE], lane[POS] = phase, pos
  touch(lane.h)
end

-- Where the lane belongs: idle, ready by score, or waiting until its host opens.
local function place_lane(c, lane)
  if lane[NUM] == 0 or (lane.lv[1] == nil and lane[RETURNED] == 0) then return put_lane(c, lane, IDLE, 0) end
  local at, full = gates(c, lane)
  if full then return put_lane(c, lane, WAITING, FAR) end
  if at > now then return put_lane(c, lane, WAITING, at) end
  local rank = head_of(c, lane)
  if not rank then return put_lane(c, lane, IDLE, 0) end
  put_lane(c, lane, READY, score_of(c, lane, rank))
end

-- A link was added. The host's pace is not checked: a lane that is ready by mistake is noticed when its turn comes.
local function wake_lane(c, lane)
  if lane[PHASE] == WAITING then return end
  put_lane(c, lane, READY, score_of(c, lane, (head_of(c, lane))))
end

-- A slot was freed: lanes that waited for one may open. Those that wait for a time, and ready ones, are checked when their turn comes. All waiting lanes are
-- checked when the host's limits changed (`limits`), when the end of one crawl's work there may change them for another, and where the delay follows the latency.
local function place_lanes_of(h, limits)
  local lanes = h.lanes
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane[PHASE] == WAITING then
      local c = crawl_by_number(lane.crawl)
      if c and (limits or lane[POS] >= FAR or c.target > 0 or c.special >= 2 or (#lanes > 1 and c.state == 'running')) then place_lane(c, lane) end
    end
  end
end
