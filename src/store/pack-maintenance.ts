import type { BlobEntry } from './blob-index.js'

/** Maintenance of packs of raw pages, safe while pages are read and written. */
export interface PackMaintenance {
  /** Reads every pack, and every page in it. */
  check(onProgress: (progress: PackProgress) => void): Promise<PackCheck>
  /** Deletes unreferenced packs, and removes damaged pages from the index, so that they are stored again when they are fetched again. */
  clean(found: Pick<PackCheck, 'unreferenced' | 'damaged'>): Promise<void>
  /** Writes the pages of small or half empty packs into large ones. Pages stay readable throughout. */
  compact(onProgress: (progress: PackProgress) => void): Promise<PackCompaction>
}

export interface PackProgress {
  readonly packs: number
  readonly of: number
}

export interface PackCheck {
  readonly packs: number
  /** Pages that can be read, their own bytes, and the bytes they take. */
  readonly pages: number
  readonly pageBytes: number
  readonly storedBytes: number
  /** Bytes in packs that belong to no page: left by a process that died, or by a page that two workers stored at once. */
  readonly idleBytes: number
  /** Packs without any page that nobody is writing to. */
  readonly unreferenced: readonly StoredPack[]
  /** Pages that the index knows and that cannot be read. */
  readonly damaged: readonly BlobEntry[]
}

interface StoredPack {
  readonly pack: string
  readonly bytes: number
  /** Where a person finds it. */
  readonly where: string
}

export interface PackCompaction {
  readonly packsBefore: number
  readonly packsAfter: number
  readonly pages: number
  readonly bytesBefore: number
  readonly bytesAfter: number
}
