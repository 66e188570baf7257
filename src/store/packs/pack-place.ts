/**
 * Where packs are: a folder, a bucket. Acknowledged bytes never change. Every call can be repeated; a place that is down says so
 * with an error that isAway() knows.
 */
export interface PackPlace {
  /** Identifies this place in the index; null when it was never written to. */
  id(): Promise<string | null>
  /** The same, before something is written. */
  open(): Promise<string>
  /** Whether it is on a server: then it is opened before the first page is fetched. A folder fails soon enough with the first page. */
  readonly remote: boolean
  /** Stores a run of entries in one piece; durable, and to be read by everybody, when it resolves. Where the run begins. */
  write(run: Uint8Array): Promise<{ readonly pack: string; readonly start: number }>
  /** Fewer bytes when the pack ends before; null when there is no such pack, or it ends before the start. */
  read(pack: string, start: number, length: number): Promise<Uint8Array | null>
  has(pack: string): Promise<boolean>
  list(): AsyncIterable<PackInfo>
  remove(pack: string): Promise<void>
  /** Where a person finds it. */
  where(pack: string): string
  /** How long a put waits for others to share a write with, how many bytes end the wait, and how many runs are written at once. */
  readonly gathering: { readonly ms: number; readonly bytes: number; readonly runs: number }
  close(): Promise<void>
}

export interface PackInfo {
  readonly pack: string
  readonly bytes: number
  /** Last written, by the clock of the place. */
  readonly writtenAt: number
}

/** What ends a pack's growth. */
export const PACK_BYTES = 64 * 1024 * 1024
/** A pack that was written within this time may still be written, or be waiting for its index entries: maintenance leaves it alone. */
export const SETTLED_MS = 3_600_000
/** A writer that has been idle for so long begins a new pack: far less than what maintenance waits. */
export const IDLE_MS = 600_000

const NAME = /^[0-9]{8}-[0-9a-f]{16}$/

/** The day first, so that a listing is in the order of time. */
export function newPackName(now: number, random: string): string {
  return `${new Date(now).toISOString().slice(0, 10).replaceAll('-', '')}-${random}`
}

export function isPackName(name: string): boolean {
  return NAME.test(name)
}
