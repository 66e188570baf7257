import { createHash } from 'node:crypto'
import type { Script } from '../../redis/connection.js'

function script(name: string, source: string): Script {
  return { name, source, sha: createHash('sha1').update(source).digest('hex') }
}

/**
 * Takes entries: first those whose taker is dead, then new ones from the old end of the list.
 * KEYS source, taken, due, numbers   ARGV count, holdMs   → {number, text, number, text, …}
 */
export const TAKE = script(
  'feed-take',
  `
local count = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local deadline = now + tonumber(ARGV[2])
local reply = {}
for _, number in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, count)) do
  local text = redis.call('HGET', KEYS[2], number)
  if text then
    redis.call('ZADD', KEYS[3], deadline, number)
    reply[#reply + 1] = number
    reply[#reply + 1] = text
  else
    redis.call('ZREM', KEYS[3], number)
  end
end
for _ = #reply / 2 + 1, count do
  local text = redis.call('RPOP', KEYS[1])
  if not text then break end
  local number = tostring(redis.call('INCR', KEYS[4]))
  redis.call('HSET', KEYS[2], number, text)
  redis.call('ZADD', KEYS[3], deadline, number)
  reply[#reply + 1] = number
  reply[#reply + 1] = text
end
return reply
`,
)

/** Forgets entries that were taken. KEYS taken, due   ARGV number, … */
export const DONE = script(
  'feed-done',
  `
for i = 1, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
  redis.call('ZREM', KEYS[2], ARGV[i])
end
return #ARGV
`,
)

/** Sets entries aside, each once. KEYS taken, due, refused   ARGV kept, number, refusal, number, refusal, … */
export const REFUSE = script(
  'feed-refuse',
  `
for i = 2, #ARGV, 2 do
  if redis.call('HDEL', KEYS[1], ARGV[i]) == 1 then
    redis.call('ZREM', KEYS[2], ARGV[i])
    redis.call('LPUSH', KEYS[3], ARGV[i + 1])
  end
end
redis.call('LTRIM', KEYS[3], 0, tonumber(ARGV[1]) - 1)
return 1
`,
)

/** The same for a stream. KEYS source, refused   ARGV kept, group, id, refusal, id, refusal, … */
export const REFUSE_STREAM = script(
  'feed-refuse-stream',
  `
for i = 3, #ARGV, 2 do
  if redis.call('XACK', KEYS[1], ARGV[2], ARGV[i]) == 1 then
    redis.call('LPUSH', KEYS[2], ARGV[i + 1])
  end
end
redis.call('LTRIM', KEYS[2], 0, tonumber(ARGV[1]) - 1)
return 1
`,
)
