import type { Clock } from '../../clock.js'
import type { RedisConnection, RedisReply } from '../../redis/connection.js'
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
import { PUSH_STREAM, REFUSE_STREAM, RETRY_STREAM, TAKE_STREAM } from './scripts.js'

/** Entries that the server has in memory twice at a time, whatever their size. */
const TAKE_STEP = 10

/**
 * A Redis stream read by a consumer group: `XADD <key> * url https://…`, or one field `entry` with a URL or JSON. Entries stay in the
 * stream for other groups; whoever owns it trims it.
 */
export function streamFeed(
  redis: RedisConnection,
  keys: FeedKeys,
  group: string,
  consumer: string,
  clock: Clock,
): Feed {
  const { source, refused, refusedSums } = keys
  let made = false

  /** From the beginning of the stream: what was there before the first worker counts. */
  const makeGroup = async (): Promise<void> => {
    if (made) return
    try {
      await redis.command(source, ['XGROUP', 'CREATE', source, group, '0', 'MKSTREAM'])
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('BUSYGROUP'))) throw error
    }
    made = true
  }

  /** A stream that somebody deleted takes its groups along. */
  const inGroup = (call: () => Promise<RedisReply>): Promise<RedisReply> =>
    checkingType(source, async () => {
      await makeGroup()
      try {
        return await call()
      } catch (error) {
        if (!(error instanceof Error && error.message.includes('NOGROUP'))) throw error
        made = false
        await makeGroup()
        return await call()
      }
    })

  return {
    key: source,

    async take(count) {
      const bounds = [HOLD_MS, MAX_ENTRY_BYTES, SHOWN_BYTES, REPLY_BYTES, TAKE_STEP].map(String)
      const args = [group, consumer, String(count), ...bounds]
      const reply = listOf(await inGroup(() => redis.run(TAKE_STREAM, [source], args)))
      const entries: FeedEntry[] = []
      for (let i = 0; i + 2 < reply.length; i += 3) {
        const fields = fieldsOf(reply[i + 2])
        entries.push({ id: textOf(reply[i]), text: entryText(fields), bytes: Number(textOf(reply[i + 1])) })
      }
      return entries
    },

    async done(entries) {
      if (entries.length === 0) return
      await redis.command(source, ['XACK', source, group, ...entries.map(({ id }) => id)])
    },

    async refuse(refusals) {
      if (refusals.length === 0) return
      const bounds = [REFUSED_KEPT, REFUSED_KEPT_BYTES].map(String)
      const args = [group, ...bounds, ...refusalArgs(refusals, clock.now(), true)]
      await redis.run(REFUSE_STREAM, [source, refused, refusedSums], args)
    },

    refused: (limit) => readRefused(redis, keys, limit),

    retryRefused: () =>
      retryAll(redis, keys, async (items) => {
        const args = items.flatMap(({ item, entry }) => [item, entry.id ?? '', entry.text])
        // Idle for longer than the hold: whoever asks next takes them.
        const idleMs = String(HOLD_MS + 1)
        return Number(
          await inGroup(() => redis.run(RETRY_STREAM, [source, refused, refusedSums], [group, idleMs, ...args])),
        )
      }),

    async empty() {
      const pending = listOf(await inGroup(() => redis.command(source, ['XPENDING', source, group])))[0]
      if (Number(pending) > 0) return false
      const groups = listOf(await redis.command(source, ['XINFO', 'GROUPS', source])).map(fieldsOf)
      const delivered = groups.find((fields) => fields.name === group)?.['last-delivered-id'] ?? '0-0'
      const next = await redis.command(source, ['XRANGE', source, `(${delivered}`, '+', 'COUNT', '1'])
      return listOf(next).length === 0
    },

    async push(texts) {
      for (let next = 0; next < texts.length; next += PUSH_AT_ONCE) {
        const some = texts.slice(next, next + PUSH_AT_ONCE)
        await checkingType(source, () => redis.run(PUSH_STREAM, [source], some))
      }
    },
  }
}

function fieldsOf(reply: RedisReply | undefined): Record<string, string> {
  const values = listOf(reply).map(textOf)
  const fields: Record<string, string> = Object.create(null)
  for (let i = 0; i + 1 < values.length; i += 2) fields[values[i] ?? ''] = values[i + 1] ?? ''
  return fields
}

/**
 * Fields are texts: those that are JSON are put into the entry as they are, and the others as texts. Nothing is parsed and written again here, which
 * would end at a field with thousands of nested arrays and round the digits of ids: whoever reads the entry judges it.
 */
function entryText(fields: Readonly<Record<string, string>>): string {
  if (fields.entry !== undefined) return fields.entry
  const members = Object.entries(fields).map(
    ([key, text]) => `${JSON.stringify(key)}:${!TEXTS.has(key) && isJson(text) ? text : JSON.stringify(text)}`,
  )
  return `{${members.join(',')}}`
}

const TEXTS = new Set(['url', 'route'])

/** A number that would be written differently, such as 1.0 or one with more digits than fit, stays a text: it is somebody's id. */
function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value !== 'number' || String(value) === text
  } catch {
    return false
  }
}
