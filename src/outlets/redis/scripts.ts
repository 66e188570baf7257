import { createHash } from 'node:crypto'
import type { Script } from '../../redis/connection.js'

function script(name: string, source: string): Script {
  return { name, source, sha: createHash('sha1').update(source).digest('hex') }
}

/**
 * KEYS items, epochs   ARGV outlet, epoch, most (0: no end), …
 * A holder that was replaced writes nothing: it would overwrite new content with old.
 */
const FENCED = `
local seen = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
local epoch = tonumber(ARGV[2])
local most = tonumber(ARGV[3])
if epoch < seen then return -1 end
if epoch > seen then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
`

/** ARGV …, item, item, …   → items dropped from the old end, or -1 */
export const PUSH = script(
  'outlet-push',
  `${FENCED}
for i = 4, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
local over = redis.call('LLEN', KEYS[1]) - most
if most == 0 or #ARGV < 4 or over <= 0 then return 0 end
redis.call('LTRIM', KEYS[1], over, -1)
return over
`,
)

/** The same for a stream: each item is the field \`record\` of an entry. */
export const ADD = script(
  'outlet-add',
  `${FENCED}
for i = 4, #ARGV do redis.call('XADD', KEYS[1], '*', 'record', ARGV[i]) end
if redis.call('XLEN', KEYS[1]) <= most or most == 0 or #ARGV < 4 then return 0 end
return redis.call('XTRIM', KEYS[1], 'MAXLEN', '=', most)
`,
)

/**
 * KEYS …, order   ARGV …, field, item, field, item, …
 * A hash of limited length has a sorted set with the order in which its fields were last set. Each call does a little more work than its
 * batch causes, so that it catches up with any backlog and never blocks the server:
 *  - Readers delete fields from the hash but not from the order: while the order is longer than the hash, `sweep` walks it and removes them.
 *  - Fields without a place in the order were set before the length was limited: `scan` finds them, and they are dropped first.
 *  - Fields of this batch stay, even when they alone are too many.
 */
export const SET = script(
  'outlet-set',
  `${FENCED}
-- A key of another type fails an empty batch too.
redis.call('HLEN', KEYS[1])
if #ARGV < 4 then return 0 end
local newest = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')
local before = tonumber(newest[2] or '0')
for i = 4, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  if most > 0 then redis.call('ZADD', KEYS[3], before + i, ARGV[i]) end
end
if most == 0 then return 0 end

local work = #ARGV + 100
if redis.call('ZCARD', KEYS[3]) > redis.call('HLEN', KEYS[1]) then
  local from = redis.call('HGET', KEYS[2], 'sweep') or '-inf'
  local found = redis.call('ZRANGEBYSCORE', KEYS[3], from, before, 'WITHSCORES', 'LIMIT', 0, work)
  for i = 1, #found, 2 do
    if redis.call('HEXISTS', KEYS[1], found[i]) == 0 then redis.call('ZREM', KEYS[3], found[i]) end
  end
  redis.call('HSET', KEYS[2], 'sweep', #found < work * 2 and '-inf' or '(' .. found[#found])
end

local over = redis.call('HLEN', KEYS[1]) - most
local dropped = 0
local looked = 0
while over > 0 and looked < work and redis.call('HLEN', KEYS[1]) > redis.call('ZCARD', KEYS[3]) do
  local page = redis.call('HSCAN', KEYS[1], redis.call('HGET', KEYS[2], 'scan') or '0', 'COUNT', 100)
  for i = 1, #page[2], 2 do
    if over > 0 and not redis.call('ZSCORE', KEYS[3], page[2][i]) then
      redis.call('HDEL', KEYS[1], page[2][i])
      over = over - 1
      dropped = dropped + 1
    end
  end
  looked = looked + 100
  redis.call('HSET', KEYS[2], 'scan', page[1])
end
if over <= 0 or redis.call('HLEN', KEYS[1]) > redis.call('ZCARD', KEYS[3]) then return dropped end

for _, field in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', before, 'LIMIT', 0, work)) do
  if over <= 0 then break end
  local gone = redis.call('HDEL', KEYS[1], field)
  redis.call('ZREM', KEYS[3], field)
  over = over - gone
  dropped = dropped + gone
end
return dropped
`,
)
