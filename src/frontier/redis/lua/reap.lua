-- reap(limit): puts links of expired leases back, oldest first; slots that leases of other shards hold here and did not renew are freed.
-- ARGV: time, limit. Replies {number, {quiet crawl id, …}}.
clock(true)
local limit = tonumber(ARGV[2])
local expired = limit > 0 and call('ZRANGEBYSCORE', B .. ':deadlines', '-inf', now, 'LIMIT', 0, limit) or {}
local touched = reclaim_all(expired)
for _, field in ipairs(call('ZRANGEBYSCORE', B .. ':guestends', '-inf', now, 'LIMIT', 0, max(1, limit))) do free_guest(field) end
flush()
return { #expired, quiet_ids(touched) }
