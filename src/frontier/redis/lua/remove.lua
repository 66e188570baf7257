-- remove(crawl): the crawl is gone at once; its keys are swept in steps, by this client and by every reaper.
-- ARGV: time, crawl id. Replies 1, 'unknown', or the state that forbids it.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if c.state ~= 'finished' and c.state ~= 'cancelled' then return c.state end
-- Slots of leases that were still out. Leases are as many as workers hold, some thousands.
local epochs = call('ZRANGE', B .. ':deadlines', 0, -1)
for first = 1, #epochs, 1000 do
  local last = min(#epochs, first + 999)
  local records = call('HMGET', B .. ':leases', unpack(epochs, first, last))
  for n, record in ipairs(records) do
    if record and unpackstruct('>I4', record) == c.num then
      local l = lease_from(epochs[first + n - 1], record)
      end_lease(c, l, lane_named(c, l.lane))
    end
  end
end
flush()
call('HDEL', B .. ':crawls', c.id)
call('SREM', B .. ':running:' .. c.spider, c.num)
call('RPUSH', B .. ':trash', c.num)
call('DEL', B .. ':c:' .. c.num)
return 1
