import { addToCrawl } from '../coordinator/add-entries.js'
import { noteReporter } from '../coordinator/entry-notes.js'
import type { SeedSource } from '../coordinator/seed-source.js'
import { asShoalError } from '../errors.js'
import { poolsAtHand } from '../run/pools-at-hand.js'
import { seedOptions } from '../run/seeds/seed-options.js'
import type { CrawlParts } from './crawl-parts.js'

export interface Seeding {
  /** The queue is full, or has everything. Workers must run from here on, or there will never be room again. */
  readonly first: Promise<unknown>
  /** Everything is in the queue, or the program closes its connection, or the crawl was cancelled. */
  readonly all: Promise<void>
}

/** Adds the spider's start URLs. The crawl stays open: the program decides whether more will come. */
export function seedCrawl({ id, spider, backends, settings, clock, random, log, closing }: CrawlParts): Seeding {
  let full = () => {}
  const whenFull = new Promise<void>((resolve) => {
    full = resolve
  })
  const onRefused = (_entry: unknown, reason: string) => log.warn('link.refused', { spider: spider.name, reason })
  const onNotes = noteReporter((note, keys) => log.warn('feed.noted', { spider: spider.name, keys, note }))
  const how = { again: false, clock, onRefused, onNotes, signal: closing, onFull: () => full() }

  const add = async (source: SeedSource) => {
    if (!closing.aborted) await addToCrawl(backends.frontier, spider, id, source, how)
  }

  const addAll = async () => {
    await add({ name: 'start', entries: () => spider.start })
    if (spider.seeds !== null) await add({ name: 'seeds', entries: spider.seeds })
    if (spider.sources.length === 0) return
    const { sources = [], groups = [] } = seedOptions(undefined, {
      ...{ backends, spider, crawl: id, pools: poolsAtHand(settings, [spider]), clock, random, log, signal: closing },
    })
    for (const source of sources) await add(source)
    // No stored cursors here: what was added before is known to the queue.
    const notes = new Map<string, number>()
    for (const group of groups) {
      full()
      const found = group.sources({
        get: async (name) => notes.get(name) ?? 0,
        set: async (name, value) => void notes.set(name, value),
      })
      for await (const source of found) {
        await add(source)
        if (closing.aborted) return
      }
    }
  }

  const all = addAll().catch((error: unknown) => {
    if (!closing.aborted && asShoalError(error).code !== 'crawl_ended') throw error
  })
  return { all, first: Promise.race([all, whenFull]) }
}
