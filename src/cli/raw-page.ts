import type { BlobStore } from '../store/blob-store.js'
import type { FetchRow } from '../store/record-store.js'

/** Where the newest raw page of these fetches lies; null when none was kept, or it is gone. Fetches come newest first. */
export async function rawPagePath(pages: BlobStore, fetches: readonly FetchRow[]): Promise<string | null> {
  const ref = fetches.find(({ page }) => page !== null)?.page ?? null
  return ref === null ? null : pages.locate(ref)
}
