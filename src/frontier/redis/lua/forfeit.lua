-- forfeit(worker): its leases are reclaimed now, and it is forgotten.
-- ARGV: time, worker, most leases of one call, the failure of a link that ended too many workers (with %d for their number). Replies {number, {quiet crawl id, …}}; the client calls again while the number is at the limit.
clock(true)
local worker, limit = ARGV[2], tonumber(ARGV[3])
local held = call('SRANDMEMBER', B .. ':held:' .. worker, limit)
table.sort(held, function(a, b) return tonumber(a) < tonumber(b) end)
local touched = reclaim_all(held, ARGV[4])
free_guests_of(worker, limit)
flush()
if #held < limit then
  call('DEL', B .. ':worker:' .. worker, B .. ':held:' .. worker)
  call('SREM', B .. ':workers', worker)
  forget_beat(worker)
end
return { #held, quiet_ids(touched) }
