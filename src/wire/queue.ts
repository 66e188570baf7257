import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../clock.js'
import { DatabaseClient, DatabaseThread } from '../embedded/client.js'
import { ShoalError } from '../errors.js'
import type { Feed, FeedPlace } from '../feed/feed.js'
import type { Frontier, WorkerId } from '../frontier/frontier.js'
import type { SqliteFrontierEngine } from '../frontier/sqlite/sqlite-engine.js'
import { SqliteFrontier } from '../frontier/sqlite/sqlite-frontier.js'
import { KeeperThread, type Kept, keepThrough } from '../keeper/client.js'
import type { Holding } from '../keeper/protocol.js'
import type { Notes } from '../notes/notes.js'
import { sqliteNotes } from '../notes/sqlite/sqlite-notes.js'
import type { SqliteNotesEngine } from '../notes/sqlite/sqlite-notes-engine.js'
import type { Capacity } from '../observe/snapshots/snapshot.js'
import type { ProxyLedger } from '../proxy/proxy-ledger.js'
import { sqliteLedger } from '../proxy/sqlite/sqlite-ledger.js'
import type { SqliteLedgerEngine } from '../proxy/sqlite/sqlite-ledger-engine.js'
import { showUrl } from '../url/show-url.js'
import { sqliteFile } from './store.js'

/** The queue side of the backends. */
export interface QueuePart {
  readonly frontier: Frontier
  /** The shared notes of the fleet. */
  readonly notes: Notes
  /** The clock of the queue: times of hosts, links and workers are compared with it, not with the clock of this machine. */
  readonly queueClock: Clock
  /** What the fleet knows about its proxies. */
  readonly proxies: ProxyLedger
  /**
   * Beats for the worker and renews its leases, off the event loop, from when it is `ready` until it is stopped; `onLost` is called with the lost ones. Null:
   * the engine can only do this on the event loop.
   */
  readonly keep: ((keeping: LeaseKeeping) => Kept) | null
  /** Without secrets. */
  readonly queueAddress: string
  /** How full the queue's memory or disk is; null when no limit is known. */
  capacity(): Promise<Capacity | null>
  /** URLs that other programs push for a spider; null: the queue does not support feeds. */
  feed(spider: string, place: FeedPlace): Feed | null
  /** Not wrong, but worth knowing: for example a queue without persistence. */
  readonly warnings: readonly string[]
  /** The database thread of an embedded queue, which may hold the records as well. */
  readonly database: { readonly file: string; readonly thread: DatabaseThread } | null
  /** For another thread of this process; null when it cannot be shared with a thread. */
  connect(): QueuePort | null
  close(): Promise<void>
}

interface LeaseKeeping {
  readonly worker: WorkerId
  /** How long the worker may be silent before it is lost (`Frontier.beat`). */
  readonly lostAfterMs: number
  readonly heartbeatMs: number
  /** A lease is kept this long at most, unless it waits for a backend. */
  readonly holdMs: number
  /** Everything in flight. */
  readonly held: () => readonly Holding[]
  readonly onLost: (tokens: readonly string[]) => void
}

/** A database file belongs to one thread of the process; each thread has its own connection to a server, and the keeper thread renews the leases. */
export type QueuePort =
  | { readonly kind: 'database'; readonly port: MessagePort }
  | { readonly kind: 'redis'; readonly address: string; readonly keeper: MessagePort }

export type QueueAddress =
  | { readonly engine: 'memory' }
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'redis'; readonly address: string }

