-- Ends a crawl of several shards in this one, if it is quiet here and nothing was added since the client counted.
-- ARGV: time, crawl id, total that the client saw. Replies 1 or 0.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return 0 end
if c.state == 'finished' then return c.total == tonumber(ARGV[3]) and 1 or 0 end
if not is_quiet(c) or c.total ~= tonumber(ARGV[3]) then return 0 end
finish(c)
flush()
return 1
