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
import type { BlobStore } from './store/blob-store.js'
import { FileBlobStore } from './store/files/file-blob-store.js'
import { MemoryBlobStore } from './store/memory/memory-blob-store.js'
import { MemoryRecordStore } from './store/memory/memory-record-store.js'
import type { RecordStore } from './store/record-store.js'
import { SqliteRecordStore } from './store/sqlite/sqlite-record-store.js'
import type { SqliteStoreEngine } from './store/sqlite/sqlite-store-engine.js'
import { showUrl } from './url/show-url.js'

/** The only importer of drivers: addresses become the plant that every command works on. */
export interface Plant {
  readonly frontier: Frontier
  readonly store: RecordStore
  /** Raw pages, of spiders that keep them. */
  readonly pages: BlobStore
  /** For a worker in another thread of this process; null when the plant cannot be shared with one. */
  connect(): PlantPorts | null
  /**
   * Renews the worker's leases from now on, off the event loop, until the answer is called; `onLost` hears of those that are gone. Null:
   * the engine has no place but the event loop.
   */
  readonly keep: ((keeper: Keeper) => () => void) | null
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
  readonly queue: MessagePort
  /** Null: the same database. */
  readonly store: MessagePort | null
  /** The folder of raw pages. */
  readonly pages: string
}

export interface Keeper {
  readonly worker: WorkerId
  readonly heartbeatMs: number
  /** A lease is kept for this long at most. */
  readonly holdMs: number
  /** The leases in hand that are not being settled. */
  readonly holding: () => readonly string[]
  readonly onLost: (tokens: readonly string[]) => void
}

type Address = { readonly engine: 'memory' } | { readonly engine: 'sqlite'; readonly file: string }

export async function openPlant(addresses: PlantAddresses, clock: Clock = systemClock): Promise<Plant> {
  const queue = parseAddress(addresses.queue)
  const store = parseAddress(addresses.store)
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
      ...threadPlant(queueThread, storeThread, join(dirname(store.file), 'pages')),
      queueAddress: `sqlite:${queue.file}`,
    }
  } catch (error) {
    await queueThread.close()
    throw error
  }
}

/** What goes over to a worker thread together with its PlantPorts. */
export function transferred({ queue, store }: PlantPorts): MessagePort[] {
  return store === null ? [queue] : [queue, store]
}

/** The plant as a worker thread sees it, over the ports its process gave it. */
export async function plantFromPorts(ports: PlantPorts): Promise<Plant> {
  const queue = new DatabaseClient(ports.queue)
  const store = ports.store === null ? queue : new DatabaseClient(ports.store)
  return clientPlant(queue, store, ports.pages, async () => {
    ports.queue.close()
    ports.store?.close()
  })
}

function threadPlant(queue: DatabaseThread, store: DatabaseThread, pages: string): Plant {
  const close = async () => {
    await queue.close()
    if (store !== queue) await store.close()
  }
  return {
    ...clientPlant(queue.client, store.client, pages, close),
    connect: () => ({ queue: queue.connect(), store: store === queue ? null : store.connect(), pages }),
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
      return () => {}
    },
    queueAddress: '',
    feed: () => null,
    warnings: [],
    close,
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
  throw new ShoalError('queue_unknown', `no engine is known for the address ${showUrl(address)}`)
}
