import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { type Clock, systemClock } from './clock.js'
import { DatabaseClient, DatabaseThread } from './embedded/client.js'
import { ShoalError } from './errors.js'
import type { Feed, FeedPlace } from './feed/feed.js'
import type { Frontier, WorkerId } from './frontier/frontier.js'
import { MemoryFrontier } from './frontier/memory/memory-frontier.js'
import type { SqliteFrontierEngine } from './frontier/sqlite/sqlite-engine.js'
import { SqliteFrontier } from './frontier/sqlite/sqlite-frontier.js'
import { KeeperThread, type Kept, keepThrough } from './keeper/client.js'
import type { Holding } from './keeper/protocol.js'
import type { BlobStore } from './store/blob-store.js'
import { FileBlobStore } from './store/files/file-blob-store.js'
import { MemoryBlobStore } from './store/memory/memory-blob-store.js'
import { MemoryRecordStore } from './store/memory/memory-record-store.js'
import type { RecordStore } from './store/record-store.js'
import { SqliteRecordStore } from './store/sqlite/sqlite-record-store.js'
import type { SqliteStoreEngine } from './store/sqlite/sqlite-store-engine.js'
import { showUrl } from './url/show-url.js'

export type { Kept } from './keeper/client.js'

/** The only importer of drivers: addresses become the plant that every command works on. */
export interface Plant {
  readonly frontier: Frontier
  readonly store: RecordStore
  /** Raw pages, of spiders that keep them. */
  readonly pages: BlobStore
  /** For a worker in another thread of this process; null when the plant cannot be shared with one. */
  connect(): PlantPorts | null
  /**
   * Renews the worker's leases, off the event loop, from when it is `ready` until it is stopped; `onLost` hears of those that are gone. Null:
   * the engine has no place but the event loop.
   */
  readonly keep: ((keeper: Keeper) => Kept) | null
  /** Address of the queue, without secrets. */
  readonly queueAddress: string
  /** URLs that other programs push for a spider; null: the queue has no place for them. */
  feed(spider: string, place: FeedPlace): Feed | null
  /** What is not wrong but should be known: a queue without persistence. */
  readonly warnings: readonly string[]
  close(): Promise<void>
}

export interface PlantAddresses {
  readonly queue: string
  readonly store: string
}

export interface PlantPorts {
  readonly queue: QueuePort
  /** Null: the same database. */
  readonly store: MessagePort | null
  /** The folder of raw pages. */
  readonly pages: string
}

/** A database file belongs to one thread of the process; a server is dialled by each thread, and the keeper thread renews the leases. */
export type QueuePort =
  | { readonly kind: 'database'; readonly port: MessagePort }
  | { readonly kind: 'redis'; readonly address: string; readonly keeper: MessagePort }

export interface Keeper {
  readonly worker: WorkerId
  readonly heartbeatMs: number
  /** A lease is kept for this long at most. */
  readonly holdMs: number
  /** All that is in hand. */
  readonly held: () => readonly Holding[]
  readonly onLost: (tokens: readonly string[]) => void
}

type StoreAddress = { readonly engine: 'memory' } | { readonly engine: 'sqlite'; readonly file: string }
type Address = StoreAddress | { readonly engine: 'redis'; readonly address: string }

export async function openPlant(addresses: PlantAddresses, clock: Clock = systemClock): Promise<Plant> {
  const queue = parseAddress(addresses.queue)
  const store = parseAddress(addresses.store)
  if (store.engine === 'redis') {
    throw new ShoalError('queue_unknown', `no store of records is known for the address ${showUrl(addresses.store)}`, {
      hint: 'Records live in a file: --store sqlite:<file>.',
    })
  }
  if (queue.engine === 'redis') return redisPlant(queue.address, store, clock)
  if (queue.engine === 'memory' || store.engine === 'memory') {
    if (queue.engine !== store.engine) {
      throw new ShoalError('queue_unknown', 'a queue in memory needs its store in memory, and the other way round', {
        hint: 'Give --queue and --store the same kind of address.',
      })
    }
    return memoryPlant(clock)
  }
  const queueThread = await DatabaseThread.start(queue.file)
  try {
    const storeThread = store.file === queue.file ? queueThread : await DatabaseThread.start(store.file)
    return {
      ...threadPlant(queueThread, storeThread, pagesBeside(store.file)),
      queueAddress: `sqlite:${queue.file}`,
    }
  } catch (error) {
    await queueThread.close()
    throw error
  }
}

/** What goes over to a worker thread together with its PlantPorts. */
export function transferred({ queue, store }: PlantPorts): MessagePort[] {
  return [queue.kind === 'database' ? queue.port : queue.keeper, ...(store === null ? [] : [store])]
}

/** The plant as a worker thread sees it, over the ports its process gave it. */
export async function plantFromPorts({ queue, store, pages }: PlantPorts): Promise<Plant> {
  if (queue.kind === 'database') {
    const client = new DatabaseClient(queue.port)
    return clientPlant(client, store === null ? client : new DatabaseClient(store), pages, async () => {
      queue.port.close()
      store?.close()
    })
  }
  if (store === null) throw new ShoalError('internal', 'a queue on a server holds no records')
  const connection = await dialRedis(queue.address, systemClock)
  const client = new DatabaseClient(store)
  const closeStore = async () => store.close()
  const records = {
    store: new SqliteRecordStore(client.service<SqliteStoreEngine>('store'), closeStore),
    pages: new FileBlobStore(pages),
    connect: () => null,
    close: closeStore,
  }
  const dialled = { address: queue.address, ...connection, keeperPort: () => queue.keeper }
  return dialledPlant(dialled, records, async () => {})
}

