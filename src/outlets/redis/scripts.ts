import { createHash } from 'node:crypto'
import type { Script } from '../../frontier/redis/connection.js'

function script(name: string, source: string): Script {
  return { name, source, sha: createHash('sha1').update(source).digest('hex') }
}

/**
 * KEYS items, epochs   ARGV outlet, epoch, most (0: no end), …
 * A holder that was replaced writes nothing: it would put old content over new.
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
if most == 0 or over <= 0 then return 0 end
redis.call('LTRIM', KEYS[1], over, -1)
return over
`,
)

/** The same for a stream: each item is the field \`record\` of an entry. */
export const ADD = script(
  'outlet-add',
  `${FENCED}
for i = 4, #ARGV do redis.call('XADD', KEYS[1], '*', 'record', ARGV[i]) end
if most == 0 then return 0 end
return redis.call('XTRIM', KEYS[1], 'MAXLEN', '=', most)
`,
)

/**
 * KEYS …, order   ARGV …, field, item, field, item, …
 * With an end to its length the fields are kept in the order in which they were set last, in a sorted set beside the hash.
 */
export const SET = script(
  'outlet-set',
  `${FENCED}
for i = 4, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  if most > 0 then redis.call('ZADD', KEYS[3], redis.call('HINCRBY', KEYS[2], 'order', 1), ARGV[i]) end
end
local over = redis.call('HLEN', KEYS[1]) - most
if most == 0 or over <= 0 then return 0 end
local dropped = redis.call('ZPOPMIN', KEYS[3], over)
for i = 1, #dropped, 2 do redis.call('HDEL', KEYS[1], dropped[i]) end
return #dropped / 2
`,
)
