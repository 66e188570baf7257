import type { MessagePort } from 'node:worker_threads'
import { type Clock, systemClock } from '../clock.js'
import { ShoalError } from '../errors.js'
import { openQueue, parseQueue, type QueuePart, type QueuePort, queueFromPort } from './queue.js'
import { openStore, pagesFor, parseStore, type StorePart, type StorePort, storeFromPort } from './store.js'

export type { Kept } from '../keeper/client.js'
export { openArchive, parsePages } from './pages.js'
export { openMaintenance, type StorePart, type StorePort } from './store.js'

/** Addresses become the backends that every command works on: a queue (wire/queue.ts), a store (wire/store.ts) and raw pages (wire/pages.ts), the only importers of drivers. */
export interface Backends
  extends Omit<QueuePart, 'connect' | 'close' | 'database'>,
    Omit<StorePart, 'connect' | 'close'> {
  /** For a worker in another thread of this process; null when the backends cannot be shared with one. */
  connect(): BackendPorts | null
  close(): Promise<void>
}

export interface BackendAddresses {
  readonly queue: string
  readonly store: string
  /** Null or left out: beside the records, or in .shoal/pages when those are on a server. */
  readonly pages?: string | null
}

export interface BackendPorts {
  readonly queue: QueuePort
  readonly store: StorePort
}

export interface OpenOptions {
  readonly clock?: Clock
  /** False for a command that only looks: it makes no tables on a server. A file of records is made by whoever opens it. */
  readonly create?: boolean
}

/** The queue first: a wrong address of it makes no file of records. */
export async function openBackends(
  addresses: BackendAddresses,
  { clock = systemClock, create = true }: OpenOptions = {},
): Promise<Backends> {
  const queueAt = parseQueue(addresses.queue)
  const storeAt = parseStore(addresses.store)
  const pages = pagesFor(storeAt, addresses.pages ?? null)
  if (storeAt.engine === 'memory' ? queueAt.engine === 'sqlite' : queueAt.engine === 'memory') {
    throw new ShoalError('queue_unknown', 'a queue in memory needs its store in memory, and the other way round', {
      hint: 'Give --queue and --store the same kind of address.',
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

/** Records and raw pages alone, for a command that has no use for a queue; it makes no tables on a server. */
export async function openResults({ store, pages = null }: Omit<BackendAddresses, 'queue'>): Promise<StorePart> {
  const storeAt = parseStore(store)
  return openStore(storeAt, null, { pages: pagesFor(storeAt, pages), clock: systemClock, create: false })
}

/** The same as another thread sees them. */
export function resultsFromPort(port: StorePort): Promise<StorePart> {
  return storeFromPort(port, null, systemClock)
}

/** What goes over to a worker thread together with its BackendPorts. */
export function transferred({ queue, store }: BackendPorts): MessagePort[] {
  return [queue.kind === 'database' ? queue.port : queue.keeper, ...transferredResults(store)]
}

export function transferredResults({ records }: StorePort): MessagePort[] {
  return records.kind === 'database' && records.port !== null ? [records.port] : []
}

/** The backends as a worker thread sees it, over the ports its process gave it. */
export async function backendsFromPorts(ports: BackendPorts): Promise<Backends> {
  const { queue, client } = await queueFromPort(ports.queue, systemClock)
  try {
    return backendsOf(queue, await storeFromPort(ports.store, client, systemClock))
  } catch (error) {
    // A store that is away is tried again, with the same ports: one that was closed would be no use then.
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
      await queue.close()
      await store.close()
    },
  }
}
