-- scores(pool, after, limit): the records behind the name `after` (proxy \n site; '' for the first), `limit` names at most.
-- Replies {time, last name or '' when there are no more, proxy, site, record, proxy …}; names whose record is gone are left out.
end_holds()
flush()
local pool, after, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local names = call('ZRANGEBYLEX', B .. ':n:' .. pool, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit)
local reply = { tostring(now), #names == limit and names[#names] or '' }
for _, name in ipairs(names) do
  local proxy, site = split_name(name)
  local record = call('HGET', health_key(pool, site), proxy)
  if record then reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = proxy, site, record end
end
return reply
