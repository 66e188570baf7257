-- setState(crawl, state): running, paused, cancelled.
-- ARGV: time, crawl id, state. Replies 1 when quiet, else 0; 'unknown', or the state of a crawl that has ended.
clock(true)
local c = crawl_by_id(ARGV[2])
local state = ARGV[3]
if not c then return 'unknown' end
if c.state == state then return 0 end
if c.state == 'finished' or c.state == 'cancelled' then return c.state end
c.state = state
set_crawl(c, 'state', state)
if state == 'cancelled' then set_crawl(c, 'finished', wall) end
call(state == 'running' and 'SADD' or 'SREM', B .. ':running:' .. c.spider, c.num)
end_if_done(c)
flush()
if state == 'running' then
  -- A slot with nothing in it marks the resume for the rate (rate.ts): the time of the pause does not count.
  local before = floor(wall / 1000) - 1
  call('HSET', B .. ':t:' .. c.num, before % 64, pack('>I6I4', before, 0))
end
recheck_lanes()
return is_quiet(c) and 1 or 0
