import type { StoredRecord } from '../store/record-store.js'
import type { CrawlParts, Feeding } from './crawl-parts.js'

const LOOK_EVERY_MS = 500
/**
 * A record carries the time at which its page was read, and is written a little later: each look goes back this far behind the newest
 * record seen. Every so many looks one goes back further, for writers that were frozen on the way.
 */
const OVERLAP_MS = 2_000
const DEEP_OVERLAP_MS = 60_000
const DEEP_EVERY = 40

/** See `Crawl.subscribe`. */
export async function* subscription(
  { id, spider, plant, clock, closing }: CrawlParts,
  feeding: Feeding,
): AsyncGenerator<StoredRecord> {
  const { frontier, store } = plant
  const { createdAt } = await frontier.stats(id)
  let newest = createdAt
  /** What was handed on lately, with the time of its content. */
  const given = new Map<string, number>()
  for (let look = 1; !closing.aborted; look++) {
    // Asked before the records are read: those of a crawl that had ended by then are all there.
    const { state } = await frontier.stats(id)
    const last = (state === 'finished' || state === 'cancelled') && feeding.workers === 0
    const deep = last || look % DEEP_EVERY === 0
    const since = Math.max(createdAt, newest - (deep ? DEEP_OVERLAP_MS : OVERLAP_MS))
    for await (const record of store.records({ spider: spider.name, since })) {
      newest = Math.max(newest, record.updatedAt)
      if (record.crawl !== id) continue
      const name = JSON.stringify([record.site, record.kind, record.key])
      if (given.get(name) === record.updatedAt) continue
      given.set(name, record.updatedAt)
      yield record
      if (closing.aborted) return
    }
    if (last) return
    if (deep) {
      for (const [name, updatedAt] of given) if (updatedAt < newest - DEEP_OVERLAP_MS) given.delete(name)
    }
    await clock.sleep(LOOK_EVERY_MS, closing)
  }
}
