-- Deletes keys of removed crawls, at most so many lanes and seen buckets in one call.
-- ARGV: time, at most. Replies 1 while there is more to do.
local num = call('LINDEX', B .. ':trash', 0)
if not num then return 0 end
local limit = tonumber(ARGV[2])
local lanes = B .. ':l:' .. num
local scan = call('HSCAN', lanes, 0, 'COUNT', limit)
for i = 1, #scan[2], 2 do
  local v = scan[2][i + 1]
  local lane = unpackstruct('>I4', v, 25)
  call('UNLINK', B .. ':b:' .. num .. ':' .. lane)
  local at = 82
  while at <= #v do
    local level
    level, at = unpackstruct('>B', v, at)
    at = at + 4
    call('UNLINK', B .. ':q:' .. num .. ':' .. lane .. ':' .. level)
  end
  call('HDEL', lanes, scan[2][i])
end
if call('EXISTS', lanes) == 1 then return 1 end
local seen = B .. ':s:c' .. num
local meta = call('HMGET', seen .. ':m', 'l', 'p')
if meta[1] then
  local last = 2 ^ tonumber(meta[1]) + tonumber(meta[2])
  local from = tonumber(call('HGET', seen .. ':m', 'swept') or 0)
  for bucket = from, min(last, from + limit) do call('UNLINK', seen .. ':' .. fmt('%.0f', bucket)) end
  for filter = 0, tonumber(meta[1]) do
    if from == 0 then
      for segment = 0, 63 do call('UNLINK', seen .. ':b:' .. filter .. ':' .. segment) end
    end
  end
  if from + limit < last then
    call('HSET', seen .. ':m', 'swept', from + limit)
    return 1
  end
  call('DEL', seen .. ':m')
end
for _, kind in ipairs({ 'r', 'w', 'd', 'a', 'n', 'e', 'x', 'y', 'xc', 'f', 't' }) do call('UNLINK', B .. ':' .. kind .. ':' .. num) end
call('UNLINK', seen)
call('LPOP', B .. ':trash')
return 1
