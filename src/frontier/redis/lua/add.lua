-- add(crawl, links): links that are not known yet, in order.
-- ARGV: time, crawl id, 1 when refused links are not counted (they are offered again), runs of links (parts/links.lua).
-- Replies {added, known, refused, pending, 1 when a finished crawl runs again, 1 when quiet}, or 'unknown', or 'cancelled'.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if c.state == 'cancelled' then return 'cancelled' end
local added, known, refused = add_links(c, 4, #ARGV, ARGV[3] == '1')
local woke = added > 0 and wake_crawl(c)
end_if_done(c)
flush()
flush_seen()
return { added, known, refused, c.pending, woke and 1 or 0, is_quiet(c) and 1 or 0 }
