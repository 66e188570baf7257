-- Limits of a whole crawl (links pending, pages, bytes) are divided over its shards; a shard that needs more gets it from those that have some left.
-- ARGV: time, crawl id, then for each of the three what is added to this shard's share (negative: taken, but never below what is used).
-- Replies what was really added.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return { 0, 0, 0 } end
local spec = call('HGET', B .. ':c:' .. c.num, 's')
local limits, used = { c.maxpending, c.bpages, c.bbytes }, { c.pending, c.total, c.bytes }
local places, changes = { 66, 82, 98 }, {}
for n = 1, 3 do
  local change = tonumber(ARGV[2 + n])
  if limits[n] < 0 then change = 0 end
  if change < 0 then change = -max(0, min(-change, limits[n] - used[n])) end
  spec = sub(spec, 1, places[n] - 1) .. pack('>d', limits[n] + change) .. sub(spec, places[n] + 8)
  changes[n] = change
end
call('HSET', B .. ':c:' .. c.num, 's', spec)
return changes
