import type { PackMaintenance } from './pack-maintenance.js'

/** Raw pages, content-addressed: the same bytes have the same reference and are stored once. */
export interface BlobStore {
  /** Dials a place on a server, and tells what would fail every put: no such place, no access. */
  ready(): Promise<void>
  /** The page is there for everybody, and stays when this process dies, as soon as this resolves. It may wait a moment for company. */
  put(bytes: Uint8Array, type: string): Promise<BlobRef>
  /** Nobody else is coming: what waits for company goes at once. */
  hurry(): void
  get(ref: BlobRef): Promise<Uint8Array | null>
  /** By the index and the names of packs: the page itself is not read. */
  has(ref: BlobRef): Promise<boolean>
  /** Where a person finds the stored bytes, packed as they are; null when they are not there, or in no place with a name. */
  locate(ref: BlobRef): Promise<string | null>
  /** Null: nothing here needs it. */
  readonly maintenance: PackMaintenance | null
  close(): Promise<void>
}

/** `sha256:` and 64 hex digits. */
export type BlobRef = string
