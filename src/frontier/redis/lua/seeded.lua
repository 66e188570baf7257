-- seeded(crawl): from now on an empty queue means finished.
-- ARGV: time, crawl id. Replies 1 when quiet, else 0, or 'unknown'.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
c.seeding = false
set_crawl(c, 'seeding', '0')
end_if_done(c)
flush()
return is_quiet(c) and 1 or 0
