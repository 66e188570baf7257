import type { Clock } from '../../clock.js'
import type { RedisConnection } from '../../redis/connection.js'
import type { Feed, FeedEntry } from '../feed.js'
import type { FeedKeys } from './keys.js'
import { HOLD_MS, PUSH_AT_ONCE, REFUSED_KEPT, readRefused, refusalText, textOf } from './parts.js'
import { DONE, REFUSE, TAKE } from './scripts.js'

/** A Redis list: `LPUSH` puts an entry in, the other end is taken first. */
export function listFeed(redis: RedisConnection, keys: FeedKeys, clock: Clock): Feed {
  const { source, taken, due, numbers, refused } = keys
  return {
    async take(count) {
      const reply = await redis.run(TAKE, [source, taken, due, numbers], [String(count), String(HOLD_MS)])
      const texts = Array.isArray(reply) ? reply.map(textOf) : []
      const entries: FeedEntry[] = []
      for (let i = 0; i + 1 < texts.length; i += 2) entries.push({ id: texts[i] ?? '', text: texts[i + 1] ?? '' })
      return entries
    },

    async done(entries) {
      if (entries.length === 0) return
      const ids = entries.map(({ id }) => id)
      await redis.run(DONE, [taken, due], ids)
    },

    async refuse(refusals) {
      if (refusals.length === 0) return
      const args = refusals.flatMap((refusal) => [refusal.entry.id, refusalText(refusal, clock.now())])
      await redis.run(REFUSE, [taken, due, refused], [String(REFUSED_KEPT), ...args])
    },

    refused: (limit) => readRefused(redis, refused, limit),

    async empty() {
      const waiting = await redis.command(source, ['LLEN', source])
      const held = await redis.command(taken, ['HLEN', taken])
      return waiting === 0 && held === 0
    },

    async push(texts) {
      for (let next = 0; next < texts.length; next += PUSH_AT_ONCE) {
        await redis.command(source, ['LPUSH', source, ...texts.slice(next, next + PUSH_AT_ONCE)])
      }
    },
  }
}
