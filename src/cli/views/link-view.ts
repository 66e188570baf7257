import type { LinkInfo } from '../../frontier/frontier.js'
import type { BlobStore } from '../../store/blob-store.js'
import type { FetchRow } from '../../store/record-store.js'
import type { Output } from '../output.js'
import { clean } from '../terminal/clean.js'
import { bytes, duration, moment } from '../terminal/format.js'
import { figures, shrinking } from '../terminal/table.js'

/** Requests of one link, newest first. */
export function fetchTable(output: Output, fetches: readonly FetchRow[]): void {
  output.print()
  output.table(
    ['fetched', ...figures('status', 'bytes', 'took', 'attempt'), 'error', shrinking('worker')],
    fetches.map((fetch) => [
      moment(fetch.at),
      fetch.status === 0 ? '' : String(fetch.status),
      bytes(fetch.bytes),
      duration(fetch.ms),
      String(fetch.attempt),
      fetch.error ?? '',
      fetch.worker,
    ]),
  )
}

/** Errors kept with a link, oldest first. */
export function historyTable(output: Output, failures: LinkInfo['failures']): void {
  output.print()
  output.table(
    // Whole, over several lines if need be: this is where people look for the end of it.
    ['failed', 'code', 'message'],
    failures.map((failure) => [moment(failure.at), failure.code, clean(failure.message)]),
  )
}

/** Where the newest raw page of these fetches is stored; null: none was kept, or it is missing. Fetches come newest first. */
export async function rawPagePath(pages: BlobStore, fetches: readonly FetchRow[]): Promise<string | null> {
  const ref = fetches.find(({ page }) => page !== null)?.page ?? null
  return ref === null ? null : pages.locate(ref)
}
