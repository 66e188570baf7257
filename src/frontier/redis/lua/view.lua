-- What people ask about a crawl, without changing anything.
-- ARGV: time, crawl id, 'stats' or 'hosts', names of hosts. Replies 'unknown', or
--   stats: {wall, queue time, fields and values of the crawl, links delayed, ring of endings, 1 when quiet}
--   hosts: {wall, queue time, for each: lane record, host record, delay, concurrency, interval, burst (as text)}
clock(false)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if ARGV[3] == 'stats' then
  return { fmt('%.17g', wall), fmt('%.17g', now), call('HGETALL', B .. ':c:' .. c.num), call('ZCARD', B .. ':d:' .. c.num), call('HVALS', B .. ':t:' .. c.num),
    is_quiet(c) and 1 or 0 }
end
local reply = { fmt('%.17g', wall), fmt('%.17g', now) }
for i = 4, #ARGV do
  local h = host_of(ARGV[i])
  local delay, conc, interval, burst = host_limits(h, c)
  local n = #reply
  reply[n + 1] = call('HGET', B .. ':l:' .. c.num, ARGV[i]) or ''
  reply[n + 2] = call('HGET', B .. ':h', ARGV[i]) or ''
  reply[n + 3], reply[n + 4], reply[n + 5], reply[n + 6] = fmt('%.17g', delay), fmt('%.17g', conc), fmt('%.17g', interval), fmt('%.17g', burst)
end
return reply
