import type { Clock } from '../../clock.js'
import type { RedisConnection, RedisReply } from '../../redis/connection.js'
import type { Feed, FeedEntry } from '../feed.js'
import type { FeedKeys } from './keys.js'
import { HOLD_MS, REFUSED_KEPT, readRefused, refusalText, textOf } from './parts.js'
import { REFUSE_STREAM } from './scripts.js'

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
  const { source, refused } = keys
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
  const inGroup = async (args: readonly string[]): Promise<RedisReply> => {
    await makeGroup()
    try {
      return await redis.command(source, args)
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('NOGROUP'))) throw error
      made = false
      await makeGroup()
      return await redis.command(source, args)
    }
  }

  return {
    async take(count) {
      const claimed = await inGroup([
        'XAUTOCLAIM',
        source,
        group,
        consumer,
        String(HOLD_MS),
        '0-0',
        'COUNT',
        String(count),
      ])
      const old = entriesOf(listOf(claimed)[1])
      if (old.length >= count) return old
      const read = await inGroup([
        'XREADGROUP',
        'GROUP',
        group,
        consumer,
        'COUNT',
        String(count - old.length),
        'STREAMS',
        source,
        '>',
      ])
      return [...old, ...entriesOf(listOf(listOf(read)[0])[1])]
    },

    async done(entries) {
      if (entries.length === 0) return
      await redis.command(source, ['XACK', source, group, ...entries.map(({ id }) => id)])
    },

    async refuse(refusals) {
      if (refusals.length === 0) return
      const args = refusals.flatMap((refusal) => [refusal.entry.id, refusalText(refusal, clock.now())])
      await redis.run(REFUSE_STREAM, [source, refused], [String(REFUSED_KEPT), group, ...args])
    },

    refused: (limit) => readRefused(redis, refused, limit),

    async empty() {
      const pending = listOf(await inGroup(['XPENDING', source, group]))[0]
      if (Number(pending) > 0) return false
      const groups = listOf(await redis.command(source, ['XINFO', 'GROUPS', source])).map(fieldsOf)
      const delivered = groups.find((fields) => fields.name === group)?.['last-delivered-id'] ?? '0-0'
      const next = await redis.command(source, ['XRANGE', source, `(${delivered}`, '+', 'COUNT', '1'])
      return listOf(next).length === 0
    },

    async push(texts) {
      for (const text of texts) await redis.command(source, ['XADD', source, '*', 'entry', text])
    },
  }
}

function listOf(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? reply : []
}

/** [[id, [field, value, …]], …]; an entry that was deleted meanwhile has no fields. */
function entriesOf(reply: RedisReply | undefined): FeedEntry[] {
  return listOf(reply).flatMap((item) => {
    const [id, fields] = listOf(item)
    return id === undefined || !Array.isArray(fields) ? [] : [{ id: textOf(id), text: entryText(fieldsOf(fields)) }]
  })
}

function fieldsOf(reply: RedisReply): Record<string, string> {
  const values = listOf(reply).map(textOf)
  const fields: Record<string, string> = Object.create(null)
  for (let i = 0; i + 1 < values.length; i += 2) fields[values[i] ?? ''] = values[i + 1] ?? ''
  return fields
}

/** Fields are texts: those that mean something else are read as JSON, and left as they are when they are none. */
function entryText(fields: Readonly<Record<string, string>>): string {
  if (fields.entry !== undefined) return fields.entry
  const read = Object.entries(fields).map(([key, text]) => [key, TEXTS.has(key) ? text : jsonOr(text)])
  return JSON.stringify(Object.fromEntries(read))
}

const TEXTS = new Set(['url', 'route'])

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
