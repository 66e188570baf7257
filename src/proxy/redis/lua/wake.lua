-- wake(pool, proxy, after, limit): ends rests of the proxy, on `limit` sites behind the name `after` at most. Replies the last name, '' when there are no more.
local pool, proxy, after, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local prefix = proxy .. '\n'
local names = call('ZRANGEBYLEX', B .. ':n:' .. pool, after == '' and '[' .. prefix or '(' .. after, '(' .. prefix .. '\255', 'LIMIT', 0, limit)
for _, name in ipairs(names) do
  local _, site = split_name(name)
  local b = healths(pool, site)
  if of(b, proxy)[USED] > 0 then
    local health = of(b, proxy)
    health[PROVED], health[STRIKES], health[RESTS], health[RESTSUNTIL] = 0, 0, 0, 0
    change(b, proxy)
  end
end
flush()
return #names == limit and names[#names] or ''
