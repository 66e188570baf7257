-- Whether a link is known to a crawl. ARGV: time, crawl id, fingerprint (signed decimal). Replies 1, 0 or 'unknown' (the crawl).
clock(false)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
return was_seen(c, ARGV[3]) and 1 or 0
