-- scoresOn(pool, site). Replies {time, proxy, record, proxy …}.
end_holds()
flush()
local reply = call('HGETALL', health_key(ARGV[2], ARGV[3]))
table.insert(reply, 1, tostring(now))
return reply
