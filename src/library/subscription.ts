import { asShoalError } from '../errors.js'
import type { ChangePage, Cursor } from '../store/changes.js'
import type { StoredRecord } from '../store/record-store.js'
import type { CrawlParts, Feeding } from './crawl-parts.js'

const CHECK_EVERY_MS = 500
/** 25 MB with the largest records. */
const PAGE = 100

/** See `Crawl.subscribe`. */
export async function* subscription(
  { id, spider, backends, clock, closing }: CrawlParts,
  feeding: Feeding,
): AsyncGenerator<StoredRecord> {
  const { frontier, store } = backends
  let cursor = await store.changes.startOf(id)

  const next = async (after: Cursor): Promise<ChangePage> => {
    try {
      return await store.changes.read({ spider: spider.name, after, limit: PAGE })
    } catch (error) {
      // A standby has taken over, and may lack the last moments: start again with what it has.
      if (asShoalError(error).code !== 'cursor_foreign') throw error
      return { records: [], cursor: await store.changes.startOf(id), more: false }
    }
  }

  while (!closing.aborted) {
    feeding.failed.signal.throwIfAborted()
    // Read before the records: if the crawl had ended by then, all its records are written.
    const { state } = await frontier.stats(id)
    const ended = state === 'cancelled' || (state === 'finished' && !feeding.seeding)
    const last = ended && feeding.workers === 0
    for (let more = true; more; ) {
      const page = await next(cursor)
      more = page.more
      cursor = page.cursor
      for (const record of page.records) {
        // A later crawl that produces the same record takes it over without a change, so a subscription that has not read it by then misses it.
        if (record.crawl === id) yield record
        if (closing.aborted) return
      }
    }
    if (last && (await store.changes.lag({ spider: spider.name, after: cursor, most: 1 })).records === 0) return
    await clock.sleep(CHECK_EVERY_MS, closing)
  }
}
