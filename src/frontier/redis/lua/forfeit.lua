-- forfeit(worker): its leases are reaped now, and it is forgotten.
-- ARGV: time, worker, at most so many leases. Replies {number, {quiet crawl id, …}}; the client calls again while the number is at the limit.
clock(true)
local worker, limit = ARGV[2], tonumber(ARGV[3])
local held, touched = call('SRANDMEMBER', B .. ':held:' .. worker, limit), {}
table.sort(held, function(a, b) return tonumber(a) < tonumber(b) end)
if #held > 0 then
  local records = call('HMGET', B .. ':leases', unpack(held))
  for n, epoch in ipairs(held) do
    if records[n] then
      local l = lease_from(epoch, records[n])
      reclaim(l)
      touched[l.num] = true
    end
  end
end
for _, field in ipairs(call('ZRANGE', B .. ':guestends', 0, limit)) do
  local record = call('HGET', B .. ':guests', field)
  local _, holder = unpackstruct('>dBc0', record)
  if holder == worker then
    local h = host_of(sub(field, (string.find(field, '\n', 1, true)) + 1))
    slot_freed(h)
    h.reopened = true
    touch(h)
    call('HDEL', B .. ':guests', field)
    call('ZREM', B .. ':guestends', field)
  end
end
flush()
if #held < limit then
  call('DEL', B .. ':worker:' .. worker, B .. ':held:' .. worker)
  call('SREM', B .. ':workers', worker)
end
local quiet = {}
for num in pairs(touched) do
  local c = crawl_by_number(num)
  if c and is_quiet(c) then quiet[#quiet + 1] = c.id end
end
return { #held, quiet }
