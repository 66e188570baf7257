-- Reads a crawl's statistics or hosts; changes nothing.
-- ARGV: time, crawl id, 'stats' or 'hosts', names of hosts. Replies 'unknown', or
--   stats: {wall, queue time, fields and values of the crawl, links delayed, ring of endings, 1 when quiet or finished, watched since or ''}
--   hosts: {wall, queue time, for each: pending, done, failed, dead, delay, concurrency, interval, burst, delay without the host's latency (as text), host record}
clock(false)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if ARGV[3] == 'stats' then
  return { fmt('%.17g', wall), fmt('%.17g', now), call('HGETALL', B .. ':c:' .. c.num), call('ZCARD', B .. ':d:' .. c.num), call('HVALS', B .. ':t:' .. c.num),
    (c.state == 'finished' or is_quiet(c)) and 1 or 0, call('GET', B .. ':watchedsince') or '' }
end
local reply = { fmt('%.17g', wall), fmt('%.17g', now) }
for i = 4, #ARGV do
  local h = host_of(ARGV[i])
  local delay, conc, interval, burst, set = host_limits(h, c)
  local main, pending = find_lane(c, h, ''), 0
  if main then
    pending = host_total(c, h) - main[DONE] - main[DEAD] - main[SKIPPED] - main[LEASED]
  end
  for _, value in ipairs({ pending, main and main[DONE] or 0, main and main[FAILED] or 0, main and main[DEAD] or 0, delay, conc, interval, burst, set }) do
    reply[#reply + 1] = fmt('%.17g', value)
  end
  reply[#reply + 1] = call('HGET', B .. ':h', ARGV[i]) or ''
end
return reply
