import type { RedisReply } from './connection.js'

/** Replies of the scripts, which are ours: a shape that is not expected is a defect, not bad input. */
export function list(reply: RedisReply | undefined): readonly RedisReply[] {
  if (Array.isArray(reply)) return reply as readonly RedisReply[]
  throw new TypeError('the queue answered something that is not a list')
}

export function bytes(reply: RedisReply | undefined): Buffer {
  if (Buffer.isBuffer(reply)) return reply
  throw new TypeError('the queue answered something that is not a string')
}

export function text(reply: RedisReply | undefined): string {
  return typeof reply === 'number' ? String(reply) : bytes(reply).toString()
}

export function number(reply: RedisReply | undefined): number {
  return typeof reply === 'number' ? reply : Number(text(reply))
}

/** A status like `unknown` in place of the answer. */
export function word(reply: RedisReply): string | null {
  return Buffer.isBuffer(reply) ? reply.toString() : null
}

/** HGETALL and the like: names and values in turn. */
export function fields(reply: RedisReply | undefined): Map<string, Buffer> {
  const all = list(reply)
  const map = new Map<string, Buffer>()
  for (let i = 0; i + 1 < all.length; i += 2) map.set(text(all[i]), bytes(all[i + 1]))
  return map
}
