-- open(spec): creates the crawl, or replaces the spec of one that runs or is paused.
-- ARGV: time, id, spider, spider hash, spec (parts/crawls.lua: SPEC), gen, seen ('mode|scope|ttl|error|capacity'), the spec as JSON for people and other
-- clients, number of named limits, then for each its field ('r:<route>' or 'k:<key>') and limits (parts/pace.lua: LIMITS).
-- Order, seen and shards stay what they were when the crawl was first opened.
clock(true)
local id = ARGV[2]
local num = call('HGET', B .. ':crawls', id)
local key
if not num then
  num = call('INCR', B .. ':numbers')
  key = B .. ':c:' .. num
  call('HSET', B .. ':crawls', id, num)
  local mode, scope, rest = string.match(ARGV[7], '^(%w+)|(%w+)(|.*)$')
  local name = scope == 'crawl' and 'c' .. num or mode .. (scope == 'spider' and ':sp:' .. string.gsub(ARGV[3], '|', '_') or ':all')
  call('HSET', key, 'id', id, 'spider', ARGV[3], 'hash', ARGV[4], 'changes', 0, 'state', 'running', 'endedBy', '', 'created', wall, 'finished', '',
    'seeding', '1', 'pending', 0, 'leased', 0, 'total', 0, 'done', 0, 'dead', 0, 'skipped', 0, 'failed', 0, 'retried', 0, 'throttled', 0, 'reclaimed', 0,
    'stale', 0, 'refused', 0, 'bytes', 0, 'seen', mode .. '|' .. name .. rest)
  call('SADD', B .. ':running:' .. ARGV[3], num)
else
  key = B .. ':c:' .. num
  local held = call('HMGET', key, 'state', 'hash', 's')
  if held[1] ~= 'running' and held[1] ~= 'paused' then return 0 end
  if held[2] ~= ARGV[4] then call('HINCRBY', key, 'changes', 1) end
  for _, field in ipairs(call('HKEYS', key)) do
    local kind = sub(field, 1, 2)
    if kind == 'r:' or kind == 'k:' then call('HDEL', key, field) end
  end
  call('HSET', key, 'hash', ARGV[4])
  recheck_lanes()
  -- The order that the items were ranked by.
  ARGV[5] = sub(held[3], 1, 1) .. sub(ARGV[5], 2)
end
call('HSET', key, 's', ARGV[5], 'gen', ARGV[6], 'spec', ARGV[8])
for i = 10, 9 + 2 * tonumber(ARGV[9]), 2 do call('HSET', key, ARGV[i], ARGV[i + 1]) end
return 1
