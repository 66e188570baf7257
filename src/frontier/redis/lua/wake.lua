-- A finished crawl got work on another shard: it runs here too.
-- ARGV: time, crawl id.
clock(true)
local c = crawl_by_id(ARGV[2])
if c and wake_crawl(c) then flush() end
return 1
