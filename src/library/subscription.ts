import { asShoalError } from '../errors.js'
import type { ChangePage, Cursor } from '../store/changes.js'
import type { StoredRecord } from '../store/record-store.js'
import type { CrawlParts, Feeding } from './crawl-parts.js'

const LOOK_EVERY_MS = 500
/** With the largest records that is 25 MB. */
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
      // A standby has taken over, and may lack the last moments: what it has is given again.
      if (asShoalError(error).code !== 'cursor_foreign') throw error
      return { records: [], cursor: await store.changes.startOf(id), more: false }
    }
  }

  while (!closing.aborted) {
    feeding.failed.signal.throwIfAborted()
    // Asked before the records are read: those of a crawl that had ended by then are all there.
    const { state } = await frontier.stats(id)
    const ended = state === 'cancelled' || (state === 'finished' && !feeding.seeding)
    const last = ended && feeding.workers === 0
    for (let more = true; more; ) {
      const page = await next(cursor)
      more = page.more
      cursor = page.cursor
      for (const record of page.records) {
        // A later crawl that gives the same record again makes it its own without a change: whoever has not read it by then does not get it.
        if (record.crawl === id) yield record
        if (closing.aborted) return
      }
    }
    if (last && (await store.changes.lag({ spider: spider.name, after: cursor, most: 1 })).records === 0) return
    await clock.sleep(LOOK_EVERY_MS, closing)
  }
}
