import type { MessagePort } from 'node:worker_threads'
import { type Clock, systemClock } from '../clock.js'
import { ShoalError } from '../errors.js'
import { openQueue, parseQueue, type QueuePart, type QueuePort, queueFromPort } from './queue.js'
import { openStore, pagesFor, parseStore, type StorePart, type StorePort, storeFromPort } from './store.js'

export type { Kept } from '../keeper/client.js'
export { openArchive, parsePages } from './pages.js'
export { openMaintenance, type StorePart, type StorePort } from './store.js'

/** Turns addresses into the backends of a command: a queue (wire/queue.ts), a store (wire/store.ts) and raw pages (wire/pages.ts), the only importers of drivers. */
export interface Backends
  extends Omit<QueuePart, 'connect' | 'close' | 'database'>,
    Omit<StorePart, 'connect' | 'close'> {
  /** For a worker in another thread of this process; null when the backends cannot be shared with a thread. */
  connect(): BackendPorts | null
  close(): Promise<void>
}

export interface BackendAddresses {
  readonly queue: string
  readonly store: string
  /** Null or left out: next to the records, or in .shoal/pages when those are on a server. */
  readonly pages?: string | null
}

export interface BackendPorts {
  readonly queue: QueuePort
  readonly store: StorePort
}

export interface OpenOptions {
  readonly clock?: Clock
  /** False for a read-only command: no tables are created on a server. A SQLite file is always created when it is opened. */
  readonly create?: boolean
}

/** The queue is opened first, so that a wrong queue address creates no file of records. */
export async function openBackends(
  addresses: BackendAddresses,
  { clock = systemClock, create = true }: OpenOptions = {},
): Promise<Backends> {
  const queueAt = parseQueue(addresses.queue)
  const storeAt = parseStore(addresses.store)
  const pages = pagesFor(storeAt, addresses.pages ?? null)
  if (storeAt.engine === 'memory' ? queueAt.engine === 'sqlite' : queueAt.engine === 'memory') {
    throw new ShoalError('queue_unknown', 'a queue in memory needs a store in memory, and the other way round', {
      hint: 'Pass the same kind of address to --queue and --store.',
    })
  }
  const queue = await openQueue(queueAt, clock)
  try {
    const { database } = queue
    const shared = database !== null && storeAt.engine === 'sqlite' && storeAt.file === database.file
    return backendsOf(queue, await openStore(storeAt, shared ? database.thread : null, { pages, clock, create }))
  } catch (error) {
    await queue.close()
    throw error
  }
}

/** Records and raw pages only, for a command that needs no queue; it creates no tables on a server. */
export async function openResults({ store, pages = null }: Omit<BackendAddresses, 'queue'>): Promise<StorePart> {
  const storeAt = parseStore(store)
  return openStore(storeAt, null, { pages: pagesFor(storeAt, pages), clock: systemClock, create: false })
}

/** The same in another thread. */
export function resultsFromPort(port: StorePort): Promise<StorePart> {
  return storeFromPort(port, null, systemClock)
}

/** The ports to transfer to a worker thread along with its BackendPorts. */
export function transferred({ queue, store }: BackendPorts): MessagePort[] {
  return [queue.kind === 'database' ? queue.port : queue.keeper, ...transferredResults(store)]
}

export function transferredResults({ records }: StorePort): MessagePort[] {
  return records.kind === 'database' && records.port !== null ? [records.port] : []
}

/** The backends in a worker thread, over the ports it received from the main thread. */
export async function backendsFromPorts(ports: BackendPorts): Promise<Backends> {
  const { queue, client } = await queueFromPort(ports.queue, systemClock)
  try {
    return backendsOf(queue, await storeFromPort(ports.store, client, systemClock))
  } catch (error) {
    // A store that is down is tried again with the same ports, so they must stay open.
    if (ports.queue.kind === 'redis') await queue.close()
    throw error
  }
}

function backendsOf(queue: QueuePart, store: StorePart): Backends {
  return {
    ...queue,
    ...store,
    connect() {
      const queuePort = queue.connect()
      const storePort = queuePort === null ? null : store.connect()
      return queuePort === null || storePort === null ? null : { queue: queuePort, store: storePort }
    },
    async close() {
      try {
        await queue.close()
      } finally {
        await store.close()
      }
    },
  }
}
