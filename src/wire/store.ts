import { resolve } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../clock.js'
import { DatabaseClient, DatabaseThread } from '../embedded/client.js'
import { ShoalError } from '../errors.js'
import type { BlobStore } from '../store/blob-store.js'
import type { StoreMaintenance } from '../store/maintenance.js'
import type { RecordStore } from '../store/record-store.js'
import { sqliteRecordStore } from '../store/sqlite/sqlite-record-store.js'
import { showUrl } from '../url/show-url.js'
import { MEMORY_PAGES, openPages, type PagesAddress, parsePages } from './pages.js'

/** Where records and raw pages go. */
export interface StorePart {
  readonly store: RecordStore
  readonly pages: BlobStore
  /** Maintenance of the tables on a server; null: a file or memory needs none. */
  maintenance(): Promise<StoreMaintenance | null>
  /** For another thread of this process; null when it cannot be shared with one. */
  connect(): StorePort | null
  close(): Promise<void>
}

export interface StorePort {
  readonly records: RecordsPort
  readonly pages: PagesAddress
}

/** A database file belongs to one thread of the process (null: the one that has the queue); each thread connects to a server itself. */
type RecordsPort =
  | { readonly kind: 'database'; readonly port: MessagePort | null }
  | { readonly kind: 'postgres'; readonly address: string }

export type StoreAddress =
  | { readonly engine: 'memory' }
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly address: string }

export function parseStore(address: string): StoreAddress {
  if (address === 'memory:') return { engine: 'memory' }
  const file = sqliteFile(address)
  if (file !== null) return { engine: 'sqlite', file }
  // The driver checks the rest of the address.
  if (/^postgres(?:ql)?:\/\//.test(address)) return { engine: 'postgres', address }
  throw new ShoalError('queue_unknown', `no store of records is known for the address ${showUrl(address)}`, {
    hint: 'Records live in a file, --store sqlite:<file>, or in Postgres, --store postgres://user:password@host/database.',
  })
}

export function sqliteFile(address: string): string | null {
  if (!address.startsWith('sqlite:')) return null
  const file = address.slice('sqlite:'.length).replace(/^\/\//, '')
  return file === '' ? null : resolve(file)
}

/** Where raw pages go: to the given address, or to the default for this store. */
export function pagesFor(store: StoreAddress, given: string | null): PagesAddress {
  if (store.engine === 'memory' && given === null) return MEMORY_PAGES
  return parsePages(given, store.engine === 'sqlite' ? store.file : null)
}

export interface StoreOptions {
  readonly pages: PagesAddress
  readonly clock: Clock
  readonly create: boolean
}

/** `queue`: the thread of the queue's database, which has the records as well when they are in the same file. */
export async function openStore(
  address: StoreAddress,
  queue: DatabaseThread | null,
  options: StoreOptions,
): Promise<StorePart> {
  if (address.engine === 'memory') return memoryStore(options)
  if (address.engine === 'postgres') return postgresStore(address.address, options)
  const thread = queue ?? (await DatabaseThread.start(address.file))
  const { pages } = options
  const close = async () => (queue === null ? thread.close() : undefined)
  return {
    ...(await databaseStore(thread.client, options, close)),
    connect: () => ({ records: { kind: 'database', port: queue === null ? thread.connect() : null }, pages }),
  }
}

/** As a worker thread sees it, over the port its process gave it; `queue`: its connection to the queue's database. */
export async function storeFromPort(
  { records, pages }: StorePort,
  queue: DatabaseClient | null,
  clock: Clock,
): Promise<StorePart> {
  const options = { pages, clock, create: false }
  if (records.kind === 'postgres') return postgresStore(records.address, options)
  const { port } = records
  if (port !== null) return databaseStore(new DatabaseClient(port), options, async () => port.close())
  if (queue === null) throw new ShoalError('internal', 'a queue on a server holds no records')
  return databaseStore(queue, options, async () => {})
}

async function memoryStore({ pages, clock }: StoreOptions): Promise<StorePart> {
  const { memoryRecordStore } = await import('../store/memory/memory-record-store.js')
  return withPages(memoryRecordStore(), pages, clock, {
    maintenance: async () => null,
    connect: () => null,
    close: async () => {},
  })
}

async function databaseStore(
  client: DatabaseClient,
  { pages, clock }: StoreOptions,
  close: () => Promise<void>,
): Promise<StorePart> {
  const store = sqliteRecordStore((part) => client.service(`store.${part}`), close)
  return withPages(store, pages, clock, { maintenance: async () => null, connect: () => null, close })
}

/** Loaded on demand: nothing else needs the Postgres client. */
async function postgresStore(address: string, { pages, clock, create }: StoreOptions): Promise<StorePart> {
  const { openPostgresStore } = await import('../store/postgres/open-postgres.js')
  const store = await openPostgresStore(address, { clock, create })
  return withPages(store, pages, clock, {
    maintenance: () => openMaintenance(address),
    connect: () => ({ records: { kind: 'postgres', address }, pages }),
    close: () => store.close(),
  })
}

/** The index of raw pages is in the store, so that they are closed before it. */
async function withPages(
  store: RecordStore,
  address: PagesAddress,
  clock: Clock,
  rest: Omit<StorePart, 'store' | 'pages'>,
): Promise<StorePart> {
  const pages = await openPages(address, store.blobs, clock)
  return {
    ...rest,
    store,
    pages,
    async close() {
      await pages.close()
      await rest.close()
    },
  }
}

/** Maintenance of the tables on a server; null: a file of records needs none. */
export async function openMaintenance(address: string): Promise<StoreMaintenance | null> {
  const parsed = parseStore(address)
  if (parsed.engine !== 'postgres') return null
  const { openPostgresMaintenance } = await import('../store/postgres/maintenance.js')
  return openPostgresMaintenance(parsed.address)
}
