import type { Outcome } from '../frontier/frontier.js'
import type { BlobRef } from '../store/blob-store.js'
import type { FetchRow, WriteBatch } from '../store/rows.js'
import type { AcceptedLinks, PageLinks } from './found-links.js'

/** What a visit has of its page while it is being handled. */
export interface Fetching {
  readonly row: FetchRow
  /** The raw page on its way to the store; null when it is not kept. */
  readonly kept: Promise<BlobRef> | null
  /** Only of a rendered page. */
  readonly screenshot: Uint8Array | null
}

/** What a visit is about to commit. */
export interface Produced extends Pick<Fetching, 'kept'> {
  /** Written before the settle; null when nothing was fetched. */
  readonly batch: WriteBatch | null
  readonly outcome: Outcome
  /** All links of the page, for a queue that may have lost some since; null: none are followed. */
  readonly found: PageLinks | null
  readonly accepted: AcceptedLinks
}
