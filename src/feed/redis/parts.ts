import type { RedisConnection, RedisReply } from '../../redis/connection.js'
import type { FeedRefusal, RefusedEntry } from '../feed.js'

/** An entry whose taker has not ended it by then is taken again. Adding a batch to the queue takes milliseconds. */
export const HOLD_MS = 15_000
/** Refused entries kept for people. */
export const REFUSED_KEPT = 1_000
/** Of a refused entry no more than this is shown. */
const SHOWN_LENGTH = 2_048
export const PUSH_AT_ONCE = 500

export function textOf(reply: RedisReply): string {
  return Buffer.isBuffer(reply) ? reply.toString('utf8') : String(reply ?? '')
}

export function refusalText({ entry, reason }: FeedRefusal, at: number): string {
  return JSON.stringify({ text: entry.text.slice(0, SHOWN_LENGTH), reason, at } satisfies RefusedEntry)
}

export async function readRefused(redis: RedisConnection, key: string, limit: number): Promise<RefusedEntry[]> {
  const reply = await redis.command(key, ['LRANGE', key, '0', String(limit - 1)])
  return (Array.isArray(reply) ? reply : []).map((item) => JSON.parse(textOf(item)) as RefusedEntry)
}
