import { ShoalError } from '../../errors.js'
import type { RedisConnection, RedisReply } from '../../redis/connection.js'
import { isReply } from '../../redis/redis-errors.js'
import { type FeedRefusal, MAX_ENTRY_BYTES, type RefusedEntry, type RefusedList, type RefusedPart } from '../feed.js'
import type { FeedKeys } from './keys.js'

/** An entry whose taker has not ended it by then is taken again. Adding a batch to the queue takes milliseconds. */
export const HOLD_MS = 15_000
/** Of an entry that is too long to be read, no more than this is kept. */
export const SHOWN_BYTES = 2_048
/** Of all entries that are taken at once: far below what a connection carries within the deadline of a call. */
export const REPLY_BYTES = 4 * 1024 * 1024
export const PUSH_AT_ONCE = 500
/** Of the longest ones, ten megabytes in one call. */
const RETRY_AT_ONCE = 20

/** As it is stored. */
interface StoredRefusal extends RefusedEntry {
  /** Of the entry in its stream. */
  readonly id?: string
}

export function textOf(reply: RedisReply | undefined): string {
  return Buffer.isBuffer(reply) ? reply.toString('utf8') : String(reply ?? '')
}

export function listOf(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? reply : []
}

/** The arguments of a script that refuses: id, number of parts, parts. */
export function refusalArgs(refusals: readonly FeedRefusal[], at: number, withId: boolean): string[] {
  return refusals.flatMap(({ entry, parts }) => [
    entry.id,
    String(parts.length),
    ...parts.map((part) => JSON.stringify(stored(part, entry.bytes, at, withId ? entry.id : undefined))),
  ])
}

function stored({ text, reason }: RefusedPart, bytes: number, at: number, id: string | undefined): StoredRefusal {
  return { text, reason, at, ...(bytes > MAX_ENTRY_BYTES && { cut: true }), ...(id !== undefined && { id }) }
}

export async function readRefused(
  redis: RedisConnection,
  { refused, refusedSums }: FeedKeys,
  limit: number,
): Promise<RefusedList> {
  const items = await redis.command(refused, ['LRANGE', refused, '0', String(limit - 1)])
  const kept = await redis.command(refused, ['LLEN', refused])
  const dropped = await redis.command(refusedSums, ['HGET', refusedSums, 'dropped'])
  return {
    entries: listOf(items).map((item) => {
      const { id: _id, ...entry } = readStored(item)
      return entry
    }),
    kept: Number(kept),
    dropped: Number(textOf(dropped)),
  }
}

/** `retry` puts those back that it is called with, in one step, and answers how many. Those that were refused meanwhile are not retried: it ends. */
export async function retryAll(
  redis: RedisConnection,
  { refused }: FeedKeys,
  retry: (items: readonly { readonly item: Buffer; readonly entry: StoredRefusal }[]) => Promise<number>,
): Promise<{ retried: number; left: number }> {
  let toDo = Number(await redis.command(refused, ['LLEN', refused]))
  let retried = 0
  let left = 0
  while (toDo > 0) {
    const last = -1 - left
    const first = last - Math.min(RETRY_AT_ONCE, toDo) + 1
    const items = listOf(await redis.command(refused, ['LRANGE', refused, String(first), String(last)])).filter(
      Buffer.isBuffer,
    )
    if (items.length === 0) break
    toDo -= items.length
    const read = items.map((item) => ({ item, entry: readStored(item) }))
    const whole = read.filter(({ entry }) => entry.cut !== true)
    left += read.length - whole.length
    // The oldest is at the end, and is to be taken first.
    if (whole.length > 0) retried += await retry(whole.reverse())
  }
  return { retried, left }
}

function readStored(item: RedisReply): StoredRefusal {
  return JSON.parse(textOf(item)) as StoredRefusal
}

/** The key of a feed is a name that the user chose, and may belong to something else. */
export async function checkingType<Result>(key: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    const found = isReply(error)
      ? (/FEEDTYPE (\w+)/.exec(error.message)?.[1] ?? (/WRONGTYPE/.test(error.message) ? '' : null))
      : null
    if (found === null) throw error
    const what = found === '' ? 'is not a stream' : `is a ${found}`
    const hint =
      found === 'stream' || found === ''
        ? `Set \`feed.stream: ${found === 'stream'}\` in the spider, or another \`feed.redisKey\`.`
        : 'Set another `feed.redisKey` in the spider: a list, a set, a sorted set or a stream.'
    throw new ShoalError('config_invalid', `the key '${key}' of the feed ${what}`, { hint, cause: error })
  }
}
