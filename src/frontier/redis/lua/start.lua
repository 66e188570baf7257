-- The first call of every client: creates the shard, or answers the layout it has.
-- ARGV: layout number, number of shards, identity to take if there is none yet. Replies {layout, shards, identity}.
local B, call = KEYS[1], redis.call
local meta = call('HMGET', B .. ':meta', 'layout', 'shards', 'identity')
if not meta[1] then
  call('HSET', B .. ':meta', 'layout', ARGV[1], 'shards', ARGV[2], 'identity', ARGV[3])
  return { ARGV[1], ARGV[2], ARGV[3] }
end
return meta
