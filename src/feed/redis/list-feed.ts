import type { Clock } from '../../clock.js'
import type { RedisConnection, Script } from '../../redis/connection.js'
import { type Feed, type FeedEntry, MAX_ENTRY_BYTES, REFUSED_KEPT, REFUSED_KEPT_BYTES } from '../feed.js'
import type { FeedKeys } from './keys.js'
import {
  checkingType,
  HOLD_MS,
  listOf,
  PUSH_AT_ONCE,
  REPLY_BYTES,
  readRefused,
  refusalArgs,
  retryAll,
  SHOWN_BYTES,
  textOf,
} from './parts.js'
import { DONE, PUSH, REFUSE, RETRY, SIZE, TAKE } from './scripts.js'

/**
 * A Redis list: `LPUSH` puts an entry in, the other end is taken first. A program that uses a set or a sorted set instead, as scrapy-redis can, is
 * understood as well.
 */
export function listFeed(redis: RedisConnection, keys: FeedKeys, clock: Clock): Feed {
  const { source, taken, due, numbers, refused, refusedSums } = keys
  const run = (script: Script, on: readonly string[], args: readonly (string | Buffer)[]) =>
    checkingType(source, () => redis.run(script, on, args))

  return {
    key: source,

    async take(count) {
      const bounds = [HOLD_MS, MAX_ENTRY_BYTES, SHOWN_BYTES, REPLY_BYTES].map(String)
      const reply = listOf(await run(TAKE, [source, taken, due, numbers], [String(count), ...bounds]))
      const entries: FeedEntry[] = []
      for (let i = 0; i + 2 < reply.length; i += 3)
        entries.push({ id: textOf(reply[i]), text: textOf(reply[i + 1]), bytes: Number(textOf(reply[i + 2])) })
      return entries
    },

    async done(entries) {
      if (entries.length === 0) return
      const ids = entries.map(({ id }) => id)
      await redis.run(DONE, [taken, due], ids)
    },

    async refuse(refusals) {
      if (refusals.length === 0) return
      const bounds = [REFUSED_KEPT, REFUSED_KEPT_BYTES].map(String)
      await redis.run(
        REFUSE,
        [taken, due, refused, refusedSums],
        [...bounds, ...refusalArgs(refusals, clock.now(), false)],
      )
    },

    refused: (limit) => readRefused(redis, keys, limit),

    retryRefused: () =>
      retryAll(redis, keys, async (items) => {
        const args = items.flatMap(({ item, entry }) => [item, entry.text])
        return Number(await run(RETRY, [source, refused, refusedSums], args))
      }),

    empty: async () => Number(await run(SIZE, [source, taken], [])) === 0,

    async push(texts) {
      for (let next = 0; next < texts.length; next += PUSH_AT_ONCE)
        await run(PUSH, [source], texts.slice(next, next + PUSH_AT_ONCE))
    },
  }
}
