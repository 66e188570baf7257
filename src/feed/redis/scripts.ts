import { createHash } from 'node:crypto'
import type { Script } from '../../redis/connection.js'

function script(name: string, source: string): Script {
  return { name, source, sha: createHash('sha1').update(source).digest('hex') }
}

/** The source is whatever the other program made it: a list, a set or a sorted set. An error says what else it is. */
const KIND = `
local function kind_of(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' or kind == 'list' or kind == 'set' or kind == 'zset' then return kind end
  return nil, redis.error_reply('FEEDTYPE ' .. kind)
end
`

/** How much waits and is held. KEYS source, taken */
export const SIZE = script(
  'feed-size',
  `${KIND}
local kind, wrong = kind_of(KEYS[1])
if wrong then return wrong end
local held = redis.call('HLEN', KEYS[2])
if kind == 'list' then return held + redis.call('LLEN', KEYS[1]) end
if kind == 'set' then return held + redis.call('SCARD', KEYS[1]) end
if kind == 'zset' then return held + redis.call('ZCARD', KEYS[1]) end
return held
`,
)

/**
 * Takes entries: first those whose taker is dead, then new ones: from the old end of a list, any of a set, those of the highest score of a sorted set.
 * Entries over the limit come cut, and all of them together are no more than one reply can carry; at least one comes.
 * KEYS source, taken, due, numbers   ARGV count, holdMs, entryBytes, shownBytes, replyBytes   → {number, text, bytes, …}
 */
