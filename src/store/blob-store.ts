import type { PackMaintenance } from './pack-maintenance.js'

/** Raw pages, content-addressed: the same bytes have the same reference and are stored once. */
export interface BlobStore {
  /** Connects to a place on a server, and fails with what would fail every put: no such place, no access. */
  ready(): Promise<void>
  /** Durable and readable by every process when it resolves. It may wait a moment for other pages to share a write with. */
  put(bytes: Uint8Array, type: string): Promise<BlobRef>
  /** No more pages are coming: what waits for others is written at once. */
  hurry(): void
  get(ref: BlobRef): Promise<Uint8Array | null>
  /** By the index and the names of packs: the page itself is not read. */
  has(ref: BlobRef): Promise<boolean>
  /** Where a person finds the stored, compressed bytes; null when there are none, or they are in memory. */
  locate(ref: BlobRef): Promise<string | null>
  /** Null: nothing here needs it. */
  readonly maintenance: PackMaintenance | null
  close(): Promise<void>
}

/** `sha256:` and 64 hex digits. */
export type BlobRef = string