function threadPlant(queue: DatabaseThread, store: DatabaseThread, pages: string): Plant {
  const close = async () => {
    await queue.close()
    if (store !== queue) await store.close()
  }
  return {
    ...clientPlant(queue.client, store.client, pages, close),
    connect: () => ({
      queue: { kind: 'database', port: queue.connect() },
      store: store === queue ? null : store.connect(),
      pages,
    }),
  }
}

function clientPlant(queue: DatabaseClient, store: DatabaseClient, pages: string, close: () => Promise<void>): Plant {
  return {
    frontier: new SqliteFrontier(queue.service<SqliteFrontierEngine>('frontier'), close),
    store: new SqliteRecordStore(store.service<SqliteStoreEngine>('store'), close),
    pages: new FileBlobStore(pages),
    connect: () => null,
    // What is granted and settled goes through the database thread: it knows what is in hand without being told.
    keep({ worker, heartbeatMs, holdMs, onLost }) {
      queue.onLost = onLost
      queue.keep({ worker, heartbeatMs, holdMs })
      return { ready: Promise.resolve(), stop() {} }
    },
    queueAddress: '',
    feed: () => null,
    warnings: [],
    close,
  }
}

/** Where records and raw pages go, beside a queue that holds none. */
interface OpenStore extends Pick<Plant, 'store' | 'pages'> {
  /** For another thread; null when it cannot be shared with one. */
  connect(): { readonly port: MessagePort; readonly pages: string } | null
  close(): Promise<void>
}

async function openStore(address: StoreAddress): Promise<OpenStore> {
  if (address.engine === 'memory') {
    return {
      store: new MemoryRecordStore(),
      pages: new MemoryBlobStore(),
      connect: () => null,
      close: async () => {},
    }
  }
  const thread = await DatabaseThread.start(address.file)
  const pages = pagesBeside(address.file)
  const close = () => thread.close()
  return {
    store: new SqliteRecordStore(thread.client.service<SqliteStoreEngine>('store'), close),
    pages: new FileBlobStore(pages),
    connect: () => ({ port: thread.connect(), pages }),
    close,
  }
}

interface Dialled extends Pick<Plant, 'frontier' | 'feed' | 'warnings'> {
  readonly address: string
  /** For the leases of one worker. */
  keeperPort(): MessagePort
}

/** Loaded only here: nothing else has use for a Redis client. */
async function dialRedis(address: string, clock: Clock): Promise<Pick<Plant, 'frontier' | 'feed' | 'warnings'>> {
  const [{ openRedis }, { openRedisFrontier }, { redisFeed }] = await Promise.all([
    import('./frontier/redis/connection.js'),
    import('./frontier/redis/redis-frontier.js'),
    import('./feed/redis/redis-feed.js'),
  ])
  const connection = await openRedis(address, { clock })
  try {
    const frontier = await openRedisFrontier(connection)
    const consumer = `${hostname()}-${process.pid}`
    return {
      frontier,
      feed: (spider, place) => redisFeed(connection, { spider, place, consumer, clock }),
      warnings: connection.warnings,
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** The server first: a wrong address makes no file of records. */
async function redisPlant(address: string, store: StoreAddress, clock: Clock): Promise<Plant> {
  const connection = await dialRedis(address, clock)
  try {
    const records = await openStore(store)
    let keeper: KeeperThread | null = null
    const keeperPort = () => {
      keeper ??= new KeeperThread(address)
      return keeper.connect()
    }
    return dialledPlant({ address, ...connection, keeperPort }, records, async () => keeper?.close())
  } catch (error) {
    await connection.frontier.close()
    throw error
  }
}

function dialledPlant(
  { address, frontier, feed, warnings, keeperPort }: Dialled,
  records: OpenStore,
  closeKeeper: () => Promise<void>,
): Plant {
  return {
    frontier,
    store: records.store,
    pages: records.pages,
    feed,
    warnings,
    queueAddress: showUrl(address),
    connect() {
      const shared = records.connect()
      if (shared === null) return null
      return { queue: { kind: 'redis', address, keeper: keeperPort() }, store: shared.port, pages: shared.pages }
    },
    keep: (keeper) => keepThrough(keeperPort(), keeper),
    async close() {
      await closeKeeper()
      await frontier.close()
      await records.close()
    },
  }
}

/** For `try`, tests and crawls that may end with their process: leases are renewed on the event loop. */
function memoryPlant(clock: Clock): Plant {
  const frontier = new MemoryFrontier({ clock })
  const store = new MemoryRecordStore()
  return {
    frontier,
    store,
    pages: new MemoryBlobStore(),
    connect: () => null,
    keep: null,
    queueAddress: 'memory:',
    feed: () => null,
    warnings: [],
    close: async () => {},
  }
}

function parseAddress(address: string): Address {
  if (address === 'memory:') return { engine: 'memory' }
  if (address.startsWith('sqlite:')) {
    const file = address.slice('sqlite:'.length).replace(/^\/\//, '')
    if (file !== '') return { engine: 'sqlite', file: resolve(file) }
  }
  // What stands behind the scheme, the driver checks.
  if (/^rediss?(\+(cluster|sentinel))?:\/\//.test(address)) return { engine: 'redis', address }
  throw new ShoalError('queue_unknown', `no engine is known for the address ${showUrl(address)}`)
}

function pagesBeside(file: string): string {
  return join(dirname(file), 'pages')
}
