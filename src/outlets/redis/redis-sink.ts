import { asShoalError, isAway, ShoalError } from '../../errors.js'
import type { RedisConnection } from '../../redis/connection.js'
import { sameSlotPrefix } from '../../redis/slots.js'
import type { StoredRecord } from '../../store/record-store.js'
import type { RedisOutlet } from '../outlet.js'
import type { Sent, Sink } from '../sink.js'
import { ADD, PUSH, SET } from './scripts.js'

const SCRIPTS = { list: PUSH, stream: ADD, hash: SET }

/** Shoal's own keys have the items' key as their hash tag, so that a cluster puts all of them on one node. */
function keysOf(key: string): string[] {
  const base = sameSlotPrefix(key)
  return [key, `${base}:epochs`, `${base}:order`]
}

/** A Redis list, stream or hash. Each batch is one script, all or nothing. It connects when the first batch comes. */
export function redisSink(outlet: RedisOutlet, open: () => Promise<RedisConnection>): Sink {
  const keys = keysOf(outlet.key)
  const script = SCRIPTS[outlet.to]
  let dialled: Promise<RedisConnection> | null = null

  const connection = (): Promise<RedisConnection> => {
    dialled ??= open().catch((error: unknown) => {
      dialled = null
      throw error
    })
    return dialled
  }

  return {
    async send({ records, hold }) {
      let items: (string | Buffer)[]
      try {
        items = records.flatMap((record) => itemsOf(outlet, record))
      } catch (error) {
        return { kind: 'refused', message: `serialize or field: ${asShoalError(error).message}` }
      }
      try {
        const args = [hold.id, String(hold.epoch), String(outlet.maxLength ?? 0), ...items]
        const trimmed = Number(await (await connection()).run(script, keys, args))
        return trimmed < 0 ? { kind: 'fenced' } : { kind: 'taken', trimmed }
      } catch (error) {
        return failure(error)
      }
    },
    async close() {
      await dialled?.then(
        (open) => open.close(),
        () => {},
      )
    },
  }
}

function itemsOf({ to, serialize, field }: RedisOutlet, record: StoredRecord): (string | Buffer)[] {
  const item: unknown = serialize(record)
  const name: unknown = to === 'hash' ? field(record) : ''
  if (typeof name !== 'string') throw new TypeError('field gave no text')
  if (typeof item === 'string') return to === 'hash' ? [name, item] : [item]
  if (!(item instanceof Uint8Array)) throw new TypeError('serialize gave neither text nor bytes')
  const bytes = Buffer.from(item.buffer, item.byteOffset, item.byteLength)
  return to === 'hash' ? [name, bytes] : [bytes]
}

/** An error about the command itself, such as a key of another type, stays until somebody changes something. */
function failure(error: unknown): Sent {
  const { code, message } = asShoalError(error)
  const waits = isAway(error) || (error instanceof ShoalError && (code === 'no_sockets' || code === 'closed'))
  return { kind: waits ? 'down' : 'refused', message }
}
