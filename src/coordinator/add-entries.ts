import type { Clock } from '../clock.js'
import type { EntryNote } from '../feed/entry/fed-url.js'
import type { CrawlId, Frontier } from '../frontier/frontier.js'
import type { Spider } from '../spider/spider.js'
import type { Link } from '../url/link.js'
import { pendingOf, roomFor, untilLowMark } from './backpressure.js'
import { entryReader } from './entries.js'
import type { SeedSource } from './seed-source.js'

const ADDED_AT_ONCE = 1_000

/** Adds entries that pass the spider's filters straight to the queue, and waits while it is full. */
export async function addToCrawl(
  frontier: Frontier,
  spider: Spider,
  crawl: CrawlId,
  source: SeedSource,
  options: {
    readonly again: boolean
    readonly clock: Clock
    /** `text`: the entry, or the part of it that was rejected. */
    readonly onRefused: (text: string, reason: string) => void
    readonly onNotes?: (notes: readonly EntryNote[]) => void
    /** Ends the wait: what did not fit by then is left out. */
    readonly signal?: AbortSignal
    /** Called when the queue is full: from here on it waits for workers to make room. */
    readonly onFull?: () => void
  },
): Promise<{ added: number; known: number; overLimit: number }> {
  const read = entryReader(spider)
  const { signal = new AbortController().signal } = options
  const sum = { added: 0, known: 0, overLimit: 0 }
  let pending = await pendingOf(frontier, crawl)
  let links: Link[] = []

  const flush = async () => {
    while (links.length > 0 && !signal.aborted) {
      const room = roomFor(pending, spider.maxPending)
      if (room === 0) {
        options.onFull?.()
        pending = await untilLowMark(frontier, crawl, spider.maxPending, options.clock, signal)
        continue
      }
      const result = await frontier.add(crawl, links.slice(0, room))
      sum.added += result.added
      sum.known += result.known
      sum.overLimit += result.refused
      pending = result.pending
      links = links.slice(room)
    }
  }

  for await (const entry of source.entries()) {
    const { links: accepted, refused, notes } = read(entry)
    for (const { link } of accepted) links.push(options.again ? { ...link, again: true } : link)
    for (const { text, reason } of refused) options.onRefused(text, reason)
    if (notes.length > 0) options.onNotes?.(notes)
    if (links.length >= ADDED_AT_ONCE) await flush()
    if (signal.aborted) break
  }
  await flush()
  return sum
}
