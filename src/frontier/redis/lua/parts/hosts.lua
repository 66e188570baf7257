-- Hosts and their lanes. A host has one record: its pace, then its lanes in all crawls. In memory both are arrays built by one constructor. What most hosts
-- and lanes never have (rates, blocks, settings, returned links …) is an optional string, absent while all of it is zero. The first three fields are the
-- same in both, so that a route's pace is kept like a host's.

local STARTED, ARRIVAL, INFLIGHT = 1, 2, 3
local HOST, HOST_RARE = '>dI4dBc0', '>dddI4ddd'
local BLOCKED, BLOCKEDAT, THROTTLES, LATENCY, SETDELAY, SETCONC, FLOOR = 4, 5, 6, 7, 8, 9, 10
local LANE, LANE_RARE = '>I4Bc0I4I4I4BdddI4Bc0B', '>ddI4I4I4I4I4I2I4'
local DONE, FAILED, DEAD, SKIPPED, LEASED, DELAYED, NUM, PHASE, POS, SINCE, SERVED, POPS, TURNS, RETURNED = 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
local IDLE, READY, WAITING = 0, 1, 2

local function touch(h)
  if not h.dirty then
    h.dirty = true
    touched_hosts[#touched_hosts + 1] = h
  end
end

-- One lane of the host, and where the next begins.
local function read_lane(h, bytes, at)
  local num, route, done, leased, number, phase, pos, since, served, pops, rare, levels
  num, route, done, leased, number, phase, pos, since, served, pops, rare, levels, at = unpackstruct(LANE, bytes, at)
  local lv
  if levels == 1 then
    local level, popped
    level, popped, at = unpackstruct('>BI4', bytes, at)
    lv = { level, popped }
  else
    lv = {}
    for i = 1, 2 * levels, 2 do lv[i], lv[i + 1], at = unpackstruct('>BI4', bytes, at) end
  end
  local key = h.key
  local lane = { 0, 0, 0, done, 0, 0, 0, leased, 0, number, phase, pos, since, served, pops, 0, 0,
    crawl = num, route = route, h = h, lv = lv, name = route == '' and key or key .. '\n' .. route, member = false, score = 0, tie = number,
    skipped = false, listed = 0 }
  if rare ~= '' then
    lane[STARTED], lane[ARRIVAL], lane[INFLIGHT], lane[FAILED], lane[DEAD], lane[SKIPPED], lane[DELAYED], lane[TURNS], lane[RETURNED] =
      unpackstruct(LANE_RARE, rare)
    if lane[STARTED] > now then lane[STARTED] = now end
  end
  return lane, at
end

local function host_from(key, bytes)
  local h
  if bytes then
    local started, inflight, latency, rare, at = unpackstruct(HOST, bytes)
    -- The clock stepped back: no request can have started later than now.
    if started > now then started = now end
    local lanes, size, n = {}, #bytes, 0
    if rare == '' then
      h = { started, 0, inflight, 0, 0, 0, latency, -1, -1, -1, key = key, lanes = lanes, dirty = false, reopened = false }
    else
      local arrival, blocked, blockedat, throttles, setdelay, setconc, least = unpackstruct(HOST_RARE, rare)
      h = { started, arrival, inflight, blocked, blockedat, throttles, latency, setdelay, setconc, least, key = key, lanes = lanes, dirty = false,
        reopened = false }
    end
    while at <= size do
      local lane
      lane, at = read_lane(h, bytes, at)
      n = n + 1
      lanes[n] = lane
    end
  else
    h = { 0, 0, 0, 0, 0, 0, UNKNOWN_LATENCY, -1, -1, -1, key = key, lanes = {}, dirty = false, reopened = false }
  end
  hosts[key] = h
  return h
end

-- Most hosts have one lane of one level and nothing rare: a record of this format and length. The scripts that run for every page work on its bytes, at a
-- third of the cost of a table. `raw` holds what was read, or changed if it is in `rawdirty`; host_of turns a host that needs more into a table.
local SIMPLE, SIMPLE_BYTES = '>dI4dBI4BI4I4I4BdddI4BBBI4', 74
local SIMPLE_POS, SIMPLE_LEVEL = 40, 70             -- where the position of its lane and the level are; `since` follows the position
local RESTING = '>dI4dBI4BI4I4I4BdddI4BB'   -- the same without its level: the list is empty
local raw, rawdirty = {}, {}

local function set_raw(key, bytes)
  if not rawdirty[key] then
    rawdirty[key] = true
    rawdirty[#rawdirty + 1] = key
  end
  raw[key] = bytes
end

local function host_of(key)
  local h = hosts[key]
  if h then return h end
  local bytes = raw[key]
  if bytes == nil then return host_from(key, call('HGET', B .. ':h', key)) end
  h = host_from(key, bytes)
  raw[key] = nil
  if rawdirty[key] then
    rawdirty[key] = nil
    touch(h)
  end
  return h
end

-- Reads the records of these hosts in one command.
local function read_hosts(keys)
  local missing, n, asked = {}, 0, {}
  for i = 1, #keys do
    local key = keys[i]
    if not hosts[key] and raw[key] == nil and not asked[key] then
      asked[key] = true
      n = n + 1
      missing[n] = key
    end
  end
  for from = 1, n, 1000 do
    local to = min(n, from + 999)
    local found = call('HMGET', B .. ':h', unpack(missing, from, to))
    for i = from, to do raw[missing[i]] = found[i - from + 1] end
  end
end

local function load_hosts(keys)
  read_hosts(keys)
  for i = 1, #keys do host_of(keys[i]) end
end

local function new_lane(c, h, route)
  local lane = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, IDLE, 0, 0, 0, 0, 0, 0, crawl = c.num, route = route, h = h, lv = {},
    name = route == '' and h.key or h.key .. '\n' .. route, member = false, score = 0, tie = 0, skipped = false, listed = 0 }
  h.lanes[#h.lanes + 1] = lane
  return lane
end

local function find_lane(c, h, route)
  local lanes, num = h.lanes, c.num
  for i = 1, #lanes do
    local lane = lanes[i]
    if lane.crawl == num and lane.route == route then return lane end
  end
  -- The crawl had ended, and its lanes were archived (`rest_lane`).
  local bytes = c.rests and call('HGET', B .. ':l:' .. num, route == '' and h.key or h.key .. '\n' .. route)
  if not bytes then return nil end
  local lane = read_lane(h, bytes, 1)
  lanes[#lanes + 1] = lane
  return lane
end

local function lane_of(c, h, route)
  return find_lane(c, h, route) or new_lane(c, h, route)
end

-- The lane without a route holds the counters of its host, over all lanes of the crawl there.
local function main_of(c, lane)
  if lane.route == '' then return lane end
  return lane_of(c, lane.h, '')
end

-- `from`: where the name begins, in a member of a sorted set.
local function split_name(name, from)
  from = from or 1
  local cut = string.find(name, '\n', from, true)
  if not cut then return sub(name, from), '' end
  return sub(name, from, cut - 1), sub(name, cut + 1)
end

local function lane_named(c, name)
  local key, route = split_name(name)
  return lane_of(c, host_of(key), route)
end

-- The first link: the lane gets its number, which decides ties.
local function enlist(c, lane)
  lane[NUM] = call('INCR', B .. ':lanes')
  lane.tie = lane[NUM]
  main_of(c, lane)
  touch(lane.h)
  call('ZADD', B .. ':n:' .. c.num, 0, lane.h.key)
end

local function member_of(lane)
  local member = lane.member
  if not member then
    member = pack('>I4', lane[NUM]) .. lane.name
    lane.member = member
  end
  return member
end

local function list_key(c, level, name)
  return c.lists .. text_of(level) .. ':' .. name
end

local function returned_key(lane)
  return B .. ':b:' .. lane.crawl .. ':' .. lane[NUM]
end

local function list_length(c, lane, level)
  return call('LLEN', list_key(c, level, lane.name))
end

local function drop_level(lane)
  table.remove(lane.lv, 1)
  table.remove(lane.lv, 1)
end
