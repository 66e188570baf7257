-- Deletes keys of removed crawls, a limited number of lanes and seen buckets in each call.
-- ARGV: time, the limit. Replies 1 while there is more to do.
local num = call('LINDEX', B .. ':trash', 0)
if not num then return 0 end
local limit = tonumber(ARGV[2])
num = tonumber(num)
clock(false)
-- Hosts by name: their lists and what came back, and the lanes in the host's own record.
local names = B .. ':n:' .. num
local keys = call('ZRANGE', names, 0, limit - 1)
load_hosts(keys)
for _, key in ipairs(keys) do
  local h, kept = hosts[key], {}
  for _, lane in ipairs(h.lanes) do
    if lane.crawl == num then
      call('UNLINK', returned_key(lane))
      for n = 1, #lane.lv, 2 do call('UNLINK', B .. ':q:' .. num .. ':' .. lane.lv[n] .. ':' .. lane.name) end
    else
      kept[#kept + 1] = lane
    end
  end
  h.lanes = kept
  touch(h)
end
flush()
vcall('ZREM', names, keys)
if call('EXISTS', names) == 1 then return 1 end
local seen = B .. ':s:c' .. num
local meta = call('HMGET', seen .. ':m', 'l', 'p', 'swept')
if meta[1] then
  -- Buckets of l digits and, as far as they were split, of one more; bitmaps have other names.
  local digits, from = tonumber(meta[1]), tonumber(meta[3] or 0)
  local last = 10 ^ digits
  for bucket = from, min(last, from + limit) - 1 do
    local name = digits == 0 and '' or fmt('%0' .. digits .. '.0f', bucket)
    call('UNLINK', seen .. ':' .. name)
    for digit = 0, 9 do call('UNLINK', seen .. ':' .. digit .. name) end
  end
  if from == 0 then
    for filter = 0, digits do
      for segment = 0, 63 do call('UNLINK', seen .. ':b:' .. filter .. ':' .. segment) end
    end
  end
  if from + limit < last then
    call('HSET', seen .. ':m', 'swept', from + limit)
    return 1
  end
  call('DEL', seen .. ':m')
end
for _, kind in ipairs({ 'r', 'w', 'd', 'a', 'l', 'e', 'x', 'y', 'xc', 'xs', 'f', 't' }) do call('UNLINK', B .. ':' .. kind .. ':' .. num) end
call('UNLINK', seen)
call('LPOP', B .. ':trash')
return 1
