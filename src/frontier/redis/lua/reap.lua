-- reap(limit): puts links of expired leases back, oldest first; slots that leases of other shards hold here and did not renew are freed.
-- ARGV: time, limit. Replies {number, {quiet crawl id, …}}.
clock(true)
local limit = tonumber(ARGV[2])
local expired = limit > 0 and call('ZRANGEBYSCORE', B .. ':deadlines', '-inf', now, 'LIMIT', 0, limit) or {}
local touched = {}
if #expired > 0 then
  local records = call('HMGET', B .. ':leases', unpack(expired))
  for n, epoch in ipairs(expired) do
    if records[n] then
      local l = lease_from(epoch, records[n])
      reclaim(l)
      touched[l.num] = true
    else
      gone_leases[#gone_leases + 1] = epoch
    end
  end
end
for _, field in ipairs(call('ZRANGEBYSCORE', B .. ':guestends', '-inf', now, 'LIMIT', 0, max(1, limit))) do
  local h = host_of(sub(field, (string.find(field, '\n', 1, true)) + 1))
  slot_freed(h)
  h.reopened = true
  touch(h)
  call('HDEL', B .. ':guests', field)
  call('ZREM', B .. ':guestends', field)
end
flush()
local quiet = {}
for num in pairs(touched) do
  local c = crawl_by_number(num)
  if c and is_quiet(c) then quiet[#quiet + 1] = c.id end
end
return { #expired, quiet }
