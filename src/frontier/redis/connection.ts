import { type Clock, systemClock } from '../../clock.js'
import { parseAddress } from './address.js'
import { type Link, openLink } from './link.js'
import { isUnknownScript } from './redis-errors.js'

/** Bulk and status strings come as Buffers: payloads are opaque bytes. */
export type RedisReply = Buffer | number | null | readonly RedisReply[]

export interface Script {
  readonly name: string
  readonly source: string
  /** SHA-1 of the source in hex, as SCRIPT LOAD answers it. */
  readonly sha: string
}

export interface RedisConnection {
  /** EVALSHA, and EVAL when the server does not know it, on the node that serves keys[0]. Every call has a deadline. */
  run(script: Script, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<RedisReply>
  /** One command, routed by `key` (null: any master). */
  command(key: string | null, args: readonly (string | Buffer)[]): Promise<RedisReply>
  /** Masters of a cluster; 1 for a single server. */
  readonly masters: number
  /** What is not wrong but should be known: no persistence, and what that means. */
  readonly warnings: readonly string[]
  close(): Promise<void>
}

export interface RedisOptions {
  /** No call waits longer for its answer; a connection that is silent for so long is torn down. */
  readonly deadlineMs?: number
  readonly clock?: Clock
}

export async function openRedis(address: string, options: RedisOptions = {}): Promise<RedisConnection> {
  const clock = options.clock ?? systemClock
  const deadlineMs = options.deadlineMs ?? 5000
  const target = parseAddress(address)
  const link: Link = openLink({ dialTo: async () => target, deadlineMs, clock })
  await link.call(['PING'])
  return {
    masters: 1,
    warnings: [],
    command: (_key, args) => link.call(args),
    async run(script, keys, args) {
      const rest = [String(keys.length), ...keys, ...args]
      try {
        return await link.call(['EVALSHA', script.sha, ...rest])
      } catch (error) {
        if (!isUnknownScript(error)) throw error
        return await link.call(['EVAL', script.source, ...rest])
      }
    },
    close: async () => link.close(),
  }
}
