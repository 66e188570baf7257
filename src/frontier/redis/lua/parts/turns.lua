-- Who gets scarce work: ../../../turns.ts says the same in TypeScript.
-- A worker's usage is USAGE in its hash (slots × ms, pages it fetches, time of its last call); `turns` has TURNS_OF for each set of spiders.
local USAGE, TURNS_OF = '>ddd', '>I2c0I2c0'

local function used_by(usage)
  if not usage then return 0 end
  local elapsed = max(0, now - usage[3])
  return (usage[1] + usage[2] * elapsed) * USAGE_HALVED_MS / (USAGE_HALVED_MS + elapsed)
end

-- Null unless the worker exists and has asked within `kept` ms.
local function usage_of(worker, kept)
  local bytes = worker ~= '' and call('HGET', B .. ':worker:' .. worker, 'usage')
  local usage = bytes and { unpackstruct(USAGE, bytes) }
  return usage and now - usage[3] <= kept and usage or nil
end

-- turns.ts, Contest: `lead` and `next` are the usage of the others, nil for the worker itself.
local function contest_of(worker, own, busy, name)
  local t = { worker = worker, own = own and { unpackstruct(USAGE, own) } or nil, busy = busy, name = name, leadname = '', nextname = '' }
  t.bytes = call('HGET', B .. ':turns', name)
  if not t.bytes then return t end
  t.leadname, t.nextname = unpackstruct(TURNS_OF, t.bytes)
  if t.leadname ~= worker then t.lead = usage_of(t.leadname, LEAD_KEPT_MS) end
  if t.nextname ~= worker then t.next = usage_of(t.nextname, TURN_KEPT_MS) end
  return t
end

-- turns.ts, roomFor.
local function room_for(t, want)
  if t.nextname == t.worker then return t.lead and min(want, max(1, t.lead[2] - t.busy)) or want end
  if not t.next or used_by(t.own) <= used_by(t.next) then return want end
  local room = min(want, max(0, floor(((t.own and t.own[2] or 0) + t.next[2]) / 2) - t.busy))
  t.leaves = room < want
  return room
end

-- turns.ts, afterLease, but for the pause. `queued` answers whether a link is. Replies the worker's usage.
local function after_lease(t, given, gaps, got_all, queued)
  local slotms, busy = used_by(t.own) + GAP_WEIGHT * gaps, t.busy + given
  local lead, isnext = t.lead, t.nextname == t.worker
  if lead and used_by(lead) < slotms then lead = nil end
  local leadname, nextname = lead and t.leadname or t.worker, isnext and '' or t.nextname
  if lead and not got_all and (busy == 0 or busy < lead[2]) and queued() then
    local ahead = used_by(lead) - (isnext and slotms or slotms * (1 + TURN_MARGIN) + TURN_MS)
    if ahead > 0 then
      t.behind, t.more = lead, max(1, lead[2] - busy)
      if isnext or not t.next or slotms < used_by(t.next) then nextname = t.worker end
    elseif lead[2] > busy then
      t.behindin = max(TURN_POLL_MS, ceil(-ahead / (lead[2] - busy)))
    end
  end
  t.isnext = nextname == t.worker
  local bytes = pack(TURNS_OF, #leadname, leadname, #nextname, nextname)
  if bytes ~= t.bytes then call('HSET', B .. ':turns', t.name, bytes) end
  return pack(USAGE, slotms, busy, now)
end

-- turns.ts, the pause after the call.
local function pause_of(t, idle)
  if t.leaves and idle <= 1 then return max(1, ceil(t.next[3] + TURN_KEPT_MS - now)) end
  if not t.behind then return min(idle, t.behindin or idle) end
  if not t.isnext then return min(idle, max(TURN_POLL_MS, ceil(TURN_LINE_MS / t.more))) end
  if t.behind[2] == 0 and idle < IDLE_MAX_MS and idle > 2 * TURN_POLL_MS then return idle - TURN_POLL_MS end
  return min(idle, TURN_POLL_MS)
end