export const TAKE = script(
  'feed-take',
  `${KIND}
local kind, wrong = kind_of(KEYS[1])
if wrong then return wrong end
local count, limit, shown, room = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local deadline = now + tonumber(ARGV[2])
local reply = {}
local function give(number, text)
  redis.call('ZADD', KEYS[3], deadline, number)
  local given = #text > limit and string.sub(text, 1, shown) or text
  reply[#reply + 1] = number
  reply[#reply + 1] = given
  reply[#reply + 1] = tostring(#text)
  room = room - #given
end
local function pop()
  if kind == 'list' then return redis.call('RPOP', KEYS[1]) end
  if kind == 'set' then return redis.call('SPOP', KEYS[1]) end
  if kind == 'zset' then return redis.call('ZPOPMAX', KEYS[1])[1] end
  return false
end
for _, number in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, count)) do
  if room <= 0 then break end
  local text = redis.call('HGET', KEYS[2], number)
  if text then give(number, text) else redis.call('ZREM', KEYS[3], number) end
end
for _ = #reply / 3 + 1, count do
  if room <= 0 then break end
  local text = pop()
  if not text then break end
  local number = tostring(redis.call('INCR', KEYS[4]))
  redis.call('HSET', KEYS[2], number, text)
  give(number, text)
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

/** Pushes in the way of whatever the source is. KEYS source   ARGV text, … */
export const PUSH = script(
  'feed-push',
  `${KIND}
local kind, wrong = kind_of(KEYS[1])
if wrong then return wrong end
for i = 1, #ARGV do
  if kind == 'set' then redis.call('SADD', KEYS[1], ARGV[i])
  elseif kind == 'zset' then redis.call('ZADD', KEYS[1], 'NX', 0, ARGV[i])
  else redis.call('LPUSH', KEYS[1], ARGV[i]) end
end
return #ARGV
`,
)

/** The same for a stream. */
export const PUSH_STREAM = script(
  'feed-push-stream',
  `
for i = 1, #ARGV do redis.call('XADD', KEYS[1], '*', 'entry', ARGV[i]) end
return #ARGV
`,
)

/** Keeps refused entries within the bounds; the oldest are dropped and counted. */
const KEEP = `
local function keep(refused, sums, texts, most, most_bytes)
  local bytes = tonumber(redis.call('HGET', sums, 'bytes') or 0)
  for _, text in ipairs(texts) do
    redis.call('LPUSH', refused, text)
    bytes = bytes + #text
  end
  local length, dropped = redis.call('LLEN', refused), 0
  while length > most or (bytes > most_bytes and length > 1) do
    bytes = bytes - #redis.call('RPOP', refused)
    length = length - 1
    dropped = dropped + 1
  end
  redis.call('HSET', sums, 'bytes', string.format('%.0f', math.max(0, bytes)))
  if dropped > 0 then redis.call('HINCRBY', sums, 'dropped', dropped) end
end
`

/** Sets entries aside, each once. KEYS taken, due, refused, sums   ARGV kept, keptBytes, number, parts, refusal, …, number, … */
export const REFUSE = script(
  'feed-refuse',
  `${KEEP}
local texts = {}
local i = 3
while i <= #ARGV do
  local parts = tonumber(ARGV[i + 1])
  if redis.call('HDEL', KEYS[1], ARGV[i]) == 1 then
    redis.call('ZREM', KEYS[2], ARGV[i])
    for part = 1, parts do texts[#texts + 1] = ARGV[i + 1 + part] end
  end
  i = i + 2 + parts
end
keep(KEYS[3], KEYS[4], texts, tonumber(ARGV[1]), tonumber(ARGV[2]))
return #texts
`,
)

/** The same for a stream. KEYS source, refused, sums   ARGV group, kept, keptBytes, id, parts, refusal, …, id, … */
export const REFUSE_STREAM = script(
  'feed-refuse-stream',
  `${KEEP}
local texts = {}
local i = 4
while i <= #ARGV do
  local parts = tonumber(ARGV[i + 1])
  if redis.call('XACK', KEYS[1], ARGV[1], ARGV[i]) == 1 then
    for part = 1, parts do texts[#texts + 1] = ARGV[i + 1 + part] end
  end
  i = i + 2 + parts
end
keep(KEYS[2], KEYS[3], texts, tonumber(ARGV[2]), tonumber(ARGV[3]))
return #texts
`,
)

/** Takes a refused entry from the old end of the list; false when somebody else was faster, or it was dropped. */
const UNREFUSE = `
local function unrefuse(refused, sums, item)
  if redis.call('LREM', refused, -1, item) == 0 then return false end
  redis.call('HINCRBY', sums, 'bytes', -#item)
  return true
end
`

/** Puts refused entries back where they came from. KEYS source, refused, sums   ARGV item, text, … → how many */
export const RETRY = script(
  'feed-retry',
  `${KIND}${UNREFUSE}
local kind, wrong = kind_of(KEYS[1])
if wrong then return wrong end
local retried = 0
for i = 1, #ARGV, 2 do
  if unrefuse(KEYS[2], KEYS[3], ARGV[i]) then
    local text = ARGV[i + 1]
    if kind == 'set' then redis.call('SADD', KEYS[1], text)
    elseif kind == 'zset' then redis.call('ZADD', KEYS[1], 'NX', 0, text)
    else redis.call('LPUSH', KEYS[1], text) end
    retried = retried + 1
  end
end
return retried
`,
)

/**
 * The same for a stream: the entry is pending again, as if its consumer had died, and other groups do not see it twice. An entry that the owner has trimmed
 * is added again. KEYS source, refused, sums   ARGV group, idleMs, item, id, text, …
 */
export const RETRY_STREAM = script(
  'feed-retry-stream',
  `${UNREFUSE}
local retried = 0
for i = 3, #ARGV, 3 do
  if unrefuse(KEYS[2], KEYS[3], ARGV[i]) then
    local id = ARGV[i + 1]
    if id ~= '' and #redis.call('XRANGE', KEYS[1], id, id) > 0 then
      redis.call('XCLAIM', KEYS[1], ARGV[1], 'retry', 0, id, 'IDLE', ARGV[2], 'FORCE', 'JUSTID')
    else
      redis.call('XADD', KEYS[1], '*', 'entry', ARGV[i + 2])
    end
    retried = retried + 1
  end
end
return retried
`,
)

/**
 * Takes from a stream in small steps, so that large entries fill neither the script nor the reply: first what dead consumers left, then new entries.
 * KEYS source   ARGV group, consumer, count, holdMs, entryBytes, shownBytes, replyBytes, step   → {id, bytes, {field, value, …}, …}
 */
export const TAKE_STREAM = script(
  'feed-take-stream',
  `
local group, consumer, count = ARGV[1], ARGV[2], tonumber(ARGV[3])
local limit, shown, room, step = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local reply = {}
local function give(entries)
  for _, entry in ipairs(entries) do
    -- A deleted entry has no fields.
    if entry and entry[2] then
      local bytes = 0
      for _, value in ipairs(entry[2]) do bytes = bytes + #value end
      if bytes > limit then
        for n, value in ipairs(entry[2]) do entry[2][n] = string.sub(value, 1, shown) end
      end
      reply[#reply + 1] = entry[1]
      reply[#reply + 1] = tostring(bytes)
      reply[#reply + 1] = entry[2]
      room = room - math.min(bytes, limit)
    end
  end
end
local function wanted() return math.min(step, count - #reply / 3) end
local cursor = '0-0'
repeat
  local claimed = redis.call('XAUTOCLAIM', KEYS[1], group, consumer, ARGV[4], cursor, 'COUNT', wanted())
  cursor = claimed[1]
  give(claimed[2])
until cursor == '0-0' or room <= 0 or wanted() <= 0
while room > 0 and wanted() > 0 do
  local read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', wanted(), 'STREAMS', KEYS[1], '>')
  if not read then break end
  give(read[1][2])
end
return reply
`,
)
