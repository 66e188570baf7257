import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { RedisConnection, RedisReply } from '../../redis/connection.js'
import { list, number, text } from '../../redis/replies.js'
import { siteOf } from '../../url/host.js'
import type { HostKey } from '../../url/link.js'
import { checkNamespace, LAYOUT, shardTags } from './keys.js'
import { type Operation, scriptOf } from './scripts.js'

export interface RedisFrontierOptions {
  readonly namespace?: string
  /** For a new queue; an existing one keeps its number. Default: one, in a cluster two for each master. */
  readonly shards?: number
  /** For tests: in place of the server's time. */
  readonly clock?: Clock
  /** For tests: the server's clock is this much ahead. */
  readonly jumpMs?: () => number
}

/**
 * The parts that a queue is divided into, each with everything about its hosts under one hash tag. The number is fixed with the queue, because
 * a host's pace is kept in one shard for all crawls; a registrable domain never spans two.
 */
export class Shards {
  readonly #connection: RedisConnection
  readonly #tags: readonly string[]
  readonly #time: () => string
  readonly identity: string

  private constructor(connection: RedisConnection, tags: readonly string[], identity: string, time: () => string) {
    this.#connection = connection
    this.#tags = tags
    this.identity = identity
    this.#time = time
  }

  static async open(connection: RedisConnection, options: RedisFrontierOptions): Promise<Shards> {
    const { namespace = 'shoal', clock, jumpMs } = options
    checkNamespace(namespace)
    const wanted = options.shards ?? (connection.masters > 1 ? connection.masters * 2 : 1)
    const home = `{${namespace}}`
    const meta = list(await connection.run(scriptOf('start'), [home], [String(LAYOUT), String(wanted), randomUUID()]))
    const layout = number(meta[0])
    if (layout !== LAYOUT) throw otherLayout(layout)
    const time = () => {
      if (clock !== undefined) return String(clock.now())
      const jump = jumpMs?.() ?? 0
      return jump === 0 ? '' : `${jump < 0 ? '' : '+'}${jump}`
    }
    return new Shards(connection, shardTags(namespace, number(meta[1])), text(meta[2]), time)
  }

  get count(): number {
    return this.#tags.length
  }

  get all(): readonly number[] {
    return this.#tags.map((_, shard) => shard)
  }

  of(host: HostKey): number {
    if (this.#tags.length === 1) return 0
    // FNV-1a: any spread will do, as long as every version of the code has the same.
    let hash = 0x811c9dc5
    for (const byte of Buffer.from(siteOf(host))) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
    return hash % this.#tags.length
  }

  run(operation: Operation, shard: number, args: readonly (string | Buffer)[]): Promise<RedisReply> {
    return this.#connection.run(scriptOf(operation), [this.#tag(shard)], [this.#time(), ...args])
  }

  /** One command on a key of the shard. */
  command(shard: number, name: string, key: string, ...args: (string | Buffer)[]): Promise<RedisReply> {
    const full = `${this.#tag(shard)}:${key}`
    return this.#connection.command(full, [name, full, ...args])
  }

  get losses(): number {
    return this.#connection.losses
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #tag(shard: number): string {
    return this.#tags[shard] ?? ''
  }
}

/** A layout is never changed in place: workers of the version that wrote it may be running. */
function otherLayout(layout: number): ShoalError {
  const message = `the queue has data of layout ${layout}, this version of Shoal knows layout ${LAYOUT}`
  const hint =
    layout > LAYOUT
      ? 'A newer version of Shoal uses this queue: upgrade this process, or use another database: redis://host:port/1.'
      : 'Finish its crawls with the version that wrote them, then empty the database; or use another one: redis://host:port/1.'
  return new ShoalError('queue_layout', message, { hint })
}
