-- Failures, and links that ended as dead letters or skipped.

local function keep_failure(c, fp, text)
  local key = B .. ':f:' .. c.num
  local kept = call('HGET', key, fp) or ''
  local entries, at, size = {}, 1, #kept
  while at <= size do
    local from = at
    local _, length = unpackstruct('>dI4', kept, at)
    at = at + 12 + length
    entries[#entries + 1] = sub(kept, from, at - 1)
  end
  entries[#entries + 1] = pack('>dI4', wall, #text) .. text
  call('HSET', key, fp, table.concat(entries, '', max(1, #entries - FAILURES_KEPT + 1)))
end

-- Dead letters and skipped links are kept with their reason; a link that is done is only a fingerprint among those seen.
local function end_kept(c, lane, fp, state, code, history, item, at, rank)
  local name = lane.name
  local record = pack('>BdBc0', state == 'dead' and DEAD_LETTER or SKIPPED_LINK, at or wall, #code, code) .. pack('>I2c0', #name, name) .. history
    .. pack('>d', rank) .. item
  call('HSET', B .. ':e:' .. c.num, fp, record)
  call('ZADD', B .. (state == 'dead' and ':x:' or ':y:') .. c.num, call('INCR', B .. ':ends'), fp)
  count(c, state, 1)
  local main = main_of(c, lane)
  if state == 'dead' then
    main[DEAD] = main[DEAD] + 1
    call('HINCRBY', B .. ':xc:' .. c.num, code, 1)
    call('HSETNX', B .. ':xs:' .. c.num, code, fp)
  else
    main[SKIPPED] = main[SKIPPED] + 1
  end
  touch(lane.h)
  c.endings = c.endings + 1
end

-- The link is no dead letter any more: its error code no longer counts it or shows it as the sample.
local function leave_dead(c, code, fp)
  call('HINCRBY', B .. ':xc:' .. c.num, code, -1)
  call('ZREM', B .. ':x:' .. c.num, fp)
  if call('HGET', B .. ':xs:' .. c.num, code) == fp then call('HDEL', B .. ':xs:' .. c.num, code) end
end