export function parseQueue(address: string): QueueAddress {
  if (address === 'memory:') return { engine: 'memory' }
  const file = sqliteFile(address)
  if (file !== null) return { engine: 'sqlite', file }
  // The driver checks what follows the scheme.
  if (/^rediss?(\+(cluster|sentinel))?:\/\//.test(address)) return { engine: 'redis', address }
  throw new ShoalError('queue_unknown', `unknown kind of address: ${showUrl(address)}`)
}

export async function openQueue(address: QueueAddress, clock: Clock): Promise<QueuePart> {
  if (address.engine === 'memory') return memoryQueue(clock)
  if (address.engine === 'redis') return redisQueue(address.address, clock)
  const thread = await DatabaseThread.start(address.file)
  return {
    ...databaseQueue(thread.client, clock, () => thread.close()),
    queueAddress: `sqlite:${address.file}`,
    capacity: () => diskOf(address.file),
    database: { file: address.file, thread },
    connect: () => ({ kind: 'database', port: thread.connect() }),
  }
}

/** The queue in a worker thread, over the port it received; `client` is its connection to a database thread. */
export async function queueFromPort(
  port: QueuePort,
  clock: Clock,
): Promise<{ queue: QueuePart; client: DatabaseClient | null }> {
  if (port.kind === 'database') {
    const client = new DatabaseClient(port.port)
    return { queue: databaseQueue(client, clock, async () => port.port.close()), client }
  }
  return { queue: await dialledQueue(port.address, clock, () => port.keeper), client: null }
}

/** For `try`, tests and crawls that may be lost when their process ends: leases are renewed on the event loop. */
async function memoryQueue(clock: Clock): Promise<QueuePart> {
  const [{ MemoryFrontier }, { memoryNotes }, { memoryLedger }] = await Promise.all([
    import('../frontier/memory/memory-frontier.js'),
    import('../notes/memory/memory-notes.js'),
    import('../proxy/memory/memory-ledger.js'),
  ])
  return {
    frontier: new MemoryFrontier({ clock }),
    queueClock: clock,
    notes: memoryNotes({ clock }),
    proxies: memoryLedger({ clock }),
    keep: null,
    queueAddress: 'memory:',
    capacity: async () => null,
    feed: () => null,
    warnings: [],
    database: null,
    connect: () => null,
    close: async () => {},
  }
}

function databaseQueue(client: DatabaseClient, clock: Clock, close: () => Promise<void>): QueuePart {
  return {
    frontier: new SqliteFrontier(client.service<SqliteFrontierEngine>('frontier'), close),
    queueClock: clock,
    notes: sqliteNotes(client.service<SqliteNotesEngine>('notes')),
    proxies: sqliteLedger(client.service<SqliteLedgerEngine>('proxies')),
    // Leases and settlements pass through the database thread, so it knows what is in flight, but not what is waiting.
    keep({ worker, lostAfterMs, heartbeatMs, holdMs, held, onLost }) {
      client.onLost = onLost
      client.keep({ worker, lostAfterMs, heartbeatMs, holdMs })
      let cancel = () => {}
      const report = () => {
        const waiting = held().filter((one) => one.waiting)
        if (waiting.length > 0)
          client.waiting(
            worker,
            waiting.map(({ token }) => token),
          )
        cancel = clock.after(holdMs / 4, report)
      }
      cancel = clock.after(holdMs / 4, report)
      return { ready: Promise.resolve(), stop: () => cancel() }
    },
    queueAddress: '',
    // The main thread knows this.
    capacity: async () => null,
    feed: () => null,
    warnings: [],
    database: null,
    connect: () => null,
    close,
  }
}

async function redisQueue(address: string, clock: Clock): Promise<QueuePart> {
  let keeper: KeeperThread | null = null
  const keeperPort = () => {
    keeper ??= new KeeperThread(address)
    return keeper.connect()
  }
  const queue = await dialledQueue(address, clock, keeperPort)
  return {
    ...queue,
    connect: () => ({ kind: 'redis', address, keeper: keeperPort() }),
    async close() {
      await keeper?.close()
      await queue.close()
    },
  }
}

/** Loaded only here: nothing else needs a Redis client. */
async function dialledQueue(address: string, clock: Clock, keeperPort: () => MessagePort): Promise<QueuePart> {
  const [
    { openRedis },
    { openRedisFrontier },
    { redisCapacity },
    { serverClock },
    { redisFeed },
    { redisNotes },
    { redisLedger },
  ] = await Promise.all([
    import('../redis/connection.js'),
    import('../frontier/redis/redis-frontier.js'),
    import('../redis/capacity.js'),
    import('../redis/server-clock.js'),
    import('../feed/redis/redis-feed.js'),
    import('../notes/redis/redis-notes.js'),
    import('../proxy/redis/redis-ledger.js'),
  ])
  const connection = await openRedis(address, { clock })
  try {
    const frontier = await openRedisFrontier(connection)
    const consumer = `${hostname()}-${process.pid}`
    return {
      frontier,
      queueClock: await serverClock(connection, clock),
      notes: redisNotes(connection),
      proxies: redisLedger(connection),
      keep: (keeper) => keepThrough(keeperPort(), keeper),
      queueAddress: showUrl(address),
      capacity: () => redisCapacity(connection),
      feed: (spider, place) => redisFeed(connection, { spider, place, consumer, clock }),
      warnings: connection.warnings,
      database: null,
      connect: () => null,
      close: () => frontier.close(),
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** The free space of the file system that holds the file, as far as this user may use it. */
async function diskOf(file: string): Promise<Capacity | null> {
  const { blocks, bavail, bsize } = await statfs(dirname(resolve(file)))
  return blocks === 0 ? null : { usedBytes: (blocks - bavail) * bsize, limitBytes: blocks * bsize, what: 'disk' }
}
